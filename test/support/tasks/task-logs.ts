// Logs of one simulated Binance connection for tests of the task: listings, marks, books with holes, losses, late records.
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { LAYERS } from '../../../schemas/layers/readings.ts';
import type { Row } from '../../../schemas/topics.ts';
import { SECOND, START, TestLog } from './task-driver.ts';

export const SPEC = { venue: binance, partition: 0, shards: 1 };
export const COVERS = [{ layers: ['mark', 'funding', 'book'], symbols: null }];

const ON = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' } as const;
/** Binance, including the layers that are not collected by default. */
export const allLayers: Venue = {
  ...binance,
  layers: { ...binance.layers, candles: ON, trades: ON, liquidation: ON },
};
export const MINUTE = 60 * SECOND;

export const symbolInfo = (symbol: string) => ({
  symbol,
  pair: symbol,
  contractType: 'PERPETUAL',
  onboardDate: 1569398400000,
  deliveryDate: 4133404800000,
  status: 'TRADING',
  baseAsset: symbol.replace('USDT', ''),
  quoteAsset: 'USDT',
  marginAsset: 'USDT',
  pricePrecision: 2,
  quantityPrecision: 3,
  filters: [
    { filterType: 'PRICE_FILTER', tickSize: '0.10', minPrice: '1', maxPrice: '9' },
    { filterType: 'LOT_SIZE', stepSize: '0.001', minQty: '0.001', maxQty: '9' },
    { filterType: 'MIN_NOTIONAL', notional: '5' },
  ],
});

export const reference = (log: TestLog, symbols: readonly string[] = ['BTCUSDT']): void => {
  log.json('response', 'reference', 'c1.reference', [], {
    request: 'GET https://fapi.binance.com/fapi/v1/fundingInfo',
  });
  log.json(
    'response',
    'reference',
    'c1.reference',
    { symbols: symbols.map(symbolInfo) },
    { request: 'GET https://fapi.binance.com/fapi/v1/exchangeInfo' },
  );
};

export const begin = (symbols?: readonly string[]): TestLog => {
  const log = new TestLog();
  log.capability(binance);
  reference(log, symbols);
  log.open('k1', 'market', COVERS);
  return log;
};

export const mark = (
  log: TestLog,
  price: string,
  extra: { connId?: string; recordedAt?: number; symbol?: string } = {},
): ReturnType<TestLog['json']> => {
  const { connId = 'k1', symbol = 'BTCUSDT', ...rest } = extra;
  const at = Math.floor(log.now / 1000);
  const body = { e: 'markPriceUpdate', E: at, s: symbol, p: price, i: '100', P: '1', r: '0.0001', T: at + 3_600_000 };
  return log.json('frame', 'market', connId, body, rest);
};

export const diff = (
  log: TestLog,
  ids: { U: number; u: number; pu: number },
  levels: { b?: string[][]; a?: string[][] },
  extra: { recordedAt?: number } = {},
): ReturnType<TestLog['json']> => {
  const at = Math.floor(log.now / 1000);
  const body = { e: 'depthUpdate', E: at, T: at, s: 'BTCUSDT', ...ids, b: levels.b ?? [], a: levels.a ?? [] };
  return log.json('frame', 'market', 'k1', body, extra);
};
export const snapshot = (log: TestLog, id: number): ReturnType<TestLog['json']> =>
  log.json(
    'response',
    'market',
    'k1',
    {
      lastUpdateId: id,
      E: Math.floor(log.now / 1000),
      T: Math.floor(log.now / 1000),
      bids: [['99.9', '1']],
      asks: [['100.1', '2']],
    },
    { request: 'GET https://fapi.binance.com/fapi/v1/depth?symbol=BTCUSDT&limit=1000' },
  );

export type Bar = {
  readonly o: string;
  readonly h: string;
  readonly l: string;
  readonly c: string;
  readonly v: string;
};
export const BAR: Bar = { o: '100', h: '110', l: '90', c: '105', v: '2.5' };

export const kline = (
  log: TestLog,
  minute: number,
  bar: Bar = BAR,
  over: { closed?: boolean; connId?: string; recordedAt?: number } = {},
): void => {
  const { connId = 'k1', closed = true, ...rest } = over;
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
    x: closed,
    q: '250.1',
    V: '1',
    Q: '1',
    B: '0',
  };
  const body = { e: 'kline', E: Math.floor(log.now / 1000), s: 'BTCUSDT', k };
  log.json('frame', 'market', connId, body, rest);
};

export const trade = (
  log: TestLog,
  id: number,
  over: { connId?: string; recordedAt?: number; happenedAt?: number } = {},
): void => {
  const { connId = 'k1', happenedAt = log.now, ...rest } = over;
  const at = Math.floor(happenedAt / 1000);
  const body = { e: 'trade', E: at, T: at, s: 'BTCUSDT', t: id, p: '100.10', q: '0.5', X: 'MARKET', m: true };
  log.json('frame', 'market', connId, body, rest);
};

/** A long log with everything in it: two listings, books, holes, losses, silence, late records. */
export const busyLog = (): TestLog => {
  const log = begin(['BTCUSDT', 'ETHUSDT']);
  let u = 100;
  snapshot(log, u);
  for (let i = 0; i < 900; i++) {
    log.now += 130_000 + ((i * 7919) % 90_000);
    const hole = i % 211 === 50 ? 3 : 0;
    diff(
      log,
      { U: u + 1 + hole, u: u + 2 + hole, pu: u + hole },
      { b: [[`99.${i % 9}`, `${i % 5}`]], a: [[`100.${1 + (i % 7)}`, `${i % 4}`]] },
    );
    u += 2 + hole;
    if (i % 211 === 80) snapshot(log, u);
    if (i % 5 === 0) mark(log, `${100 + (i % 13)}`, { symbol: i % 10 === 0 ? 'BTCUSDT' : 'ETHUSDT' });
    if (i % 2 === 0) log.tick(i % 100 > 70 && i % 100 < 90 ? [] : ['k1']);
    if (i === 400) log.now += 25 * SECOND;
    if (i === 700) mark(log, '555', { recordedAt: log.now + 130 * SECOND });
    if (i === 701) log.now += 131 * SECOND;
  }
  log.run(240 * SECOND, ['k1']);
  return log;
};

/** Candle periods that rows cover twice or not at all. */
const candleFaults = (rows: readonly Row[]): string[] => {
  const reached = new Map<string, number>();
  const faults: string[] = [];
  const counting = rows.filter((row) => row.table === 'candles' && !row.flags['late']).sort((a, b) => a.at - b.at);
  for (const { at, texts, instants } of counting) {
    const series = `${texts['listing']} ${texts['price_type']} ${texts['timeframe']}`;
    if ((reached.get(series) ?? at) !== at) faults.push(`${series}: ${reached.get(series)} then ${at}`);
    reached.set(series, instants['close_time'] ?? 0);
  }
  return faults;
};

/** Windows and periods that rows cover twice or not at all, by listing and layer; rows as QuestDB holds them. */
export const findGapFaults = (rows: readonly Row[]): string[] => {
  const faults: string[] = candleFaults(rows);
  for (const { table, windowMs } of Object.values(LAYERS)) {
    const reached = new Map<string, number>();
    const counting = rows.filter((row) => row.table === table && !row.flags['late']).sort((a, b) => a.at - b.at);
    for (const { at, texts, instants } of counting) {
      const listing = texts['listing'] ?? '';
      const from = instants['from_at'] ?? 0;
      if ((at - from) % (windowMs * 1000) !== 0 || at <= from)
        faults.push(`${table} ${listing}: odd window ${from} ${at}`);
      if ((reached.get(listing) ?? from) !== from)
        faults.push(`${table} ${listing}: ${reached.get(listing)} then ${from}`);
      reached.set(listing, at);
    }
  }
  return faults;
};
