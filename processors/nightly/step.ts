// A nightly step: work identified by a UTC day, idempotent, due some time after the start of that day.
import type { Pool } from 'pg';
import type { ObjectStore } from '../../infra/runtime/files/object-store.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { QuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Day } from './day.ts';
import type { NightlyMetrics } from './metrics.ts';
import type { AnchorSettings } from './steps/anchor/config.ts';

/** The minimum history W of all tasks, and the task that has it; a venue without a task stands for one. */
export type HistoryReach = { readonly at: Micros; readonly of: string };

export type NightlyContext = {
  readonly database: Pool;
  readonly questdb: QuestdbReader;
  /** Prefix of the tables; empty is live. */
  readonly namespace: string;
  /** The data API's public address, and a key whose plan has no restrictions; null: not set. */
  readonly api: { readonly baseUrl: string; readonly key: string } | null;
  /** The store of archive files; null: not set. */
  readonly store: ObjectStore | null;
  /** Rows sealed up to it are readable. Rejects while Kafka is unreachable. */
  readonly historyWatermark: () => Promise<HistoryReach>;
  /**
   * Aborted when the process stops, and when the lock of the step is lost: another runner may then be at work. A step that runs for minutes checks it
   * between its parts, and one that writes files before each of them is stored or recorded.
   */
  readonly signal?: AbortSignal;
  /** Whether the chain of the roots is Base itself (AN-04). Rejects while unknown. */
  readonly isBinding: () => Promise<boolean>;
  /** The chain and contract of the day roots; absent: not set. */
  readonly anchors?: AnchorSettings;
  /** Called at the numbered places of a step, in order: tests end the process there. */
  readonly reached?: (place: string) => void;
  /** Run by hand before a day's closing is due: closes it now. Only where the anchor does not bind (AN-12). */
  readonly early?: true;
  readonly nowMs: () => number;
  /** Prints one line for an interactive user. */
  readonly progress: (line: string) => void;
  readonly metrics: NightlyMetrics;
  readonly log: Logger;
};

export type Step = {
  readonly name: string;
  readonly summary: string;
  /** Milliseconds after the day's 00:00 UTC. */
  readonly dueMs: number;
  /** Steps with one lock run one after another, for any day: each also writes data of other days. Absent: only its own day. */
  readonly lock?: string;
  /** By hand it is refused before it is due, except with `--early` (AN-12). */
  readonly onlyWhenDue?: true;
  /** A failed day does not block later ones. */
  readonly independentDays?: true;
  /** Does the work of a day, and may be repeated; returns one line that describes the result. A rejected run is retried later. */
  readonly run: (day: Day, context: NightlyContext) => Promise<string>;
};
