// Minutes between two candles of one connection that are not proved to be without trades: what else it brought speaks against it (H-12).
import t from 'tap';
import { begin, listCandles, reach, toMinute } from '../../support/tasks/minute-logs.ts';
import { SECOND, type TestLog } from '../../support/tasks/task-driver.ts';
import { BAR, kline } from '../../support/tasks/task-logs.ts';

/** Volume or cause of each minute from the first one. */
const listMinutes = (log: TestLog, count: number) => {
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  return listCandles(log)
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
