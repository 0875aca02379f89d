// OKX: listings with their rules, of recorded answers.
import t from 'tap';
import { okx } from '../../../ingest/venues/okx/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { answer, listingsOf, record } = venueBench(okx);

const INSTRUMENTS = 'cryptofeed-v5-rest-instruments.ndjson.gz';

const REST_URL = 'GET https://www.okx.com/api/v5';

t.test('each rule of a listing has its derivation', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  t.equal(listings.length, 166, 'the swaps; dated futures are none');
  const of = (symbol: string): ListingRecord | undefined => listings.find((l) => l.venue_symbol === symbol);
  t.same(
    of('SHIB-USDT-SWAP'),
    record('listing', 'SHIB-USDT-SWAP', [null, 1652458996525], {
      instrument: 'SHIB-PERP',
      venue_symbol: 'SHIB-USDT-SWAP',
      base: 'SHIB',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: 'SHIB-USDT',
      post_only: null,
      status: 'tradeable',
      contract_size: '1000000',
      multiplier: '1',
      tick_size: '0.00000001',
      lot_size: '1',
      min_qty: '1',
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: {
        tick_size: 'quote',
        lot_size: 'contracts',
        min_qty: 'contracts',
        min_notional: null,
        contract_size: 'base',
      },
      quantity_unit: 'contracts',
      funding_interval: null,
      funding_interval_source: null,
      funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
      rules_normalisation: {
        tick_size: { venue_field: 'tickSz', transform: 'string_to_number' },
        lot_size: { venue_field: 'lotSz', transform: 'string_to_number' },
        min_qty: { venue_field: 'minSz', transform: 'string_to_number' },
        contract_size: { venue_field: 'ctVal', transform: 'string_to_number' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['change_24h', 'min_notional', 'price_decimals', 'qty_decimals', 'turnover_24h'],
      bands: BANDS,
      oi_sides: null,
      listed_at: 1620551348000_000,
      delisted_at: null,
    }),
  );
  t.match(of('BTC-USD-SWAP')?.values, {
    venue_kind: 'inverse',
    quote: 'USD',
    contract_size: '100',
    units: { contract_size: 'quote' },
  });
  t.match(of('BTC-USDT-SWAP')?.values, { venue_kind: 'linear', contract_size: '0.01', instrument: 'BTC-PERP' });
  t.match(of('1INCH-USD-SWAP')?.values, { base: '1INCH', instrument: '1INCH-PERP', contract_size: '10' });
  for (const { venue_symbol, values } of listings) {
    const [base, quote] = venue_symbol.split('-');
    const kind = quote === 'USD' ? 'inverse' : 'linear';
    t.match(values, { base, quote, venue_kind: kind, multiplier: '1', status: 'tradeable' }, venue_symbol);
    t.ok(kind === 'linear' || values.contract_size === (base === 'BTC' ? '100' : '10'), venue_symbol);
  }
  t.end();
});

t.test(
  'listings of today: states, dollar-margined symbols, multiplied contracts, the interval once funding was requested',
  (t) => {
    const item = {
      instType: 'SWAP',
      instId: 'BTC-USD_UM-SWAP',
      instFamily: 'BTC-USD_UM',
      uly: 'BTC-USD',
      ctType: 'linear',
      ctVal: '0.001',
      ctMult: '10',
      ctValCcy: 'BTC',
      tickSz: '0.1',
      lotSz: '0.01',
      minSz: '0.02',
      state: 'live',
      listTime: '1700000000000',
      expTime: '1800000000000',
    };
    const url = `${REST_URL}/public/instruments?instType=SWAP`;
    const mapValues = (changed: object, state = {}): unknown =>
      okx.mapReference(state, answer(url, { code: '0', data: [{ ...item, ...changed }] }))?.listings[0]?.values;
    t.match(mapValues({}), {
      base: 'BTC',
      quote: 'USD',
      pair: 'BTC-USD',
      contract_size: '0.01',
      rules_normalisation: { contract_size: { venue_field: 'ctVal', transform: 'scale:10' } },
      tick_size: '0.1',
      lot_size: '0.01',
      min_qty: '0.02',
      listed_at: 1700000000000_000,
      delisted_at: 1800000000000_000,
    });
    const statuses = ['live', 'suspend', 'rebase', 'post_only', 'preopen', 'settling', 'test'].map(
      (state) => (mapValues({ state }) as ListingRecord['values']).status,
    );
    t.same(statuses, ['tradeable', 'halted', 'halted', 'post_only', 'pre_launch', 'settling', 'unknown']);
    const empty = { ctType: '', ctVal: '', ctValCcy: '', lotSz: '', minSz: '', tickSz: '', uly: '', settleCcy: '' };
    t.match(
      mapValues({ ...empty, state: 'preopen' }),
      { status: 'pre_launch', venue_kind: null, contract_size: null },
      'announced, as JP225-USDT-SWAP on 2026-08-15',
    );
    const sizeOf = (changed: object): unknown => (mapValues(changed) as ListingRecord['values']).contract_size;
    t.equal(sizeOf({ ctMult: '' }), '0.001', 'no multiplier');
    for (const ctMult of ['0', '-1'])
      t.equal(sizeOf({ ctMult }), null, `a multiplier of ${ctMult} is not taken for one`);
    t.equal(sizeOf({ ctValCcy: 'USD' }), null, 'an amount of the quote currency is no size of a linear contract');
    t.equal(sizeOf({ ctType: 'inverse' }), null, 'nor one of the base of an inverse contract');
    t.equal(sizeOf({ ctType: 'inverse', ctValCcy: 'USD' }), '0.01');
    t.match(mapValues({ ctType: 'quanto', state: 'preopen' }), { status: 'unknown' });
    const state = {};
    const funding = { instId: item.instId, fundingTime: '1700000000000', nextFundingTime: '1700014400000' };
    t.equal(okx.mapReference(state, answer(`${REST_URL}/public/funding-rate`, { code: '0', data: [funding] })), null);
    const refused = { code: '51001', msg: 'no such', data: [] };
    t.equal(okx.mapReference(state, answer(`${REST_URL}/public/funding-rate`, refused)), null, 'holds nothing up');
    t.match(mapValues({}, state), { funding_interval: '4h', funding_interval_source: 'venue' });
    t.equal(
      okx.mapReference({}, answer(url, { code: '0', data: [{ ...item, instType: 'SPOT' }] })),
      null,
      'an answer about spot delists nothing',
    );
    t.end();
  },
);
