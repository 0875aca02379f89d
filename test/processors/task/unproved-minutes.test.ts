// Minutes between two candles of one connection that are not proved to be without trades: what else it brought, or the life of the listing, speaks against it (H-07, H-12).
import t from 'tap';
import { begin, listCandles, reach, toMinute } from '../../support/tasks/minute-logs.ts';
import { SECOND, type TestLog } from '../../support/tasks/task-driver.ts';
import { BAR, kline, reference } from '../../support/tasks/task-logs.ts';

/** Volume or cause of each minute from the first one. */
const listMinutes = (log: TestLog, count: number) => {
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  return listCandles(log)
    .filter(({ texts }) => texts['listing'] === 'binance:BTCUSDT')
    .slice(0, count)
    .map((row) => [toMinute(row), row.texts['gap_cause'] ?? row.figures['volume']]);
};

t.test('a minute whose running candle had trades', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  kline(log, 1, BAR, { closed: false });
  reach(log, 2);
  kline(log, 2);
  kline(log, 3, { ...BAR, v: '0' }, { closed: false });
  reach(log, 4);
  kline(log, 4);
  t.same(listMinutes(log, 5), [
    [0, '2.5'],
    [1, 'no_update'],
    [2, '2.5'],
    [3, '0'],
    [4, '2.5'],
  ]);
  t.end();
});

t.test('a minute whose running candle did not say whether it had trades (D-995)', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  kline(log, 1, { ...BAR, v: '' }, { closed: false });
  reach(log, 2);
  kline(log, 2);
  t.same(listMinutes(log, 3), [
    [0, '2.5'],
    [1, 'no_update'],
    [2, '2.5'],
  ]);
  t.end();
});

t.test('a minute since whose start a frame could not be read', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  reach(log, 1);
  log.json('frame', 'market', 'k1', 'nonsense');
  reach(log, 2);
  kline(log, 2);
  reach(log, 4);
  kline(log, 4);
  t.same(listMinutes(log, 5), [
    [0, '2.5'],
    [1, 'parse_error'],
    [2, '2.5'],
    [3, '0'],
    [4, '2.5'],
  ]);
  t.end();
});

t.test('but not one in which the venue refused a request: no data is lost with a refusal', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  reach(log, 1);
  log.json('frame', 'market', 'k1', { error: { code: 2, msg: 'Invalid request' }, id: 1 });
  reach(log, 2);
  kline(log, 2);
  t.same(listMinutes(log, 3), [
    [0, '2.5'],
    [1, '0'],
    [2, '2.5'],
  ]);
  t.end();
});

/** Minute 0 has a candle; the listing is not listed from then on until minute 3. */
const listAgain = (): TestLog => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  reference(log, ['ETHUSDT']);
  reach(log, 2);
  log.run(10 * SECOND, ['k1'], 2 * SECOND);
  reference(log);
  return log;
};

t.test('minutes in which the listing was not listed', (t) => {
  const log = listAgain();
  reach(log, 3);
  kline(log, 3);
  t.same(listMinutes(log, 4), [
    [0, '2.5'],
    [1, 'not_listed'],
    [2, 'not_listed'],
    [3, '2.5'],
  ]);
  t.end();
});

t.test('the minute in which the listing was listed again: the feed was not proved continuous before it', (t) => {
  const log = listAgain();
  reach(log, 4);
  kline(log, 4);
  reach(log, 6);
  kline(log, 6);
  t.same(listMinutes(log, 7).slice(3), [
    [3, 'no_update'],
    [4, '2.5'],
    [5, '0'],
    [6, '2.5'],
  ]);
  t.end();
});
