// Frames are read by a few patterns before they are checked: whatever a venue sends, reading one takes time in proportion to its length.
import t from 'tap';
import { collectedVenues } from '../../../ingest/venues/index.ts';

const LENGTH = 65_536;
/** A pattern that tries each of its beginnings against the rest took 300 to 4,000 ms, those of today less than one. */
const MOST_MS = 100;

const repeat = (text: string): string => text.repeat(LENGTH / text.length);

/** By venue: frames whose middle is repeated until the end. */
const FRAMES: Readonly<Record<string, readonly string[]>> = {
  bybit: [
    `{"topic":"kline.1.BTCUSDT","data":[{${repeat('"start":1,')}`,
    `{"topic":"kline.1.BTCUSDT","data":[{"start":${repeat('1')}`,
    `{"topic":"kline.1.BTCUSDT","data":[{${repeat('"start":1,')}}],"confirm":true}`,
    `{"topic":"kline.1.BTCUSDT","data":[{${repeat('"confirm":true,')}}]}`,
    `{"topic":"orderbook.50.BTCUSDT","data":{"u":${repeat('9')}}}`,
  ],
  gate: [
    `{"channel":"futures.order_book_update","result":{"U":1,"u":2,"s":"${repeat('_')}\\"}}`,
    `{"channel":"futures.candlesticks","result":[{"w":true,${repeat('"n":"1m_k",')}`,
    `{"channel":"futures.candlesticks","result":[${repeat('{')}"w":true`,
  ],
  htx: [
    `{"ch":"market.BTC-USDT${repeat('.depth.')}`,
    `{"ch":"market.BTC-USDT.depth.step0","tick":{"version":${repeat('9')}}}`,
  ],
  okx: [
    `{"arg":{"channel":"books","instId":"BTC-USDT-SWAP"},"data":[{"seqId":${repeat('9')}}]}`,
    `{"arg":{"channel":"candle1m","instId":"BTC-USDT-SWAP"},"data":[${repeat('["1",')}`,
  ],
  kucoin: [`{"topic":"/contractMarket/level2:XBTUSDTM",${repeat('"sequence":')}`, `{"sequence":${repeat(' ')}`],
  mexc: [`{"channel":"push.depth","symbol":"BTC_USDT",${repeat('"version":')}`],
  binance: [`{"e":"depthUpdate","s":"BTCUSDT",${repeat('"U":1,')}`, `{"e":"kline","k":{${repeat('"x":true,')}`],
  bitget: [`{"action":"update","arg":{"channel":"books","instId":"BTCUSDT"},"data":[${repeat('{"seq":1,')}`],
  bitmex: [`{"table":"orderBookL2_25","action":"update","data":[${repeat('{"symbol":"XBTUSD",')}`],
  deribit: [
    `{"method":"subscription","params":{"channel":"book.BTC-PERPETUAL.100ms","data":{${repeat('"change_id":1,')}`,
  ],
  'kraken-futures': [`{"feed":"book","product_id":"PF_XBTUSD",${repeat('"seq":1,')}`],
  hyperliquid: [`{"channel":"l2Book","data":{"coin":"BTC",${repeat('"levels":[')}`],
  dydx: [`{"type":"channel_data","channel":"v4_orderbook","id":"BTC-USD",${repeat('"message_id":1,')}`],
};
/** Of any venue. */
const OF_ANY = ['', '{', '[', '{"a":"', '{"data":['].flatMap((head) =>
  ['"', '\\"', '{', '[', ' ', '9', '_', '.', '{"a":', '"a":1,', '{},', '"data":[{'].map((part) => head + repeat(part)),
);

for (const [id, venue] of collectedVenues) {
  t.test(id, async (t) => {
    const reads = {
      classify: venue.classify,
      replyTo: venue.replyTo,
      sequence: venue.sequence,
      subscriptionOf: venue.subscriptionOf,
      closedMinute: venue.closedMinute,
      newestMinute: venue.newestMinute,
    };
    for (const text of [...(FRAMES[id] ?? []), ...OF_ANY]) {
      for (const [name, read] of Object.entries(reads)) {
        const begun = process.cpuUsage();
        read?.(text);
        const { user, system } = process.cpuUsage(begun);
        const ms = (user + system) / 1_000;
        if (ms > MOST_MS) t.fail(`${name} of ${text.slice(0, 100)}… took ${ms.toFixed(0)} ms`);
      }
    }
    t.pass('every frame was read');
  });
}
