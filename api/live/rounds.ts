// State rounds of a venue from which a node starts: the newest complete one, found from the end of the topic, and an earlier one.
import { fetchOffsetsSince, type KafkaHandle, readValues } from '../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import { RoundChoice, type StateRound } from '../../schemas/state-rounds.ts';

export type Rounds = ReadonlyMap<number, StateRound>;

type StateTopic = { readonly kafka: KafkaHandle; readonly topic: string };
type Choices = Map<number, RoundChoice>;

/** Where each partition is read from; all are read when none are named. */
type Starts = {
  readonly partitions?: readonly number[] | undefined;
  readonly from: (partition: number, range: { readonly earliest: number; readonly latest: number }) => number;
};

/** Reads to the end, into a choice for each partition. */
const readChoices = async (
  { kafka, topic }: StateTopic,
  { before, ...options }: { readonly before: Micros } & Starts,
): Promise<Choices> => {
  const choices: Choices = new Map();
  const { decode } = codecs.state;
  await readValues(kafka, { topic, ...options, decode }, (entry, { partition, offset }) => {
    const choice = choices.get(partition) ?? new RoundChoice(before);
    choices.set(partition, choice);
    choice.add(entry, offset);
  });
  return choices;
};

/** Entries read at first: the marker is among the last, and the rounds of a small venue are whole in them. */
const FIRST_REACH = 128;
/** Each further attempt goes back this many times as far, unless a marker gives the distance. */
const FURTHER = 16;

/** The newest complete round of each partition, if there is one. The amount read grows with the size of a round, not of the topic. */
export const readNewestRounds = async (state: StateTopic): Promise<Rounds> => {
  const rounds = new Map<number, StateRound>();
  const begins = new Map<number, number>();
  let open: readonly number[] | undefined;
  for (let reach = FIRST_REACH; open === undefined || open.length > 0; reach *= FURTHER) {
    const unread = new Set<number>();
    const from = (partition: number, { earliest, latest }: { earliest: number; latest: number }): number => {
      const start = Math.max(earliest, Math.min(latest - reach, begins.get(partition) ?? latest));
      if (start > earliest) unread.add(partition);
      return start;
    };
    const choices = await readChoices(state, { partitions: open, before: Number.POSITIVE_INFINITY, from });
    for (const [partition, { chosen, begins: at }] of choices) {
      if (chosen !== null) rounds.set(partition, chosen);
      if (at !== null) begins.set(partition, at);
    }
    open = [...unread].filter((partition) => !rounds.has(partition));
  }
  return rounds;
};

/** The interval between rounds; a round is written within a short time. */
const ROUND_EVERY_MS = 60_000;
const WRITTEN_WITHIN_MS = 15_000;

type PastRound = StateRound & { readonly isOldEnough: boolean };

/** For each partition the newest complete round of a time up to `before`, else the oldest complete one. */
export const readRoundsBefore = async (state: StateTopic, before: Micros): Promise<ReadonlyMap<number, PastRound>> => {
  const sinceMs = Math.floor(before / 1_000) - ROUND_EVERY_MS - WRITTEN_WITHIN_MS;
  const begins = await fetchOffsetsSince(state.kafka, state.topic, () => sinceMs);
  const unread = new Set<number>();
  const near = await readChoices(state, {
    before,
    from: (partition, { earliest }) => {
      const start = Math.max(earliest, begins.get(partition) ?? earliest);
      if (start > earliest) unread.add(partition);
      return start;
    },
  });
  // A task that was behind then wrote it later, and one that rested wrote its last one earlier.
  const partitions = [...unread].filter((partition) => near.get(partition)?.isOldEnough !== true);
  const far: Choices =
    partitions.length === 0
      ? new Map()
      : await readChoices(state, { partitions, before, from: (_partition, { earliest }) => earliest });
  return new Map(
    [...near, ...far].flatMap(([partition, { chosen, isOldEnough }]) =>
      chosen === null ? [] : [[partition, { ...chosen, isOldEnough }] as const],
    ),
  );
};

/** How far clocks of processes are from the broker's at most: one that is further off alarms. */
const CLOCKS_APART_MS = 1_000;

/**
 * The place in `live` before everything after the rounds. The place that a marker names is right when its round is published for the first time.
 * An entry recorded after a round was published after it was recorded, too, so the earlier of the two is right in any case.
 */
export const findStartsAfter = async (
  { kafka, topic }: StateTopic,
  rounds: ReadonlyMap<number, StateRound>,
): Promise<ReadonlyMap<number, number>> => {
  if (rounds.size === 0) return new Map();
  const since = await fetchOffsetsSince(kafka, topic, (partition) => {
    const round = rounds.get(partition);
    return round === undefined ? 0 : Math.floor(round.watermark / 1_000) - CLOCKS_APART_MS;
  });
  return new Map([...rounds].map(([p, { liveOffset }]) => [p, Math.min(liveOffset, since.get(p) ?? liveOffset)]));
};
