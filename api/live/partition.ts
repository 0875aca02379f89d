// The state that a memory copy keeps of one partition of a venue's `live`: its place, its watermarks, its rows.
import type { Micros } from '../../schemas/records.ts';
import type { Place } from '../../schemas/topics.ts';
import { KEPT, RecentRows } from './recent-rows.ts';

export type Partition = {
  /** Place of the last applied entry. */
  offset: number;
  index: number;
  watermark: Micros | null;
  /** Everything recorded after this was kept; null while nothing came. Rows that were published before are unknown. */
  since: Micros | null;
  /** W visible in the history store. */
  history: Micros | null;
  /** Its place when it had been followed to the end that it had at the start, from which on everything was kept; null before. */
  readyAt: Place | null;
  readonly recent: RecentRows;
};

export const createPartition = (): Partition => ({
  offset: -1,
  index: -1,
  watermark: null,
  since: null,
  history: null,
  readyAt: null,
  recent: new RecentRows(),
});

export const toPlace = ({ offset, index }: Place): Place => ({ offset, index });

type Partitions = ReadonlyMap<number, Partition>;

/** W of a venue: the smallest of its tasks'; null while one has published none. */
export const findWatermark = (partitions: Partitions): Micros | null => {
  if (partitions.size === 0) return null;
  let least = Number.POSITIVE_INFINITY;
  for (const { watermark } of partitions.values()) {
    if (watermark === null) return null;
    if (watermark < least) least = watermark;
  }
  return least;
};

/** History W of a venue, likewise. */
export const findHistoryWatermark = (partitions: Partitions): Micros | null => {
  let least = Number.POSITIVE_INFINITY;
  for (const { history } of partitions.values()) {
    if (history === null) return null;
    if (history < least) least = history;
  }
  return partitions.size === 0 ? null : least;
};

/** Rows that ended or came after this are held, whatever the history store shows. */
export const findRecentFrom = (partitions: Partitions): Micros => {
  let from = 0;
  for (const { since, watermark } of partitions.values()) {
    if (since !== null && watermark !== null) from = Math.max(from, since, watermark - KEPT);
  }
  return from;
};
