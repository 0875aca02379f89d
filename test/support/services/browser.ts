// A real Chromium for tests of pages: found on the machine, one process a file, every console error noted, axe-core on demand.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, devices, type Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Teardown } from '../engines/engines.ts';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const findChromium = (): string => {
  const given = process.env['CHROMIUM_PATH'];
  const found = given ?? PLACES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error('no Chromium was found: set CHROMIUM_PATH, or install it (Debian, Ubuntu: apt-get install chromium)');
};

/** WCAG 2.2 AA and all that it includes, and what axe calls best practices: landmarks with names of their own, headings in order. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Look = 'desktop' | 'phone';
export type Visit = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the console and the page's own scripts. */
  readonly faults: string[];
};

export const openChromium = async (t: Teardown): Promise<Browser> => {
  // A sandbox needs rights that root in a container has not; the pages are our own.
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
  t.teardown(() => browser.close());
  return browser;
};

/** A page of a browser of its own, as a laptop or a phone shows it. */
export const visit = async (browser: Browser, look: Look, colours: 'light' | 'dark' = 'light'): Promise<Visit> => {
  const shape =
    look === 'phone'
      ? { ...devices['Pixel 7'], defaultBrowserType: undefined }
      : { viewport: { width: 1200, height: 800 } };
  const context = await browser.newContext({ ...shape, colorScheme: colours } as Parameters<Browser['newContext']>[0]);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // The browser itself logs every 4xx, and the pages return some on purpose.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  return { page, context, faults };
};

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
};

/** Violations on the current page. The debugger injects axe: the pages allow no foreign script. */
export const findViolations = async ({ page }: Visit): Promise<readonly string[]> => {
  // A debugger's session of its own would end the virtual passkeys of the page with itself.
  await page.evaluate(AXE);
  const run = `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`;
  const violations = (await page.evaluate(run)) as readonly Violation[];
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${page.url()} ${id}: ${html} ${failureSummary}`),
  );
};

/** Wider than the screen: a phone would have to scroll sideways. */
export const isTooWide = ({ page }: Visit): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth + 1');

/** Texts of cells of figures that overflow their cell, where they would cover a neighbour or be cut. */
export const findCutTexts = ({ page }: Visit): Promise<readonly string[]> =>
  page.evaluate(`[...document.querySelectorAll('button.cell, th.number, td.number')].filter((cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    const [inner, outer] = [text.getBoundingClientRect(), cell.getBoundingClientRect()];
    return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
  }).map((cell) => cell.textContent)`);

/** Links of the main navigation that are scrolled out of it, where nobody looks for them. */
const findHiddenLinks = ({ page }: Visit): Promise<readonly string[]> =>
  page.evaluate(`[...document.querySelectorAll('header nav a')].filter((link) => {
    const [inner, outer] = [link.getBoundingClientRect(), link.closest('ul').getBoundingClientRect()];
    return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
  }).map((link) => link.textContent)`);

/** For visual checks: written where SCREENSHOTS names a folder. */
export const shoot = async ({ page }: Visit, name: string): Promise<void> => {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
};

/** The page violates no rule of axe and fits the screen, its ways are in sight, and every figure fits its cell. */
export const examinePage = async (t: Pick<Test, 'same' | 'equal'>, on: Visit, name: string): Promise<void> => {
  await shoot(on, name);
  t.same(await findViolations(on), [], name);
  t.equal(await isTooWide(on), false, `${name} fits the screen`);
  t.same(await findHiddenLinks(on), [], `${name}: every way is in sight`);
  t.same(await findCutTexts(on), [], `${name}: every figure fits its cell`);
};

/** A layout shift of less is not seen: what Web Vitals calls good ends at ten times as much, for a whole visit. */
const LEAST_SHIFT = 0.01;

/**
 * What has moved on a page on which nobody has pressed anything (Layout Instability API): score and elements of each shift, if their sum is
 * `LEAST_SHIFT` or more. Chromium takes the shape of an emulated phone for input, so `hadRecentInput` says nothing there.
 */
export const findMoved = ({ page }: Visit): Promise<readonly string[]> =>
  page.evaluate(`new Promise((resolve) => {
    const shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
    const describe = ({ value, sources }) =>
      [value, ...sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? 'removed').slice(0, 100))].join(' ');
    const report = () =>
      resolve(shifts.reduce((sum, { value }) => sum + value, 0) < ${LEAST_SHIFT} ? [] : shifts.map(describe));
    requestAnimationFrame(() => requestAnimationFrame(report));
  })`);

/** Counts what the page is sent from now on, as bytes on the wire. */
export const countBytes = async ({ page, context }: Visit): Promise<() => number> => {
  const wire = await context.newCDPSession(page);
  await wire.send('Network.enable');
  let bytes = 0;
  wire.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  return () => bytes;
};
