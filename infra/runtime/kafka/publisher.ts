// Writes to Kafka in the order of the calls: own linger, one batch in flight, repeated whole until every partition of it has acknowledged.
import { setTimeout as pause } from 'node:timers/promises';
import type { IHeaders, Message as KafkaMessage } from 'kafkajs';
import { failProcess } from '../process/fail-process.ts';
import { createOutageLog, type OutageLog } from '../process/outage-log.ts';
import { createBackoff } from '../time/backoff.ts';
import type { KafkaHandle } from './client.ts';
import { formatPartition } from './delivery.ts';
import { type BatchAck, isFinal, needsRenewal, openSender, type Sender, Unanswered } from './sender.ts';
import { LIMITS } from './topics.ts';

export type Publication = {
  readonly topic: string;
  /** Without it the partition is murmur2 of the key, as the JVM client does. */
  readonly partition?: number;
  readonly key: string | Buffer | null;
  /** null is a tombstone. */
  readonly value: Buffer | null;
  readonly headers?: IHeaders;
  /** Milliseconds since 1970; Kafka's own time when absent. */
  readonly timestamp?: number;
};

export type PublisherOptions = {
  /** How long a record may wait to share its request with others, whether or not one is in flight. */
  readonly lingerMs?: number;
  /** A request is sent at once when this many records wait, and carries no more. */
  readonly maxRecords?: number;
  /** Whether batches are compressed: not worthwhile for records that are kept for minutes or rarely read. */
  readonly compresses?: boolean;
  /** Overflow policy `block`: above this `ready()` waits. At twice the size `publish` throws QueueFull. */
  readonly maxQueuedBytes?: number;
  /** A retry cannot succeed (no right to write, record too large); default: the process ends. */
  readonly onFatal?: (error: unknown) => void;
};

export type Publisher = {
  readonly publish: (publication: Publication) => void;
  /** Sends queued records without further linger, in one request with those that the running code publishes after this call. */
  readonly send: () => void;
  /** Resolves when everything published before this call is acknowledged. */
  readonly flush: () => Promise<void>;
  /** As `flush`, except that the records keep their linger. */
  readonly settle: () => Promise<void>;
  /** Offset after the last acknowledged record of a partition; null before the first. */
  readonly position: (topic: string, partition: number) => number | null;
  readonly queuedBytes: () => number;
  /** Resolves when the queue is below its limit. */
  readonly ready: () => Promise<void>;
  /** How long the oldest request has been in flight without an acknowledgement, in milliseconds; 0 when there is none. */
  readonly stalledMs: () => number;
  /**
   * Returns the records that are not acknowledged, so that the caller can keep them elsewhere. Queued records belong to the caller again; records
   * in flight are still sent until the brokers acknowledge them, before anything published from now on.
   */
  readonly withdraw: () => Withdrawn;
  /** Flushes and disconnects. Waits while brokers are away. */
  readonly close: () => Promise<void>;
  /** Drops unacknowledged records and disconnects: flushes reject with Abandoned. */
  readonly abandon: () => Promise<void>;
};

/** In the order of publication: records in flight first. */
type Withdrawn = { readonly underWay: readonly Publication[]; readonly waiting: readonly Publication[] };

/** The publisher was abandoned. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The caller continued to publish without awaiting `ready()`. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

type Queued = {
  readonly publication: Publication;
  readonly topic: string;
  readonly message: KafkaMessage;
  readonly bytes: number;
};

const RECORD_OVERHEAD_BYTES = 64;
/** Below the limit of a batch even without compression; a larger record is sent alone. */
const REQUEST_BYTES = 1024 * 1024;

/** Metadata may lack a partition for a moment; a partition that is missing in fresh metadata does not exist. */
const UNANSWERED_TRIES = 3;

const toQueued = (publication: Publication): Queued => {
  const { topic, partition, key, value, headers, timestamp } = publication;
  const bytes = (value?.length ?? 0) + (key?.length ?? 0) + RECORD_OVERHEAD_BYTES;
  if (bytes > LIMITS.messageBytes)
    throw new RangeError(`a record of ${bytes} bytes for ${topic} is above ${LIMITS.messageBytes}`);
  const message: KafkaMessage = {
    key,
    value,
    ...(partition === undefined ? {} : { partition }),
    ...(headers === undefined ? {} : { headers }),
    ...(timestamp === undefined ? {} : { timestamp: String(timestamp) }),
  };
  return { publication, topic, message, bytes };
};

type Waiter = { upTo: number; readonly resolve: () => void; readonly reject: (error: unknown) => void };

/** State of one publisher; `createPublisher` shows only its methods. */
class PublishQueue {
  readonly #sender: Sender;
  readonly #outages: OutageLog;
  readonly #limits: Required<PublisherOptions>;
  readonly #positions = new Map<string, number>();
  #queue: Queued[] = [];
  #underWay: readonly Queued[] = [];
  #sentMs = 0;
  #bytes = 0;
  #published = 0;
  #acknowledged = 0;
  #flushes: Waiter[] = [];
  #settlings: Waiter[] = [];
  #blocked: Waiter[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** When the oldest queued record was published, in milliseconds. */
  #waitingMs = 0;
  #pumping = false;
  #failure: unknown = null;

  constructor(handle: KafkaHandle, limits: Required<PublisherOptions>) {
    this.#limits = limits;
    this.#outages = createOutageLog(handle.log, 'Kafka did not accept a batch, trying again');
    this.#sender = openSender(handle, { compresses: limits.compresses });
  }

  publish(publication: Publication): void {
    const queued = toQueued(publication);
    const { maxQueuedBytes, maxRecords, lingerMs } = this.#limits;
    if (this.#bytes > 2 * maxQueuedBytes) throw new QueueFull(`${this.#bytes} bytes wait for Kafka: await ready()`);
    if (this.#queue.length === 0) this.#waitingMs = performance.now();
    this.#queue.push(queued);
    this.#bytes += queued.bytes;
    this.#published += 1;
    if (this.#pumping || this.#failure !== null) return;
    if (this.#queue.length >= maxRecords) this.#start();
    else this.#startAfter(lingerMs);
  }

  send(): void {
    if (this.#queue.length === 0 || this.#pumping) return;
    queueMicrotask(() => {
      if (this.#queue.length > 0) this.#start();
    });
  }

  flush(): Promise<void> {
    if (this.#acknowledged === this.#published) return Promise.resolve();
    this.#start();
    return this.#wait(this.#flushes, this.#published);
  }

  settle(): Promise<void> {
    if (this.#acknowledged === this.#published) return Promise.resolve();
    return this.#wait(this.#settlings, this.#published);
  }

  ready(): Promise<void> {
    return this.#bytes < this.#limits.maxQueuedBytes ? Promise.resolve() : this.#wait(this.#blocked, 0);
  }

  position(topic: string, partition: number): number | null {
    return this.#positions.get(formatPartition({ topic, partition })) ?? null;
  }

  queuedBytes(): number {
    return this.#bytes;
  }

  stalledMs(): number {
    return this.#underWay.length === 0 ? 0 : performance.now() - this.#sentMs;
  }

  withdraw(): Withdrawn {
    const waiting = this.#queue.splice(0);
    this.#published -= waiting.length;
    for (const { bytes } of waiting) this.#bytes -= bytes;
    // Callers that awaited withdrawn records now await the remaining ones.
    for (const waiter of [...this.#flushes, ...this.#settlings]) waiter.upTo = Math.min(waiter.upTo, this.#published);
    this.#wake();
    const publications = (list: readonly Queued[]): Publication[] => list.map(({ publication }) => publication);
    return { underWay: publications(this.#underWay), waiting: publications(waiting) };
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#sender.close();
  }

  async abandon(): Promise<void> {
    this.#reject(new Abandoned(`${this.#published - this.#acknowledged} records were given up`));
    await this.#sender.close().catch(() => undefined);
  }

  #wait(list: Waiter[], upTo: number): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => list.push({ upTo, resolve, reject }));
  }

  #startAfter(ms: number): void {
    this.#timer ??= setTimeout(() => this.#start(), ms);
  }

  #start(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#pumping || this.#failure !== null) return;
    this.#pumping = true;
    this.#pump().catch((error: unknown) => this.#fail(error));
  }

  async #pump(): Promise<void> {
    while (this.#queue.length > 0 && this.#failure === null) {
      const batch = this.#take();
      this.#underWay = batch;
      this.#sentMs = performance.now();
      const acks = await this.#sendUntilAcknowledged(batch);
      for (const [place, { next }] of acks) this.#positions.set(place, next);
      this.#acknowledge(batch);
      if (this.#mayLinger()) break;
    }
    // Before other code runs: a record published from now on finds no pump and starts one.
    this.#pumping = false;
    if (this.#queue.length === 0) return;
    this.#startAfter(Math.max(0, this.#waitingMs + this.#limits.lingerMs - performance.now()));
  }

  /** Nobody awaits the queued records, and they are neither old nor many. */
  #mayLinger(): boolean {
    const { lingerMs, maxRecords } = this.#limits;
    if (this.#flushes.length > 0 || this.#blocked.length > 0 || this.#queue.length >= maxRecords) return false;
    return performance.now() - this.#waitingMs < lingerMs;
  }

  #take(): Queued[] {
    let count = 0;
    let bytes = 0;
    for (const queued of this.#queue) {
      if (count === this.#limits.maxRecords || (count > 0 && bytes + queued.bytes > REQUEST_BYTES)) break;
      bytes += queued.bytes;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  /** Sends the same records in the same order until the brokers have all of them: nothing is lost, a repeat is possible. */
  async #sendUntilAcknowledged(batch: readonly Queued[]): Promise<BatchAck> {
    const backoff = createBackoff({ minMs: 50, maxMs: 1_000 });
    let unanswered = 0;
    for (;;) {
      try {
        const acks = await this.#sender.attempt(batch);
        this.#outages.noteSuccess();
        return acks;
      } catch (error) {
        if (this.#failure !== null) throw this.#failure;
        unanswered = error instanceof Unanswered ? unanswered + 1 : 0;
        if (isFinal(error) || unanswered === UNANSWERED_TRIES) throw error;
        this.#outages.noteFailure(error, { records: batch.length });
        if (needsRenewal(error)) await this.#sender.renew();
        await pause(backoff.next());
        if (this.#failure !== null) throw this.#failure;
      }
    }
  }

  #acknowledge(batch: readonly Queued[]): void {
    this.#underWay = [];
    this.#acknowledged += batch.length;
    for (const { bytes } of batch) this.#bytes -= bytes;
    this.#wake();
  }

  #wake(): void {
    for (const waiters of [this.#flushes, this.#settlings])
      while (waiters[0] !== undefined && waiters[0].upTo <= this.#acknowledged) waiters.shift()?.resolve();
    if (this.#bytes < this.#limits.maxQueuedBytes) for (const { resolve } of this.#blocked.splice(0)) resolve();
  }

  #reject(error: unknown): void {
    this.#failure ??= error;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const waiters of [this.#flushes, this.#settlings, this.#blocked])
      for (const { reject } of waiters.splice(0)) reject(error);
  }

  #fail(error: unknown): void {
    this.#reject(error);
    if (!(error instanceof Abandoned)) this.#limits.onFatal(error);
  }
}

const DEFAULTS: Required<PublisherOptions> = {
  lingerMs: 5,
  maxRecords: 500,
  compresses: true,
  maxQueuedBytes: 64 * 1024 * 1024,
  onFatal: failProcess,
};

/** Connects at once and again after every loss; positions come from the acknowledgements of the brokers. */
export const createPublisher = (handle: KafkaHandle, options: PublisherOptions = {}): Publisher => {
  const queue = new PublishQueue(handle, { ...DEFAULTS, ...options });
  return {
    publish: (publication) => queue.publish(publication),
    send: () => queue.send(),
    flush: () => queue.flush(),
    settle: () => queue.settle(),
    position: (topic, partition) => queue.position(topic, partition),
    queuedBytes: () => queue.queuedBytes(),
    ready: () => queue.ready(),
    stalledMs: () => queue.stalledMs(),
    withdraw: () => queue.withdraw(),
    close: () => queue.close(),
    abandon: () => queue.abandon(),
  };
};
