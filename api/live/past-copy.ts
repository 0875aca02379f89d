// The minutes before a node began to follow `live`: read after its first answers into a second copy, which is then joined to the first.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fetchEndOffsets, type KafkaHandle, type Message, readPartitions } from '../../infra/runtime/kafka/kafka.ts';
import { runStretch } from '../../infra/runtime/process/steps.ts';
import { Turns } from '../../infra/runtime/process/turns.ts';
import { decodeLiveHead } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { isAbove, type Place, type Topics } from '../../schemas/topics.ts';
import { SEALS_AFTER } from '../../schemas/windows.ts';
import { LiveMemory } from './memory.ts';
import { findStartsAfter, readRoundsBefore } from './rounds.ts';

/** A round this old leaves what streams resume in to be read from `live`. */
const ROUND_AGE: Micros = 300_000_000;
/** `live` is kept for a quarter of an hour: the entries must not expire while they are read. */
const MOST_AGE: Micros = 720_000_000;
/** Longest time without a turn for requests. */
const SLICE_MS = 4;

type PastDeps = {
  readonly kafka: KafkaHandle;
  readonly memory: LiveMemory;
  readonly venues: readonly string[];
  readonly nowMicros: () => Micros;
};

/** Where a partition is read from, and where the copy that answers took over. */
type Stretch = { readonly start: number; readonly end: number; readonly last: Place };

/** Time up to which everything recorded since must be read: for streams, and because the store does not show it. */
const computeNeededFrom = ({ memory, nowMicros, venues }: PastDeps): Micros => {
  const now = nowMicros();
  const shown = venues.map((venue) => (memory.historyWatermark(venue) ?? now) - SEALS_AFTER);
  return Math.max(now - MOST_AGE, Math.min(now - ROUND_AGE, ...shown));
};

const NOWHERE: Place = { offset: -1, index: -1 };

/** Prepares the copy for a venue's partitions. */
const beginVenue = async (
  deps: PastDeps,
  past: LiveMemory,
  { names, venue }: { readonly names: Topics; readonly venue: string },
): Promise<ReadonlyMap<number, Stretch>> => {
  const { kafka, memory } = deps;
  const [live, state] = [names.live(venue), names.state(venue)];
  const [found, ranges] = await Promise.all([
    readRoundsBefore({ kafka, topic: state }, computeNeededFrom(deps)),
    fetchEndOffsets(kafka, live),
  ]);
  // A young log still has everything: a stream also resumes before its first rounds.
  const rounds = new Map(
    [...found].filter(([p, { isOldEnough }]) => isOldEnough || (ranges.get(p)?.earliest ?? 0) > 0),
  );
  const starts = await findStartsAfter({ kafka, topic: live }, rounds);
  past.expectPartitions(venue, [...ranges.keys()]);
  const stretches = new Map<number, Stretch>();
  for (const [partition, range] of ranges) {
    const round = rounds.get(partition);
    if (round !== undefined) past.applyRound(venue, partition, round.entries);
    else if (range.earliest === 0) past.beginAtStart(venue, partition);
    const shown = memory.historyWatermark(venue);
    if (shown !== null) past.applyHistoryWatermark(venue, partition, shown);
    const last = memory.venue(venue)?.partitions.get(partition)?.readyAt ?? NOWHERE;
    const start = Math.max(range.earliest, starts.get(partition) ?? range.earliest);
    stretches.set(partition, { start, end: range.latest, last });
  }
  return stretches;
};

type PartitionPast = {
  readonly past: LiveMemory;
  readonly venue: string;
  readonly topic: string;
  readonly foreign: KafkaHandle['foreign'];
  readonly partition: number;
  readonly turns: Turns;
};

/** Applies what belongs to the stretch, a slice at a time; answers whether its end was reached. */
const applyStretch = async (
  messages: readonly Message[],
  { end, last }: Stretch,
  { past, venue, topic, foreign, partition, turns }: PartitionPast,
): Promise<boolean> => {
  let isDone = false;
  let i = 0;
  const apply = ({ value, offset }: Message): void => {
    if (isDone) return;
    isDone = offset + 1 >= end;
    const place = { topic, partition, offset };
    const head = value && foreign.passOver(place, () => decodeLiveHead(value));
    if (!head) return;
    if (!isAbove(head, last)) past.applyLive(venue, partition, value);
    isDone ||= !isAbove(last, head);
  };
  const applySlice = async (): Promise<void> => {
    i = runStretch(messages, { from: i, ms: SLICE_MS }, apply);
    await nextTurn();
  };
  while (i < messages.length && !isDone) await turns.run(applySlice);
  return isDone;
};

type VenuePast = Omit<PartitionPast, 'partition' | 'foreign'> & {
  readonly stretches: ReadonlyMap<number, Stretch>;
  readonly signal: AbortSignal;
};

const readVenue = async (kafka: KafkaHandle, { topic, stretches, signal, ...venuePast }: VenuePast): Promise<void> => {
  const open = new Map([...stretches].filter(([, { start, end }]) => start < end));
  if (open.size === 0) return;
  const next = new Map([...open].map(([partition, { start }]) => [partition, start]));
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  const reader = await readPartitions(kafka, {
    topic,
    partitions: [...open.keys()],
    from: (partition) => next.get(partition) ?? 0,
    onBatch: async (partition, messages) => {
      const stretch = open.get(partition);
      if (stretch === undefined) return;
      const [first, newest] = [messages[0]?.offset ?? 0, messages.at(-1)?.offset ?? 0];
      if (first !== next.get(partition)) throw new Error(`retention has passed ${topic}/${partition}`);
      next.set(partition, newest + 1);
      if (!(await applyStretch(messages, stretch, { ...venuePast, topic, partition, foreign: kafka.foreign }))) return;
      open.delete(partition);
      if (open.size === 0) resolve();
    },
    onFatal: reject,
  });
  try {
    await done;
  } finally {
    await reader.stop();
  }
};

/** Reads the minutes before into a second copy, up to where the node began to keep what it applies, and joins the two. */
export const joinPast = async (deps: PastDeps, names: Topics, signal: AbortSignal): Promise<void> => {
  const { kafka, memory, venues } = deps;
  const past = new LiveMemory(venues);
  const join = memory.join(past);
  // One slice at a time, even if several are requested at once.
  const turns = new Turns(1);
  await Promise.all(
    venues.map(async (venue) => {
      const stretches = await beginVenue(deps, past, { names, venue });
      await readVenue(kafka, { past, venue, turns, signal, stretches, topic: names.live(venue) });
    }),
  );
  signal.throwIfAborted();
  join();
};
