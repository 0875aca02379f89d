// Reads the CPU profiles that the processes wrote when they ended: functions and packages by time during the measurement.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The DevTools protocol's Profiler.Profile, as `node --cpu-prof` writes it; times in microseconds. */
type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly endTime: number;
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

type ProfileSpec = {
  readonly dir: string;
  readonly pid: number;
  /** Wall time of the end of the measurement, and its length. */
  readonly endedAtMs: number;
  readonly seconds: number;
};

const TOP = 12;

const toPlace = (url: string): string => {
  const [, packages] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (packages !== undefined) return packages;
  if (url.startsWith('node:')) return url;
  const [, own] = /\/((?:schemas|infra\/runtime|ingest|processors|api|infra)\/.*)$/.exec(url) ?? [];
  return own ?? (url === '' ? 'native code and garbage collector' : url);
};

const add = (totals: Map<string, number>, key: string, micros: number): void => {
  totals.set(key, (totals.get(key) ?? 0) + micros);
};

const listLines = (totals: ReadonlyMap<string, number>, whole: number): string[] =>
  [...totals]
    .sort(([, a], [, b]) => b - a)
    .slice(0, TOP)
    .map(([key, micros]) => `${((100 * micros) / whole).toFixed(1).padStart(5)} %  ${key}`);

const findProfile = (dir: string, pid: number): string | null => {
  const name = readdirSync(dir).find((file) => file.includes(`.${pid}.0.`) && file.endsWith('.cpuprofile'));
  return name === undefined ? null : join(dir, name);
};

/** Self time by function and by package or file, of the measured seconds only; null when the process left no profile. */
export const readProfile = ({ dir, pid, endedAtMs, seconds }: ProfileSpec): string | null => {
  const file = findProfile(dir, pid);
  if (file === null) return null;
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  // The file is written when the process ends: its age locates the measured span in the profile.
  const to = profile.endTime - (statSync(file).mtimeMs - endedAtMs) * 1_000;
  const from = to - seconds * 1_000_000;
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byFunction = new Map<string, number>();
  const byPlace = new Map<string, number>();
  let at = profile.startTime;
  let whole = 0;
  for (const [index, sample] of profile.samples.entries()) {
    const micros = profile.timeDeltas[index] ?? 0;
    at += micros;
    const frame = frames.get(sample);
    if (at < from || at > to || frame === undefined) continue;
    if (frame.functionName === '(idle)') continue;
    whole += micros;
    const place = toPlace(frame.url);
    const named = frame.functionName === '' ? '(anonymous)' : frame.functionName;
    add(byFunction, frame.url === '' ? named : `${named}  ${place}:${frame.lineNumber + 1}`, micros);
    add(byPlace, place, micros);
  }
  const busy = `busy ${((100 * whole) / (to - from)).toFixed(0)} % of the time`;
  return [
    `${busy}; of it self time by function`,
    ...listLines(byFunction, whole),
    'self time by package or file',
    ...listLines(byPlace, whole),
  ].join('\n');
};
