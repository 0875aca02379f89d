// A memory copy with the given number of simulated listings, everything present, and hourly candles to store: the input of the bench of screens.
import { LiveMemory } from '../../../api/live/memory.ts';
import { makeCandleRow } from '../../../processors/task/rows.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import { type LiveEntry, makeLiveEntry, type Reading, type Row } from '../../../schemas/topics.ts';
import { type Listed, makeInventedVersion } from './invented-listing.ts';

const VENUES = ['binance', 'bybit', 'gate', 'okx'];
const HOUR: Micros = 3_600_000_000;
const NOON: Micros = Date.parse('2026-01-15T12:00:00Z') * 1_000;
/** The instant of the queries. */
export const NOW = NOON + 200_000_000;

/** Every base on each of the venues. */
export const listListed = (count: number): Listed[] =>
  Array.from({ length: count }, (_, i) => {
    const base = `B${Math.floor(i / VENUES.length)}`;
    return { venue: VENUES[i % VENUES.length] ?? '', symbol: `${base}USDT`, base };
  });

const VALUES: Readonly<Record<string, Record<string, string>>> = {
  mark: { mark: '60000.1', index: '60001.2', basis: '-0.00001833' },
  funding: { funding: '0.000125', funding_8h: '0.000125', funding_interval: '28800000' },
  book: { bid: '60000', ask: '60000.1', mid: '60000.05', spread: '0.0000016', bid_size: '1.2', ask_size: '2.5' },
};
const makeReading = (layer: string, i: number): Reading => ({
  ...{ layer: layer as Reading['layer'], rev: 1, valid: true, gap_cause: null, venue_ts: NOW - 900_000 },
  ...{ received_at: NOW - 800_000 - i, recorded_at: NOW - 700_000, conn_id: 'c1', horizon_ms: null, valid_until: null },
  ...{ horizon_source: 'connection', anchor: 'venue', values: VALUES[layer] ?? {}, null_reasons: {}, instants: {} },
  ...{ quantity_unit: 'base', book: null, raw: null },
});

const ON = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } as const;

/** Filled in the way the log fills it. */
export const makeMarket = (listed: readonly Listed[]): LiveMemory => {
  const live = new LiveMemory(VENUES);
  let offset = 0;
  const tell = (venue: string, body: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void => {
    const entry = makeLiveEntry({ offset: ++offset, index: 0, recorded_at: NOW, ...body });
    live.applyLive(venue, 0, codecs.live.encode(entry));
  };
  for (const venue of VENUES) {
    live.markReady(venue, 0);
    // Followed for an hour: memory holds what the store does not show yet.
    tell(venue, { kind: 'watermark', watermark: NOON - HOUR, recorded_at: NOON - HOUR });
    const layers = Object.fromEntries([...READING_LAYERS, 'candles'].map((layer) => [layer, ON]));
    tell(venue, { kind: 'capability', capability: { venue, name: venue, written_at: NOON - 5_000 * HOUR, layers } });
    tell(venue, { kind: 'connection', span: { conn_id: 'c1', slot: 's', from: NOON - HOUR, to: null, cause: null } });
    tell(venue, { kind: 'watermark', watermark: NOW - 200_000 });
    live.applyHistoryWatermark(venue, 0, NOW);
  }
  for (const [i, one] of listed.entries()) {
    live.applyListing(makeInventedVersion(one, NOON - 5_000 * HOUR));
    for (const layer of Object.keys(VALUES))
      tell(one.venue, { kind: 'reading', symbol: one.symbol, reading: makeReading(layer, i) });
  }
  return live;
};

/** The `i`th newest hour of a listing. */
export const makeCandle = ({ venue, symbol }: Listed, i: number): Row => {
  const openTime = NOON - (i + 1) * HOUR;
  const price = 100 + ((i * 7919) % 100) / 10;
  const figures = {
    open: String(price),
    high: String(price + 1),
    low: String(price - 1),
    close: String(price + 0.5),
    volume: '3',
  };
  const minute = {
    values: { volume_unit: 'base' },
    venue_ts: null,
    received_at: openTime + HOUR,
    final: true,
    connId: 'c1',
  };
  const stored = { ...minute, recordedAt: openTime + HOUR, srcOffset: i, late: false };
  return makeCandleRow(
    { venue, symbol, priceType: 'trade' },
    {
      ...{ openTime, closeTime: openTime + HOUR, timeframe: '1h', minute: stored as never, figures, trades: null },
      ...{ gapCause: null, counted: { expected: 60, present: 60, noTrades: 0 } },
    },
    i,
  );
};
