// Fills the memory copy from Kafka: the newest state round, the short stretch of `live` after it, then what comes; behind that the minutes
// before, which streams resume in and which the history store does not show yet (design section 5, "An API node").
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import {
  fetchEndOffsets,
  type KafkaHandle,
  type Message,
  type PartitionRange,
  type Reader,
  readTopics,
  readValues,
  type TopicReading,
} from '../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { type MeterStep, runStretch } from '../../infra/runtime/process/steps.ts';
import { AvroError, codecs, decodeLiveHead, LaterSchema } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { isOneChange, nameTopics, parseTask, type Topics } from '../../schemas/topics.ts';
import type { LiveMemory } from './memory.ts';
import { joinPast } from './past-copy.ts';
import { findStartsAfter, type Rounds, readNewestRounds } from './rounds.ts';

const RETRY_MS = 1_000;
/** Longest run of entries before answers and streams have their turn: a batch may hold thousands. */
const STRETCH_MS = 4;
/** The only one of its topic. */
const WATERMARK_PARTITION = 0;

type FollowDeps = {
  readonly kafka: KafkaHandle;
  readonly memory: LiveMemory;
  readonly venues: readonly string[];
  readonly namespace: string;
  readonly nowMicros: () => Micros;
  readonly meterStep: MeterStep;
  readonly log: Logger;
};

type Beginning = {
  readonly venue: string;
  readonly rounds: Rounds;
  /** Of `live`, by partition. */
  readonly ranges: ReadonlyMap<number, PartitionRange>;
  readonly starts: ReadonlyMap<number, number>;
};

const findBeginning = async ({ kafka }: FollowDeps, names: Topics, venue: string): Promise<Beginning> => {
  const [rounds, ranges] = await Promise.all([
    readNewestRounds({ kafka, topic: names.state(venue) }),
    fetchEndOffsets(kafka, names.live(venue)),
  ]);
  const after = await findStartsAfter({ kafka, topic: names.live(venue) }, rounds);
  const starts = new Map([...ranges].map(([p, { earliest }]) => [p, Math.max(earliest, after.get(p) ?? earliest)]));
  return { venue, rounds, ranges, starts };
};

/**
 * An answer between them would have layers of two changes of one listing (F-05): a book without its bands. True beside bytes that are no entry:
 * they may stand between two entries of one change.
 */
const isOneStep = ({ value: one }: Message, { value: next }: Message): boolean => {
  try {
    return one !== null && next !== null && isOneChange(decodeLiveHead(one), decodeLiveHead(next));
  } catch (error) {
    if (error instanceof AvroError) return true;
    throw error;
  }
};

type Following = { readonly reading: TopicReading; readonly caughtUp: Promise<void> };

/** How `live` of a venue is followed; a partition is ready once the end it had at the start has been passed. */
const followVenue = ({ kafka, memory, meterStep }: FollowDeps, names: Topics, beginning: Beginning): Following => {
  const { venue, rounds, ranges, starts } = beginning;
  for (const [partition, { entries }] of rounds) memory.applyRound(venue, partition, entries);
  const behind = new Map([...ranges].map(([p, { latest }]) => [p, latest]));
  const { promise: caughtUp, resolve } = Promise.withResolvers<void>();
  const reach = (partition: number, next: number): void => {
    if (next < (behind.get(partition) ?? 0)) return;
    behind.delete(partition);
    memory.markReady(venue, partition);
    if (behind.size === 0) resolve();
  };
  for (const partition of ranges.keys()) reach(partition, starts.get(partition) ?? 0);
  const topic = names.live(venue);
  const reading: TopicReading = {
    topic,
    partitions: [...ranges.keys()],
    from: (partition) => starts.get(partition) ?? 0,
    onBatch: async (partition, messages) => {
      const isBehind = behind.has(partition);
      const apply = ({ value, offset }: Message): void => {
        if (value === null) return;
        kafka.foreign.passOver({ topic, partition, offset }, () => {
          if (isBehind) memory.applyTail(venue, partition, value);
          else memory.applyLive(venue, partition, value);
        });
      };
      const step = isBehind ? 'live tail' : 'live';
      for (let at = 0; at < messages.length; ) {
        if (at > 0) await nextTurn();
        const stretch = { from: at, ms: STRETCH_MS, isBound: isOneStep };
        at = meterStep(step, () => runStretch(messages, stretch, apply));
      }
      const last = messages.at(-1);
      if (isBehind && last !== undefined) reach(partition, last.offset + 1);
    },
  };
  return { reading, caughtUp };
};

/** All versions ever written, so that `as_of` reaches further back than the rounds do. */
const readVersions = async ({ kafka, memory }: FollowDeps, names: Topics): Promise<void> => {
  const from = (): 'earliest' => 'earliest';
  const listings = readValues(kafka, { topic: names.listings, from, decode: codecs.listing.decode }, (version) =>
    memory.applyListing(version),
  );
  const { decode } = codecs.capability;
  const capabilities = readValues(kafka, { topic: names.capabilities, from, decode }, (version) =>
    memory.applyCapability(version),
  );
  await Promise.all([listings, capabilities]);
};

/** How it is followed how far the store shows history. */
const followHistory = ({ kafka, memory }: FollowDeps, names: Topics, range: PartitionRange): Following => {
  const { promise: caughtUp, resolve } = Promise.withResolvers<void>();
  if (range.earliest >= range.latest) resolve();
  const reading: TopicReading = {
    topic: names.watermark,
    partitions: [WATERMARK_PARTITION],
    from: () => range.earliest,
    onBatch: (partition, messages) => {
      for (const { value, offset } of messages) {
        const place = { topic: names.watermark, partition, offset };
        const entry = value && kafka.foreign.passOver(place, () => codecs.watermark.decode(value));
        if (entry?.kind !== 'history') continue;
        const { venue, partition: shard } = parseTask(entry.task);
        memory.applyHistoryWatermark(venue, shard, entry.watermark);
      }
      if ((messages.at(-1)?.offset ?? 0) + 1 >= range.latest) resolve();
    },
  };
  return { reading, caughtUp };
};

/** Waits until the processors' topics exist: the API may be started first, and answers 503 meanwhile. */
const awaitTopics = async ({ kafka, log, venues }: FollowDeps, names: Topics, signal: AbortSignal): Promise<void> => {
  const wanted = [names.listings, names.capabilities, names.watermark];
  for (const venue of venues) wanted.push(names.live(venue), names.state(venue));
  for (;;) {
    const existing = new Set(await (await kafka.admin()).listTopics());
    const missing = wanted.filter((topic) => !existing.has(topic));
    if (missing.length === 0) return;
    log.warn({ missing }, 'topics do not exist yet, or this user has no right to read them');
    await pause(RETRY_MS, undefined, { signal });
  }
};

/** Until it succeeds or the node stops. Rejects for what a later version of the service wrote: no other try could read it (D-564). */
export const retryUntilDone = async <T>(
  work: () => Promise<T>,
  { signal, onFailure }: { readonly signal: AbortSignal; readonly onFailure: (error: unknown) => void },
): Promise<T> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LaterSchema) throw error;
      onFailure(error);
      await pause(RETRY_MS, undefined, { signal });
    }
  }
};

type Beginnings = { readonly venues: readonly Beginning[]; readonly history: PartitionRange };

/** Everything that must be known before the log is followed: nothing is applied of it yet, so it may be tried again. */
const findBeginnings = async (deps: FollowDeps, names: Topics, signal: AbortSignal): Promise<Beginnings> => {
  await awaitTopics(deps, names, signal);
  // Side by side: on a busy machine each question to the broker waits for its turn.
  const [venues, ranges] = await Promise.all([
    Promise.all(deps.venues.map((venue) => findBeginning(deps, names, venue))),
    fetchEndOffsets(deps.kafka, names.watermark),
    readVersions(deps, names),
  ]);
  return { venues, history: ranges.get(WATERMARK_PARTITION) ?? { earliest: 0, latest: 0 } };
};

/** Starts filling the copy and returns the function that stops it; the copy reports when it is ready, and when it is whole. */
export const followLive = (deps: FollowDeps): (() => Promise<void>) => {
  const { memory, log } = deps;
  const names = nameTopics(deps.namespace);
  const stopping = new AbortController();
  const { signal } = stopping;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  stopped.catch(() => undefined);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  let reader: Reader | null = null;
  const follow = async ({ venues, history }: Beginnings): Promise<void> => {
    for (const { venue, ranges } of venues) memory.expectPartitions(venue, [...ranges.keys()]);
    const ofVenues = venues.map((beginning) => followVenue(deps, names, beginning));
    const followed = [...ofVenues, followHistory(deps, names, history)];
    reader = await readTopics(
      deps.kafka,
      followed.map(({ reading }) => reading),
    );
    await Promise.race([Promise.all(followed.map(({ caughtUp }) => caughtUp)), stopped]);
  };
  const run = async (): Promise<void> => {
    const began = performance.now();
    const ms = (): number => Math.round(performance.now() - began);
    const warn = (message: string) => (err: unknown) => log.warn({ err }, `${message}, trying again`);
    const find = (): Promise<Beginnings> => findBeginnings(deps, names, signal);
    await follow(await retryUntilDone(find, { signal, onFailure: warn('live copy cannot start') }));
    log.info({ ms: ms() }, 'live copy ready');
    const join = (): Promise<void> => joinPast(deps, names, signal);
    await retryUntilDone(join, { signal, onFailure: warn('the minutes before cannot be read') });
    log.info({ ms: ms() }, 'live copy whole');
  };
  memory.expectPast();
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return async () => {
    stopping.abort();
    await running;
    await reader?.stop();
  };
};
