// The state that a memory copy keeps of one partition of a venue's `live`: its place, its watermarks, its connections, its rows.
import type { Micros } from '../../schemas/records.ts';
import { toShard } from '../../schemas/shards.ts';
import type { Place, Reading, Span } from '../../schemas/topics.ts';
import { ConnectionBook } from './connection-book.ts';
import { KEPT, RecentRows } from './recent-rows.ts';

export type Partition = {
  /** Place of the last applied entry. */
  offset: number;
  index: number;
  watermark: Micros | null;
  /** Everything recorded after this instant was kept; null while nothing was received. Rows that were published before are unknown. */
  since: Micros | null;
  /** W visible in the history store. */
  history: Micros | null;
  /** Its place when it had been followed to the end that it had at the start, from which on everything was kept; null before. */
  readyAt: Place | null;
  /** A connection that concerns several shards has a separate life in each log, because its records are appended to each log separately. */
  readonly connections: ConnectionBook;
  readonly recent: RecentRows;
};

export const createPartition = (): Partition => ({
  offset: -1,
  index: -1,
  watermark: null,
  since: null,
  history: null,
  readyAt: null,
  connections: new ConnectionBook(),
  recent: new RecentRows(),
});

const NOTHING = { since: null, watermark: null } as const;

export const toPlace = ({ offset, index }: Place): Place => ({ offset, index });

type Partitions = ReadonlyMap<number, Partition>;

/** The partition that has all of a listing (design section 5): its shard. */
export const findPartition = (partitions: ReadonlyMap<number, unknown>, venueSymbol: string): number =>
  partitions.size > 1 ? toShard(venueSymbol, partitions.size) : 0;

type Heard = Pick<Reading, 'conn_id' | 'received_at'>;

/** The alive span on which a reading was received, by the log of the listing; null when it is not known. */
export const findSpan = (partitions: Partitions, venueSymbol: string, heard: Heard): Span | null =>
  partitions.get(findPartition(partitions, venueSymbol))?.connections.spanOf(heard.conn_id, heard.received_at) ?? null;

/** When the connection of a reading was lost; null while it lives or when it is not known. */
export const findLoss = (partitions: Partitions, venueSymbol: string, heard: Heard): Micros | null =>
  findSpan(partitions, venueSymbol, heard)?.to ?? null;

/** The smallest of the tasks' watermarks; null while one has published none. */
const findLeast = (partitions: Partitions, read: (partition: Partition) => Micros | null): Micros | null => {
  if (partitions.size === 0) return null;
  let least = Number.POSITIVE_INFINITY;
  for (const partition of partitions.values()) {
    const watermark = read(partition);
    if (watermark === null) return null;
    if (watermark < least) least = watermark;
  }
  return least;
};

/** W of a venue. */
export const findWatermark = (partitions: Partitions): Micros | null =>
  findLeast(partitions, ({ watermark }) => watermark);

/** History W of a venue. */
export const findHistoryWatermark = (partitions: Partitions): Micros | null =>
  findLeast(partitions, ({ history }) => history);

/** Rows that ended or were received after this instant are kept, regardless of the history store. */
export const findRecentFrom = ({ since, watermark }: Pick<Partition, 'since' | 'watermark'> = NOTHING): Micros =>
  since === null || watermark === null ? 0 : Math.max(0, since, watermark - KEPT);
