// Logs of one listing whose minutes, trades and liquidations a test writes, and the candles of the task that works through them.
import type { Cover } from '../../../ingest/venues/contract/feed.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listRows, runTask, SECOND, START, TestLog } from './task-driver.ts';
import { allLayers, MINUTE, reference } from './task-logs.ts';

export const SPEC = { venue: allLayers, partition: 0, shards: 1 };

export const COVERS: readonly Cover[] = [{ layers: ['trades', 'liquidation', 'candles'], symbols: null }];

export const begin = (covers: readonly Cover[] = COVERS): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  log.open('k1', 'market', covers);
  return log;
};

/** Runs to just after the end of `minute`, where its kline comes. */
export const reach = (log: TestLog, minute: number): void =>
  log.run(START + (minute + 1) * MINUTE + 50_000 - log.now, ['k1'], 2 * SECOND);

export const listCandles = (log: TestLog, timeframe = '1m', priceType = 'trade'): readonly Row[] =>
  listRows(runTask(SPEC, log.records).outputs, 'candles').filter(
    (r) => r.texts['timeframe'] === timeframe && r.texts['price_type'] === priceType,
  );

export const toMinute = (row: Row): number => (row.at - START) / MINUTE;
