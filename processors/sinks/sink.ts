// The sink: writes final rows from `rows.<venue>` into QuestDB, then the history watermark, then the group's offsets (design section 7).
import {
  createPublisher,
  formatPartition,
  type GroupBatch,
  type GroupMember,
  joinGroup,
  type KafkaHandle,
  type Message,
  type Publisher,
  readValues,
} from '../../infra/runtime/kafka/kafka.ts';
import { failProcess } from '../../infra/runtime/process/fail-process.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { QuestdbReader } from '../../infra/runtime/questdb/reader.ts';
import type { RowSender } from '../../infra/runtime/questdb/row-sender.ts';
import { createBackoff } from '../../infra/runtime/time/backoff.ts';
import { pauseUnlessAborted } from '../../infra/runtime/time/pause.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { toTableName } from '../../schemas/tables.ts';
import { describeError } from '../../schemas/thrown.ts';
import { formatTask, nameTopics, type Row, type TaskId, type Topics } from '../../schemas/topics.ts';
import { ensureTables } from './ensure-tables.ts';
import type { SinkMetrics } from './metrics.ts';
import { TABLES } from './tables.ts';

/** Overflow policy `block`: above it the sink reads no more from Kafka, which retains rows for 48 hours. */
const MOST_ROWS = 20_000;

type SinkDeps = {
  readonly handle: KafkaHandle;
  /** Writes rows; closed by the caller, after the sink stopped. */
  readonly sender: RowSender;
  /** Creates the tables; closed by the caller. Its user needs the right to create. */
  readonly reader: QuestdbReader;
  readonly venues: readonly string[];
  readonly namespace: string;
  readonly groupId: string;
  /** As in GroupOptions. */
  readonly replacesPredecessor?: boolean;
  readonly metrics: SinkMetrics;
  readonly log: Logger;
  /** Interval between flushes; shorter when the buffer is full. */
  readonly flushEveryMs?: number;
};

/** Progress of a partition of `rows.<venue>` in a batch. */
type Progress = {
  readonly topic: string;
  readonly partition: number;
  /** Next offset to read. */
  readonly next: number;
  /** The newest watermark of the batch, with its raw offset and the next `rows` offset after it. */
  readonly mark: { readonly watermark: Micros; readonly offset: number; readonly next: number } | null;
};

export type RunningSink = {
  readonly stop: () => Promise<void>;
  /** Why rows are waiting; null otherwise. */
  readonly problem: () => string | null;
};

type Batch = { readonly rows: Map<string, Row[]>; readonly progress: Map<string, Progress>; count: number };

const createBatch = (): Batch => ({ rows: new Map(), progress: new Map(), count: 0 });
const compareInstants = (a: Row, b: Row): number => a.at - b.at;

class Sink {
  readonly #deps: SinkDeps;
  readonly #publisher: Publisher;
  readonly #names: Topics;
  readonly #venueByTopic: ReadonlyMap<string, string>;
  readonly #stopping = new AbortController();
  readonly #published = new Map<string, Micros>();
  readonly #uncommitted = new Map<string, Progress>();
  #failure: string | null = null;
  #batch = createBatch();
  #taken = Promise.withResolvers<void>();
  #full = Promise.withResolvers<void>();

  constructor(deps: SinkDeps, publisher: Publisher) {
    this.#deps = deps;
    this.#publisher = publisher;
    this.#names = nameTopics(deps.namespace);
    this.#venueByTopic = new Map(deps.venues.map((venue) => [this.#names.rows(venue), venue]));
  }

  get topics(): readonly string[] {
    return [...this.#venueByTopic.keys()];
  }

  /** Starts above the last published value: a published history watermark never goes back. */
  async loadPublished(): Promise<void> {
    const { decode } = codecs.watermark;
    await readValues(this.#deps.handle, { topic: this.#names.watermark, from: () => 'earliest', decode }, (entry) => {
      if (entry.kind === 'history') this.#raise(entry.task, entry.watermark);
    });
  }

  async add({ topic, partition, messages, highWatermark }: GroupBatch): Promise<void> {
    const stopped = this.#stopping.signal;
    while (this.#batch.count >= MOST_ROWS && !stopped.aborted) await this.#taken.promise;
    if (stopped.aborted) return;
    for (const message of messages) this.#addEntry(topic, partition, message);
    const next = (messages.at(-1)?.offset ?? -1) + 1;
    this.#deps.metrics.buffered(this.#batch.count);
    this.#deps.metrics.lag(this.#toTask(topic, partition), highWatermark - next);
    if (this.#batch.count >= MOST_ROWS) this.#full.resolve();
  }

  #addEntry(topic: string, partition: number, { value, offset }: Message): void {
    const { rows, progress } = this.#batch;
    const key = formatPartition({ topic, partition });
    const next = offset + 1;
    const before = progress.get(key)?.mark ?? null;
    const { foreign } = this.#deps.handle;
    const entry = value && foreign.passOver({ topic, partition, offset }, () => codecs.rows.decode(value));
    const watermark = entry?.kind === 'watermark' ? entry.watermark : null;
    const mark = entry === null || watermark === null ? before : { watermark, offset: entry.offset, next };
    progress.set(key, { topic, partition, next, mark });
    if (entry?.row == null) return;
    const { table } = entry.row;
    if (TABLES[table] === undefined) throw new Error(`a row for the unknown table "${table}": run this version's sink`);
    const held = rows.get(table);
    if (held === undefined) rows.set(table, [entry.row]);
    else held.push(entry.row);
    this.#batch.count += 1;
  }

  problem(): string | null {
    return this.#failure ?? this.#deps.sender.problem();
  }

  /** Until stopped: flush, wait until the rows are visible, publish, commit. One batch at a time, so that nothing overtakes. */
  async run(member: GroupMember): Promise<void> {
    const { flushEveryMs = 1_000, reader, namespace } = this.#deps;
    if (!(await this.#untilDone(() => ensureTables((text) => reader.query({ text }), { namespace })))) return;
    const stopped = this.#stopping.signal;
    let dueMs = performance.now();
    while (!stopped.aborted) {
      await Promise.race([this.#full.promise, this.#idle(dueMs - performance.now())]);
      dueMs = performance.now() + flushEveryMs;
      const batch = this.#take();
      if (!(await this.#untilDone(() => this.#write(batch)))) return;
      if (!(await this.#untilDone(() => this.#publishHistory(batch)))) return;
      await this.#commit(batch, member);
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#taken.resolve();
  }

  #take(): Batch {
    const batch = this.#batch;
    this.#batch = createBatch();
    this.#full = Promise.withResolvers<void>();
    this.#taken.resolve();
    this.#taken = Promise.withResolvers<void>();
    return batch;
  }

  async #write({ rows }: Batch): Promise<void> {
    const { sender, namespace, metrics } = this.#deps;
    const tables = [...rows.keys()].map((table) => toTableName(namespace, table));
    if (tables.length === 0) return;
    const began = performance.now();
    await Promise.all(
      [...rows].map(([table, held]) => sender.send(toTableName(namespace, table), held.toSorted(compareInstants))),
    );
    const committed = performance.now();
    await sender.waitVisible(tables);
    metrics.flushed({ seconds: (committed - began) / 1000, visibleSeconds: (performance.now() - committed) / 1000 });
    for (const [table, held] of rows) metrics.written(table, held.length);
  }

  /**
   * Retries indefinitely, even what QuestDB refuses: to drop a row would be worse than to wait for an operator. A half-written batch
   * is written again whole, and equal rows have equal bytes. Returns false when stopped.
   */
  async #untilDone(work: () => Promise<void>): Promise<boolean> {
    const { signal } = this.#stopping;
    const backoff = createBackoff({ minMs: 250, maxMs: 10_000 });
    while (!signal.aborted) {
      try {
        await this.#orStopped(work());
        this.#failure = null;
        return !signal.aborted;
      } catch (error) {
        this.#note(error);
        await this.#idle(backoff.next());
      }
    }
    return false;
  }

  /** Logs one line for each outage, which may last for hours. */
  #note(error: unknown): void {
    const { metrics, log } = this.#deps;
    if (this.#failure === null) log.error({ err: error }, 'rows wait for QuestDB');
    this.#failure = describeError(error);
    metrics.failed();
  }

  /** Not Promise.race: a promise as old as the sink would keep a reaction of every race. */
  #orStopped(work: Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve, reject) => {
      const onStop = (): void => resolve();
      signal.addEventListener('abort', onStop, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onStop));
    });
  }

  #idle(ms: number): Promise<void> {
    return pauseUnlessAborted(Math.max(0, ms), this.#stopping.signal);
  }

  /** Publishes a task's W as history W once every row before it is readable. */
  async #publishHistory({ progress }: Batch): Promise<void> {
    const { metrics } = this.#deps;
    for (const { topic, partition, mark } of progress.values()) {
      const task = this.#toTask(topic, partition);
      if (mark === null || !this.#raise(task, mark.watermark)) continue;
      const { watermark, offset, next } = mark;
      this.#publisher.publish({
        topic: this.#names.watermark,
        key: `${task}|history`,
        value: codecs.watermark.encode({ task, kind: 'history', watermark, offset, positions: { [topic]: next } }),
      });
      metrics.historyWatermark(task, watermark);
    }
    await this.#publisher.flush();
  }

  /** An offset that cannot be committed now is committed with the next batch; a moved partition belongs to its new owner. */
  async #commit({ progress }: Batch, member: GroupMember): Promise<void> {
    for (const [key, reached] of progress) this.#uncommitted.set(key, reached);
    const held = new Set(member.assigned().map(formatPartition));
    const ours = [...this.#uncommitted].filter(([key]) => held.has(key)).map(([, reached]) => reached);
    const offsets = ours.map(({ topic, partition, next }) => ({ topic, partition, offset: next }));
    if (offsets.length === 0 || (await member.commit(offsets))) this.#uncommitted.clear();
  }

  #raise(task: string, watermark: Micros): boolean {
    if (watermark <= (this.#published.get(task) ?? -1)) return false;
    this.#published.set(task, watermark);
    return true;
  }

  #toTask(topic: string, partition: number): TaskId {
    const venue = this.#venueByTopic.get(topic);
    if (venue === undefined) throw new Error(`the sink does not read ${topic}`);
    return formatTask(venue, partition);
  }
}

/**
 * Starts the sink; resolves when it has joined its group. It may be killed at any moment: uncommitted rows are read again,
 * and final rows repeat byte for byte. While QuestDB is unreachable rows wait here up to the buffer's limit, then in Kafka.
 */
export async function startSink(deps: SinkDeps): Promise<RunningSink> {
  const publisher = createPublisher(deps.handle);
  const sink = new Sink(deps, publisher);
  const member = await joinGroup(deps.handle, {
    groupId: deps.groupId,
    replacesPredecessor: deps.replacesPredecessor ?? false,
    topics: sink.topics,
    onAssigned: async () => {
      await sink.loadPublished();
      return undefined;
    },
    onBatch: (batch) => sink.add(batch),
  });
  deps.metrics.watchProblem(() => sink.problem());
  const running = sink.run(member).catch(failProcess);
  return {
    problem: () => sink.problem(),
    stop: async () => {
      sink.stop();
      await running;
      await member.stop();
      await publisher.close();
    },
  };
}
