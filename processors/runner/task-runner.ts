// Runs one task: restores it, feeds it its partition, publishes its outputs, saves checkpoints, keeps its log moving.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fetchEndOffsets, type KafkaHandle, type Message, type Publisher } from '../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { completeWork, continueWork, type Interruptible } from '../../infra/runtime/process/steps.ts';
import type { MappedVenue } from '../../ingest/venues/contract/mapping.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { type CheckpointEntry, nameTopics, type Topics, type WatermarkEntry } from '../../schemas/topics.ts';
import type { ProcessorMetrics } from '../metrics.ts';
import type { Outputs } from '../task/outputs.ts';
import type { Presences } from '../task/presence.ts';
import { Task } from '../task/task.ts';
import { type Backlog, createBacklog, NO_BACKLOG } from './backlog.ts';
import { beginRound, countUnsaved, makeMarker, type Round, saveSome } from './checkpoint.ts';
import type { CheckpointPace } from './checkpoint-pace.ts';
import { readRaw, refuseHole, refuseOther } from './continuity.ts';
import { encodeOwnerTick } from './owner-tick.ts';
import { countLosses, type Destination, publishOutputs, publishRound } from './publish-outputs.ts';
import { flushOutputs, type Publishers, settleOutputs } from './publishers.ts';
import { type Restored, restore } from './restore.ts';

const ROUND_LASTS_MS = 2_000;
const IDLE_SLICE_MS = 3;
/** The slice of a stopping task. */
const WHOLE = Number.POSITIVE_INFINITY;
/** Limits the unwritten part of a round. */
const ROUND_AHEAD_BYTES = 2 * 1024 * 1024;
const OWNER_TICK_EVERY_MS = 250;
const QUIET_AFTER_MS = 1_000;
/** An idle task publishes its watermark, so that others know its log is processed. */
const REST_AFTER_MS = 500;
/** Tasks of a process write their watermarks in the same steps of time, so that these share a batch. A restart publishes again what followed its last. */
const WATERMARK_STEP_MS = 500;
/** Longest run of work before the process serves everything else: heartbeats, other tasks, the queue. */
const STRETCH_MS = 3;

type RunnerSpec = {
  readonly handle: KafkaHandle;
  readonly venue: MappedVenue;
  readonly partition: number;
  readonly shards: number;
  readonly namespace: string;
  /** Writes ticks when no record arrives; never in a replay. */
  readonly ticks: boolean;
  /** Shared by the tasks of a process. */
  readonly pace: CheckpointPace;
  readonly publishers: Publishers;
  readonly metrics: ProcessorMetrics;
  readonly log: Logger;
};

/** Whether a stopping task leaves a complete checkpoint, so that its next owner starts at once. */
type Ending = 'saved' | 'unsaved';

type Begun = { readonly task: Task } & Pick<Restored, 'emittedTo' | 'logStart' | 'logEnd'>;

export class TaskRunner {
  readonly #spec: RunnerSpec;
  readonly #names: Topics;
  readonly #destination: Destination;
  readonly #task: Task;
  /** Outputs of records at or below this raw offset were acknowledged by an earlier owner. */
  readonly #emittedTo: number;
  readonly #logStart: number;
  /** Ends of the output partitions at this owner's start: positions until the first acknowledged write. */
  readonly #starts: ReadonlyMap<string, number>;
  readonly #timer: NodeJS.Timeout;
  readonly #backlog: Backlog;
  /** The record in work: a stretch may end within it. */
  #record: Interruptible | null = null;
  #round: Round | null = null;
  #roundStart = 0;
  #closing: Promise<void> | null = null;
  #roundAtMs = performance.now();
  #receivedAtMs = performance.now();
  #tickedAtMs = 0;
  #logEnd: number;
  /** The stretch of the log before this one went up to its end: nothing of this one is long past, whatever the clock of this process has. */
  #isAtEnd = false;
  #watermark: { readonly watermark: number; readonly offset: number } | null = null;
  #settlingWatermark: Promise<void> | null = null;
  /** Everything before it is acknowledged; its record is not published yet. */
  #reached: Omit<WatermarkEntry, 'task'> | null = null;
  #reachedStep = 0;
  #appliedAtMs = performance.now();
  #settledOffset = -1;
  #settledWatermark: number;
  #stopped = false;

  private constructor(spec: RunnerSpec, restored: Begun, starts: ReadonlyMap<string, number>) {
    this.#spec = spec;
    this.#names = nameTopics(spec.namespace);
    const { venue, partition, publishers } = spec;
    this.#destination = { venue: venue.id, partition, names: this.#names, publishers };
    this.#task = restored.task;
    this.#settledWatermark = restored.task.watermark;
    this.#emittedTo = restored.emittedTo;
    this.#logStart = restored.logStart;
    this.#logEnd = restored.logEnd;
    this.#starts = starts;
    this.#backlog = spec.ticks ? createBacklog({ isFirst: restored.emittedTo < 0 }) : NO_BACKLOG;
    this.#countItems();
    this.#timer = setInterval(() => this.#idle(), 50);
  }

  /** Restores the task from its newest complete checkpoint, or starts it empty at its log's start. */
  static async start(spec: RunnerSpec): Promise<TaskRunner> {
    const names = nameTopics(spec.namespace);
    const began = performance.now();
    const outputs = [names.live, names.state, names.rows, names.checkpoints].map((of) => of(spec.venue.id));
    const [restored, ends] = await Promise.all([
      begin(spec, names),
      Promise.all(outputs.map(async (topic) => [topic, await fetchEndOffsets(spec.handle, topic)] as const)),
    ]);
    const starts = new Map(ends.map(([topic, found]) => [topic, found.get(spec.partition)?.latest ?? 0]));
    const { task, emittedTo, logEnd } = restored;
    const { offset } = task.state;
    const ms = Math.round(performance.now() - began);
    spec.log.info({ task: task.id, offset, emittedTo, behind: logEnd - offset - 1, ms }, 'task restored');
    return new TaskRunner(spec, restored, starts);
  }

  /** The raw offset to apply next. */
  get next(): number {
    return this.#task.state.offset + 1;
  }

  /** The raw offset to read from: the last applied record is compared before the log is followed (`apply`). */
  get start(): number {
    return this.#hasBegun ? Math.max(this.next - 1, this.#logStart) : this.next;
  }

  /** W up to which everything is acknowledged. Applied records may wait for a slow broker. */
  get watermark(): number {
    return this.#settledWatermark;
  }

  get #place(): string {
    return `${this.#names.raw(this.venue)}/${this.#spec.partition}`;
  }

  get venue(): string {
    return this.#spec.venue.id;
  }

  presences(): Presences {
    return this.#task.presences();
  }

  /** Applies messages of the raw partition in order; skips those already applied. */
  async apply(messages: readonly Message[], logEnd: number): Promise<void> {
    this.#logEnd = logEnd;
    this.#appliedAtMs = performance.now();
    const work = this.#applyAll(messages);
    const stretch = (): boolean => continueWork(work, STRETCH_MS);
    while (!this.#spec.metrics.meterStep('records', stretch)) {
      await this.#breathe();
      if (this.#stopped) return;
    }
    this.#isAtEnd = this.next >= logEnd;
    this.#spec.metrics.lag(this.#task.id, Math.max(0, logEnd - this.next));
    this.#advanceRound(IDLE_SLICE_MS);
    await this.#breathe();
  }

  *#applyAll(messages: readonly Message[]): Interruptible {
    for (const message of messages) {
      if (this.#stopped) return;
      this.#record = this.#applyOne(message);
      try {
        yield* this.#record;
      } finally {
        this.#record = null;
      }
      yield;
    }
  }

  *#applyOne(message: Message): Interruptible {
    refuseOther(this.#place, this.#task.state, message);
    if (message.value === null || message.offset < this.next) return;
    refuseHole(this.#place, this.#task.state, message);
    const { offset, timestampMs, value } = message;
    const raw = readRaw(value);
    if (raw?.slot !== 'owner') this.#receivedAtMs = performance.now();
    const outputs = yield* this.#task.apply({ offset, timestampMs, message: raw, payload: value });
    yield* this.#publish(outputs);
    this.#spec.metrics.recordApplied(this.#task.id, raw?.kind ?? 'unreadable');
    this.#spec.pace.countRecord();
  }

  get #hasBegun(): boolean {
    return this.#task.state.startedAt !== null;
  }

  /** A backlog arrives in batches of tens of thousands of records: outputs must not pile up, and heartbeats must continue. */
  async #breathe(): Promise<void> {
    this.#appliedAtMs = performance.now();
    const { live, kept } = this.#spec.publishers;
    live.send();
    await Promise.all([live.ready(), kept.ready()]);
    await nextTurn();
  }

  /** Finishes writing. */
  async stop(ending: Ending): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    if (this.#record !== null) completeWork(this.#record);
    this.#record = null;
    await this.#closing;
    if (ending === 'saved' && this.#hasBegun) {
      if (this.#round === null) this.#beginRound();
      this.#advanceRound(WHOLE);
      await this.#closing;
    }
    this.#spec.pace.end(this.#task.id);
    const { publishers } = this.#spec;
    await Promise.all([flushOutputs(publishers), this.#settlingWatermark]);
    this.#putReached();
    await Promise.all([flushOutputs(publishers), publishers.checkpoints.flush()]);
  }

  *#publish(outputs: Outputs): Interruptible {
    if (outputs.offset <= this.#emittedTo) return;
    const { publishers, venue, metrics } = this.#spec;
    const backlog = this.#isAtEnd ? NO_BACKLOG : this.#backlog;
    const wanted = backlog.selectOutputs(outputs, this.#task.state.recordedAt, Date.now());
    yield* publishOutputs(this.#destination, { ...outputs, live: wanted.live });
    countLosses(metrics, this.#task.id, outputs);
    if (wanted.stateRound) {
      // `live` may be followed from any position at or before the round: readers drop repeats.
      const liveOffset = this.#position(publishers.live, this.#names.live(venue.id));
      const marker = { round: outputs.offset, watermark: this.#task.watermark, live_offset: liveOffset };
      yield* publishRound(this.#destination, wanted.stateRound, marker);
    }
    if (outputs.watermark === null) return;
    this.#watermark = { watermark: outputs.watermark, offset: outputs.offset };
    this.#settleWatermark();
  }

  #position(publisher: Publisher, topic: string): number {
    return publisher.position(topic, this.#spec.partition) ?? this.#starts.get(topic) ?? 0;
  }

  #positions(): Record<string, number> {
    const { publishers, venue } = this.#spec;
    const { live, state, rows } = this.#names;
    return {
      [live(venue.id)]: this.#position(publishers.live, live(venue.id)),
      [state(venue.id)]: this.#position(publishers.kept, state(venue.id)),
      [rows(venue.id)]: this.#position(publishers.kept, rows(venue.id)),
    };
  }

  /** Waits until everything before the newest watermark is acknowledged: a later owner relies on it. */
  #settleWatermark(): void {
    this.#settlingWatermark ??= this.#settleNewestWatermark().finally(() => {
      this.#settlingWatermark = null;
    });
  }

  async #settleNewestWatermark(): Promise<void> {
    while (this.#watermark !== null) {
      const { watermark, offset } = this.#watermark;
      this.#watermark = null;
      await settleOutputs(this.#spec.publishers);
      this.#settledOffset = offset;
      this.#settledWatermark = watermark;
      this.#spec.metrics.watermarkPublished(this.#task.id, watermark);
      this.#reached = { kind: 'task', watermark, offset, positions: this.#positions() };
    }
  }

  #putReached(): void {
    if (this.#reached !== null) this.#putWatermark(this.#reached);
    this.#reached = null;
  }

  #putWatermark(entry: Omit<WatermarkEntry, 'task'>): void {
    const task = this.#task.id;
    this.#spec.publishers.live.publish({
      topic: this.#names.watermark,
      partition: 0,
      key: entry.kind === 'task' ? task : `${task}|${entry.kind}`,
      value: codecs.watermark.encode({ task, ...entry }),
    });
  }

  readonly #save = (entry: CheckpointEntry): void => {
    const { publishers, venue, partition } = this.#spec;
    const value = codecs.checkpoints.encode(entry);
    publishers.checkpoints.publish({ topic: this.#names.checkpoints(venue.id), partition, key: entry.key, value });
  };

  #beginRound(): void {
    this.#roundAtMs = performance.now();
    this.#countItems();
    this.#roundStart = this.#position(this.#spec.publishers.checkpoints, this.#names.checkpoints(this.#spec.venue.id));
    this.#round = this.#spec.metrics.meterStep('checkpoint', () => beginRound(this.#task, this.#save));
  }

  #countItems(): void {
    const { listings, books } = this.#task.state;
    this.#spec.pace.begin(this.#task.id, listings.size + books.size, this.#roundAtMs);
  }

  /** Saves some more of the round; once complete, its marker follows after the outputs up to its offset. */
  #advanceRound(sliceMs: number): void {
    const round = this.#round;
    if (round === null || this.#closing !== null) return;
    if (sliceMs !== WHOLE && this.#spec.publishers.checkpoints.queuedBytes() > ROUND_AHEAD_BYTES) return;
    const now = performance.now();
    const most = sliceMs === WHOLE ? WHOLE : this.#countDue(round, now - this.#roundAtMs);
    const save = (): boolean => saveSome(round, { most, deadline: now + sliceMs }, this.#save);
    if (!this.#spec.metrics.meterStep('checkpoint', save)) return;
    this.#closing = this.#closeRound(round);
  }

  /** Number of items that are due and unsaved: a round in one go would delay urgent outputs by a second. */
  #countDue(round: Round, sinceMs: number): number {
    const { saved } = round;
    return Math.ceil((saved + countUnsaved(round)) * Math.min(1, sinceMs / ROUND_LASTS_MS)) - saved;
  }

  async #closeRound(round: Round): Promise<void> {
    const { publishers, venue } = this.#spec;
    const { checkpoints } = publishers;
    const start = this.#roundStart;
    await Promise.all([flushOutputs(publishers), checkpoints.flush()]);
    this.#save(makeMarker(round));
    await checkpoints.flush();
    const { watermark, offset } = round;
    const positions = { [this.#names.checkpoints(venue.id)]: start };
    this.#putWatermark({ kind: 'checkpoint', watermark, offset, positions });
    this.#round = null;
    this.#closing = null;
    this.#spec.metrics.checkpointSaved(this.#task.id);
  }

  #idle(): void {
    if (this.#stopped) return;
    const now = performance.now();
    if (this.#round !== null) this.#advanceRound(IDLE_SLICE_MS);
    else if (this.#record === null && this.#hasBegun && this.#spec.pace.isDue(this.#task.id, now)) this.#beginRound();
    this.#tickIfQuiet(now);
    const step = Math.floor(now / WATERMARK_STEP_MS);
    if (step !== this.#reachedStep) this.#putReached();
    this.#reachedStep = step;
    const { offset } = this.#task.state;
    if (
      !this.#hasBegun ||
      this.#record !== null ||
      offset <= Math.max(this.#settledOffset, this.#emittedTo) ||
      now - this.#appliedAtMs < REST_AFTER_MS
    )
      return;
    this.#watermark ??= { watermark: this.#task.watermark, offset };
    this.#settleWatermark();
  }

  /** An owner at the log's end that receives nothing for a second keeps the log moving itself. */
  #tickIfQuiet(now: number): void {
    if (!this.#spec.ticks || now - this.#receivedAtMs < QUIET_AFTER_MS || now - this.#tickedAtMs < OWNER_TICK_EVERY_MS)
      return;
    if (this.next < this.#logEnd) return;
    this.#tickedAtMs = now;
    const { publishers, venue, partition } = this.#spec;
    const value = encodeOwnerTick(Date.now());
    publishers.live.publish({ topic: this.#names.raw(venue.id), partition, key: 'owner', value });
  }
}

/** Creates the task from its restored state, and raises an alarm when that is not a checkpoint's. */
const begin = async (spec: RunnerSpec, names: Topics): Promise<Begun> => {
  const { handle, venue, partition, shards, metrics, log } = spec;
  const restored = await restore({ handle, names, venue: venue.id, partition, shards });
  const { state, emittedTo, logStart, logEnd, unusable } = restored;
  const task = new Task({ venue, partition, shards, state });
  if (unusable !== null) {
    metrics.checkpointUnusable(task.id, unusable);
    const from = state.offset + 1;
    const lost = state.recovery !== null;
    log.error({ task: task.id, unusable, from, emittedTo, lost }, "no usable checkpoint: begins at the log's start");
  }
  return { task, emittedTo, logStart, logEnd };
};
