// Trades and liquidations whose time was recorded too late to count: their stretch is a gap, not silence (H-15, N-11).
import t from 'tap';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, reference, trade } from '../../support/tasks/task-logs.ts';

type Gap = readonly [from: number, to: number, cause: string | undefined];

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  log.open('k1', 'market', [{ layers: ['trades', 'liquidation'], symbols: null }]);
  return log;
};

const listTradeRows = (log: TestLog) =>
  listRows(runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records).outputs, 'trades');

/** Gap rows in seconds since the start, neighbours joined as answers join them. */
const listGaps = (log: TestLog): Gap[] => {
  const joined: Gap[] = [];
  for (const { at, instants, texts } of listTradeRows(log)) {
    if (texts.status === 'present') continue;
    const gap: Gap = [((instants.from_at ?? 0) - START) / SECOND, (at - START) / SECOND, texts.gap_cause];
    const last = joined.at(-1);
    if (last?.[1] === gap[0] && last[2] === gap[2]) joined[joined.length - 1] = [last[0], gap[1], gap[2]];
    else joined.push(gap);
  }
  return joined;
};

/** Trades that were received at some seconds of the log are recorded at another. */
const tradeLater = (log: TestLog, receipts: readonly number[], recordedAt: number): void => {
  const { now } = log;
  for (const second of receipts) {
    log.now = START + second * SECOND;
    trade(log, second * 1_000, { recordedAt: START + recordedAt * SECOND });
  }
  log.now = Math.max(now, START + recordedAt * SECOND);
};

/** The log stands from 30 s on, and goes on at 145 s with what was received meanwhile. */
const stall = (): TestLog => {
  const log = begin();
  log.run(30 * SECOND, ['k1']);
  tradeLater(log, [35, 41, 44, 46, 60, 144], 145);
  log.run(300 * SECOND, ['k1']);
  return log;
};

t.test('after a stall of the log the gap lasts as long as what was received is late', (t) => {
  const late = listTradeRows(stall()).filter(({ flags }) => flags.late);
  t.same(
    late.map(({ at }) => (at - START) / SECOND),
    [35, 41, 44],
  );
  t.same(listGaps(stall()), [[33.001, 45, 'collector_down']]);
  t.end();
});

t.test('what another connection delivered in time is no gap', (t) => {
  const log = begin();
  log.open('k2', 'market', [{ layers: ['trades', 'liquidation'], symbols: null }]);
  log.run(30 * SECOND, ['k1', 'k2']);
  log.run(115 * SECOND, ['k2']);
  tradeLater(log, [35, 41, 44, 46], 145);
  log.run(300 * SECOND, ['k1', 'k2']);
  t.same(listGaps(log), []);
  t.end();
});

t.test('a late trade hides no record of it that counts, and none of its repeats is a row (N-11)', (t) => {
  const log = begin();
  log.open('k2', 'market', [{ layers: ['trades', 'liquidation'], symbols: null }]);
  log.run(30 * SECOND, ['k1', 'k2']);
  const recordedAt = START + 145 * SECOND;
  for (const [id, second, connId] of [
    [1, 44, 'k1'],
    [1, 44.5, 'k1'],
    [1, 46, 'k2'],
    [1, 47, 'k1'],
    [2, 48, 'k2'],
    [2, 44.9, 'k1'],
  ] as const) {
    log.now = START + second * SECOND;
    trade(log, id, { connId, recordedAt, happenedAt: START + 40 * SECOND });
  }
  log.now = recordedAt;
  log.run(300 * SECOND, ['k1', 'k2']);
  t.same(
    listTradeRows(log)
      .filter(({ texts }) => texts.status === 'present')
      .map(({ texts, at, flags }) => [texts.id, (at - START) / SECOND, flags.late]),
    [
      ['1', 44, true],
      ['1', 46, false],
      ['2', 48, false],
    ],
  );
  t.end();
});

/** What was received from 21 s on is recorded from 140 s on, eight seconds of it every five. */
const drain = (): TestLog => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  for (let step = 0; step <= 12; step++) {
    const began = 21 + step * 8;
    tradeLater(log, [began, began + 4], 140 + step * 5);
    log.run(5 * SECOND - 250_000, ['k1']);
  }
  log.run(300 * SECOND, ['k1']);
  return log;
};

t.test('while a backlog is recorded, windows that are sealed before its messages are gaps', (t) => {
  const late = listTradeRows(drain()).filter(({ flags }) => flags.late);
  t.same((Number(late.at(-1)?.at) - START) / SECOND, 69);
  t.same(listGaps(drain()), [
    [23.001, 60, 'collector_down'],
    [61, 65, 'collector_down'],
    [69, 70, 'collector_down'],
  ]);
  t.end();
});

t.test('what counts by a millisecond is no gap', (t) => {
  const gapsAt = (recordedAt: number): Gap[] => {
    const log = begin();
    log.run(30 * SECOND, ['k1']);
    tradeLater(log, [31], recordedAt);
    log.run(300 * SECOND, ['k1']);
    return listGaps(log);
  };
  t.same(gapsAt(131), []);
  t.same(gapsAt(131.001), [[31, 31.001, 'collector_down']]);
  t.end();
});

/** Halves of seconds of which trades were received that are neither in an answer nor in a gap. */
const listSilent = (log: TestLog): number[] => {
  const gaps = listGaps(log);
  return listTradeRows(log)
    .filter(({ texts, flags }) => texts.status === 'present' && flags.late)
    .map(({ at }) => (at - START) / SECOND)
    .filter((at) => !gaps.some(([from, to]) => at > from && at <= to));
};

t.test('while a backlog is recorded, no window is sealed with a part that is neither recorded nor a gap', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  for (let step = 0; step < 30; step++) {
    const began = 24 + step * 3;
    tradeLater(log, [began, began + 0.5, began + 1, began + 1.5, began + 2, began + 2.5], 141.5 + step * 2.7);
  }
  log.run(300 * SECOND, ['k1']);
  t.ok(listTradeRows(log).filter(({ flags }) => flags.late).length > 100);
  t.same(listSilent(log), []);
  t.end();
});

t.test('a log that stands again before its backlog is recorded leaves no silence', (t) => {
  const log = begin();
  log.run(30 * SECOND, ['k1']);
  // The rest of the first stall comes after the second one.
  tradeLater(log, [35, 41, 44], 300);
  tradeLater(log, [60, 150, 199, 210, 290, 299, 301, 350], 500);
  log.run(300 * SECOND, ['k1']);
  t.same(listSilent(log), []);
  t.same(listGaps(log), [[33.001, 400, 'collector_down']]);
  t.end();
});

t.test('a backlog of which the rest never comes is a gap until its connection is out', (t) => {
  const log = begin();
  log.run(30 * SECOND, ['k1']);
  tradeLater(log, [35, 41, 44], 300);
  log.now = START + 303 * SECOND;
  log.open('k2', 'market', [{ layers: ['trades', 'liquidation'], symbols: null }]);
  log.run(300 * SECOND, ['k2']);
  t.same(listGaps(log), [[33.001, 303, 'collector_down']]);
  t.end();
});

t.test('a log that stands again while it is less than 100 s behind leaves no silence', (t) => {
  const log = begin();
  log.run(30 * SECOND, ['k1']);
  tradeLater(log, [35, 41, 60], 120);
  tradeLater(log, [61, 70, 78, 81, 90, 179], 180);
  log.run(300 * SECOND, ['k1']);
  t.same(listSilent(log), []);
  t.same(listGaps(log), [
    [33.001, 35, 'collector_down'],
    [60.000001, 80, 'collector_down'],
  ]);
  t.end();
});

t.test('a record that is in time shows that nothing more is behind', (t) => {
  const log = begin();
  log.run(30 * SECOND, ['k1']);
  tradeLater(log, [35], 200);
  log.run(300 * SECOND, ['k1']);
  t.same(listGaps(log), [[33.001, 100, 'collector_down']]);
  t.end();
});
