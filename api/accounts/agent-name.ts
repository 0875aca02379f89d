// The name of a browser from its header, in a form that an owner recognises.
import { clip } from '../contract/sent-text.ts';

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

const findNamed = (text: string, names: readonly (readonly [mark: string, name: string])[]): string | undefined =>
  names.find(([mark]) => text.includes(mark))?.[1];

/** `Chrome on Linux`; the beginning of a text that names neither. */
export const describeAgent = (agent: string): string => {
  const [browser, system] = [findNamed(agent, BROWSERS), findNamed(agent, SYSTEMS)];
  if (browser === undefined && system === undefined) return agent === '' ? 'Unknown browser' : clip(agent);
  return system === undefined ? (browser ?? '') : `${browser ?? 'Browser'} on ${system}`;
};
