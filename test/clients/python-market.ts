// The service of the Python client's tests: a closed day with archive and proofs, an hour before a fixed now, and a small live market.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAnchors } from '../../api/anchors/anchors.ts';
import { openClosedDays } from '../../api/anchors/closed-days.ts';
import { openManifest } from '../../api/archive/manifest.ts';
import { openFileLinks, readLinkSecret } from '../../api/files/links.ts';
import { createHistoryStore } from '../../api/history/store.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { migrate } from '../../infra/postgres/migrate.ts';
import { openFolderStore } from '../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { addDays } from '../../processors/nightly/day.ts';
import { makeGapRow } from '../../processors/task/rows.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { hasQuantity, LAYERS } from '../../schemas/layers/readings.ts';
import type { ListingValues, Micros } from '../../schemas/records.ts';
import type { Reading, Row } from '../../schemas/topics.ts';
import { capability, Feed, listing, listingValues, micros, reading, testApp } from '../support/apps/live-fixture.ts';
import { collecting } from '../support/apps/past-fixture.ts';
import { ACCOUNTS } from '../support/apps/tool-market.ts';
import { openDayStore, rowsOfDay } from '../support/days/closed-day.ts';
import type { Teardown, TestEngines } from '../support/engines/engines.ts';
import { candle, MINUTE, sampled } from '../support/screen/market.ts';

const DAY = '2026-01-10';
const NOW: Micros = micros('2026-01-18T12:00:00.500Z');
/** Windows, minutes and events of each listing and table of the closed day. */
const COUNT = 40;
/** Keys: each has the limits of its plan for itself, and the clock is fixed. */
const KEYS = 200;

type Place = { readonly venue: string; readonly price: number; readonly values: ListingValues };
const place = (venue: string, price: number, over: Partial<ListingValues>): Place => ({
  venue,
  price,
  values: listingValues(over),
});
const PLACES: readonly Place[] = [
  place('binance', 60_000, {}),
  place('binance', 3_000, { instrument: 'ETH-PERP', base: 'ETH', venue_symbol: 'ETHUSDT' }),
  place('binance', 60_010, {
    ...{ venue_symbol: 'BTCUSD', quote: 'USD', venue_kind: 'inverse' },
    ...{ quantity_unit: 'contracts', contract_size: '100' },
  }),
  place('okx', 60_030, { venue_symbol: 'BTC-USDT-SWAP', quantity_unit: 'contracts', contract_size: '0.01' }),
  place('okx', 2, {
    ...{ instrument: 'XRP-PERP', base: 'XRP', venue_symbol: 'XRP-QUANTO', venue_kind: 'quanto' },
    ...{ quantity_unit: 'contracts', contract_size: '1' },
  }),
];
/** The listings of the closed day. */
const CLOSED = [
  { venue: 'binance', symbol: 'BTCUSDT' },
  { venue: 'okx', symbol: 'BTC-USDT-SWAP' },
];

/** Digits that no double holds among them. */
const makeFigures = (layer: ReadingLayer, price: number): Record<string, string> =>
  Object.fromEntries(
    Object.entries(LAYERS[layer].members).map(([name, unit], n) => {
      if (unit === 'ms') return [name, '28800000'];
      if (unit === 'count') return [name, String(7 + n)];
      if (unit === 'fraction') return [name, `0.0000${n + 1}25159123456789012`];
      return [name, `${price + n}.123456789012345678`];
    }),
  );

/** Everything is collected, but for two layers of one venue. */
const makeLayers = (venue: string) => {
  const over = { oi: { policy: 'off' }, stats: { policy: 'not_published' } } as const;
  return {
    ...collecting(venue, 'candles').layers,
    ...collecting(venue, 'liquidation').layers,
    ...(venue === 'okx' ? capability(venue, over).layers : {}),
  };
};

const BOOK = {
  ...{ sequence: '4391823771', collected_bids: 1_000, collected_asks: 2 },
  bids: [
    ['100.10', '2.500'],
    ['99.5', '0.400'],
  ] as [string, string][],
  asks: [['100.5', '1.123456789012345678901']] as [string, string][],
};

const makeReading = (layer: ReadingLayer, { price, values }: Place, received: Micros): Reading =>
  reading({
    ...{ layer, values: makeFigures(layer, price), raw: null },
    ...{ venue_ts: received - 100_000, received_at: received, recorded_at: received + 1_000 },
    quantity_unit: hasQuantity(layer) ? values.quantity_unit : null,
    instants: layer === 'funding' ? { next_funding_at: NOW + 3_600_000_000 } : {},
    book: layer === 'book' ? BOOK : null,
  });

/** Everything is current but for the inverse listing, which is old, and the last one, which never sent anything. */
const liveMarket = (): Feed => {
  const venues = ['binance', 'okx'];
  const feed = new Feed(venues);
  for (const venue of venues) {
    feed.venue(venue, { ...capability(venue), layers: makeLayers(venue) });
    feed.watermark(venue, NOW - 190_000);
    feed.memory.applyHistoryWatermark(venue, 0, NOW);
  }
  for (const one of PLACES) {
    const { venue, values } = one;
    feed.list(listing(venue, values));
    if (values.venue_kind === 'quanto') continue;
    const received = NOW - (values.venue_kind === 'inverse' ? 900_000_000 : 316_000);
    for (const layer of Object.keys(LAYERS) as ReadingLayer[])
      feed.read(venue, values.venue_symbol, makeReading(layer, one, received));
  }
  return feed;
};

/** The hour before now of each listing: a mark, a funding rate and a candle a minute, but for a hole of ten minutes. */
const lastHour = (): Row[] => {
  const end = Math.floor(NOW / MINUTE) * MINUTE;
  return PLACES.flatMap(({ venue, price, values }, n) =>
    Array.from({ length: 60 }, (_, minute): Row[] => {
      const open = end - (minute + 1) * MINUTE;
      const symbol = values.venue_symbol;
      const isGap = minute >= 20 && minute < 30;
      const close = String(price * (1 + (minute % 7) / 10_000));
      const bar = { open: close, high: close, low: close, close, volume: String(n + 1) };
      const layers = ['mark', 'funding'] as const;
      const readings = layers.map((layer) => {
        const at = open + MINUTE;
        const span = { from: at - LAYERS[layer].windowMs * 1_000, at, srcOffset: minute, late: false };
        if (isGap) return makeGapRow({ venue, symbol, layer }, span, 'connection_lost');
        return sampled({ venue, symbol, layer }, at - 1_000_000, {
          values: {
            ...makeFigures(layer, price),
            ...(layer === 'mark' ? { mark: close } : { funding: `0.000${minute + 1}` }),
          },
        });
      });
      return [...readings, candle({ venue, symbol, timeframe: '1m', length: MINUTE, open }, isGap ? null : bar)];
    }).flat(),
  );
};

type PythonMarket = { readonly baseUrl: string; readonly keys: readonly string[]; readonly now: Micros };

export const startPythonMarket = async (t: Teardown, engines: TestEngines): Promise<PythonMarket> => {
  const pool = openPostgres(await engines.database(), { max: 4 });
  await migrate(pool);
  const folder = mkdtempSync(join(tmpdir(), 'python-client-'));
  const store = openFolderStore(folder);
  const day = await openDayStore(t, engines.endpoints, { pool, store, namespace: `${engines.namespace()}.` });
  await day.write([...CLOSED.flatMap((one) => rowsOfDay(DAY, one, COUNT)), ...lastHour()]);
  await pool.query("insert into daily_turnover (day, source, turnover) values ($1, 'history', '{\"BTC-PERP\": 1}')", [
    addDays(DAY),
  ]);
  await day.close(DAY);
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const stored = { questdb: day.questdb, namespace: day.namespace };
  const { app, table } = await testApp(liveMarket(), {
    ...{ baseUrl, accounts: ACCOUNTS, nowMicros: () => NOW },
    history: createHistoryStore(day.questdb, day.namespace),
    anchors: openAnchors({ days: openClosedDays(pool), store, stored }, { verifyUrl: `${baseUrl}/docs/verify` }),
    manifest: openManifest(pool),
    files: openFileLinks(store, () => readLinkSecret(pool), baseUrl),
  });
  await app.listen({ host: '127.0.0.1', port });
  t.teardown(async () => {
    await app.close();
    await pool.end();
    rmSync(folder, { recursive: true, force: true });
  });
  return { baseUrl, keys: Array.from({ length: KEYS }, () => table.add('pro_plus')), now: NOW };
};
