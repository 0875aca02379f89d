// Bybit: which full tickers are a contract's, and which are the spot market's, whose topics have the same names.
import t from 'tap';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { frame, map } = venueBench(bybit);

const tickerFrame = (type: string, data: object): VenueMessage =>
  frame({ topic: 'tickers.AUSDT', type, data: { symbol: 'AUSDT', ...data }, cs: 9, ts: 1700000000001 });

const SPOT = { lastPrice: '5', volume24h: '1', turnover24h: '2', price24hPcnt: '0', usdIndexPrice: '5' };

t.test('a full message with any member of a contract is held, whatever else it lacks', (t) => {
  const parts: readonly (readonly [string, string, string])[] = [
    ['markPrice', '21.5', 'mark'],
    ['indexPrice', '21.5', 'mark'],
    ['fundingRate', '0.0001', 'funding'],
    ['nextFundingTime', '1700000029000', 'funding'],
    ['fundingIntervalHour', '4', 'funding'],
    ['openInterest', '24', 'oi'],
  ];
  for (const [name, value, layer] of parts) {
    const state: MapState = {};
    const first = map(tickerFrame('snapshot', { ...SPOT, [name]: value }), state);
    t.same(
      first.map((record) => record.layer),
      ['ticker', layer, 'stats'],
      name,
    );
    const next = map(tickerFrame('delta', { lastPrice: '6' }), state);
    t.same(
      next.map((record) => record.layer),
      ['ticker'],
      `${name}: its deltas are merged`,
    );
  }
  t.end();
});

t.test('a full message without a member of a contract is of the spot market, and so are its deltas', (t) => {
  const state: MapState = {};
  t.same(map(tickerFrame('snapshot', SPOT), state), []);
  t.same(map(tickerFrame('delta', { lastPrice: '6' }), state), []);
  t.end();
});
