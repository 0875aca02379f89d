// What a nightly step is: work named by a UTC day, idempotent, due some time after that day begins.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/log.ts';
import type { ObjectStore } from '../../infra/runtime/object-store.ts';
import type { QuestdbReader } from '../../infra/runtime/questdb/questdb.ts';
import type { Micros } from '../../schemas/records.ts';
import type { AnchorSettings } from './anchor/config.ts';
import type { Day } from './day.ts';
import type { NightlyMetrics } from './metrics.ts';

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
  /** Where day roots are posted; absent: nothing of it is set. */
  readonly anchors?: AnchorSettings;
  /** Called at the numbered places of a step, in order: tests end the process there. */
  readonly reached?: (place: string) => void;
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
  /** Steps of one lock are done one after another, whatever their days: each also writes what belongs to other days. Absent: only its own day. */
  readonly lock?: string;
  /** By hand it is refused before it is due, except with `--early` (AN-12). */
  readonly onlyWhenDue?: true;
  /** A day that fails does not hold back the later ones. */
  readonly independentDays?: true;
  /** Does the work of a day, again as well as once; answers one line that says what was done. A rejection is tried again later. */
  readonly run: (day: Day, context: NightlyContext) => Promise<string>;
};
