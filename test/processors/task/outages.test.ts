// Outages as rows explain them: to their end, however long; and what connections that deliver late or ahead of the log change.
import t from 'tap';
import type { Row } from '../../../schemas/topics.ts';
import { listReadings, listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import {
  allLayers,
  begin,
  COVERS,
  diff,
  MINUTE,
  mark,
  reference,
  SPEC,
  snapshot,
  trade,
} from '../../support/tasks/task-logs.ts';

const ALL = [{ layers: ['mark', 'funding', 'candles', 'trades', 'liquidation'], symbols: null }];
const ALL_LAYERS = { venue: allLayers, partition: 0, shards: 1 };

const beginAll = (): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  log.open('k1', 'market', ALL);
  return log;
};

const lose = (log: TestLog, connId: string, cause: string): void =>
  void log.json('lost', 'market', connId, { lost_at: log.now, cause, detail: '' });

/** Causes of a table's gaps between two instants, in their order; a run of one cause is one. */
const listCauses = (rows: readonly Row[], table: string, [from, to]: readonly [number, number]): string[] => {
  const causes: string[] = [];
  for (const { at, texts, instants } of rows) {
    const isIn = (instants['from_at'] ?? at) >= from && (instants['close_time'] ?? at) <= to;
    const cause = texts['gap_cause'];
    if (texts['listing'] === undefined || !isIn || texts['timeframe'] === '5m') continue;
    if (cause !== undefined && cause !== causes.at(-1)) causes.push(cause);
  }
  return rows.length === 0 ? [`no rows of ${table}`] : causes;
};

t.test('every window of an outage has the cause of its loss, however long the outage was (L-08)', (t) => {
  for (const minutes of [3, 6, 11, 30]) {
    const log = beginAll();
    log.run(20 * SECOND, ['k1']);
    lose(log, 'k1', 'venue_maintenance');
    const from = START + MINUTE;
    log.run(minutes * MINUTE, [], SECOND);
    const to = log.now;
    log.open('k2', 'market', ALL);
    log.run(240 * SECOND, ['k2'], SECOND);
    const { outputs } = runTask(ALL_LAYERS, log.records);
    for (const table of ['mark', 'funding', 'trades', 'liquidations', 'candles']) {
      const rows = listRows(outputs, table).filter(({ texts }) => (texts['timeframe'] ?? '1m') === '1m');
      t.same(listCauses(rows, table, [from, to]), ['venue_maintenance'], `${table} of ${minutes} minutes`);
    }
  }
  t.end();
});

t.test('a failed attempt explains an outage until the next one, however far apart they are', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  lose(log, 'k1', 'connection_lost');
  log.run(20 * SECOND, []);
  const refused = log.now;
  lose(log, 'k8', 'venue_rate_limit');
  log.run(8 * MINUTE, [], SECOND);
  const failed = log.now;
  lose(log, 'k9', 'venue_down');
  log.run(4 * MINUTE, [], SECOND);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same(listCauses(rows, 'mark', [refused, failed - 1]), ['venue_rate_limit']);
  t.same(listCauses(rows, 'mark', [failed, log.now]), ['venue_down']);
  t.end();
});

t.test('a connection that is back after a long silence keeps the loss that explains the silence', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  const silent = log.now + 10 * SECOND;
  log.run(10 * MINUTE, [], SECOND, 'c2');
  const back = log.now;
  for (let i = 0; i < 3; i++) {
    log.run(5 * SECOND, ['k1']);
    log.run(5 * SECOND, [], SECOND, 'c2');
  }
  log.run(4 * MINUTE, ['k1'], SECOND);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same(listCauses(rows, 'mark', [silent, back]), ['collector_down']);
  t.end();
});

t.test('of two connections of a slot the one that was lost last explains what follows', (t) => {
  const log = begin();
  log.run(SECOND, ['k1']);
  log.open('k2', 'market', COVERS);
  log.run(5 * SECOND, ['k1', 'k2']);
  lose(log, 'k2', 'venue_rate_limit');
  log.run(25 * SECOND, ['k1']);
  lose(log, 'k1', 'venue_down');
  const from = log.now;
  log.run(15 * MINUTE, [], SECOND);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same(listCauses(rows, 'mark', [from, log.now]), ['venue_down']);
  t.end();
});

t.test('late readings of a newer connection take nothing from the one that delivers in time (N-11, F-02)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  const opened = log.now;
  log.run(200 * SECOND, ['k1']);
  log.json('open', 'market', 'k2', { opened_at: opened, url: 'wss://test', covers: COVERS });
  const now = log.now;
  log.now = opened + SECOND;
  mark(log, '555', { connId: 'k2', recordedAt: now });
  log.now = now + SECOND;
  mark(log, '102');
  const end = Math.ceil(log.now / (10 * SECOND)) * 10 * SECOND;
  log.run(20 * SECOND, ['k1', 'k2']);
  mark(log, '103', { connId: 'k2' });
  mark(log, '104');
  log.run(140 * SECOND, ['k1', 'k2']);
  const { outputs } = runTask(SPEC, log.records);
  const rows = listRows(outputs, 'mark').filter(({ texts }) => texts['status'] === 'present');
  t.same(
    rows.map(({ figures, flags }) => [figures['mark'], flags['late']]),
    [
      ['101', false],
      ['555', true],
      ['102', false],
      ['103', false],
    ],
    'the late one is a row, and the newer connection counts from its first reading in time',
  );
  t.equal(rows[2]?.at, end);
  t.same(
    listReadings(outputs, 'mark').map(({ values }) => values['mark']),
    ['101', '102', '103'],
  );
  t.end();
});

t.test('a span that begins ahead of the log does not end before it begins', (t) => {
  const log = begin();
  log.run(10 * SECOND, [], SECOND, 'c2');
  log.json('frame', 'market', 'k1', {}, {});
  const message = log.records.at(-1)?.message;
  if (message === undefined) throw new Error('no message');
  log.append({ ...message, seq: message.seq + 1, received_at: log.now + 4 * SECOND }, log.now);
  log.run(10 * SECOND, [], SECOND, 'c2');
  log.append({ ...message, seq: message.seq + 2, received_at: log.now + 4 * SECOND }, log.now);
  log.run(10 * SECOND, [], SECOND, 'c2');
  const spans = listRows(runTask(SPEC, log.records).outputs, 'connections');
  t.equal(spans.length, 3);
  for (const { at, instants } of spans) t.ok((instants['to_at'] ?? 0) >= at, `${at} to ${instants['to_at']}`);
  t.end();
});

t.test('a venue that could never be reached is down by the cause of the last attempt, not silent (L-08)', (t) => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  const fail = (n: number, cause: string): void =>
    void log.json('lost', 'market', `x${n}`, { lost_at: log.now, cause, detail: '', covers: ALL });
  fail(1, 'venue_down');
  const failed = log.now;
  log.run(9 * MINUTE, [], SECOND);
  fail(2, 'venue_rate_limit');
  const refused = log.now;
  log.run(MINUTE, [], SECOND);
  const opened = log.now;
  log.open('k1', 'market', ALL);
  trade(log, 1, { happenedAt: opened - 30 * SECOND });
  trade(log, 2);
  log.run(240 * SECOND, ['k1'], SECOND);
  const { outputs } = runTask(ALL_LAYERS, log.records);
  for (const table of ['mark', 'funding', 'trades', 'liquidations', 'candles']) {
    const rows = listRows(outputs, table).filter(({ texts }) => (texts['timeframe'] ?? '1m') === '1m');
    t.same(listCauses(rows, table, [failed, refused - MINUTE]), ['venue_down'], table);
    t.same(listCauses(rows, table, [refused, opened]), ['venue_rate_limit'], table);
    const after = table === 'trades' || table === 'liquidations' ? [] : ['no_update'];
    t.same(listCauses(rows, table, [opened, log.now]), after, `${table} once it is open`);
  }
  t.same(listRows(outputs, 'connections'), [], 'an attempt is no alive span (D-03)');
  t.same(
    listRows(outputs, 'trades').flatMap(({ texts }) => (texts['status'] === 'present' ? texts['id'] : [])),
    ['2'],
    'nor does it begin the collection of events (D-76)',
  );
  t.end();
});

t.test('what happens at the end of a window belongs to it, and not to the next one (H-06)', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  const payload = Buffer.from('{"e":"markPriceUpdate"');
  log.append({ kind: 'frame', slot: 'market', conn_id: 'k1', request: null, payload });
  log.run(20 * SECOND, ['k1']);
  lose(log, 'k1', 'venue_down');
  log.run(SECOND, []);
  log.open('k2', 'market', COVERS);
  log.run(160 * SECOND, ['k2']);
  const causes = listRows(runTask(SPEC, log.records).outputs, 'mark').map(({ at, texts }) => [
    (at - START) / SECOND,
    texts['gap_cause'],
  ]);
  t.same(causes.slice(0, 6), [
    [10, 'no_update'],
    [20, 'parse_error'],
    [30, 'no_update'],
    [40, 'venue_down'],
    [50, 'venue_down'],
    [60, 'no_update'],
  ]);
  t.end();
});

t.test('of two values of one message the last is held and represents its window', (t) => {
  const log = begin();
  log.now += SECOND;
  const at = Math.floor(log.now / 1000);
  const values = ['101', '102'].map((p) => {
    return { e: 'markPriceUpdate', E: at, s: 'BTCUSDT', p, i: '100', P: '1', r: '0.0001', T: at + 3_600_000 };
  });
  log.json('frame', 'market', 'k1', values);
  log.run(120 * SECOND, ['k1']);
  const { task, outputs } = runTask(SPEC, log.records);
  t.equal(task.state.listings.get('BTCUSDT')?.layers.get('mark')?.reading?.values['mark'], '102');
  t.equal(listRows(outputs, 'mark')[0]?.figures['mark'], '102');
  t.end();
});

t.test('of two collectors on a slot a silent one returns to what it covers, however long it was out (F-02)', (t) => {
  const log = begin();
  log.run(5 * SECOND, ['k1']);
  snapshot(log, 100);
  log.open('k2', 'market', COVERS);
  log.run(20 * SECOND, ['k1', 'k2']);
  // The first collector's records wait; the other one's connections come and go.
  log.run(5 * MINUTE, ['k2'], SECOND, 'c2');
  lose(log, 'k2', 'connection_lost');
  log.open('k3', 'market', COVERS);
  log.run(9 * MINUTE, ['k3'], SECOND, 'c2');
  lose(log, 'k3', 'venue_down');
  const back = log.now;
  mark(log, '102');
  diff(log, { U: 101, u: 102, pu: 100 }, { b: [['99.8', '7']] });
  log.run(4 * MINUTE, ['k1'], SECOND);
  const { outputs, task } = runTask(SPEC, log.records);
  const windows = listRows(outputs, 'mark').filter(({ at }) => at > back + 10 * SECOND);
  t.same([...new Set(windows.map(({ texts }) => texts['gap_cause']))], ['no_update'], 'it serves the layer again');
  t.equal(listReadings(outputs, 'book').at(-1)?.book?.sequence, '102', 'and its book goes on');
  t.ok(task.state.connections.size < 4, `${task.state.connections.size} connections`);
  t.end();
});

t.test('connections of a collector that is killed again and again do not gather', (t) => {
  const log = begin();
  for (let n = 0; n < 40; n++) {
    log.open(`n${n}`, 'market', COVERS);
    log.run(5 * SECOND, [`n${n}`], SECOND);
    log.run(15 * SECOND, [], SECOND, 'c2');
  }
  log.run(10 * MINUTE, [], SECOND, 'c2');
  const { task } = runTask(SPEC, log.records);
  t.same([...task.state.connections.keys()], ['n36', 'n37', 'n38', 'n39']);
  t.end();
});

t.test('of a loss and a failed attempt at one instant the later in the log explains (L-08)', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  const from = log.now + 10 * SECOND;
  lose(log, 'k1', 'connection_lost');
  lose(log, 'k9', 'venue_maintenance');
  log.run(180 * SECOND, [], SECOND);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same(listCauses(rows, 'mark', [from, log.now]), ['venue_maintenance']);
  t.end();
});

t.test('a book that is whole again at the end of a window explains nothing of the next one (L-03, L-08)', (t) => {
  const log = begin();
  log.run(15 * SECOND, ['k1']);
  snapshot(log, 100);
  diff(log, { U: 101, u: 102, pu: 100 }, { b: [['200', '1']] });
  log.run(25 * SECOND, ['k1']);
  diff(log, { U: 103, u: 104, pu: 102 }, { b: [['200', '0']] });
  log.run(180 * SECOND, ['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'book');
  t.same(
    rows.slice(0, 6).map(({ at, texts }) => [(at - START) / SECOND, texts['gap_cause'] ?? texts['status']]),
    [
      [10, 'no_update'],
      [20, 'crossed_book'],
      [30, 'crossed_book'],
      [40, 'present'],
      [50, 'no_update'],
      [60, 'no_update'],
    ],
  );
  t.end();
});

t.test('a connection that was closed does not return, whoever still names it (F-02)', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  lose(log, 'k1', 'venue_down');
  const from = log.now + 10 * SECOND;
  log.run(180 * SECOND, ['k1'], SECOND);
  const { outputs, task } = runTask(SPEC, log.records);
  t.same(listCauses(listRows(outputs, 'mark'), 'mark', [from, log.now]), ['venue_down']);
  t.equal(listRows(outputs, 'connections').length, 1);
  t.not(task.state.connections.get('k1')?.span.to, null);
  t.end();
});

t.test('a failed attempt explains its own slot only (L-08)', (t) => {
  const log = begin();
  log.open('p1', 'polls', [{ layers: ['oi'], symbols: null }]);
  log.run(20 * SECOND, ['k1', 'p1']);
  const from = log.now + 10 * SECOND;
  lose(log, 'k1', 'venue_down');
  log.json('lost', 'polls', 'p1', { lost_at: log.now, cause: 'venue_maintenance', detail: '' });
  log.run(SECOND, []);
  log.json('lost', 'polls', 'p2', { lost_at: log.now, cause: 'venue_rate_limit', detail: '' });
  log.run(180 * SECOND, [], SECOND);
  const { outputs } = runTask(SPEC, log.records);
  t.same(listCauses(listRows(outputs, 'mark'), 'mark', [from, log.now]), ['venue_down']);
  t.same(listCauses(listRows(outputs, 'open_interest'), 'open_interest', [from, log.now]), ['venue_rate_limit']);
  t.end();
});

t.test('of two living connections the one opened last counts, whatever their names (F-02)', (t) => {
  const log = begin();
  log.run(SECOND, ['k1']);
  mark(log, '100');
  // What a connection covers may be told in parts.
  log.open('a2', 'market', [
    { layers: ['book'], symbols: ['ETHUSDT'] },
    { layers: ['mark'], symbols: null },
  ]);
  log.run(SECOND, ['k1', 'a2']);
  mark(log, '101', { connId: 'a2' });
  log.now += SECOND;
  mark(log, '102');
  const marks = listReadings(runTask(SPEC, log.records).outputs, 'mark').map(({ values }) => values['mark']);
  t.same(marks, ['100', '101']);
  t.end();
});

t.test('events count from the first connection that could bring them, whichever brings the first one (D-76)', (t) => {
  const listIds = (isLost: boolean): readonly string[] => {
    const log = beginAll();
    log.run(20 * SECOND, ['k1']);
    if (isLost) log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
    log.open('k2', 'market', ALL);
    trade(log, 1, { connId: 'k2', happenedAt: START + 10 * SECOND });
    trade(log, 2, { connId: 'k2', happenedAt: START - SECOND });
    log.run(20 * SECOND, isLost ? ['k2'] : ['k1', 'k2']);
    const rows = listRows(runTask(ALL_LAYERS, log.records).outputs, 'trades');
    return rows.flatMap(({ texts }) => (texts['status'] === 'present' ? (texts['id'] ?? []) : []));
  };
  t.same(listIds(false), ['1']);
  t.same(listIds(true), ['1'], 'also one that was lost before it brought any');
  t.end();
});

t.test('a reading that was received before the one of its window, and recorded after it, takes nothing (H-06)', (t) => {
  const log = begin();
  log.now += 5 * SECOND;
  mark(log, '105');
  const held = log.now;
  log.now = START + 3 * SECOND;
  mark(log, '103', { recordedAt: held + SECOND });
  log.now = held + 2 * SECOND;
  log.run(120 * SECOND, ['k1']);
  const { task, outputs } = runTask(SPEC, log.records);
  t.equal(listRows(outputs, 'mark')[0]?.figures['mark'], '105');
  t.equal(task.state.listings.get('BTCUSDT')?.layers.get('mark')?.reading?.values['mark'], '105');
  t.end();
});

t.test('a book that is crossed and then broken is explained by each from its moment on (L-03, L-08)', (t) => {
  const log = begin();
  log.run(15 * SECOND, ['k1']);
  snapshot(log, 100);
  diff(log, { U: 101, u: 102, pu: 100 }, { b: [['200', '1']] });
  log.run(20 * SECOND, ['k1']);
  diff(log, { U: 201, u: 202, pu: 200 }, { b: [['201', '1']] });
  log.run(20 * SECOND, ['k1']);
  snapshot(log, 300);
  diff(log, { U: 300, u: 301, pu: 299 }, { b: [['99', '1']] });
  log.run(160 * SECOND, ['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'book');
  t.same(
    rows.slice(1, 8).map(({ at, texts }) => [(at - START) / SECOND, texts['gap_cause'] ?? texts['status']]),
    [
      [20, 'crossed_book'],
      [30, 'crossed_book'],
      [40, 'sequence_break'],
      [50, 'sequence_break'],
      [60, 'present'],
      [70, 'no_update'],
      [80, 'no_update'],
    ],
    'and neither explains what follows the next whole book',
  );
  t.end();
});

t.test('a connection that is silent for a while explains nothing while another one covers the listing (L-08)', (t) => {
  const log = begin();
  log.run(5 * SECOND, ['k1']);
  log.open('k2', 'market', COVERS);
  log.run(5 * SECOND, ['k1', 'k2']);
  log.run(10 * SECOND, ['k2']);
  log.run(5 * SECOND, ['k1', 'k2']);
  log.json('lost', 'market', 'k2', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(150 * SECOND, ['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'mark');
  t.same([...new Set(rows.map(({ texts }) => texts['gap_cause']))], ['no_update']);
  t.end();
});
