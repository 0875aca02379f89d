// What a local run is asked to be.
import type { Progress } from './progress.ts';

export interface ServiceOptions {
  /** Engines, logs and keys lie under this folder; live and simulated data never share one. */
  readonly dir: string;
  readonly venues: readonly string[];
  /** Simulated venues on loopback, and said so in every answer that names its source. */
  readonly source: 'live' | 'simulated';
  readonly data?: 'keep' | 'wipe';
  readonly ports?: 'free' | 'standard';
  /** Further settings of the processes, over `env`: LOG_LEVEL, SIM_*, SHARDS. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  /** Where the addresses are written besides being returned; none when absent. */
  readonly endpointsFile?: string;
  /** A first start begins with a past (infra/dev/past); only simulated venues have one. */
  readonly past?: true;
  /** Ends a start in order: what has begun is stopped, and the start fails. */
  readonly signal?: AbortSignal;
  readonly progress: Progress;
}
