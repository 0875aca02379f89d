// A day of a hundred listings in its own tables and topics, written through the rows and records that tasks write.
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { makeCandleRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { MICROS_PER_SECOND } from '../../../schemas/instants.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import { toTableName } from '../../../schemas/tables.ts';
import {
  type CapabilityVersion,
  type ListingVersion,
  makeLiveEntry,
  nameTopics,
  type Reading,
  type Row,
} from '../../../schemas/topics.ts';
import { createPublisher, ensureTopics, openKafka } from '../../runtime/kafka/kafka.ts';
import { readKafkaSecurity } from '../../runtime/kafka/settings.ts';
import { listTopicSpecs } from '../../runtime/kafka/topics.ts';
import { createLog } from '../../runtime/process/log.ts';
import { openQuestdbReader } from '../../runtime/questdb/reader.ts';
import { createRowSender } from '../../runtime/questdb/row-sender.ts';
import type { Stores } from '../local/endpoints.ts';
import { makeInventedVersion } from './invented-listing.ts';

export const VENUE = 'binance';
export const NAMESPACE = 'bench_history.';
export const LISTINGS = 100;
const MINUTE: Micros = 60 * MICROS_PER_SECOND;
const DAY: Micros = 1_440 * MINUTE;
const WINDOW: Micros = 10 * MICROS_PER_SECOND;
/** A day of windows, and as many minutes as one response with candles may have. */
const WINDOWS = 8_640;
const MINUTES = 1_500;
const BATCH = 50_000;

export const makeSymbol = (i: number): string => `B${String(i).padStart(3, '0')}USDT`;

const makeCapability = (written: Micros): CapabilityVersion => {
  const on = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } as const;
  const layers = Object.fromEntries([...READING_LAYERS, 'candles'].map((layer) => [layer, on]));
  return { venue: VENUE, name: VENUE, written_at: written, layers };
};

const makeMark = (received: Micros, n: number): Reading => ({
  ...{ layer: 'mark', rev: 1, valid: true, gap_cause: null, venue_ts: received - 80_000, received_at: received },
  ...{ recorded_at: received + 2_000, conn_id: 'c1', horizon_ms: null, valid_until: null, anchor: 'venue' },
  ...{ horizon_source: 'connection', null_reasons: {}, instants: {}, quantity_unit: null, book: null, raw: null },
  values: { mark: `${60_000 + (n % 997)}.${n % 10}`, index: `${60_001 + (n % 991)}`, basis: '-0.000011340000000001' },
});

const makeMarkRow = (i: number, at: Micros): Row => {
  const n = i + at / WINDOW;
  return makeReadingRow(
    { venue: VENUE, symbol: makeSymbol(i), layer: 'mark' },
    { from: at - WINDOW, at, srcOffset: n, late: false },
    makeMark(at - 400_000 - (n % 1_000) * 100, n),
  );
};

const makeMinuteRow = (i: number, openTime: Micros): Row => {
  const n = i + openTime / MINUTE;
  const price = 60_000 + (n % 997);
  const figures = {
    ...{ open: `${price}.1`, high: `${price + 9}.5`, low: `${price - 9}.25`, close: `${price}.7` },
    ...{ volume: `${n % 800}.123`, turnover: `${n % 90_000}.5` },
  };
  const closeTime = openTime + MINUTE;
  const origin = {
    values: { volume_unit: 'base' },
    venue_ts: null,
    received_at: closeTime + MICROS_PER_SECOND,
    final: true,
  };
  const minute = { ...origin, connId: 'c1', recordedAt: closeTime + MICROS_PER_SECOND, srcOffset: n, late: false };
  return makeCandleRow(
    { venue: VENUE, symbol: makeSymbol(i), priceType: 'trade' },
    {
      ...{ openTime, closeTime, timeframe: '1m', minute: minute as never, figures, trades: n % 300, gapCause: null },
      counted: { expected: 1, present: 1, noTrades: 0 },
    },
    n,
  );
};

/** Rows of every listing from `end` back, in the order of time. */
function* listRowsBack(count: number, length: Micros, row: (i: number, n: number) => Row): Generator<Row> {
  for (let n = count; n > 0; n--) for (let i = 0; i < LISTINGS; i++) yield row(i, n * length);
}

const sendAll = async (sender: ReturnType<typeof createRowSender>, table: string, rows: Iterable<Row>) => {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH) continue;
    await sender.send(table, batch);
    batch = [];
  }
  await sender.send(table, batch);
};

/** Writes the tables; all their rows end at `end`. */
export const writeTables = async (stores: Stores, end: Micros): Promise<void> => {
  const auth = { user: stores.questdb_user, password: stores.questdb_password };
  const log = createLog('bench', 'error');
  const reader = openQuestdbReader(stores.questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  const sender = createRowSender(stores.questdb_http, { auth, log });
  try {
    await ensureTables((text) => reader.query({ text }), { namespace: NAMESPACE });
    const [mark, candles] = [toTableName(NAMESPACE, 'mark'), toTableName(NAMESPACE, 'candles')];
    await sendAll(
      sender,
      mark,
      listRowsBack(WINDOWS, WINDOW, (i, back) => makeMarkRow(i, end - back + WINDOW)),
    );
    await sendAll(
      sender,
      candles,
      listRowsBack(MINUTES, MINUTE, (i, back) => makeMinuteRow(i, end - back)),
    );
    await sender.waitVisible([mark, candles]);
  } finally {
    await sender.close();
    await reader.close();
  }
};

export type Known = { readonly listings: readonly ListingVersion[]; readonly capability: CapabilityVersion };

/** Versions of the listings, since long before the day. */
export const makeKnown = (end: Micros): Known => ({
  listings: Array.from({ length: LISTINGS }, (_, i) =>
    makeInventedVersion({ venue: VENUE, symbol: makeSymbol(i), base: `B${i}` }, end - 10 * DAY),
  ),
  capability: makeCapability(end - 10 * DAY),
});

/** Writes the topics an API starts from: listings, capability, and a watermark that makes everything up to `settled` final. */
export const writeTopics = async (stores: Stores, { listings, capability }: Known, settled: Micros): Promise<void> => {
  const kafka = openKafka(
    { brokers: stores.kafka.split(','), clientId: 'bench', security: readKafkaSecurity(process.env) },
    createLog('bench', 'error'),
  );
  const names = nameTopics(NAMESPACE);
  await ensureTopics(kafka, listTopicSpecs({ venues: [VENUE], shards: 1, namespace: NAMESPACE }));
  const publisher = createPublisher(kafka);
  const put = (topic: string, key: string, value: Buffer): void =>
    publisher.publish({ topic, partition: 0, key, value });
  put(names.capabilities, VENUE, codecs.capability.encode(capability));
  for (const version of listings) put(names.listings, version.venue_symbol, codecs.listing.encode(version));
  const entry = makeLiveEntry({ kind: 'watermark', offset: 1, index: 0, recorded_at: settled, watermark: settled });
  put(names.live(VENUE), VENUE, codecs.live.encode(entry));
  const history = { task: `${VENUE}/0`, kind: 'history', watermark: settled, offset: 1, positions: {} } as const;
  put(names.watermark, `${VENUE}/0|history`, codecs.watermark.encode(history));
  await publisher.flush();
  await publisher.close();
  await kafka.close();
};
