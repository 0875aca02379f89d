// If Kafka starts empty, writes the topics that are kept for ever from QuestDB, before a task begins (design section 5, D-563).
import { setTimeout as pause } from 'node:timers/promises';
import {
  createPublisher,
  ensureTopics,
  type KafkaHandle,
  type Publication,
  readValues,
} from '../infra/runtime/kafka/kafka.ts';
import type { TopicSpec } from '../infra/runtime/kafka/topics.ts';
import type { Logger } from '../infra/runtime/process/log.ts';
import { hasTable } from '../infra/runtime/questdb/has-table.ts';
import type { Cell, QuestdbReader } from '../infra/runtime/questdb/reader.ts';
import type { RowSender } from '../infra/runtime/questdb/row-sender.ts';
import { createBackoff } from '../infra/runtime/time/backoff.ts';
import { codecs } from '../schemas/avro/codec.ts';
import { READINGS } from '../schemas/layers/index.ts';
import type { Micros } from '../schemas/records.ts';
import { toShard } from '../schemas/shards.ts';
import { formatListingId, parseListingId, toTableName } from '../schemas/tables.ts';
import {
  type CapabilityVersion,
  formatTask,
  type ListingVersion,
  nameTopics,
  parseTask,
  type WatermarkEntry,
} from '../schemas/topics.ts';
import { toSealInstant } from '../schemas/windows.ts';

export type LostTopics = {
  readonly handle: KafkaHandle;
  readonly reader: Pick<QuestdbReader, 'query'>;
  /** Rows that QuestDB has taken, but not applied before it ended itself, are read once they are visible. */
  readonly sender: Pick<RowSender, 'waitVisible'>;
  readonly venues: readonly { readonly id: string; readonly name: string }[];
  readonly shards: number;
  readonly namespace: string;
  /** All topics of the service. */
  readonly topics: readonly TopicSpec[];
  readonly log: Pick<Logger, 'warn'>;
};

const PATIENCE_MS = 60_000;

type Ask = (text: string) => Promise<Cell[][]>;

/** Rejects when QuestDB has not responded for a minute: a task that started without the versions would report every listing as a new one. */
const awaitAnswer = async <T>({ reader, log }: LostTopics, read: (ask: Ask) => Promise<T>): Promise<T> => {
  const backoff = createBackoff({ minMs: 100, maxMs: 2_000 });
  for (const end = performance.now() + PATIENCE_MS; ; ) {
    try {
      return await read((text) => reader.query({ text }));
    } catch (err) {
      if (performance.now() > end) throw err;
      log.warn({ err }, 'Kafka has no topics of a venue: waiting for QuestDB, which may have its listings');
      await pause(backoff.next());
    }
  }
};

const fetchRows = (spec: LostTopics, text: string): Promise<Cell[][]> => awaitAnswer(spec, (ask) => ask(text));

const toMicros = (cell: Cell | undefined): Micros | null => (typeof cell === 'string' ? Number(cell) : null);

const readListings = async (spec: LostTopics, venue: string): Promise<ListingVersion[]> => {
  await spec.sender.waitVisible([toTableName(spec.namespace, 'listings')]);
  const rows = await fetchRows(
    spec,
    `SELECT venue_symbol, written_at::long, first_seen_at::long, delisted_at::long, record
FROM '${toTableName(spec.namespace, 'listings')}' WHERE venue = '${venue}' ORDER BY written_at, venue_symbol`,
  );
  return rows.map(([symbol, writtenAt, firstSeenAt, delistedAt, record]) => ({
    venue,
    venue_symbol: symbol ?? '',
    written_at: Number(writtenAt),
    first_seen_at: Number(firstSeenAt),
    delisted_at: toMicros(delistedAt),
    record: JSON.parse(record ?? '') as ListingVersion['record'],
    // QuestDB does not have it.
    raw: null,
  }));
};

const readCapabilities = async (spec: LostTopics, { id, name }: LostTopics['venues'][number]) => {
  await spec.sender.waitVisible([toTableName(spec.namespace, 'capabilities')]);
  const rows = await fetchRows(
    spec,
    `SELECT DISTINCT written_at::long, layers FROM '${toTableName(spec.namespace, 'capabilities')}' WHERE venue = '${id}' ORDER BY 1`,
  );
  return rows.map(([writtenAt, layers]): CapabilityVersion => {
    return { venue: id, name, written_at: Number(writtenAt), layers: JSON.parse(layers ?? '') };
  });
};

/**
 * Newest end of a stored window, by shard. All series of a task are sealed together, so this is how far it had sealed. The listings are named,
 * because their column has an index: by their venue QuestDB would read every row of the table.
 */
const readSealed = async (spec: LostTopics, venue: string, symbols: Iterable<string>): Promise<Map<number, Micros>> => {
  const sealed = new Map<number, Micros>();
  const named = Array.from(symbols, (symbol) => `'${formatListingId(venue, symbol).replaceAll("'", "''")}'`).join(', ');
  // An earlier version wrote the rows: it had no table of a layer that is new.
  const tables: string[] = [];
  for (const { table } of READINGS) {
    const name = toTableName(spec.namespace, table);
    if (await awaitAnswer(spec, (ask) => hasTable(ask, name))) tables.push(name);
  }
  await spec.sender.waitVisible(tables);
  for (const table of tables) {
    const rows = await fetchRows(
      spec,
      `SELECT listing, at::long FROM '${table}' WHERE listing IN (${named}) LATEST ON at PARTITION BY listing`,
    );
    for (const [listing, at] of rows) {
      const shard = toShard(parseListingId(listing ?? '').symbol, spec.shards);
      sealed.set(shard, Math.max(sealed.get(shard) ?? 0, Number(at)));
    }
  }
  return sealed;
};

/** What a task that has no log continues after. */
const toWatermark = (task: string, end: Micros): WatermarkEntry => ({
  task,
  kind: 'task',
  watermark: toSealInstant(end),
  offset: -1,
  positions: {},
});

type Found = { readonly venue: string; readonly listings: number; readonly records: readonly Publication[] };

/** What a venue has in QuestDB, as records: a record takes a fraction of the memory of its version. */
const readVenue = async (spec: LostTopics, venue: LostTopics['venues'][number]): Promise<Found> => {
  const names = nameTopics(spec.namespace);
  const listings = await readListings(spec, venue.id);
  if (listings.length === 0) return { venue: venue.id, listings: 0, records: [] };
  const capabilities = await readCapabilities(spec, venue);
  const sealed = await readSealed(spec, venue.id, new Set(listings.map(({ venue_symbol }) => venue_symbol)));
  const records = [
    ...listings.map((version) => {
      const key = `${version.venue}|${version.venue_symbol}`;
      return { topic: names.listings, key, value: codecs.listing.encode(version) };
    }),
    ...capabilities.map((version) => {
      return { topic: names.capabilities, key: version.venue, value: codecs.capability.encode(version) };
    }),
    ...Array.from(sealed, ([shard, end]) => {
      const entry = toWatermark(formatTask(venue.id, shard), end);
      return { topic: names.watermark, partition: 0, key: entry.task, value: codecs.watermark.encode(entry) };
    }),
  ];
  return { venue: venue.id, listings: listings.length, records };
};

const writeFound = async ({ handle, namespace, topics }: LostTopics, found: readonly Found[]): Promise<void> => {
  const names = nameTopics(namespace);
  await ensureTopics(
    handle,
    topics.filter(({ topic }) => [names.listings, names.capabilities, names.watermark].includes(topic)),
  );
  const to = createPublisher(handle);
  try {
    for (const record of found.flatMap(({ records }) => records)) {
      to.publish(record);
      await to.ready();
    }
    await to.flush();
  } finally {
    await to.close();
  }
};

/** Venues whose tasks have used this Kafka: if one of their topics is not visible, a right is missing, or only this topic was deleted. */
const readWorked = async ({ handle, namespace }: LostTopics): Promise<ReadonlySet<string>> => {
  const worked = new Set<string>();
  const { watermark } = nameTopics(namespace);
  const { decode } = codecs.watermark;
  await readValues(handle, { topic: watermark, from: () => 'earliest', decode }, (entry) => {
    if (entry.kind === 'task' && entry.offset >= 0) worked.add(parseTask(entry.task).venue);
  });
  return worked;
};

/**
 * Runs before the topics of tasks are created: API nodes wait for these, and read the versions after them. A venue whose `live` topic is there
 * has its versions in Kafka; one without listings in QuestDB is new.
 */
export const restoreTopics = async (spec: LostTopics): Promise<void> => {
  const { handle, namespace, log } = spec;
  const names = nameTopics(namespace);
  const existing = new Set(await (await handle.admin()).listTopics());
  const unseen = spec.venues.filter(({ id }) => !existing.has(names.live(id)));
  if (unseen.length === 0) return;
  const worked = existing.has(names.watermark) ? await readWorked(spec) : new Set();
  const missing = unseen.filter(({ id }) => !worked.has(id));
  if (missing.length === 0) return;
  if (!(await awaitAnswer(spec, (ask) => hasTable(ask, toTableName(namespace, 'listings'))))) return;
  // All venues are read before anything is written: of a try that QuestDB ends nothing is left in topics that are kept for ever.
  const found: Found[] = [];
  for (const venue of missing) found.push(await readVenue(spec, venue));
  const lost = found.filter(({ listings }) => listings > 0);
  if (lost.length === 0) return;
  await writeFound(spec, lost);
  for (const { venue, listings } of lost)
    log.warn({ venue, listings }, 'Kafka has lost a venue: its listings are from QuestDB');
};
