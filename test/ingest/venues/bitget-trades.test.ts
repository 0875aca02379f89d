// Bitget: trades and liquidations of v3.
import t from 'tap';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';
import { record, SESSION, trade, v3, WS } from './bitget.messages.ts';

const { frame, lineOf, map, mapLine } = venueBench(bitget);

t.test('v3 trades after the first message; that one repeats the past', (t) => {
  // No recording has a live v3 trade: the first message of jkorf-ws:28 with its action changed.
  t.same(map(frame(lineOf(WS, 28).raw.replace('"action":"snapshot"', '"action":"update"'))), [
    trade('BTCUSDT', [1736348770627], {
      id: '1260903622036942849',
      side: 'buy',
      price: '100000',
      quantity: '0.00118',
    }),
  ]);
  // Its id with figures of the test's own.
  const data = [{ i: '1260903622036942849', p: '42.50', v: '43', S: 'sell', T: '1700000000001', L: '7', isRPI: 'no' }];
  t.same(map(v3('publicTrade', data)), [
    trade('AUSDT', [1700000000001], { id: '1260903622036942849', side: 'sell', price: '42.5', quantity: '43' }),
  ]);
  t.same(map(v3('publicTrade', data, {}, 'snapshot')), []);
  for (const [file, line] of [
    [WS, 12],
    [WS, 28],
    [SESSION, 8],
  ] as const)
    t.same(mapLine(file, line), [], `${file}:${line}`);
  t.end();
});

/** No recording has one: the push of https://www.bitget.com/api-doc/uta/websocket/public/Liquidation-Channel, seen 2026-11-21. */
const DOCUMENTED_LIQUIDATION =
  '{"data":[{"symbol":"BTCUSDT","side":"buy","price":"89000","amount":"37.722858","ts":"1736371332162"}],' +
  '"arg":{"instType":"usdt-futures","topic":"liquidation"},"action":"update","ts":1736371332162}';

t.test('the documented liquidation is of a long, in the quote coin', (t) => {
  t.same(map(frame(DOCUMENTED_LIQUIDATION)), [
    record('liquidation', 'BTCUSDT', [1736371332162], {
      id: null,
      side: 'long',
      price: '89000',
      price_kind: 'bankruptcy',
      quantity: '37.722858',
      quantity_unit: 'quote',
    }),
  ]);
  t.equal(bitget.classify(DOCUMENTED_LIQUIDATION), 'data');
  t.end();
});

t.test('v3 liquidations of all listings: the side is the position closed', (t) => {
  const message = frame({
    action: 'update',
    arg: { instType: 'usdt-futures', topic: 'liquidation' },
    data: [
      { symbol: 'AUSDT', side: 'buy', price: '89000', amount: '37.5', ts: '1700000000001' },
      { symbol: 'BUSDT', side: 'sell', price: '7', amount: '8', ts: '1700000000002' },
    ],
    ts: 1700000000003,
  });
  const expected = { id: null, price_kind: 'bankruptcy', quantity_unit: 'quote' };
  t.same(map(message), [
    record('liquidation', 'AUSDT', [1700000000001], { ...expected, side: 'long', price: '89000', quantity: '37.5' }),
    record('liquidation', 'BUSDT', [1700000000002], { ...expected, side: 'short', price: '7', quantity: '8' }),
  ]);
  t.end();
});
