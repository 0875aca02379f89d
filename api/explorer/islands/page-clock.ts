// The service's clock before the first event: a page states when it was made. The browser's own clock may be wrong by hours.
import { findElement } from './page-element.ts';

const readMadeMs = (): number => Date.parse(findElement<HTMLTimeElement>('made-at').dateTime);

/** By `performance.now()`: when the first bytes of the page came. */
const readCameMs = (): number => {
  const [arrival] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return arrival?.responseStart ?? performance.now();
};

/** Milliseconds to add to the browser's clock. */
export const measureClockError = (): number => readMadeMs() - (Date.now() - (performance.now() - readCameMs()));
