// Bitget: listings with their rules, of recorded answers.
import t from 'tap';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, instrument, listListings, REST, record, V1_CONTRACTS, v3 } from './bitget.messages.ts';

const { lineOf, map } = venueBench(bitget);

t.test('each rule of a v3 listing has its derivation', (t) => {
  t.same(listListings(toVenueMessage(lineOf(REST, 20))), [
    record('listing', 'BTCUSDT', [1770531054230], {
      instrument: 'BTC-PERP',
      venue_symbol: 'BTCUSDT',
      base: 'BTC',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: '0.0001',
      min_qty: '0.0001',
      min_notional: '5',
      price_decimals: 1,
      qty_decimals: 4,
      units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'priceMultiplier', transform: 'string_to_number' },
        lot_size: { venue_field: 'quantityMultiplier', transform: 'string_to_number' },
        min_qty: { venue_field: 'minOrderQty', transform: 'string_to_number' },
        min_notional: { venue_field: 'minOrderAmount', transform: 'string_to_number' },
        price_decimals: { venue_field: 'pricePrecision', transform: 'string_to_number' },
        qty_decimals: { venue_field: 'quantityPrecision', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: [],
      bands: BANDS,
      oi_sides: null,
      listed_at: null,
      delisted_at: null,
    }),
  ]);
  t.end();
});

t.test('the tick of v1 and v2 is steps of the last decimal; sizeMultiplier is a step of sizes, no contract', (t) => {
  t.match(listListings(toVenueMessage(lineOf(REST, 1))), [
    {
      values: {
        contract_size: '1',
        tick_size: '0.1',
        lot_size: '0.01',
        min_notional: '5',
        rules_normalisation: {
          tick_size: { venue_field: 'priceEndStep', transform: 'scale:0.1' },
          lot_size: { venue_field: 'sizeMultiplier', transform: 'string_to_number' },
        },
      },
    },
  ]);
  const linear = listListings(toVenueMessage(lineOf(V1_CONTRACTS, 2)));
  const inverse = listListings(toVenueMessage(lineOf(V1_CONTRACTS, 3)));
  t.same([linear.length, inverse.length], [51, 8]);
  t.equal(bitget.mapReference({}, toVenueMessage(lineOf(V1_CONTRACTS, 3)))?.scope, 'dmcbl');
  t.match(linear[0], {
    venue_symbol: 'BTCUSDT_UMCBL',
    values: {
      base: 'BTC',
      venue_kind: 'linear',
      tick_size: '0.5',
      lot_size: '0.001',
      min_notional: null,
      status: 'unknown',
      funding_interval: null,
      not_published: ['min_notional'],
      rules_normalisation: { lot_size: { venue_field: 'volumePlace', transform: 'decimals_to_step' } },
    },
  });
  t.match(inverse[1], {
    venue_symbol: 'ETHUSD_DMCBL',
    values: {
      venue_kind: 'inverse',
      quote: 'USD',
      quantity_unit: 'base',
      tick_size: '0.01',
      lot_size: '0.1',
      min_qty: '0.1',
    },
  });
  t.match(linear[2]?.values, { base: 'XRP', tick_size: '0.0001', lot_size: '1', qty_decimals: 0 });
  t.end();
});

t.test('dated futures are no listings; words of the venue, multipliers, times without a value', (t) => {
  const listings = listListings(
    answer('v3/market/instruments?category=USDT-FUTURES', [
      instrument('1MBABYDOGEUSDT', { launchTime: '1700000000000', fundInterval: '4' }),
      instrument('1000BONKUSDT', { status: 'limit_open' }),
      instrument('1INCHUSDT', { status: 'offline', offTime: '1700000000001' }),
      instrument('BTCPERP', { status: 'listed', quoteCoin: 'USDC', minTradeUSDT: '5' }),
      instrument('BTCUSDZ24', { type: 'delivery' }),
      instrument('ETHUSDZ24'),
      instrument('ETHUSD', { quoteCoin: 'USD', status: 'restrictedAPI', offTime: '-1', launchTime: '' }),
      instrument('ADAUSDT', { status: 'offline', offTime: '-1', maintainTime: '1700000000000' }),
      instrument('DOTUSDT', { status: 'offline', offTime: '4000000000000' }),
    ]),
  );
  t.match(
    listings.map(({ values }) => values),
    [
      {
        base: 'BABYDOGE',
        multiplier: '1000000',
        base_venue_alias: '1MBABYDOGE',
        funding_interval: '4h',
        listed_at: 1700000000000_000,
      },
      { base: 'BONK', multiplier: '1000', status: 'reduce_only' },
      { base: '1INCH', multiplier: '1', status: 'delisted', delisted_at: 1700000000001_000 },
      { base: 'BTC', status: 'pre_launch', venue_kind: 'linear', min_notional: null },
      { base: 'ETH', venue_kind: 'inverse', status: 'unknown', listed_at: null, delisted_at: null },
      { base: 'ADA', status: 'halted', delisted_at: null },
      { base: 'DOT', status: 'halted', delisted_at: 4000000000000_000 },
    ],
    '`offline` means an end that has passed, or maintenance',
  );
  t.equal(listings.length, 7);
  t.equal(bitget.mapReference({}, answer('v3/market/instruments?category=SPOT', [instrument('BTCUSDT')])), null);
  t.end();
});

t.test('the unified coin-margined line counts dollars, the older ones the base asset', (t) => {
  const coin = (symbol: string, change: object = {}): object =>
    instrument(symbol, { category: 'COIN-FUTURES', baseCoin: 'BTC', quoteCoin: 'USD', minOrderQty: '1', ...change });
  const rules = { quantityMultiplier: '1', quantityPrecision: '0', priceMultiplier: '0.1', minOrderAmount: '' };
  const listings = listListings(
    answer('v3/market/instruments?category=COIN-FUTURES', [
      coin('BTCUSD_CM', rules),
      coin('BTCCMZ26', { ...rules, type: 'delivery' }),
      coin('BTCUSD'),
    ]),
  );
  const found = listings.map(({ venue_symbol, values }) => {
    const { venue_kind, contract_size, quantity_unit, units } = values;
    return [venue_symbol, venue_kind, contract_size, quantity_unit, units.contract_size, units.min_qty, units.lot_size];
  });
  t.same(found, [
    ['BTCUSD_CM', 'inverse', '1', 'quote', 'quote', 'quote', 'quote'],
    ['BTCUSD', 'inverse', '1', 'base', 'base', 'base', null],
  ]);
  for (const [symbol, quantity_unit] of [
    ['BTCUSD_CM', 'quote'],
    ['BTCUSD', 'base'],
    ['BTCUSD_DMCBL', 'base'],
  ] as const) {
    const implied = bitget.impliedQuantity?.(symbol);
    t.same(implied, { venue_kind: 'inverse', contract_size: '1', quantity_unit }, symbol);
    const data = [{ i: '1', p: '2', v: '3', S: 'buy', T: '1700000000001' }];
    t.match(map(v3('publicTrade', data, { instType: 'coin-futures', symbol })), [{ values: { quantity_unit } }]);
  }
  t.same(map(v3('ticker', [{ lastPrice: '5' }], { instType: 'coin-futures', symbol: 'BTCCMZ26' })), []);
  t.match(map(v3('ticker', [{ openInterest: '5', volume24h: '6' }], { symbol: 'BTCUSD_CM' })), [
    { values: { oi_unit: 'base' } },
    { values: { volume_unit: 'base' } },
  ]);
  t.end();
});
