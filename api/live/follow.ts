// Fills the memory copy from Kafka: newest fitting state round first, then `live` from where that round stands (design section 5).
import { setTimeout as pause } from 'node:timers/promises';
import {
  endOffsets,
  type KafkaHandle,
  type PartitionRange,
  type Reader,
  readPartitions,
  readToEnd,
} from '../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../infra/runtime/log.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { type StateEntry, type Topics, topics } from '../../schemas/topics.ts';
import type { LiveMemory } from './memory.ts';

/** A round this old leaves the provisional rows of the last minutes, and what streams resume in, to be read from `live`. */
const ROUND_AGE: Micros = 300_000_000;
const RETRY_MS = 1_000;

export type FollowDeps = {
  readonly kafka: KafkaHandle;
  readonly memory: LiveMemory;
  readonly venues: readonly string[];
  readonly namespace: string;
  readonly nowMicros: () => Micros;
  readonly log: Logger;
};

type Round = {
  readonly entries: readonly StateEntry[];
  readonly watermark: Micros;
  readonly liveOffset: number;
  /** What streams resume in lies behind it in `live`. */
  readonly isOldEnough: boolean;
};

/**
 * Keeps of a partition's rounds the newest complete one that is old enough, else the oldest complete one. A round counts
 * as it was told first: an owner that lost its task without knowing tells it again, and names a later place in `live`.
 */
export class RoundChoice {
  readonly #before: Micros;
  readonly #open = new Map<number, StateEntry[]>();
  #newest = -1;
  chosen: Round | null = null;

  constructor(before: Micros) {
    this.#before = before;
  }

  add(entry: StateEntry): void {
    if (entry.round <= this.#newest) return;
    const entries = this.#open.get(entry.round) ?? [];
    this.#open.set(entry.round, entries);
    entries.push(entry);
    if (entry.marker === null) return;
    this.#open.delete(entry.round);
    // A round whose first entries retention has dropped is not whole.
    if (entries.length - 1 < entry.marker.entries) return;
    this.#newest = entry.round;
    const { watermark, live_offset: liveOffset } = entry.marker;
    const isOldEnough = watermark <= this.#before;
    if (this.chosen === null || isOldEnough) this.chosen = { entries, watermark, liveOffset, isOldEnough };
  }
}

/** Rounds of every partition of a venue's `state`. */
const chooseRounds = async (deps: FollowDeps, topic: string): Promise<Map<number, Round>> => {
  const before = deps.nowMicros() - ROUND_AGE;
  const choices = new Map<number, RoundChoice>();
  await readToEnd(deps.kafka, { topic, from: () => 'earliest' }, (message, partition) => {
    if (message.value === null) return;
    const choice = choices.get(partition) ?? new RoundChoice(before);
    choices.set(partition, choice);
    choice.add(codecs.state.decode(message.value));
  });
  const rounds = new Map<number, Round>();
  for (const [partition, { chosen }] of choices) if (chosen) rounds.set(partition, chosen);
  return rounds;
};

type Beginning = {
  readonly venue: string;
  readonly rounds: ReadonlyMap<number, Round>;
  /** Of `live`, by partition. */
  readonly ranges: ReadonlyMap<number, PartitionRange>;
};

const findBeginning = async (deps: FollowDeps, names: Topics, venue: string): Promise<Beginning> => {
  const [rounds, ranges] = await Promise.all([
    chooseRounds(deps, names.state(venue)),
    endOffsets(deps.kafka, names.live(venue)),
  ]);
  return { venue, rounds, ranges };
};

/** Follows `live` of a venue; a partition is ready once the end it had at the start has been passed. */
const followVenue = ({ kafka, memory }: FollowDeps, names: Topics, beginning: Beginning): Promise<Reader> => {
  const { venue, ranges } = beginning;
  // Of a young log everything is there still: a stream resumes in what lies before its first rounds too.
  const rounds = new Map(
    [...beginning.rounds].filter(([p, { isOldEnough }]) => isOldEnough || (ranges.get(p)?.earliest ?? 0) > 0),
  );
  memory.expectPartitions(venue, [...ranges.keys()]);
  for (const [partition, { entries }] of rounds) memory.applyRound(venue, partition, entries);
  const start = (partition: number): number =>
    Math.max(ranges.get(partition)?.earliest ?? 0, rounds.get(partition)?.liveOffset ?? 0);
  for (const [partition, { latest }] of ranges) if (start(partition) >= latest) memory.markReady(venue, partition);
  return readPartitions(kafka, {
    topic: names.live(venue),
    partitions: [...ranges.keys()],
    from: start,
    onBatch: (partition, messages) => {
      for (const { value } of messages) if (value) memory.applyLive(venue, partition, value);
      const last = messages.at(-1);
      if (last && last.offset + 1 >= (ranges.get(partition)?.latest ?? 0)) memory.markReady(venue, partition);
    },
  });
};

/** All versions ever written, so that `as_of` reaches further back than the rounds do. */
const readVersions = async ({ kafka, memory }: FollowDeps, names: Topics): Promise<void> => {
  const listings = readToEnd(kafka, { topic: names.listings, from: () => 'earliest' }, ({ value }) => {
    if (value) memory.applyListing(codecs.listing.decode(value));
  });
  const capabilities = readToEnd(kafka, { topic: names.capabilities, from: () => 'earliest' }, ({ value }) => {
    if (value) memory.applyCapability(codecs.capability.decode(value));
  });
  await Promise.all([listings, capabilities]);
};

const followHistory = ({ kafka, memory }: FollowDeps, names: Topics): Promise<Reader> =>
  readPartitions(kafka, {
    topic: names.watermark,
    from: () => 'earliest',
    onBatch: (_partition, messages) => {
      for (const { value } of messages) {
        if (value === null) continue;
        const entry = codecs.watermark.decode(value);
        if (entry.kind !== 'history') continue;
        const [venue = '', partition = ''] = entry.task.split('/');
        memory.applyHistoryWatermark(venue, Number(partition), entry.watermark);
      }
    },
  });

/** Waits until the processors' topics exist: the API may be started first, and answers 503 meanwhile. */
const awaitTopics = async ({ kafka, log, venues }: FollowDeps, names: Topics, signal: AbortSignal): Promise<void> => {
  const wanted = [names.listings, names.capabilities, names.watermark];
  for (const venue of venues) wanted.push(names.live(venue), names.state(venue));
  for (;;) {
    const existing = new Set(await (await kafka.admin()).listTopics());
    const missing = wanted.filter((topic) => !existing.has(topic));
    if (missing.length === 0) return;
    log.warn({ missing }, 'topics do not exist yet');
    await pause(RETRY_MS, undefined, { signal });
  }
};

/** Starts filling the copy and gives the function that stops it; the copy says itself when it is ready. */
export const followLive = (deps: FollowDeps): (() => Promise<void>) => {
  const names = topics(deps.namespace);
  const stopping = new AbortController();
  const readers: Reader[] = [];
  const attempt = async (): Promise<void> => {
    await awaitTopics(deps, names, stopping.signal);
    // Side by side: on a busy machine each question to the broker waits for its turn.
    const beginnings = deps.venues.map((venue) => findBeginning(deps, names, venue));
    const [found] = await Promise.all([Promise.all(beginnings), readVersions(deps, names)]);
    const opened = await Promise.allSettled(found.map((beginning) => followVenue(deps, names, beginning)));
    for (const one of opened) if (one.status === 'fulfilled') readers.push(one.value);
    for (const one of opened) if (one.status === 'rejected') throw one.reason;
    // A partition's place in the history store is kept beside what is held of it.
    readers.push(await followHistory(deps, names));
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await attempt();
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        deps.log.warn({ err: error }, 'live copy cannot start, trying again');
        await Promise.all(readers.splice(0).map((reader) => reader.stop()));
        await pause(RETRY_MS);
      }
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
    await Promise.all(readers.splice(0).map((reader) => reader.stop()));
  };
};
