// Samples everything that runs: memory and descriptors of each process, the lag of each step, the state of QuestDB's tables.
import { nameTopics } from '../../../../schemas/topics.ts';
import { fetchEndOffsets } from '../../../runtime/kafka/kafka.ts';
import type { QuestdbReader } from '../../../runtime/questdb/reader.ts';
import { findQuantile, sum } from '../instruments/figures.ts';
import {
  countDescriptors,
  EVERY_PROCESS,
  findPid,
  type ProcessName,
  readProcessUsage,
} from '../instruments/machine.ts';
import { type Run, readSentCount, VENUE } from '../run.ts';

type ProcessSample = { readonly pid: number; readonly ownMb: number; readonly descriptors: number };

/** Milliseconds the tasks were behind since the previous sample: the usual value, and the maximum. */
type LagSample = { readonly usualMs: number; readonly highestMs: number };

type TableHealth = {
  /** Names of tables that accept no more writes. */
  readonly suspended: readonly string[];
  /** Transactions of all tables that are not yet applied. */
  readonly waiting: number;
};

/** Since the beginning of the log, so that a killed process loses no counts. */
type Totals = {
  /** Frames the simulator handed to sockets. */
  readonly sent: number;
  /** Records in raw, ticks and connections among them. */
  readonly collected: number;
  readonly applied: number;
  /** Rows the tasks published, and those of them the sink has seen readable in QuestDB. */
  readonly published: number;
  readonly written: number;
  readonly deadLetters: number;
};

export type Sample = {
  /** Since the load began. */
  readonly atMs: number;
  readonly processes: ReadonlyMap<ProcessName, ProcessSample>;
  readonly lag: LagSample | null;
  readonly tables: TableHealth;
  readonly totals: Totals;
};

const SINK_GROUP = 'processors.sink';
const LAG_EVERY_MS = 100;

const readProcesses = (dir: string): Map<ProcessName, ProcessSample> => {
  const found = new Map<ProcessName, ProcessSample>();
  for (const name of EVERY_PROCESS) {
    const pid = findPid(dir, name);
    if (pid === null) continue;
    const [usage, descriptors] = [readProcessUsage(pid), countDescriptors(pid)];
    if (usage !== null && descriptors !== null) found.set(name, { pid, ownMb: usage.ownMb, descriptors });
  }
  return found;
};

const readTables = async (reader: QuestdbReader): Promise<TableHealth> => {
  const text = 'SELECT name, suspended, sequencerTxn - writerTxn FROM wal_tables()';
  const rows = await reader.query({ text });
  return {
    suspended: rows.filter(([, suspended]) => suspended === 't').map(([name]) => name ?? ''),
    waiting: sum(rows.map(([, , waiting]) => Number(waiting ?? 0))),
  };
};

const countRecordsIn = async (run: Run, topic: string): Promise<number> =>
  sum([...(await fetchEndOffsets(run.handle, topic)).values()].map(({ latest }) => latest));

/** Offsets the sink has committed; a partition it has not begun counts as zero. */
const countWrittenRows = async (run: Run, topic: string): Promise<number> => {
  const admin = await run.handle.admin();
  const [answer] = await admin.fetchOffsets({ groupId: SINK_GROUP, topics: [topic] });
  return sum((answer?.partitions ?? []).map(({ offset }) => Math.max(0, Number(offset))));
};

const readTotals = async (run: Run): Promise<Totals> => {
  const names = nameTopics();
  // In the order of the pipeline, so that a later step is ahead of an earlier one only by what arrived meanwhile.
  const written = await countWrittenRows(run, names.rows(VENUE));
  const published = await countRecordsIn(run, names.rows(VENUE));
  const applied = run.watch.applied();
  const collected = await countRecordsIn(run, names.raw(VENUE));
  const deadLetters = await countRecordsIn(run, names.deadLetters);
  return { sent: await readSentCount(run.service), collected, applied, published, written, deadLetters };
};

export type HealthWatch = {
  /** Lag is of the time since the previous sample. */
  readonly sample: () => Promise<Sample>;
  readonly stop: () => void;
};

/** Begins at once; `reader` reads QuestDB. */
export const watchHealth = (run: Run, reader: QuestdbReader): HealthWatch => {
  const began = performance.now();
  let lags: number[] = [];
  const timer = setInterval(() => {
    const lag = run.watch.lagMs();
    if (lag !== null) lags.push(lag);
  }, LAG_EVERY_MS);
  const takeLag = (): LagSample | null => {
    const [usualMs, highestMs] = [findQuantile(lags, 0.5), findQuantile(lags, 1)];
    lags = [];
    return usualMs === null || highestMs === null ? null : { usualMs, highestMs };
  };
  return {
    sample: async () => {
      const processes = readProcesses(run.dir);
      const lag = takeLag();
      const atMs = performance.now() - began;
      const [tables, totals] = await Promise.all([readTables(reader), readTotals(run)]);
      return { atMs, processes, lag, tables, totals };
    },
    stop: () => clearInterval(timer),
  };
};
