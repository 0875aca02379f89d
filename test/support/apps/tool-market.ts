// A market that traders ask of: two instruments on two venues with readings of every layer but the book, and a day of their past for a store.
import type { AccountStore } from '../../../api/access/account-store.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { hasQuantity } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Row } from '../../../schemas/topics.ts';
import { candle, HOUR, MINUTE, sampled, withCandles } from '../screen/market.ts';
import { Feed, LISTED, listing, listingValues, micros, NOW, reading } from './live-fixture.ts';

/** What PostgreSQL returns for any key. */
export const ACCOUNTS: AccountStore = {
  read: async (keyId) => ({
    key_id: keyId,
    name: 'desk',
    kind: 'account',
    created_at: LISTED,
    expires_at: null,
    plan_since: LISTED,
    used: {},
  }),
};

const PLACES = [
  { venue: 'binance', symbol: 'BTCUSDT', base: 'BTC', price: 60_000 },
  { venue: 'binance', symbol: 'ETHUSDT', base: 'ETH', price: 3_000 },
  { venue: 'okx', symbol: 'BTC-USDT-SWAP', base: 'BTC', price: 60_030 },
  { venue: 'okx', symbol: 'ETH-USDT-SWAP', base: 'ETH', price: 3_001 },
] as const;
type Place = (typeof PLACES)[number];

const VALUES: Readonly<Partial<Record<ReadingLayer, (price: number) => Readonly<Record<string, string>>>>> = {
  ticker: (price) => ({ last: String(price) }),
  mark: (price) => ({ mark: String(price), index: String(price - 1), basis: '0.0000166669444490741512' }),
  funding: () => ({ funding: '0.0000125', funding_interval: '28800000', funding_8h: '0.0000125' }),
  oi: () => ({ oi: '1234.5' }),
  stats: (price) => ({ volume_24h: '1000', turnover_24h: String(1_000 * price), change_24h: '0.01' }),
};

const makeValues = (layer: ReadingLayer, { price }: Place): Readonly<Record<string, string>> =>
  VALUES[layer]?.(price) ?? {};
const LAYERS_TOLD = Object.keys(VALUES) as ReadingLayer[];

/** The newest readings, and the listings since they were listed. */
export const askedMarket = (): Feed => {
  const feed = new Feed(['binance', 'okx']);
  for (const venue of ['binance', 'okx']) {
    feed.watermark(venue, LISTED);
    feed.venue(venue, withCandles(venue));
    feed.memory.applyHistoryWatermark(venue, 0, NOW - 190_000);
  }
  for (const place of PLACES) {
    const { venue, symbol, base } = place;
    feed.list(listing(venue, listingValues({ venue_symbol: symbol, base, instrument: `${base}-PERP` })));
    for (const layer of LAYERS_TOLD) {
      feed.read(
        venue,
        symbol,
        reading({ layer, values: makeValues(layer, place), instants: {}, quantity_unit: 'base' }),
      );
    }
  }
  return feed;
};

const END: Micros = micros('2026-01-15T12:00:00.000Z');

/** Readings each hour of a day, candles of the last hour by the minute and of two days by the hour. */
export const askedRows = (): Row[] =>
  PLACES.flatMap((place) => {
    const { venue, symbol, price } = place;
    const prices = { open: String(price), high: String(price + 5), low: String(price - 5), close: String(price + 1) };
    const candles = (timeframe: '1m' | '1h', length: Micros, count: number): Row[] =>
      Array.from({ length: count }, (_, i) =>
        candle({ venue, symbol, timeframe, length, open: END - (i + 1) * length }, { ...prices, volume: '2' }),
      );
    const readings = Array.from({ length: 25 }, (_, hour) =>
      LAYERS_TOLD.map((layer) =>
        sampled({ venue, symbol, layer }, END - hour * HOUR - 2_000_000, {
          values: makeValues(layer, place),
          quantity_unit: hasQuantity(layer) ? 'base' : null,
        }),
      ),
    );
    return [...candles('1m', MINUTE, 60), ...candles('1h', HOUR, 48), ...readings.flat()];
  });
