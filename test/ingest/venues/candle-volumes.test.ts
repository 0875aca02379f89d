// A candle of trades whose volume is not sent has the prices that are, and no volume (records.md); a member that is absent altogether is counted.
import t from 'tap';
import { venues } from '../../../ingest/venues/index.ts';
import { watchUnexpected } from '../../../ingest/venues/shared/unexpected.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

type Candle = Readonly<Record<string, unknown>>;
type Form = (volume: Candle) => unknown;

const OPEN_MS = 1_700_000_040_000;
const AT = new Date(OPEN_MS).toISOString();
const PRICES = { open: '61', high: '63', low: '60', close: '62' };
const LETTERS = { o: '61', h: '63', l: '60', c: '62' };

/** By venue: the name of the volume, and a frame with a candle, in which `volume` has the member or not. */
const FORMS: Readonly<Record<string, readonly [name: string, form: Form]>> = {
  aster: [
    'v',
    (volume) => ({ e: 'kline', E: OPEN_MS, s: 'AUSDT', k: { t: OPEN_MS, i: '1m', ...LETTERS, x: true, ...volume } }),
  ],
  binance: [
    'v',
    (volume) => ({ e: 'kline', E: OPEN_MS, s: 'AUSDT', k: { t: OPEN_MS, i: '1m', ...LETTERS, x: true, ...volume } }),
  ],
  bitget: [
    'volume',
    (volume) => ({
      action: 'update',
      arg: { instType: 'usdt-futures', topic: 'kline', symbol: 'AUSDT', interval: '1m' },
      data: [{ start: `${OPEN_MS}`, ...PRICES, ...volume }],
      ts: OPEN_MS,
    }),
  ],
  bitmex: [
    'volume',
    (volume) => ({
      table: 'tradeBin1m',
      action: 'insert',
      data: [{ timestamp: new Date(OPEN_MS + 60_000).toISOString(), symbol: 'XBTUSD', ...PRICES, ...volume }],
    }),
  ],
  bybit: [
    'volume',
    (volume) => ({
      topic: 'kline.1.AUSDT',
      type: 'snapshot',
      ts: OPEN_MS,
      data: [{ start: OPEN_MS, interval: '1', ...PRICES, confirm: true, timestamp: OPEN_MS, ...volume }],
    }),
  ],
  deribit: [
    'volume',
    (volume) => ({
      method: 'subscription',
      params: { channel: 'chart.trades.BTC-PERPETUAL.1', data: { tick: OPEN_MS, ...PRICES, ...volume } },
    }),
  ],
  dydx: [
    'baseTokenVolume',
    (volume) => ({
      type: 'channel_data',
      channel: 'v4_candles',
      id: 'BTC-USD/1MIN',
      contents: { startedAt: AT, ticker: 'BTC-USD', resolution: '1MIN', ...PRICES, ...volume },
    }),
  ],
  gate: [
    'v',
    (volume) => ({
      time: OPEN_MS / 1_000,
      channel: 'futures.candlesticks',
      event: 'update',
      result: [{ t: OPEN_MS / 1_000, n: '1m_BTC_USDT', ...LETTERS, ...volume }],
    }),
  ],
  htx: [
    'vol',
    (volume) => ({
      ch: 'market.BTC-USDT.kline.1min',
      ts: OPEN_MS,
      tick: { id: OPEN_MS / 1_000, ...PRICES, ...volume },
    }),
  ],
  hyperliquid: [
    'v',
    (volume) => ({ channel: 'candle', data: { t: OPEN_MS, s: 'BTC', i: '1m', ...LETTERS, ...volume } }),
  ],
  'kraken-futures': [
    'volume',
    (volume) => ({
      feed: 'candles_trade_1m',
      product_id: 'PF_XBTUSD',
      candle: { time: OPEN_MS, ...PRICES, ...volume },
    }),
  ],
  kucoin: [
    'volume',
    ({ volume }) => ({
      topic: '/contractMarket/limitCandle:XBTUSDTM_1min',
      subject: 'candle.stick',
      data: {
        symbol: 'XBTUSDTM',
        candles: [`${OPEN_MS / 1_000}`, '61', '62', '63', '60', '7', ...(volume === undefined ? [] : [volume])],
      },
    }),
  ],
  mexc: [
    'q',
    (volume) => ({
      channel: 'push.kline',
      symbol: 'BTC_USDT',
      ts: OPEN_MS,
      data: { symbol: 'BTC_USDT', interval: 'Min1', t: OPEN_MS / 1_000, ...LETTERS, ...volume },
    }),
  ],
  okx: [
    'vol',
    ({ vol }) => ({
      arg: { channel: 'candle1m', instId: 'BTC-USDT-SWAP' },
      data: [[`${OPEN_MS}`, '61', '63', '60', '62', ...(vol === undefined ? [] : [vol])]],
    }),
  ],
};

t.test('every venue has a form', (t) => {
  t.same(Object.keys(FORMS).toSorted(), [...venues.keys()].toSorted());
  t.end();
});

for (const [id, venue] of venues) {
  const [name, form] = FORMS[id] ?? ['', () => null];
  t.test(id, (t) => {
    const counted: string[] = [];
    const { frame, map } = venueBench(watchUnexpected(venue, (kind) => counted.push(kind)));
    const read = (volume: Candle): readonly unknown[] => map(frame(form(volume))).map(({ values }) => values);
    const whole = read({ [name]: '5' });
    t.match(whole, [{ ...PRICES, price_type: 'trade', volume: '5' }]);
    const without = whole.map((values) => ({ ...(values as Candle), volume: null }));
    for (const none of [null, '']) t.same(read({ [name]: none }), without, `the volume is ${JSON.stringify(none)}`);
    t.same(counted, []);
    t.same(read({}), without, 'there is no volume');
    t.same(counted, ['missing_member']);
    t.end();
  });
}
