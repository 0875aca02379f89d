// Logs in which the record that seals a gap is itself the late one of that window: the first after an outage of Kafka.
import { begin as beginMinutes } from './minute-logs.ts';
import { SECOND, START, type TestLog } from './task-driver.ts';
import { BAR, begin, kline, MINUTE, mark } from './task-logs.ts';

/** A mark of `(10 s, 20 s]`, recorded 100.002 s after it. */
export const makeLateMark = (): TestLog => {
  const log = begin();
  log.now = START + 5 * SECOND;
  mark(log, '101');
  log.now = START + 15 * SECOND;
  mark(log, '102', { recordedAt: START + 120 * SECOND + 2_000 });
  log.now = START + 121 * SECOND;
  log.tick(['k1']);
  return log;
};

/** The candle of the first minute, received at its end and recorded 100.002 s later. */
export const makeLateCandle = (): TestLog => {
  const log = beginMinutes();
  log.now = START + MINUTE;
  kline(log, 0, BAR, { recordedAt: START + MINUTE + 100 * SECOND + 2_000 });
  log.now = START + MINUTE + 101 * SECOND;
  log.tick(['k1']);
  return log;
};
