// Live messages of 2022 and 2026, value by value: liquidations of seven venues, candles of OKX and MEXC, Gate's open interest, dYdX' markets.
import t from 'tap';
import { aster } from '../../../ingest/venues/aster/index.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { dydx } from '../../../ingest/venues/dydx/index.ts';
import { gate } from '../../../ingest/venues/gate/index.ts';
import { htx } from '../../../ingest/venues/htx/index.ts';
import { mexc } from '../../../ingest/venues/mexc/index.ts';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const LIVE = 'ai-rates-2026-09.ndjson';
const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';
const MEXC_SINGLES = `testdata-${SINGLES}`;

type Row = readonly [symbol: string | null, stamp: string, side: string, price: string, quantity: string];

const listLiquidations = (venue: Venue, file: string): readonly Row[] =>
  venueBench(venue)
    .mapFile(file)
    .filter(({ layer }) => layer === 'liquidation')
    .map(({ venue_symbol, venue_ts, values }) => {
      const { side, price, quantity } = values as { side: string; price: string; quantity: string };
      return [venue_symbol, new Date((venue_ts ?? 0) / 1000).toISOString(), side, price, quantity];
    });

const listKinds = (venue: Venue, file: string): readonly string[] => [
  ...new Set(
    venueBench(venue)
      .mapFile(file)
      .filter(({ layer }) => layer === 'liquidation')
      .map(({ values }) => {
        const { price_kind, quantity_unit } = values as { price_kind: string; quantity_unit: string };
        return `${price_kind} ${quantity_unit}`;
      }),
  ),
];

t.test('liquidations as they were sent', (t) => {
  t.same(listLiquidations(okx, LIVE), [
    ['CNPY-USDT-SWAP', '2026-09-17T18:31:38.955Z', 'short', '0.4162', '2137'],
    ['BTC-USDT-SWAP', '2026-09-12T19:39:46.046Z', 'long', '77032.6', '3.56'],
    ['BTC-USDT-SWAP', '2026-09-12T16:33:15.467Z', 'short', '77364.2', '2.2'],
    ['BTC-USDT-SWAP', '2026-09-12T14:53:25.884Z', 'short', '77482.2', '807.69'],
  ]);
  t.same(listLiquidations(gate, 'issue-2026-08.ndjson'), [
    ['HEI_USDT', '2026-08-10T01:57:13.531Z', 'long', '0.13827', '23'],
    ['HEI_USDT', '2026-08-10T01:57:15.701Z', 'long', '0.13761', '9'],
    ['LAB_USDT', '2026-08-10T01:57:20.872Z', 'long', '0.11824', '9'],
  ]);
  t.same(
    listLiquidations(gate, LIVE),
    [
      ['H_USDT', '2026-09-12T19:53:23.000Z', 'long', '0.081239210527', '76'],
      ['龙虾_USDT', '2026-09-12T19:52:28.000Z', 'short', '0.156387', '1'],
      ['AKE_USDT', '2026-09-12T19:42:36.000Z', 'short', '0.0164213873774757', '309'],
      ['AKE_USDT', '2026-09-12T19:42:30.000Z', 'short', '0.016375235757', '165'],
      ['ETH_USDT', '2026-09-12T19:39:54.000Z', 'long', '2514.55', '322.3'],
    ],
    'a step of a close has the order, not the whole position again',
  );
  t.same(listLiquidations(bybit, LIVE), [
    ['ICPUSDT', '2026-09-17T18:34:54.099Z', 'long', '2.585', '19.7'],
    ['MARSCOINUSDT', '2026-09-17T18:37:58.053Z', 'short', '0.12734', '2380'],
  ]);
  t.same(listLiquidations(htx, LIVE), [['ETH-USDT', '2026-09-17T18:38:17.212Z', 'short', '2446.26', '500']]);
  t.same(listLiquidations(dydx, LIVE), [['BTC-USD', '2026-09-17T13:39:47.542Z', 'long', '75974', '0.0004']]);
  t.same(listLiquidations(aster, LIVE), [['PAIRUSDT', '2026-09-17T19:17:01.550Z', 'long', '0.0044461', '28448']]);
  t.end();
});

t.test('what their prices are, and what their quantities count', (t) => {
  const kinds = [okx, bybit, htx, dydx, aster].map((venue) => [venue.id, ...listKinds(venue, LIVE)]);
  t.same(kinds, [
    ['okx', 'bankruptcy contracts'],
    ['bybit', 'bankruptcy base'],
    ['htx', 'bankruptcy contracts'],
    ['dydx', 'fill base'],
    ['aster', 'fill base'],
  ]);
  t.same(listKinds(gate, 'issue-2026-08.ndjson'), ['order contracts']);
  t.same(listKinds(gate, LIVE), ['fill contracts'], 'the answer has what was paid');
  t.end();
});

t.test('candles: a turnover in coins is none', (t) => {
  const listCandles = (venue: Venue, file: string) =>
    venueBench(venue)
      .mapFile(file)
      .filter(({ layer }) => layer === 'candle')
      .map(({ venue_symbol, values }) => {
        const { open, high, low, close, volume, turnover, closed } = values as Record<string, unknown>;
        return [venue_symbol, open, high, low, close, volume, turnover, closed];
      });
  t.same(listCandles(okx, SINGLES), [
    ['BTC-USD-SWAP', '20713.4', '20721.5', '20711.1', '20721.5', '1400', null, null],
    ['BTC-USDT-SWAP', '20702.4', '20710', '20702.3', '20703.8', '4070', null, null],
  ]);
  t.same(listCandles(mexc, MEXC_SINGLES), [
    ['BTC_USD', '31439.5', '31439.5', '31439', '31439.5', '2539', null, null],
    ['BTC_USDT', '31576', '31585.5', '31574.5', '31575', '31468', '99371.3865', null],
  ]);
  t.end();
});

t.test(
  "MEXC: a contract before its first trade has a mark and no price; an inverse day's turnover counts coins",
  (t) => {
    const { mapFile, record } = venueBench(mexc);
    const ofNew = mapFile(LIVE).filter(({ venue_symbol }) => venue_symbol === 'TON_USDT');
    t.same(
      ofNew.map(({ layer }) => layer),
      ['mark', 'funding', 'oi', 'stats'],
    );
    const day = { volume_24h: '21030740', volume_unit: 'contracts', turnover_24h: null, change_24h: '-0.0264' };
    t.same(
      mapFile(MEXC_SINGLES).filter(({ layer }) => layer === 'stats'),
      [record('stats', 'BTC_USD', [1654165977028, null], day)],
    );
    t.end();
  },
);

t.test('HTX: a rate of 0E-18 is zero, and a dated contract without a rate gives none', (t) => {
  const rates = venueBench(htx)
    .mapFile(LIVE)
    .filter(({ layer }) => layer === 'funding');
  t.match(rates, [
    { venue_symbol: 'BTC-USDT', values: { funding: '0.00004317342907712' } },
    { venue_symbol: 'PAXG-USDT', values: { funding: '0' } },
  ]);
  t.equal(rates.length, 2);
  t.end();
});

t.test('OKX: four hours between settlements; a long-dated future has funding and is no swap', (t) => {
  const rates = venueBench(okx)
    .mapFile(LIVE)
    .filter(({ layer }) => layer === 'funding');
  t.match(rates, [{ venue_symbol: 'CHIP-USDT-SWAP', values: { funding: '0.00005', funding_interval_ms: 14_400_000 } }]);
  t.equal(rates.length, 1);
  t.end();
});

/** The digits of a figure, as published. */
const read = (values: unknown, name: string): bigint => BigInt((values as Record<string, string>)[name] ?? '');

t.test('Gate: open interest counts both sides, as its listings state (D-1176)', (t) => {
  const { listingsOf, lineOf, mapFile } = venueBench(gate);
  const contracts = JSON.parse(lineOf(LIVE, 2).raw) as readonly { name: string; position_size: number }[];
  const totals = mapFile(LIVE).filter(({ layer }) => layer === 'oi');
  t.same(
    totals.map(({ venue_symbol, values }) => [venue_symbol, read(values, 'oi')]),
    contracts.map(({ name, position_size }) => [name, 2n * BigInt(position_size)]),
  );
  t.same(
    listingsOf(LIVE).map(({ values }) => values.oi_sides),
    ['two', 'two', 'two'],
  );
  t.end();
});

t.test('dYdX: the answer about markets gives their listings, and no stamp', (t) => {
  const file = 'nautilus-rest-2025-12.ndjson';
  const { listingsOf, mapFile } = venueBench(dydx);
  t.match(listingsOf(file), [
    { venue_symbol: 'BTC-USD', venue_ts: null, values: { status: 'tradeable', tick_size: '1', lot_size: '0.0001' } },
    { venue_symbol: 'ETH-USD', values: { status: 'tradeable', tick_size: '0.1', lot_size: '0.001' } },
    { venue_symbol: 'SOL-USD', values: { status: 'tradeable', tick_size: '0.01', lot_size: '0.1' } },
  ]);
  const ofSol = mapFile(file).filter(({ venue_symbol }) => venue_symbol === 'SOL-USD');
  t.match(ofSol, [
    { layer: 'mark', values: { mark: '135.3', index: null } },
    { layer: 'funding', values: { funding: '-0.00000143181818181818' } },
    { layer: 'oi', values: { oi: '41917.9', oi_unit: 'base' } },
    { layer: 'stats', values: { volume_24h: null, turnover_24h: '54043106.256' } },
  ]);
  t.end();
});
