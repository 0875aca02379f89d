// Gate: listings with their rules, of recorded answers.
import t from 'tap';
import { gate as venue } from '../../../ingest/venues/gate/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, listingsOf, answer, record } = venueBench(venue);

const CONTRACTS = 'cryptofeed-futures-usdt-rest-instruments.ndjson.gz';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const REST = 'GET https://api.gateio.ws/api/v4/futures';

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(CONTRACTS);
  t.equal(listings.length, 302);
  const pepe = listings.find(({ venue_symbol }) => venue_symbol === 'PEPE_USDT');
  t.same(
    pepe,
    record('listing', 'PEPE_USDT', [null, lineOf(CONTRACTS, 1).recv_ms], {
      instrument: 'PEPE-PERP',
      venue_symbol: 'PEPE_USDT',
      base: 'PEPE',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '10000000',
      multiplier: '1',
      tick_size: '0.00000000001',
      lot_size: null,
      min_qty: '1',
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: { tick_size: 'quote', lot_size: null, min_qty: 'contracts', min_notional: null, contract_size: 'base' },
      quantity_unit: 'contracts',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'funding_rate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'order_price_round', transform: 'string_to_number' },
        min_qty: { venue_field: 'order_size_min', transform: 'string_to_number' },
        contract_size: { venue_field: 'quanto_multiplier', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['lot_size', 'min_notional', 'price_decimals', 'qty_decimals'],
      bands: BANDS,
      oi_sides: 'two',
      listed_at: 1681909147_000_000,
      delisted_at: null,
    }),
  );
  const odd = listings
    .filter(({ values }) => values.status !== 'tradeable')
    .map(({ venue_symbol, values }) => [venue_symbol, values.status]);
  t.same(odd, [['COCOS_USDT', 'reduce_only']], 'a contract being delisted closes positions only');
  t.match(listings.find(({ venue_symbol }) => venue_symbol === '1INCH_USDT')?.values, {
    base: '1INCH',
    multiplier: '1',
    listed_at: null,
  });
  t.match(
    listingsOf(JKORF_REST).map(({ venue_symbol, values }) => [venue_symbol, values.contract_size, values.min_qty]),
    [
      ['BTC_USDT', '0.0001', '1'],
      ['LAB_USDT', '100', '0.1'],
    ],
  );
  t.end();
});

t.test('a size of zero is an inverse contract of one USD; other contracts in bitcoin are quanto', (t) => {
  const contract = {
    quanto_multiplier: '0',
    order_price_round: '0.1',
    order_size_min: 1,
    funding_interval: 14400,
    in_delisting: false,
  };
  const mapListing = (market: string, members: object): ListingRecord['values'] | undefined =>
    venue.mapReference({}, answer(`${REST}/${market}/contracts`, [{ ...contract, ...members }]))?.listings[0]?.values;
  t.match(mapListing('btc', { name: 'BTC_USD', type: 'inverse' }), {
    venue_kind: 'inverse',
    contract_size: '1',
    units: { contract_size: 'quote' },
    quote: 'USD',
    funding_interval: '4h',
  });
  for (const quanto_multiplier of ['0', '-1', null]) {
    const direct = { type: 'direct', quanto_multiplier };
    const none = { contract_size: null, units: { contract_size: null } };
    t.match(mapListing('usdt', { name: 'NEW_USDT', ...direct }), { venue_kind: 'linear', ...none });
    t.match(mapListing('btc', { name: 'NEW_USD', ...direct }), { venue_kind: 'quanto', ...none });
  }
  t.match(mapListing('btc', { name: 'ETH_USD', quanto_multiplier: '0.000001' }), {
    venue_kind: 'quanto',
    contract_size: null,
    units: { contract_size: null },
  });
  t.match(mapListing('usdt', { name: '1000SATS_USDT', quanto_multiplier: '10' }), {
    base: 'SATS',
    base_venue_alias: '1000SATS',
    multiplier: '1000',
    contract_size: '10',
  });
  t.match(
    mapListing('usdt', { name: 'MBABYDOGE_USDT', quanto_multiplier: '100' }),
    { base: 'BABYDOGE', base_venue_alias: 'MBABYDOGE', multiplier: '1000000', contract_size: '100' },
    'the recorded mark of 0.0019 is a million times the price of one',
  );
  t.match(
    mapListing('usd1', { name: 'BTC_USD1', quanto_multiplier: '0.0001', create_time: 1787100000.5 }),
    { venue_kind: 'linear', contract_size: '0.0001', quote: 'USD1', listed_at: 1787100000_500_000 },
    'contracts settled in USD1; times are doubles',
  );
  t.equal(mapListing('usdt', { name: 'BTC_USDT_20250328' }), undefined);
  const findStatus = (members: object): unknown => mapListing('usdt', { name: 'A_USDT', ...members })?.status;
  t.same(
    ['prelaunch', 'trading', 'delisting', 'delisted', 'circuit_breaker', 'odd'].map((status) => findStatus({ status })),
    ['pre_launch', 'tradeable', 'reduce_only', 'delisted', 'halted', 'unknown'],
  );
  t.equal(findStatus({ in_delisting: true, position_size: 0 }), 'delisted');
  t.equal(findStatus({ in_delisting: undefined }), 'unknown');
  const one = venue.mapReference({}, toVenueMessage(lineOf(JKORF_REST, 1)));
  t.match([one?.scope, one?.listings.length], ['usdt/ETH_USDT', 1], 'one contract is a scope of its own');
  t.end();
});
