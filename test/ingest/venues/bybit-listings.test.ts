// Bybit: listings with their rules, of recorded answers.
import t from 'tap';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, instrument, listListings, REST, record } from './bybit.messages.ts';

const { lineOf } = venueBench(bybit);

t.test('each rule of a listing has its derivation', (t) => {
  t.same(listListings(toVenueMessage(lineOf(REST, 4))), [
    record('listing', 'BTCUSDT', 1707186451514, {
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
      lot_size: '0.001',
      min_qty: '0.001',
      min_notional: '5',
      price_decimals: 2,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
      quantity_unit: 'base',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'priceFilter.tickSize', transform: 'string_to_number' },
        lot_size: { venue_field: 'lotSizeFilter.qtyStep', transform: 'string_to_number' },
        min_qty: { venue_field: 'lotSizeFilter.minOrderQty', transform: 'string_to_number' },
        min_notional: { venue_field: 'lotSizeFilter.minNotionalValue', transform: 'string_to_number' },
        price_decimals: { venue_field: 'priceScale', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['qty_decimals'],
      bands: BANDS,
      oi_sides: 'two',
      listed_at: 1585526400000_000,
      delisted_at: null,
    }),
  ]);
  t.match(listListings(toVenueMessage(lineOf(REST, 5))), [
    { venue_symbol: 'PRE02ZROUSDT', values: { status: 'pre_launch', base: 'PRE02ZRO', lot_size: '0.1' } },
  ]);
  t.end();
});

t.test(
  'inverse listings count dollars; dated futures and spreads are none; the funding interval is in minutes',
  (t) => {
    const list = [
      instrument('BTCUSD', { contractType: 'InversePerpetual', quoteCoin: 'USD', fundingInterval: 60 }),
      instrument('BTCUSDU23', { contractType: 'InverseFutures' }),
      instrument('SOLUSDT_SOL/USDT', { contractType: 'FundingRateArb' }),
      instrument('XUSD', { contractType: 'InversePerpetual', status: 'Closed', deliveryTime: '1700000000000' }),
    ];
    const listings = listListings(answer('instruments-info?category=inverse', { category: 'inverse', list }));
    t.match(listings, [
      {
        venue_symbol: 'BTCUSD',
        values: {
          venue_kind: 'inverse',
          quantity_unit: 'quote',
          contract_size: '1',
          units: { contract_size: 'quote' },
          funding_interval: '1h',
          not_published: ['qty_decimals', 'min_notional', 'turnover_24h'],
        },
      },
      { venue_symbol: 'XUSD', values: { status: 'delisted', delisted_at: 1700000000000_000 } },
    ]);
    t.equal(listings.length, 2);
    t.end();
  },
);

t.test('multipliers before and behind a name are undone, names that begin with a digit are not', (t) => {
  for (const [baseCoin, base, multiplier] of [
    ['1000PEPE', 'PEPE', '1000'],
    ['1000000MOG', 'MOG', '1000000'],
    ['10000000AIDOGE', 'AIDOGE', '10000000'],
    ['1000X', 'X', '1000'],
    ['SHIB1000', 'SHIB', '1000'],
    ['1INCH', '1INCH', '1'],
    ['BTC', 'BTC', '1'],
  ]) {
    const list = [instrument('AUSDT', { baseCoin })];
    const [listing] = listListings(answer('instruments-info?category=linear', { category: 'linear', list }));
    t.match(listing?.values, {
      base,
      multiplier,
      instrument: `${base}-PERP`,
      base_venue_alias: base === baseCoin ? null : baseCoin,
    });
  }
  t.end();
});

t.test('listings before their launch come first and pass into the scope of their market', (t) => {
  const state = {};
  const early = answer('instruments-info?category=linear&status=PreLaunch&limit=1000', {
    category: 'linear',
    list: [instrument('NEWUSDT', { status: 'PreLaunch' }), instrument('SOONUSDT', { status: 'PreLaunch' })],
  });
  const open = answer('instruments-info?category=linear&limit=1000', {
    category: 'linear',
    list: [instrument('BTCUSDT'), instrument('NEWUSDT')],
  });
  t.equal(bybit.mapReference(state, early), null);
  const whole = bybit.mapReference(state, open);
  t.equal(whole?.scope, 'linear');
  t.same(
    whole?.listings.map((l) => [l.venue_symbol, l.values.status]),
    [
      ['BTCUSDT', 'tradeable'],
      ['NEWUSDT', 'tradeable'],
      ['SOONUSDT', 'pre_launch'],
    ],
  );
  t.equal(bybit.mapReference({}, toVenueMessage(lineOf(REST, 6))), null, 'another answer is no reference');
  t.same(
    bybit.mapReference({}, answer('instruments-info?category=linear', { list: [instrument('BTCUSDT')] }))?.listings[0],
    whole?.listings[0],
    'the request names the market too',
  );
  t.equal(bybit.mapReference({}, answer('instruments-info?category=spot', { list: [instrument('BTCUSDT')] })), null);
  t.end();
});

t.test('a full page with others after it delists none of their listings', (t) => {
  const unreadOf = (list: readonly object[], nextPageCursor?: string): readonly unknown[] => {
    const page = answer('instruments-info?category=linear&limit=2', { category: 'linear', list, nextPageCursor });
    return bybit.mapReference({}, page)?.unreadable?.map(({ symbol, kind }) => [symbol, kind]) ?? [];
  };
  const [one, two] = [instrument('AUSDT'), instrument('BUSDT')];
  t.same(unreadOf([one, two], 'first%3DB'), [[null, 'unknown_listing']]);
  t.same(unreadOf([one, two], ''), []);
  t.same(unreadOf([one, two]), []);
  t.same(unreadOf([one], 'first%3DA'), [], 'the last page');
  t.end();
});
