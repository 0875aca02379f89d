// HTX: listings with their rules, of recorded answers.
import t from 'tap';
import { htx } from '../../../ingest/venues/htx/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { answer, lineOf, listingsOf, record } = venueBench(htx);

const INSTRUMENTS = 'cryptofeed-swap-rest-instruments.ndjson.gz';

const REST = 'jkorf-rest-examples.ndjson';

const REST_URL = 'GET https://api.hbdm.com';

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  t.equal(listings.length, 171, '50 coin-margined and 121 USDT-margined swaps');
  const of = (symbol: string): ListingRecord | undefined => listings.find((l) => l.venue_symbol === symbol);
  t.same(
    of('BTC-USDT'),
    record('listing', 'BTC-USDT', [1645289383814, 1645289383837], {
      instrument: 'BTC-PERP',
      venue_symbol: 'BTC-USDT',
      base: 'BTC',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: 'BTC-USDT',
      post_only: null,
      status: 'tradeable',
      contract_size: '0.001',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: null,
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: null, min_qty: null, min_notional: null, contract_size: 'base' },
      quantity_unit: 'contracts',
      funding_interval: '8h',
      funding_interval_source: 'assumed',
      funding_normalisation: { venue_field: 'funding_rate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'price_tick', transform: 'identity' },
        contract_size: { venue_field: 'contract_size', transform: 'identity' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['change_24h', 'lot_size', 'min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
      bands: BANDS,
      oi_sides: 'two',
      listed_at: 1603238400000_000,
      delisted_at: null,
    }),
  );
  t.match(of('BTC-USD'), { venue_ts: 1645289383018_000, received_at: 1645289383037_000 });
  t.match(of('BTC-USD')?.values, {
    venue_kind: 'inverse',
    quote: 'USD',
    pair: 'BTC-USD',
    contract_size: '100',
    tick_size: '0.1',
    units: { contract_size: 'quote' },
    oi_sides: 'one',
    not_published: [...(of('BTC-USDT')?.values.not_published ?? []), 'turnover_24h'],
  });
  t.match(of('SHIB-USDT')?.values, { contract_size: '1000', tick_size: '0.00000001', multiplier: '1' });
  t.match(of('1INCH-USDT')?.values, { base: '1INCH', instrument: '1INCH-PERP' });
  const statuses = listings.map(({ values }) => values.status);
  t.same([statuses.filter((s) => s === 'halted').length, statuses.filter((s) => s === 'tradeable').length], [3, 168]);
  for (const { venue_symbol, values } of listings) {
    const [base, quote] = venue_symbol.split('-');
    t.match(values, { base, quote, venue_kind: quote === 'USD' ? 'inverse' : 'linear' }, venue_symbol);
    t.ok(quote !== 'USD' || values.contract_size === (base === 'BTC' ? '100' : '10'), venue_symbol);
  }
  t.end();
});

t.test('listings: the period of the elements, states, multipliers in names, dated contracts left out', (t) => {
  const info = `${REST_URL}/linear-swap-api/v1/swap_contract_info`;
  const item = { contract_code: 'BTC-USDT', contract_size: 0.001, price_tick: 0.1, contract_status: 1 };
  const mapValues = (changed: object, state = {}): ListingRecord['values'] | undefined =>
    htx.mapReference(state, answer(info, { status: 'ok', data: [{ ...item, ...changed }], ts: 5 }))?.listings[0]
      ?.values;
  const state = {};
  t.equal(htx.mapReference(state, toVenueMessage(lineOf(REST, 2))), null, 'elements alone are no reference');
  const own = htx.mapReference(state, toVenueMessage(lineOf(REST, 3)));
  t.same([own?.scope, own?.listings.map((l) => l.venue_symbol)], ['linear', ['BTC-USDT']], 'of four one has no date');
  t.match(own?.listings[0]?.values, {
    funding_interval: '8h',
    funding_interval_source: 'venue',
    listed_at: 1638403200000_000,
  });
  const elements = `${REST_URL}/linear-swap-api/v1/swap_query_elements`;
  const four = { status: 'ok', data: [{ contract_code: 'BTC-USDT', settle_period: 4 }], ts: 5 };
  htx.mapReference(state, answer(elements, four));
  t.match(mapValues({}, state), { funding_interval: '4h', funding_interval_source: 'venue' });
  const hourly = { funding_interval: '1h', funding_interval_source: 'venue' };
  t.match(mapValues({ settlement_period: '1' }, state), hourly, 'the contract itself names it since 2026');
  t.match(mapValues({ settlement_period: 1 }), hourly);
  for (const settlement_period of ['', null, '0'])
    t.match(mapValues({ settlement_period }, state), { funding_interval: '4h' }, 'none');
  t.same(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99].map((contract_status) => mapValues({ contract_status })?.status),
    [
      'delisted',
      'tradeable',
      'pre_launch',
      'halted',
      'halted',
      'settling',
      'settling',
      'settling',
      'delisted',
      'halted',
      'unknown',
    ],
  );
  t.match(mapValues({ contract_code: '1000SATS-USDT' }), {
    base: 'SATS',
    multiplier: '1000',
    base_venue_alias: '1000SATS',
  });
  t.match(mapValues({ contract_code: '1MBABYDOGE-USDT' }), { base: 'BABYDOGE', multiplier: '1000000' });
  t.match(mapValues({ create_date: '20240229' }), { listed_at: Date.UTC(2024, 1, 29) * 1_000 });
  for (const create_date of ['20230229', '20261301', '20260431', '20260100', '2026'])
    t.throws(() => mapValues({ create_date }), { code: 'VENUE_BAD_FRAME' }, `${create_date} is no day`);
  t.match(mapValues({ delivery_time: '1700000000000' }), { delisted_at: 1700000000000_000 });
  t.end();
});
