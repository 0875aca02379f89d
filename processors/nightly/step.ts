// What a nightly step is: work named by a UTC day, idempotent, due some time after that day begins.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/log.ts';
import type { ObjectStore } from '../../infra/runtime/object-store.ts';
import type { QuestdbReader } from '../../infra/runtime/questdb/questdb.ts';
import type { Micros } from '../../schemas/records.ts';
import type { NightlyMetrics } from './metrics.ts';

/** `YYYY-MM-DD`, UTC. */
export type Day = string;

export const DAY_MS = 86_400_000;
export const startOf = (day: Day): number => Date.parse(`${day}T00:00:00.000Z`);
export const dayAt = (ms: number): Day => new Date(ms).toISOString().slice(0, 10);
export const dayAfter = (day: Day, days = 1): Day => dayAt(startOf(day) + days * DAY_MS);

export type NightlyContext = {
  readonly database: Pool;
  readonly questdb: QuestdbReader;
  /** Prefix of the tables; empty is live. */
  readonly namespace: string;
  /** The data API as its clients reach it, and a key of a plan that narrows nothing; null: none is set. */
  readonly api: { readonly baseUrl: string; readonly key: string } | null;
  /** Where archive files are kept; null: no place is set. */
  readonly store: ObjectStore | null;
  /** The least history W of all tasks: what is sealed by then can be read. Rejects while Kafka is away. */
  readonly historyWatermark: () => Promise<Micros>;
  /** Aborted when the process is to stop: a step that works for minutes looks at it between its parts. */
  readonly signal?: AbortSignal;
  /** Whether the chain that roots are posted on is Base itself (AN-04). Rejects while it is not known. */
  readonly isBinding: () => Promise<boolean>;
  /** By hand, before a day's closing is due: it is closed now. Only where the anchor does not bind (AN-12). */
  readonly early?: true;
  readonly nowMs: () => number;
  /** One line for whoever watches. */
  readonly progress: (line: string) => void;
  readonly metrics: NightlyMetrics;
  readonly log: Logger;
};

export type Step = {
  readonly name: string;
  readonly summary: string;
  /** Milliseconds after the day's 00:00 UTC. */
  readonly dueMs: number;
  /** By hand it is refused before it is due, except with `--early` (AN-12). */
  readonly onlyWhenDue?: true;
  /** Does the work of a day, again as well as once; answers one line that says what was done. A rejection is tried again later. */
  readonly run: (day: Day, context: NightlyContext) => Promise<string>;
};
