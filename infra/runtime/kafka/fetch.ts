// Reads given partitions from given offsets without a consumer group, which kafkajs's own consumer cannot.
import { setTimeout as pause } from 'node:timers/promises';
import { createOutageLog, type OutageLog } from '../process/outage-log.ts';
import { type Backoff, createBackoff } from '../time/backoff.ts';
import type { KafkaHandle } from './client.ts';
import { type Cluster, createCluster, type FetchRequest, type PartitionAnswer } from './cluster.ts';
import {
  cutBefore,
  type Delivery,
  findFirstEpoch,
  formatPartition,
  readEpoch,
  type Start,
  type TopicPartition,
  toDelivery,
} from './delivery.ts';
import { fetchEpochEnd } from './epochs.ts';
import { createCuttableSockets } from './security.ts';

type OnDelivery = (delivery: Delivery) => void | Promise<void>;

const READ_UNCOMMITTED = 0;
const MAX_WAIT_MS = 100;
/** A partition whose handler is behind is fetched again after this time. */
const BUSY_WAIT_MS = 10;
const PARTITION_BYTES = 2 * 1024 * 1024;
const FETCH_BYTES = 16 * 1024 * 1024;
/** kafkajs finishes its retries before it disconnects; after this time its connections are cut instead. */
const LEAVE_MS = 1_000;

type Slot = {
  readonly topic: string;
  readonly partition: number;
  readonly deliver: OnDelivery;
  /** Nothing is fetched from this offset on; null: the partition is followed. */
  readonly end: number | null;
  next: number;
  /** Read while the handler was running; nothing more is fetched until the handler takes it (overflow policy: block). */
  waiting: Delivery | null;
  handling: Promise<void> | null;
  /** Leader epoch of the record before `next`; null when nothing was read. */
  epoch: number | null;
  /** The leader is queried about its log: nothing is fetched meanwhile. */
  checking: boolean;
  closed: boolean;
};

type Leader = { readonly cluster: Cluster; readonly nodeId: string };

const toTopics = (slots: readonly Slot[]): FetchRequest['topics'] =>
  slots.map(({ topic, partition, next }) => ({
    topic,
    partitions: [{ partition, fetchOffset: String(next), maxBytes: PARTITION_BYTES }],
  }));

const isOutOfRange = (error: unknown): error is Error & { readonly topic: string; readonly partition: number } =>
  error instanceof Error && error.name === 'KafkaJSOffsetOutOfRange';

/**
 * Fetches from the leaders of its partitions: one request in flight a broker, one delivery in its handler and one waiting a
 * partition, so a slow partition or a lost broker delays no other. After any loss it continues from its own positions:
 * each offset is delivered once, in order. Before the first record of a new leader it checks that the leader has everything that was read.
 */
export class PartitionFetcher {
  readonly #handle: KafkaHandle;
  readonly #onFatal: (error: unknown) => void;
  readonly #slots = new Map<string, Slot>();
  readonly #topics = new Set<string>();
  readonly #asked = new Set<string>();
  /** Brokers whose last request failed. */
  readonly #failing = new Map<string, Backoff>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #backoff = createBackoff({ minMs: 50, maxMs: 1_000 });
  readonly #ended = new AbortController();
  readonly #sockets = createCuttableSockets();
  readonly #outages: OutageLog;
  #cluster: Cluster;
  #connecting: Promise<void> | null = null;

  constructor(handle: KafkaHandle, onFatal: (error: unknown) => void) {
    this.#handle = handle;
    this.#onFatal = onFatal;
    this.#outages = createOutageLog(handle.log, 'Kafka cannot be read, trying again');
    this.#cluster = createCluster(handle, this.#sockets.factory);
    this.#connecting = this.#connect(0);
  }

  /** Waits until the topic exists. */
  async listPartitions(topic: string): Promise<number[]> {
    return this.#trying(async (cluster) => {
      await this.#watch(cluster, topic);
      const found = cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      if (found.length === 0) throw new Error(`topic ${topic} does not exist`);
      return found.sort((a, b) => a - b);
    });
  }

  /** First offset of the log (`earliest`) or that of the next record (`latest`); for an instant that of the first record made at or after it. */
  async fetchOffsets(
    topic: string,
    partitions: readonly number[],
    which: 'earliest' | 'latest' | { readonly sinceMs: number },
  ): Promise<Map<number, number>> {
    if (partitions.length === 0) return new Map();
    return this.#trying(async (cluster) => {
      await this.#watch(cluster, topic);
      const query = {
        topic,
        partitions: partitions.map((partition) => ({ partition })),
        ...(typeof which === 'object' ? { fromTimestamp: which.sinceMs } : { fromBeginning: which === 'earliest' }),
      };
      const answers = await cluster.fetchTopicsOffset([query]);
      const found = new Map(answers.flatMap((a) => a.partitions.map((p) => [p.partition, Number(p.offset)] as const)));
      if (found.size < partitions.length)
        throw new Error(`${topic} has no leader for ${partitions.length - found.size} partitions`);
      return found;
    });
  }

  /** Delivers from `start` on, or at least `[start, end)`; resolves with the offset once that is known. */
  async assign(
    { topic, partition }: TopicPartition,
    { start, end = null }: { readonly start: Start; readonly end?: number | null },
    deliver: OnDelivery,
  ): Promise<number> {
    const next =
      typeof start === 'number' ? start : ((await this.fetchOffsets(topic, [partition], start)).get(partition) ?? 0);
    this.#topics.add(topic);
    const idle = { waiting: null, handling: null, epoch: null, checking: false, closed: false };
    this.#slots.set(formatPartition({ topic, partition }), { topic, partition, deliver, end, next, ...idle });
    this.#ask();
    return next;
  }

  /** Resolves when the running handler has returned; nothing is delivered after the call. */
  async unassign(topic: string, partition: number): Promise<void> {
    const slot = this.#slots.get(formatPartition({ topic, partition }));
    if (slot === undefined) return;
    this.#slots.delete(formatPartition({ topic, partition }));
    slot.closed = true;
    slot.waiting = null;
    await slot.handling;
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all([...this.#slots.values()].map(({ topic, partition }) => this.unassign(topic, partition)));
    await Promise.race([this.#leave(), pause(LEAVE_MS, undefined, { ref: false })]);
    this.#sockets.cut();
  }

  async #leave(): Promise<void> {
    await this.#connecting;
    await this.#cluster.disconnect();
    await Promise.allSettled(this.#underWay);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    const forget = () => this.#underWay.delete(work);
    work.then(forget, forget);
    return work;
  }

  async #watch(cluster: Cluster, topic: string): Promise<void> {
    this.#topics.add(topic);
    await cluster.addMultipleTargetTopics([topic]);
  }

  /** Retries until it succeeds or the fetcher ends. */
  async #trying<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
    for (;;) {
      await this.#connecting;
      this.#ended.signal.throwIfAborted();
      const cluster = this.#cluster;
      try {
        return await this.#track(work(cluster));
      } catch (error) {
        this.#ended.signal.throwIfAborted();
        this.#renew(cluster, error);
      }
    }
  }

  /** Sends a request to each broker that leads a partition with free space and has no request in flight. */
  #ask(): void {
    if (this.#ended.signal.aborted || this.#connecting !== null) return;
    const cluster = this.#cluster;
    try {
      for (const [nodeId, slots] of this.#byLeader(cluster)) {
        const free = slots.filter(
          ({ waiting, checking, next, end }) => waiting === null && !checking && (end === null || next < end),
        );
        if (this.#asked.has(nodeId) || free.length === 0) continue;
        this.#asked.add(nodeId);
        this.#fetchFrom({ cluster, nodeId }, free, free.length < slots.length ? BUSY_WAIT_MS : MAX_WAIT_MS);
      }
    } catch (error) {
      this.#renew(cluster, error);
    }
  }

  #byLeader(cluster: Cluster): Map<string, Slot[]> {
    return Map.groupBy(this.#slots.values(), (slot) => {
      const [nodeId] = Object.keys(cluster.findLeaderForPartitions(slot.topic, [slot.partition]));
      if (nodeId === undefined) throw new Error(`${formatPartition(slot)} has no leader`);
      return nodeId;
    });
  }

  #fetchFrom({ cluster, nodeId }: Leader, slots: readonly Slot[], maxWaitTime: number): void {
    const from = new Map(slots.map((slot) => [formatPartition(slot), slot.next]));
    const request = {
      isolationLevel: READ_UNCOMMITTED,
      maxWaitTime,
      minBytes: 1,
      maxBytes: FETCH_BYTES,
      topics: toTopics(slots),
    };
    const fetching = async () => {
      await cluster.refreshMetadataIfNecessary();
      const broker = await cluster.findBroker({ nodeId });
      return broker.fetch(request);
    };
    this.#track(fetching()).then(
      ({ responses }) => {
        this.#asked.delete(nodeId);
        this.#failing.delete(nodeId);
        this.#backoff.reset();
        this.#outages.noteSuccess();
        for (const { topicName, partitions } of responses)
          for (const answer of partitions)
            this.#accept(formatPartition({ topic: topicName, partition: answer.partition }), answer, from);
        this.#ask();
      },
      (error: unknown) => {
        // Not ours when the client was already replaced: the new one has waited for the end of this request.
        const isOurs = cluster === this.#cluster && !isOutOfRange(error);
        if (isOurs) return void this.#track(this.#findLeaders(cluster, nodeId, error));
        this.#asked.delete(nodeId);
        if (isOutOfRange(error)) this.#reposition(error.topic, error.partition);
        this.#ask();
      },
    );
  }

  /** A leader moved, or its broker is gone: other partitions are read while the new leader is looked up. */
  async #findLeaders(cluster: Cluster, nodeId: string, error: unknown): Promise<void> {
    const known = this.#failing.get(nodeId);
    const backoff = known ?? createBackoff({ minMs: 50, maxMs: 1_000 });
    this.#failing.set(nodeId, backoff);
    if (known === undefined && !this.#ended.signal.aborted)
      this.#handle.log.warn({ err: error, broker: nodeId }, 'a broker cannot be read from');
    try {
      await pause(backoff.next(), undefined, { signal: this.#ended.signal });
      await cluster.refreshMetadata();
      this.#asked.delete(nodeId);
      this.#ask();
    } catch (failure) {
      this.#asked.delete(nodeId);
      this.#renew(cluster, failure);
    }
  }

  /** Drops a response for a position that is no longer current (reassignment). */
  #accept(key: string, answer: PartitionAnswer, from: ReadonlyMap<string, number>): void {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot.next !== from.get(key)) return;
    const delivery = toDelivery(answer, slot.next);
    if (delivery === null) return;
    const epoch = findFirstEpoch(answer, slot.next);
    if (slot.epoch !== null && epoch !== slot.epoch) {
      this.#check(slot, () => this.#followLeader(slot, epoch));
      return;
    }
    slot.next = delivery.next;
    const last = answer.messages.at(-1);
    slot.epoch = last === undefined ? epoch : readEpoch(last);
    this.#deliver(slot, delivery);
  }

  #deliver(slot: Slot, delivery: Delivery): void {
    if (slot.handling === null) slot.handling = this.#handOver(slot, delivery);
    else slot.waiting = delivery;
  }

  async #handOver(slot: Slot, first: Delivery): Promise<void> {
    let delivery: Delivery | null = first;
    try {
      while (delivery !== null && !slot.closed) {
        await slot.deliver(delivery);
        delivery = slot.waiting;
        slot.waiting = null;
        if (delivery !== null) this.#ask();
      }
    } catch (error) {
      slot.closed = true;
      this.#slots.delete(formatPartition(slot));
      this.#onFatal(error);
    }
    slot.handling = null;
  }

  /** The check of a partition's log decides whether it is fetched further; the response that caused the check is dropped. */
  #check(slot: Slot, work: () => Promise<void>): void {
    if (slot.checking) return;
    slot.checking = true;
    work().then(
      () => {
        slot.checking = false;
        this.#ask();
      },
      (error: unknown) => {
        if (!this.#ended.signal.aborted && !slot.closed) this.#onFatal(error);
      },
    );
  }

  /** A new leader whose log ends the old leader's records before our position has lost some, and may have others in their place. */
  async #followLeader(slot: Slot, epoch: number | null): Promise<void> {
    const { topic, partition, next } = slot;
    const before = slot.epoch ?? 0;
    const found = await this.#trying(async (cluster) => {
      await cluster.refreshMetadataIfNecessary();
      const [nodeId = ''] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
      return fetchEpochEnd(await cluster.findBroker({ nodeId }), { topic, partition, epoch: before });
    });
    if (slot.next !== next) return;
    if (found.epoch !== before || found.end < next)
      throw cutBefore(
        formatPartition({ topic, partition }),
        next,
        `of leader epoch ${before} it holds records up to ${found.end}`,
      );
    slot.epoch = epoch;
  }

  /** Below the log: retention passed us, continue at the oldest record. Beyond the end: it was truncated. Between: a moved leader refused us. */
  #reposition(topic: string, partition: number): void {
    const slot = this.#slots.get(formatPartition({ topic, partition }));
    if (slot === undefined) return;
    this.#check(slot, async () => {
      const earliest = (await this.fetchOffsets(topic, [partition], 'earliest')).get(partition) ?? 0;
      const latest = (await this.fetchOffsets(topic, [partition], 'latest')).get(partition) ?? 0;
      const { next } = slot;
      if (next > latest)
        throw cutBefore(formatPartition({ topic, partition }), next, `its next record will be ${latest}`);
      if (next >= earliest) return;
      this.#handle.log.error({ topic, partition, from: next, to: earliest }, 'retention passed a reader');
      slot.next = earliest;
      slot.epoch = null;
      // A read whose end is below the new start of the log is complete.
      this.#deliver(slot, { messages: [], next: earliest, highWatermark: latest });
    });
  }

  /** Replaces a client that failed; a failure of a client that is already replaced is ignored. */
  #renew(failed: Cluster, error: unknown): void {
    if (this.#ended.signal.aborted || failed !== this.#cluster || this.#connecting !== null) return;
    this.#outages.noteFailure(error);
    this.#cluster = createCluster(this.#handle, this.#sockets.factory);
    this.#failing.clear();
    this.#connecting = failed
      .disconnect()
      .catch(() => undefined)
      .then(() => this.#connect(this.#backoff.next()));
  }

  async #connect(waitMs: number): Promise<void> {
    const { signal } = this.#ended;
    for (let wait = waitMs; !signal.aborted; wait = this.#backoff.next()) {
      try {
        await pause(wait, undefined, { signal });
        await this.#cluster.connect();
        await this.#cluster.addMultipleTargetTopics([...this.#topics]);
        break;
      } catch (error) {
        if (signal.aborted) break;
        this.#outages.noteFailure(error);
        await this.#cluster.disconnect().catch(() => undefined);
        this.#cluster = createCluster(this.#handle, this.#sockets.factory);
      }
    }
    this.#connecting = null;
    this.#ask();
  }
}
