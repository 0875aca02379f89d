// Trades of the task: ids that repeat, outages, times in which they were not collected, late ones.
import t from 'tap';
import type { Row } from '../../../schemas/topics.ts';
import { begin, COVERS, listCandles, reach, SPEC, toMinute } from '../../support/tasks/minute-logs.ts';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, BAR, kline, reference, trade } from '../../support/tasks/task-logs.ts';

const listTrades = (log: TestLog): readonly Row[] => listRows(runTask(SPEC, log.records).outputs, 'trades');

t.test('a trade is a row at once; repeats of its id within ten minutes are none, from whichever connection', (t) => {
  const log = begin();
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS });
  log.now += SECOND;
  trade(log, 1);
  trade(log, 1, { connId: 'k2' });
  trade(log, 2, { connId: 'k2' });
  log.run(300 * SECOND, ['k1', 'k2'], 2 * SECOND);
  trade(log, 2);
  const rows = listTrades(log);
  t.same(
    rows.map((r) => r.texts['id']),
    ['1', '2'],
  );
  t.match(rows[0], {
    texts: { side: 'sell', quantity_unit: 'base' },
    figures: { price: '100.1', quantity: '0.5' },
    flags: { late: false },
  });
  const live = runTask(SPEC, log.records).outputs.flatMap((o) => o.live.filter(({ kind }) => kind === 'event'));
  t.match(live, [
    { symbol: 'BTCUSDT', row: { texts: { id: '1' } } },
    { symbol: 'BTCUSDT', row: { texts: { id: '2' } } },
  ]);
  t.equal(live.length, 2, 'streams have each once, too');
  t.end();
});

t.test('the last published minute is known hours later, when a new subscription begins with it', (t) => {
  const log = begin();
  for (let id = 1; id <= 80; id++) trade(log, id);
  log.run(7_200 * SECOND, ['k1'], 2 * SECOND);
  for (const id of [10, 60, 80, 81]) trade(log, id);
  t.same(
    listTrades(log)
      .slice(80)
      .map((r) => r.texts['id']),
    ['10', '81'],
    'of the last 64 in any case, of those before for ten minutes',
  );
  const repeated = (seconds: number): number => {
    const many = begin();
    for (let id = 1; id <= 80; id++) trade(many, id);
    many.run(seconds * SECOND, ['k1'], 2 * SECOND);
    trade(many, 1);
    return listTrades(many).length - 80;
  };
  t.same([repeated(600), repeated(602)], [0, 1], 'the first of eighty, after ten minutes and after more');
  t.end();
});

t.test('events before the first connection are not published, events of an outage are (D-53)', (t) => {
  const log = begin();
  const opened = log.now;
  log.now += SECOND;
  trade(log, 1, { happenedAt: opened - 40 * SECOND });
  trade(log, 2, { happenedAt: opened });
  log.run(SECOND, ['k1']);
  log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.run(20 * SECOND, []);
  log.open('k2', 'market', COVERS);
  for (const [id, before] of [
    [1, 62],
    [2, 22],
    [3, 12],
  ] as const)
    trade(log, id, { connId: 'k2', happenedAt: log.now - before * SECOND });
  t.same(
    listTrades(log)
      .filter((r) => r.texts['status'] === 'present')
      .map((r) => r.texts['id']),
    ['2', '3'],
  );
  const other = begin([{ layers: ['book'], symbols: null }]);
  other.run(40 * SECOND, ['k1']);
  other.open('k2', 'market', COVERS);
  trade(other, 1, { connId: 'k2', happenedAt: other.now - 20 * SECOND });
  trade(other, 2, { connId: 'k2' });
  t.same(
    listTrades(other).flatMap((r) => r.texts['id'] ?? []),
    ['2'],
    'a connection for something else collects none',
  );
  t.end();
});

t.test('an attempt to connect that failed begins no collection (D-53)', (t) => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  log.json('lost', 'market', 'k0', { lost_at: log.now, cause: 'venue_down', detail: '', covers: COVERS });
  log.run(60 * SECOND, [], SECOND);
  const opened = log.now;
  log.open('k1', 'market', COVERS);
  log.run(5 * SECOND, ['k1'], SECOND);
  trade(log, 1, { happenedAt: opened - 1_000 });
  trade(log, 2, { happenedAt: opened });
  t.same(
    listTrades(log)
      .filter(({ texts }) => texts['status'] === 'present')
      .map(({ texts }) => texts['id']),
    ['2'],
  );
  t.end();
});

t.test('trades of a time in which they were not collected are not published later', (t) => {
  const published = (turned: 'trades' | 'liquidation'): readonly (string | undefined)[] => {
    const log = begin();
    log.now += SECOND;
    trade(log, 1);
    const { layers } = allLayers;
    const off = { ...allLayers, layers: { ...layers, [turned]: { ...layers[turned], policy: 'off' } } };
    log.capability(off as typeof allLayers);
    log.run(30 * SECOND, ['k1']);
    if (turned === 'trades') trade(log, 2);
    log.run(30 * SECOND, ['k1']);
    log.capability(allLayers);
    log.open('k2', 'market', COVERS);
    trade(log, 2, { connId: 'k2', happenedAt: log.now - 30 * SECOND });
    log.now += SECOND;
    trade(log, 3, { connId: 'k2' });
    return listTrades(log)
      .filter((r) => r.texts['status'] === 'present')
      .map((r) => r.texts['id']);
  };
  t.same(published('trades'), ['1', '3']);
  t.same(published('liquidation'), ['1', '2', '3'], 'liquidations are another layer');
  t.end();
});

t.test('minutes of long before a connection are no late rows of it, those of a short outage are', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  log.run(1_800 * SECOND, ['k1'], 2 * SECOND);
  log.open('k2', 'market', COVERS);
  const late = (minutes: readonly number[]): readonly number[] => {
    for (const minute of minutes) kline(log, minute, BAR, { connId: 'k2' });
    return listCandles(log)
      .filter((r) => r.flags['late'])
      .map(toMinute);
  };
  t.same(late([5, 10, 18, 24, 26]), [24, 26]);
  t.end();
});

t.test('a trade recorded more than 100 s after its receipt is late and goes to no consumer (N-11)', (t) => {
  const log = begin();
  log.now += SECOND;
  trade(log, 1, { recordedAt: log.now + 101 * SECOND });
  const { outputs } = runTask(SPEC, log.records);
  t.same(
    listRows(outputs, 'trades').map((r) => r.flags['late']),
    [true],
  );
  t.equal(outputs.flatMap((o) => o.md).filter((m) => m.layer === 'trade').length, 0);
  t.end();
});

t.test(
  'an event without an id is one row, whichever connections bring it, and a second one like it is another',
  (t) => {
    const log = begin();
    log.open('k2', 'market', COVERS);
    const forced = (connId: string, stampMs: number, price = '100'): void => {
      const o = { s: 'BTCUSDT', S: 'SELL', p: price, q: '2', ap: price, z: '2', T: stampMs };
      log.json('frame', 'market', connId, { e: 'forceOrder', E: stampMs, o });
    };
    const stamp = START / 1000;
    forced('k1', stamp);
    forced('k2', stamp);
    forced('k2', stamp + 1_000);
    forced('k2', stamp + 1_000);
    forced('k1', stamp + 1_000);
    forced('k1', stamp + 1_000);
    forced('k1', stamp + 2_000, '101');
    const rows = listRows(runTask(SPEC, log.records).outputs, 'liquidations').filter(
      (r) => r.texts['status'] !== 'missing',
    );
    t.same(
      rows.map((r) => [r.texts['id'], r.figures['price']]),
      [
        ['k1.2.0', '100'],
        ['k2.3.0', '100'],
        ['k2.4.0', '100'],
        ['k1.5.0', '101'],
      ],
    );
    t.end();
  },
);
