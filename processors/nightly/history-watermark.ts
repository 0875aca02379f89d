// History W: the instant up to which every task's final rows are readable, as published by the sink (design section 5).
import { type KafkaHandle, readValues } from '../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import { formatInstantMicros } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { nameTopics, parseTask } from '../../schemas/topics.ts';
import { toSealInstant } from '../../schemas/windows.ts';
import { addDays, type Day, findDayStart } from './day.ts';
import type { HistoryReach, NightlyContext } from './step.ts';

const ANSWERS_WITHIN_MS = 10_000;

const explain = (error: unknown, topic: string): unknown =>
  error instanceof DOMException && error.name === 'TimeoutError'
    ? new Error(`Kafka does not give ${topic}: the watermark of stored history is not known`, { cause: error })
    : error;

type History = {
  readonly namespace: string;
  /** Those that are processed: of another one nothing is written any more (D-1045). Null: every one that ever was. */
  readonly venues: readonly string[] | null;
  readonly withinMs?: number;
};

/** Names the task: one of a venue that is no longer processed, or never was, is waited for until `VENUES` is without it (D-1045, D-1171). */
export const describeReach = ({ at, of }: HistoryReach, wanted: string): string =>
  `stored history of ${of} has reached ${formatInstantMicros(at)}, not ${wanted}; VENUES names the venues that are waited for`;

const findLeast = (history: ReadonlyMap<string, Micros>, venues: readonly string[]): HistoryReach => {
  const known = new Set([...history.keys()].map((task) => parseTask(task).venue));
  const unknown = venues.find((venue) => !known.has(venue));
  if (unknown !== undefined) return { at: 0, of: unknown };
  const [[of, at] = ['every venue', 0]] = [...history].sort(([, a], [, b]) => a - b);
  return { at, of };
};

/** A task without written rows keeps it at 0, a venue without a task too. Rejects while Kafka does not answer. */
export const readHistoryWatermark = async (
  kafka: KafkaHandle,
  { namespace, venues, withinMs = ANSWERS_WITHIN_MS }: History,
): Promise<HistoryReach> => {
  const history = new Map<string, Micros>();
  const topic = nameTopics(namespace).watermark;
  const { decode } = codecs.watermark;
  await readValues(
    kafka,
    { topic, from: () => 'earliest', signal: AbortSignal.timeout(withinMs), decode },
    ({ kind, task, watermark }) => {
      if (venues?.includes(parseTask(task).venue) === false) return;
      if (kind === 'task') history.set(task, history.get(task) ?? 0);
      if (kind === 'history') history.set(task, Math.max(history.get(task) ?? 0, watermark));
    },
  ).catch((error: unknown) => {
    throw explain(error, topic);
  });
  return findLeast(history, venues ?? []);
};

/** Throws until the last window of the day is sealed and readable: its rows cannot change any more, but for late ones. */
export const refuseUnsealed = async (
  day: Day,
  { historyWatermark }: Pick<NightlyContext, 'historyWatermark'>,
): Promise<void> => {
  const reached = await historyWatermark();
  if (reached.at >= toSealInstant(findDayStart(addDays(day)) * 1_000)) return;
  throw new Error(describeReach(reached, `the end of ${day} with its last window`));
};
