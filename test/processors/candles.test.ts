// Candles and events of the task: what a minute keeps, proved empty minutes, gaps, exact roll-ups, repeats of ids.
import { Decimal } from 'decimal.js';
import t from 'tap';
import type { Venue } from '../../ingest/venue.ts';
import { binance } from '../../ingest/venues/binance.ts';
import type { Row } from '../../schemas/topics.ts';
import { rowsOf, runTask, SECOND, START, TestLog } from '../support/task-driver.ts';

const ON = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' } as const;
const venue: Venue = { ...binance, layers: { ...binance.layers, candles: ON, trades: ON, liquidation: ON } };
const SPEC = { venue, partition: 0, shards: 1 };
const MINUTE = 60 * SECOND;
const COVERS = [{ layers: ['trades', 'liquidation', 'candles'], symbols: null }];

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(venue);
  const symbol = {
    symbol: 'BTCUSDT',
    pair: 'BTCUSDT',
    contractType: 'PERPETUAL',
    onboardDate: 1569398400000,
    deliveryDate: 4133404800000,
    status: 'TRADING',
    baseAsset: 'BTC',
    quoteAsset: 'USDT',
    marginAsset: 'USDT',
    pricePrecision: 2,
    quantityPrecision: 3,
    filters: [
      { filterType: 'PRICE_FILTER', tickSize: '0.10' },
      { filterType: 'LOT_SIZE', stepSize: '0.001', minQty: '0.001' },
    ],
  };
  log.json('response', 'reference', 'c1.reference', [], {
    request: 'GET https://fapi.binance.com/fapi/v1/fundingInfo',
  });
  log.json(
    'response',
    'reference',
    'c1.reference',
    { symbols: [symbol] },
    { request: 'GET https://fapi.binance.com/fapi/v1/exchangeInfo' },
  );
  log.open('k1', 'market', COVERS);
  return log;
};

type Bar = { readonly o: string; readonly h: string; readonly l: string; readonly c: string; readonly v: string };
const BAR: Bar = { o: '100', h: '110', l: '90', c: '105', v: '2.5' };

const kline = (
  log: TestLog,
  minute: number,
  bar: Bar = BAR,
  over: { closed?: boolean; connId?: string; recordedAt?: number } = {},
): void => {
  const open = (START + minute * MINUTE) / 1000;
  const k = {
    t: open,
    T: open + 59_999,
    s: 'BTCUSDT',
    i: '1m',
    f: 1,
    L: 9,
    ...bar,
    n: 7,
    x: over.closed ?? true,
    q: '250.1',
    V: '1',
    Q: '1',
    B: '0',
  };
  const body = { e: 'kline', E: Math.floor(log.now / 1000), s: 'BTCUSDT', k };
  log.json(
    'frame',
    'market',
    over.connId ?? 'k1',
    body,
    over.recordedAt === undefined ? {} : { recordedAt: over.recordedAt },
  );
};

/** Runs to just after the end of `minute`, where its kline comes. */
const reach = (log: TestLog, minute: number): void =>
  log.run(START + (minute + 1) * MINUTE + 50_000 - log.now, ['k1'], 2 * SECOND);
const candlesOf = (log: TestLog, timeframe = '1m', priceType = 'trade'): readonly Row[] =>
  rowsOf(runTask(SPEC, log.records).outputs, 'candles').filter(
    (r) => r.texts['timeframe'] === timeframe && r.texts['price_type'] === priceType,
  );
const minuteOf = (row: Row): number => (row.at - START) / MINUTE;

t.test('a closed minute is a row with the venue digits; an open one is nothing', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0, { ...BAR, c: '105.10' });
  kline(log, 1, BAR, { closed: false });
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  const [first, second] = candlesOf(log);
  t.same(first?.figures, { open: '100', high: '110', low: '90', close: '105.1', volume: '2.5', turnover: '250.1' });
  t.equal(first?.integers['trades'], 7);
  t.equal(first?.instants['close_time'], START + MINUTE);
  t.same([second?.texts['status'], second?.texts['gap_cause']], ['missing', 'no_update']);
  t.end();
});

t.test('minutes that an unbroken connection left out are proved empty, those across a loss are gaps (H-12)', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  reach(log, 2);
  kline(log, 2);
  log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(2 * MINUTE, [], 2 * SECOND);
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS });
  kline(log, 4, BAR, { connId: 'k2' });
  log.run(230 * SECOND, ['k2'], 2 * SECOND);
  const rows = candlesOf(log).slice(0, 5);
  t.same(
    rows.map((r) => [minuteOf(r), r.texts['status'], r.texts['gap_cause'] ?? null, r.figures['volume'] ?? null]),
    [
      [0, 'present', null, '2.5'],
      [1, 'present', null, '0'],
      [2, 'present', null, '2.5'],
      [3, 'missing', 'venue_down', null],
      [4, 'present', null, '2.5'],
    ],
  );
  t.equal(rows[1]?.texts['null_reasons'], '{"open":"no_value","high":"no_value","low":"no_value","close":"no_value"}');
  t.same(rows[1]?.integers, {
    minutes_expected: 1,
    minutes_present: 0,
    minutes_no_trades: 1,
    src_offset: rows[1]?.integers['src_offset'],
  });
  t.end();
});

t.test(
  'of several counting records the last in the log wins; one recorded 100 s after the close is late (H-13, N-11)',
  (t) => {
    const log = begin();
    reach(log, 0);
    kline(log, 0);
    kline(log, 0, { ...BAR, c: '106' });
    log.run(120 * SECOND, ['k1'], 2 * SECOND);
    kline(log, 0, { ...BAR, c: '107' });
    log.run(60 * SECOND, ['k1'], 2 * SECOND);
    const rows = candlesOf(log).filter((r) => minuteOf(r) === 0);
    t.same(
      rows.map((r) => [r.figures['close'], r.flags['late']]),
      [
        ['106', false],
        ['107', true],
      ],
    );
    t.end();
  },
);

t.test(
  'longer candles are exact and exist only when every base minute does, for every timeframe of an hour and below',
  (t) => {
    for (const missing of [null, 0, 7, 59]) {
      const log = begin();
      const bars: (Bar | null)[] = [];
      for (let m = 0; m < 60; m++) {
        reach(log, m);
        const bar = {
          o: `${100 + (m % 7)}.1`,
          h: `${120 + (m % 11)}.25`,
          l: `${80 - (m % 5)}.5`,
          c: `${101 + (m % 3)}`,
          v: `0.${1000001 + m}`,
        };
        const isMissing = m === missing;
        // A gap, not a proved empty minute: the connection breaks around it.
        if (isMissing) log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
        const after = missing !== null && m >= missing;
        if (after) log.json('open', 'market', `n${m}`, { opened_at: log.now, url: 'wss://test', covers: COVERS });
        if (!isMissing) kline(log, m, bar, after ? { connId: `n${m}` } : {});
        bars.push(isMissing ? null : bar);
      }
      log.run(230 * SECOND, ['k1'], 2 * SECOND);
      for (const [timeframe, n] of [
        ['2m', 2],
        ['3m', 3],
        ['5m', 5],
        ['15m', 15],
        ['30m', 30],
        ['1h', 60],
      ] as const) {
        for (const row of candlesOf(log, timeframe).filter((r) => minuteOf(r) < 60)) {
          const part = bars.slice(minuteOf(row), minuteOf(row) + n);
          const whole = part.filter((b) => b !== null);
          const label = `${timeframe} at minute ${minuteOf(row)}, missing ${missing}`;
          if (whole.length < n) {
            t.same([row.texts['status'], row.figures], ['missing', {}], label);
            t.equal(row.integers['minutes_present'], whole.length, label);
            continue;
          }
          const { volume, open, high, low, close } = row.figures;
          t.equal(
            volume,
            Decimal.sum(...whole.map((b) => b.v))
              .toFixed()
              .replace(/\.?0+$/, ''),
            label,
          );
          t.same(
            { open, high, low, close },
            {
              open: whole[0]?.o,
              high: Decimal.max(...whole.map((b) => b.h)).toString(),
              low: Decimal.min(...whole.map((b) => b.l)).toString(),
              close: whole.at(-1)?.c,
            },
            label,
          );
        }
      }
      t.equal(candlesOf(log, '1h').filter((r) => minuteOf(r) === 0).length, 1);
    }
    t.end();
  },
);

const trade = (log: TestLog, id: number, over: { connId?: string; recordedAt?: number } = {}): void => {
  const at = Math.floor(log.now / 1000);
  const body = { e: 'trade', E: at, T: at, s: 'BTCUSDT', t: id, p: '100.10', q: '0.5', X: 'MARKET', m: true };
  log.json(
    'frame',
    'market',
    over.connId ?? 'k1',
    body,
    over.recordedAt === undefined ? {} : { recordedAt: over.recordedAt },
  );
};
const tradesOf = (log: TestLog): readonly Row[] => rowsOf(runTask(SPEC, log.records).outputs, 'trades');

t.test('a trade is a row at once; repeats of its id within ten minutes are none, from whichever connection', (t) => {
  const log = begin();
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS });
  log.now += SECOND;
  trade(log, 1);
  trade(log, 1, { connId: 'k2' });
  trade(log, 2, { connId: 'k2' });
  log.run(300 * SECOND, ['k1', 'k2'], 2 * SECOND);
  trade(log, 2);
  const rows = tradesOf(log);
  t.same(
    rows.map((r) => r.texts['id']),
    ['1', '2'],
  );
  t.match(rows[0], {
    texts: { side: 'sell', quantity_unit: 'base' },
    figures: { price: '100.1', quantity: '0.5' },
    flags: { late: false },
  });
  t.end();
});

t.test('a trade recorded more than 100 s after its receipt is late and goes to no consumer (N-11)', (t) => {
  const log = begin();
  log.now += SECOND;
  trade(log, 1, { recordedAt: log.now + 101 * SECOND });
  const { outputs } = runTask(SPEC, log.records);
  t.same(
    rowsOf(outputs, 'trades').map((r) => r.flags['late']),
    [true],
  );
  t.equal(outputs.flatMap((o) => o.md).filter((m) => m.layer === 'trade').length, 0);
  t.end();
});
