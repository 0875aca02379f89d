// Options of a local run.
import type { Progress } from './progress.ts';

export interface ServiceOptions {
  /** Folder of engines, logs and keys; live and simulated data never share one. */
  readonly dir: string;
  readonly venues: readonly string[];
  /** `simulated`: venues on loopback; every response that names its source states it. */
  readonly source: 'live' | 'simulated';
  readonly data?: 'keep' | 'wipe';
  readonly ports?: 'free' | 'standard';
  /** `light`: for a run of minutes (LIGHT_JVM); `full`: as in production. Default: `light` for simulated venues, whose runs are short. */
  readonly engines?: 'light' | 'full';
  /** Further settings of the processes, over `env`: LOG_LEVEL, SIM_*, SHARDS. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  /** File for the addresses, besides the returned ones; none when absent. */
  readonly endpointsFile?: string;
  /** A first start begins with a past (infra/dev/past); only simulated venues have one. */
  readonly past?: true;
  /** Aborts a start in order: what has started is stopped, and the start fails. */
  readonly signal?: AbortSignal;
  readonly progress: Progress;
}
