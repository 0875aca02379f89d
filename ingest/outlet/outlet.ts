// Sends raw messages to Kafka: directly while it acknowledges, through the disk spool while it does not, always in one order.
import type { Publication, Publisher } from '../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { awaitAtMost } from '../../infra/runtime/time/pause.ts';
import { createEndings } from './endings.ts';
import type { Segment, Spool } from './spool.ts';
import type { SpoolRecord } from './spool-format.ts';

type OutletOptions = {
  readonly publisher: Publisher;
  /** Already recovered: messages of an earlier process are sent first. */
  readonly spool: Spool;
  /** Resolves when the topics exist; until then everything is spooled. */
  readonly topics: Promise<unknown>;
  readonly log: Logger;
};

export type OutletState = {
  /** True while new messages go to disk. */
  readonly spooling: boolean;
  /** Age in milliseconds of the oldest request without an acknowledgement; while spooling, of the oldest message on disk. */
  readonly behindMs: number;
  /** In memory and not yet acknowledged. */
  readonly queuedBytes: number;
  /** Messages sent from disk to Kafka by this process, including recovered ones. */
  readonly drained: number;
  /** Why nothing more is accepted, so that connections must end; null otherwise. */
  readonly refusal: string | null;
};

/**
 * The longest time that memory holds messages which neither Kafka nor the disk has. It is well below the three seconds after which
 * tasks treat a silent connection as lost (F-02), so that messages lost with the process are inside a recorded loss.
 */
const STALL_MS = 1_500;
/** Kafka acknowledges more slowly than messages arrive. */
const SPOOL_ABOVE_BYTES = 32 * 1024 * 1024;
/** The disk is slower than the input: stop reading. */
const FULL_BYTES = 16 * 1024 * 1024;
/** Bytes of a file in flight to Kafka at once. */
const CHUNK_BYTES = 2 * 1024 * 1024;
const WATCH_MS = 100;
/** A stop waits this long for Kafka; the rest stays on disk. */
const LAST_FLUSH_MS = 3_000;

export class Outlet {
  readonly #options: OutletOptions;
  readonly #perishable = new WeakSet<Publication>();
  readonly #endings = createEndings();
  readonly #watch: NodeJS.Timeout;
  #spooling = false;
  #sending = false;
  #closing = false;
  readonly #over = Promise.withResolvers<void>();
  #drained = 0;
  /** Records at the head of the spool that the publisher already sends. */
  #underWay = 0;
  #draining: Promise<void> = Promise.resolve();
  #waiting: (() => void)[] = [];

  constructor(options: OutletOptions) {
    this.#options = options;
    for (const record of options.spool.kept()) this.#endings.note(record);
    this.#watch = setInterval(() => this.#look(), WATCH_MS);
    // There is no topic to publish to until the topics exist; with an empty spool this ends at once.
    this.#startSpooling();
  }

  /** Returns false when the record is spooled. */
  write(record: SpoolRecord): boolean {
    const { publisher, spool } = this.#options;
    if (this.#spooling) {
      spool.append(record);
      return false;
    }
    publisher.publish(record);
    if (publisher.queuedBytes() > SPOOL_ABOVE_BYTES) this.#spill();
    return true;
  }

  /** Writes a tick, which is true only now and is never spooled. Returns false when it could not be written. */
  writeNow(record: SpoolRecord): boolean {
    if (this.#spooling) return false;
    this.#perishable.add(record);
    this.#options.publisher.publish(record);
    return true;
  }

  isFull(): boolean {
    return this.#spooling && this.#options.spool.pendingBytes() >= FULL_BYTES;
  }

  ready(): Promise<void> {
    return this.isFull() ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  state(): OutletState {
    const { publisher, spool } = this.#options;
    const [spooling, drained] = [this.#spooling, this.#drained];
    return {
      spooling,
      drained,
      behindMs: Math.max(publisher.stalledMs(), spooling ? spool.ageMs() : 0),
      queuedBytes: publisher.queuedBytes(),
      // While Kafka acknowledges, a full disk refuses nothing.
      refusal: spooling ? spool.refusal() : null,
    };
  }

  /** Records that Kafka does not acknowledge within three seconds stay on disk for the next process with this name. */
  async close(): Promise<void> {
    const { publisher, spool } = this.#options;
    const flushAll = async (): Promise<void> => {
      do {
        await this.#draining;
        await publisher.flush();
        // Kafka may have stalled meanwhile, and waiting records may be on disk now.
      } while (this.#spooling && !this.#closing);
    };
    let inTime = false;
    const flushing = flushAll().then(() => {
      inTime = true;
    });
    await awaitAtMost(flushing, LAST_FLUSH_MS);
    clearInterval(this.#watch);
    this.#closing = true;
    this.#over.resolve();
    if (inTime) await publisher.close();
    else await this.#leave();
    await spool.close();
  }

  async #leave(): Promise<void> {
    const { publisher, spool, log } = this.#options;
    if (!this.#spooling) this.#spill();
    const isKept = await spool.sync();
    if (isKept) log.warn({ bytes: spool.bytes() }, 'messages are left on disk for the next process');
    else log.error({ bytes: spool.pendingBytes() }, 'messages are lost: neither Kafka nor the disk accepts them');
    await awaitAtMost(publisher.abandon(), LAST_FLUSH_MS);
    await this.#draining;
  }

  #look(): void {
    const { publisher, spool } = this.#options;
    const stalled = publisher.stalledMs() > STALL_MS;
    if (stalled && !this.#spooling) this.#spill();
    if (stalled && this.#sending) spool.release();
    if (!this.isFull()) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Sends everything to disk from now on, the publisher's unacknowledged records first. */
  #spill(): void {
    const { publisher, spool, log } = this.#options;
    const { underWay, waiting } = publisher.withdraw();
    const isKept = (publication: Publication): boolean => !this.#perishable.has(publication);
    const kept = [...underWay, ...waiting].filter(isKept) as readonly SpoolRecord[];
    for (const record of kept) spool.append(record);
    this.#underWay = underWay.filter(isKept).length;
    log.warn({ messages: kept.length }, 'Kafka does not acknowledge messages in time: new ones are written to disk');
    this.#startSpooling();
  }

  #startSpooling(): void {
    this.#spooling = true;
    this.#draining = this.#drain();
  }

  async #drain(): Promise<void> {
    const { publisher, spool, topics, log } = this.#options;
    try {
      await Promise.race([topics, this.#over.promise]);
      // Everything in flight is acknowledged: Kafka is reachable.
      await publisher.flush();
      for (;;) {
        const segment = this.#closing ? null : await spool.next();
        if (segment === null) break;
        await this.#send(segment);
        // First: after a kill between the two the file is sent again, and its connections still end.
        if (segment.recovered) await spool.keep(this.#endings.list());
        await spool.drop(segment);
      }
    } catch (error) {
      if (!this.#closing) throw error;
    }
    if (this.#closing) return;
    for (const record of spool.takePending().slice(this.#underWay)) publisher.publish(record);
    this.#underWay = 0;
    this.#spooling = false;
    if (this.#drained > 0) log.info({ drained: this.#drained }, 'Kafka has everything: the spool is empty');
  }

  /** Resolves when the brokers have acknowledged every record of the file. */
  async #send(segment: Segment): Promise<void> {
    const { publisher, spool } = this.#options;
    const records = await spool.read(segment);
    // All are in the first file. Where it cannot be read in full, nothing of the next one was sent.
    const rest = records.slice(this.#underWay);
    this.#underWay = 0;
    this.#sending = true;
    for (const chunk of splitChunks([...rest, ...this.#endingsAfter(segment, rest)])) {
      for (const record of chunk) publisher.publish(record);
      await publisher.flush();
      this.#drained += chunk.length;
    }
    // Needed also when every record of the file was already in flight.
    await publisher.flush();
    this.#sending = false;
  }

  #endingsAfter(segment: Segment, records: readonly SpoolRecord[]): readonly SpoolRecord[] {
    if (!segment.recovered) return [];
    for (const record of records) this.#endings.note(record);
    return this.#options.spool.isLastRecovered(segment) ? this.#endings.take() : [];
  }
}

function* splitChunks(records: readonly SpoolRecord[]): Generator<readonly SpoolRecord[]> {
  let chunk: SpoolRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    chunk.push(record);
    bytes += record.value.length;
    if (bytes < CHUNK_BYTES) continue;
    yield chunk;
    chunk = [];
    bytes = 0;
  }
  if (chunk.length > 0) yield chunk;
}
