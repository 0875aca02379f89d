// A day with rows of every anchored table on real engines, archived and closed by the product's own nightly steps.
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import type { ObjectStore } from '../../../infra/runtime/files/object-store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { addDays, type Day, findDayStart } from '../../../processors/nightly/day.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { archive } from '../../../processors/nightly/steps/archive/archive.ts';
import { close } from '../../../processors/nightly/steps/merkle/close.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import {
  makeCandleRow,
  makeEventGapRow,
  makeEventRow,
  makeGapRow,
  makeReadingRow,
} from '../../../processors/task/rows.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import { READINGS, type ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import type { LiquidationRecord, Micros, PriceType, TradeRecord } from '../../../schemas/records.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { reading } from '../apps/live-fixture.ts';
import type { Teardown, TestEndpoints } from '../engines/engines.ts';

const SECOND: Micros = 1_000_000;
const MINUTE: Micros = 60 * SECOND;
const log = createLog('closed-day', 'silent');

export type DayStore = {
  readonly questdb: QuestdbReader;
  readonly namespace: string;
  /** Resolves when all the rows can be read. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
  readonly makeContext: (nowMs: number) => NightlyContext;
  /** Archives the day at D+1 06:00 UTC and closes it at D+7 00:00 UTC. */
  readonly close: (day: Day) => Promise<void>;
};
type Places = { readonly pool: Pool; readonly store: ObjectStore; readonly namespace: string };

/** Rows of a namespace in the shared QuestDB, and the nightly steps over them; closed when the test ends. */
export const openDayStore = async (
  t: Teardown,
  endpoints: TestEndpoints,
  { pool, store, namespace }: Places,
): Promise<DayStore> => {
  const auth = { user: endpoints.questdb_user, password: endpoints.questdb_password };
  const questdb = openQuestdbReader(endpoints.questdb_pg, { max: 4, timeoutMs: 15_000, auth, log });
  const sender = createRowSender(endpoints.questdb_http, { auth, log });
  t.teardown(async () => {
    await sender.close();
    await questdb.close();
  });
  await ensureTables((text) => questdb.query({ text }), { namespace });
  const metrics = createNightlyMetrics(new Registry());
  const makeContext = (nowMs: number): NightlyContext => ({
    ...{ database: pool, questdb, namespace, api: null, store, log, metrics },
    historyWatermark: async () => ({ at: nowMs * 1_000, of: 'binance/0' }),
    isBinding: async () => false,
    nowMs: () => nowMs,
    progress: () => undefined,
  });
  return {
    ...{ questdb, namespace, makeContext },
    write: async (rows) => {
      const byTable = Map.groupBy(rows, ({ table }) => toTableName(namespace, table));
      for (const [table, own] of byTable) await sender.send(table, own);
      await sender.waitVisible([...byTable.keys()]);
    },
    close: async (day) => {
      await archive.run(day, makeContext(findDayStart(addDays(day)) + 6 * 3_600_000));
      await close.run(day, makeContext(findDayStart(addDays(day, 7))));
    },
  };
};

/** Everything that the closing makes, but for when it was written. */
export const readClosing = async (pool: Pool): Promise<unknown[]> => {
  const texts = [
    'select table_name, rows, root, leaf, tree_key from anchor_partitions order by 1',
    'select venue_symbol, layer, tier, rows, final, first_leaf from archive_sets order by 1, 2',
    'select object_key, bytes, sha256 from archive_files where replaced_at is null order by 1',
    'select day_root, status, schema_version from anchor_days',
    'select closed_at from archive_days',
  ];
  const answers = [];
  for (const text of texts) answers.push((await pool.query(text)).rows);
  return answers;
};

type Listing = { readonly venue: string; readonly symbol: string };
type Facts = { readonly begin: Micros; readonly count: number };

/** Digits that a double cannot hold, short ones, and figures that differ from row to row. */
const makeDigits = (n: number, place: number): string =>
  n % 3 === 0 ? `${n}${place}.123456789012345678901` : n % 3 === 1 ? `0.0000${n}1` : `${60_000 + n * 7 + place}`;

const makeValues = (layer: ReadingLayer, n: number): Record<string, string> =>
  Object.fromEntries(
    Object.entries(LAYERS[layer].members).map(([name, unit], place) => [
      name,
      unit === 'ms' || unit === 'count' ? String(3_600_000 + n) : makeDigits(n, place),
    ]),
  );

const hasQuantity = (layer: ReadingLayer): boolean => Object.values(LAYERS[layer].members).includes('quantity');

/** Windows after 00:00; every seventh is a gap, every eleventh ends in an invalidation, and of every fifth a late row came too. */
const readingRows = (listing: Listing, layer: ReadingLayer, { begin, count }: Facts): Row[] => {
  const { windowMs, instants } = LAYERS[layer];
  const length = windowMs * 1_000;
  return Array.from({ length: count }, (_, n): Row[] => {
    const at = begin + (n + 1) * length;
    const span = { from: at - length, at, srcOffset: 10 * n + 3, late: false };
    if (n % 7 === 6) return [makeGapRow({ ...listing, layer }, span, 'no_update')];
    const one = reading({
      ...{ layer, values: makeValues(layer, n), venue_ts: n % 2 === 0 ? at - 90_001 : null, raw: null },
      ...{ received_at: at - 1, recorded_at: at + SECOND, quantity_unit: hasQuantity(layer) ? 'base' : null },
      instants: Object.fromEntries(instants.map((name) => [name, at + 3_600 * SECOND])),
      ...(n % 11 === 10 ? { valid: false, gap_cause: 'crossed_book' as const, values: {}, instants: {} } : {}),
    });
    const late = { ...one, recorded_at: at + 300 * SECOND, received_at: at - 2 };
    const rows = [makeReadingRow({ ...listing, layer }, span, one)];
    // Its record came long after those of the windows behind it.
    if (n % 5 === 4)
      rows.push(makeReadingRow({ ...listing, layer }, { ...span, srcOffset: 10 * n + 1_001, late: true }, late));
    return rows;
  }).flat();
};

const candleRows = ({ venue, symbol }: Listing, priceType: PriceType, { begin, count }: Facts): Row[] =>
  Array.from({ length: count }, (_, n) => {
    const openTime = begin + n * MINUTE;
    const figures = { open: makeDigits(n, 1), high: makeDigits(n, 2), low: makeDigits(n, 3), close: makeDigits(n, 4) };
    const whole = { ...figures, volume: makeDigits(n, 5), turnover: makeDigits(n, 6) };
    const period = { openTime, closeTime: openTime + MINUTE, timeframe: '1m' as const };
    const none = { ...period, minute: null, trades: null, counted: { expected: 1, present: 0, noTrades: 0 } };
    if (n % 7 === 6)
      return makeCandleRow(
        { venue, symbol, priceType },
        { ...none, figures: {}, gapCause: 'collector_down' },
        50 * n + 9,
      );
    const values = {
      ...whole,
      open_time: openTime,
      price_type: priceType,
      timeframe: '1m',
      volume_unit: 'base',
      trades: n,
    };
    const stamps = { venue_ts: null, received_at: openTime + MINUTE + 5, recordedAt: openTime + MINUTE + SECOND };
    const minute = {
      ...stamps,
      values: { ...values, closed: true },
      connId: 'c1',
      srcOffset: 50 * n,
      late: false,
      final: true,
    };
    const present = { ...none, minute: minute as never, figures: whole, trades: n, gapCause: null };
    return makeCandleRow(
      { venue, symbol, priceType },
      { ...present, counted: { expected: 1, present: 1, noTrades: 0 } },
    );
  });

/** The order of the second and the fourth differs in UTF-8 and UTF-16. */
const PREFIXES = ['', '\u{1F319}', 'é', '\uFB33'];

/** Events every seven seconds, two of them at the same instant, every ninth late; and a gap. */
const eventRows = (table: 'trades' | 'liquidations', listing: Listing, { begin, count }: Facts): Row[] => {
  const rows = Array.from({ length: count }, (_, n) => {
    const received_at = begin + Math.floor(n / 2) * 14 * SECOND;
    const isLiquidation = table === 'liquidations';
    const size = { price: makeDigits(n, 1), quantity: makeDigits(n, 2), quantity_unit: 'base' };
    const kind = isLiquidation ? { side: 'long', price_kind: 'fill' } : { side: 'sell' };
    const record = {
      layer: isLiquidation ? 'liquidation' : 'trade',
      venue: listing.venue,
      venue_symbol: listing.symbol,
    };
    const late = n % 9 === 8;
    const source = {
      ...listing,
      id: `${PREFIXES[n % 4]}${1_000 + n}`,
      connId: 'c1',
      srcOffset: 4 * n,
      late,
    };
    return makeEventRow(table, { ...source, recordedAt: received_at + (late ? 200 : 1) * SECOND }, {
      ...{ ...record, venue_ts: n % 3 === 0 ? null : received_at - 77, received_at },
      values: { id: source.id, ...kind, ...size },
    } as unknown as TradeRecord | LiquidationRecord);
  });
  const gap = { from: begin + 3 * 3_600 * SECOND, at: begin + 4 * 3_600 * SECOND, cause: 'connection_lost' as const };
  return [...rows, makeEventGapRow(table, listing, { ...gap, srcOffset: 99_999 })];
};

/** Rows of every anchored table of a listing: `count` windows, minutes or events of each, from 00:00 on. */
export const rowsOfDay = (day: Day, listing: Listing, count: number): Row[] => {
  const facts = { begin: findDayStart(day) * 1_000, count };
  return [
    ...READINGS.filter(({ anchored }) => anchored !== null).flatMap(({ name }) => readingRows(listing, name, facts)),
    ...PRICE_TYPES.flatMap((priceType) => candleRows(listing, priceType, facts)),
    ...eventRows('trades', listing, facts),
    ...eventRows('liquidations', listing, facts),
  ];
};
