// Hyperliquid's contexts beyond those that are subscribed to: those of one market, and the packed marks of all coins.
import { deflateRawSync } from 'node:zlib';
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import { hyperliquid } from '../../../ingest/venues/hyperliquid/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { map, mapLine, frame, answer, record, codeOf } = venueBench(hyperliquid);

const FAST = 'gocryptotrader-ws-2026-10.ndjson';

const mark = (symbol: string, price: string): unknown =>
  record('mark', symbol, [null, null], { mark: price, index: null });

const pack = (text: string): VenueMessage =>
  frame({ channel: 'fastAssetCtxs', data: deflateRawSync(Buffer.from(text)).toString('base64') });

t.test('packed contexts give the marks of perpetuals, then of those that changed', (t) => {
  t.same(mapLine(FAST, 1), [mark('BTC', '85814'), mark('xyz:XYZ100', '31167')], 'spot and outcomes have none of ours');
  t.same(mapLine(FAST, 2), [mark('hyna:ETH', '2400.9')], 'a mid that changed, or is null, is no mark');
  t.end();
});

t.test('packed contexts that cannot be read are told, and what can be read of them is recorded', (t) => {
  const code = (data: unknown): string => codeOf(frame({ channel: 'fastAssetCtxs', data }));
  t.equal(code('AAAA'), 'VENUE_BAD_FRAME', 'no deflate');
  t.equal(code(null), 'VENUE_BAD_FRAME', 'no text');
  t.equal(codeOf(pack('{"BTC":')), 'VENUE_BAD_FRAME', 'no JSON within');
  t.equal(codeOf(pack('[]')), 'VENUE_BAD_FRAME', 'no object within');
  t.end();
});

t.test('contexts of one market are those of its meta, in order', (t) => {
  const state: MapState = {};
  const contexts = (dex: unknown) =>
    frame({ channel: 'assetCtxs', data: { dex, ctxs: [{ markPx: '61', oraclePx: '62', openInterest: '63' }] } });
  t.equal(codeOf(contexts('')), 'VENUE_UNKNOWN_LISTING', 'without a meta they have no names');
  const metas = ['BTC', 'xyz:GOLD'].map((name) => ({ universe: [{ name, szDecimals: 2 }], collateralToken: 0 }));
  map(answer('POST /info', metas), state);
  for (const [dex, symbol] of [
    ['', 'BTC'],
    ['xyz', 'xyz:GOLD'],
    [undefined, 'BTC'],
  ])
    t.same(map(contexts(dex), state), [
      record('mark', symbol as string, [null, null], { mark: '61', index: '62' }),
      record('oi', symbol as string, [null, null], { oi: '63', oi_unit: 'base' }),
    ]);
  t.same(map(contexts('nosuch'), state), [], 'a market that no meta has');
  t.end();
});
