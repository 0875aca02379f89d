// Stretches in which nothing is collected: no rows, and no work that grows with them, for anything before and after (H-06, N-11).
import fc from 'fast-check';
import t from 'tap';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import { makeMissingMinute } from '../../../processors/task/minutes.ts';
import { foldMinute, foldUncollected } from '../../../processors/task/rollups.ts';
import type { CandleState } from '../../../processors/task/state.ts';
import { createStore } from '../../../processors/task/store.ts';
import type { LogRecord } from '../../../processors/task/task.ts';
import { Task } from '../../../processors/task/task.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, BAR, kline, MINUTE, mark, reference } from '../../support/tasks/task-logs.ts';

const DAY = 1_440 * MINUTE;
const COVERS = [{ layers: ['mark', 'candles', 'trades', 'liquidation'], symbols: null }];

const nothing = (() => {
  const { name, layers } = toCapability(allLayers);
  const off = Object.entries(layers).map(([layer, stated]) => [layer, { ...stated, policy: 'off' }]);
  return { name, layers: Object.fromEntries(off) };
})();

/** Ten minutes that are collected, a stretch that is not, ten minutes again, and time to seal all of it; the first record after the stretch. */
const interrupted = (stretch: number): { readonly records: readonly LogRecord[]; readonly resumesAt: number } => {
  const log = new TestLog();
  const collect = (connId: string): void => {
    log.capability(allLayers);
    reference(log, ['BTCUSDT', 'ETHUSDT']);
    log.open(connId, 'market', COVERS);
    for (let minute = 0; minute < 10; minute += 1) {
      mark(log, `${100 + minute}`, { connId });
      log.run(MINUTE, [connId], 2 * SECOND);
      kline(log, (log.now - START) / MINUTE - 1, undefined, { connId });
    }
    log.json('lost', 'market', connId, { lost_at: log.now, cause: 'collector_down', detail: '' });
    log.json('capability', 'collector', 'c1', nothing);
  };
  collect('k1');
  log.now = START + stretch;
  const resumesAt = log.records.length;
  collect('k2');
  log.run(10 * MINUTE, [], 2 * SECOND);
  return { records: log.records, resumesAt };
};

/** Rows, and how often each record made the task look up what is collected. */
const work = (records: readonly LogRecord[]): { readonly rows: readonly Row[]; readonly asked: readonly number[] } => {
  let count = 0;
  const task = new Task({
    venue: allLayers,
    partition: 0,
    shards: 1,
    openStore: (state) => {
      const store = createStore(state);
      const counting = new Proxy(store.state, {
        get: (of, name) => {
          if (name === 'capability') count += 1;
          return Reflect.get(of, name);
        },
      });
      return { ...store, state: counting };
    },
  });
  const rows: Row[] = [];
  const asked = records.map((record) => {
    const before = count;
    for (const { row } of task.process(record).rows) if (row !== null) rows.push(row);
    return count - before;
  });
  return { rows, asked };
};

/** A row as if the second stretch of collecting had begun `shift` earlier. Without its own record, its raw offset gives the time of sealing. */
const earlier = ({ at, instants, integers, ...row }: Row, shift: number): string => {
  const back = (instant: number): number => (instant > START + DAY / 2 ? instant - shift : instant);
  const moved = Object.entries(instants).map(([name, instant]) => [name, back(instant)]);
  const { src_offset, ...counted } = integers;
  const place = row.texts['conn'] === undefined ? null : src_offset;
  return JSON.stringify([row, back(at), Object.fromEntries(moved), counted, place]);
};

t.test('the rows around a stretch without a policy are the same, however long it was', (t) => {
  const rowsAround = (days: number): readonly string[] => {
    const { rows } = work(interrupted(days * DAY).records);
    const within = rows.filter(({ at }) => at > START + 15 * MINUTE && at < START + days * DAY - DAY);
    t.same(within, [], 'none lies in it');
    return rows.map((row) => earlier(row, (days - 1) * DAY)).sort();
  };
  const one = rowsAround(1);
  t.ok(one.length > 300, `${one.length} rows`);
  t.same(rowsAround(9), one);
  t.end();
});

t.test('the number of look-ups of a record after such a stretch does not grow with it', (t) => {
  const afterStretch = (days: number): readonly number[] => {
    const { records, resumesAt } = interrupted(days * DAY);
    return work(records).asked.slice(resumesAt, resumesAt + 300);
  };
  const [one, thirty] = [afterStretch(1), afterStretch(30)];
  t.ok(Math.max(...one) > 0, `at most ${Math.max(...one)} questions a record`);
  t.ok(Math.max(...thirty) <= Math.max(...one), `after thirty days at most ${Math.max(...thirty)}`);
  t.end();
});

t.test('uncollected minutes are folded at once as they would be one by one', (t) => {
  const stretch = fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 5_000 }));
  const isSame = (stretches: readonly (readonly [number, number])[]): void => {
    const [atOnce, oneByOne] = [0, 1].map(
      (): CandleState => ({ minutes: {}, proved: {}, newest: {}, rollups: {}, told: {} }),
    );
    if (atOnce === undefined || oneByOne === undefined) throw new Error('two are made');
    let from = START;
    for (const [collected, uncollected] of stretches) {
      const to = from + collected * MINUTE;
      for (let at = from; at < to; at += MINUTE)
        for (const candles of [atOnce, oneByOne]) foldMinute(candles, makeMissingMinute(at, 'collector_down'), 0);
      from = to + uncollected * MINUTE;
      foldUncollected(atOnce, to, from);
      for (let at = to; at < from; at += MINUTE) foldMinute(oneByOne, makeMissingMinute(at, 'unknown'), 0);
      t.equal(JSON.stringify(atOnce), JSON.stringify(oneByOne));
    }
  };
  fc.assert(fc.property(fc.array(stretch, { minLength: 1, maxLength: 4 }), isSame), { numRuns: 30 });
  t.end();
});

t.test('a minute whose messages were not all read is not proved empty by a later one', (t) => {
  const causes = (isInterrupted: boolean): readonly (string | undefined)[] => {
    const log = new TestLog();
    log.capability(allLayers);
    reference(log);
    log.open('k1', 'market', COVERS);
    for (const minute of [0, 1, 3]) {
      const at = START + (minute + 1) * MINUTE;
      log.run(at - log.now, ['k1'], SECOND);
      kline(log, minute);
      if (minute !== 1 || !isInterrupted) continue;
      log.run(10 * SECOND, ['k1'], SECOND);
      log.json('capability', 'collector', 'c1', nothing);
      log.run(10 * SECOND, ['k1'], SECOND);
      log.capability(allLayers);
    }
    log.run(5 * MINUTE, ['k1'], SECOND);
    const minutes = listRows(runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records).outputs, 'candles');
    return minutes
      .filter(({ texts }) => texts['timeframe'] === '1m' && texts['price_type'] === 'trade')
      .slice(0, 4)
      .map(({ texts }) => texts['status']);
  };
  t.same(causes(false), ['present', 'present', 'present', 'present'], 'the third minute had no trades');
  t.same(causes(true), ['present', 'present', 'missing', 'present']);
  t.end();
});

t.test(
  'a longer candle has the cause of its first minute that is none; that of an uncollected one is not known (H-13, L-08)',
  (t) => {
    const log = new TestLog();
    log.capability(allLayers);
    reference(log);
    log.open('k1', 'market', COVERS);
    for (let minute = 0; minute < 15; minute += 1) {
      log.run(START + (minute + 1) * MINUTE - log.now, ['k1'], SECOND);
      if (minute < 1 || (minute > 3 && minute !== 7 && minute !== 8)) kline(log, minute);
      log.run(SECOND, ['k1'], SECOND);
      if (minute === 0) log.json('capability', 'collector', 'c1', nothing);
      if (minute === 3) log.capability(allLayers);
    }
    log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'venue_down', detail: '' });
    log.run(5 * MINUTE, [], SECOND);
    const { outputs } = runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records);
    const causes = (timeframe: string) =>
      listRows(outputs, 'candles')
        .filter(({ texts }) => texts['timeframe'] === timeframe && texts['price_type'] === 'trade')
        .map(({ at, texts }) => [(at - START) / MINUTE, texts['gap_cause'] ?? texts['status']]);
    t.same(
      causes('1m').slice(0, 8),
      [
        [0, 'present'],
        [4, 'present'],
        [5, 'present'],
        [6, 'present'],
        [7, 'no_update'],
        [8, 'present'],
        [9, 'present'],
        [10, 'present'],
      ],
      'an uncollected minute is no row',
    );
    t.same(causes('5m').slice(0, 3), [
      [0, 'unknown'],
      [5, 'no_update'],
      [10, 'present'],
    ]);
    t.same(causes('15m'), [[0, 'unknown']]);
    t.same(causes('3m')[0], [3, 'unknown'], 'one that ends uncollected is no row');
    t.end();
  },
);

t.test(
  'an uncollected minute between collected ones is one also when a silent log has them sealed together (H-13)',
  (t) => {
    const log = new TestLog();
    log.capability(allLayers);
    reference(log);
    log.open('k1', 'market', COVERS);
    for (let minute = 0; minute < 5; minute += 1) {
      log.now = START + (minute + 1) * MINUTE;
      log.tick(['k1']);
      if (minute !== 3) kline(log, minute);
      log.now += SECOND;
      if (minute === 2) log.json('capability', 'collector', 'c1', nothing);
      if (minute === 3) log.capability(allLayers);
    }
    log.run(5 * MINUTE, ['k1'], 5 * MINUTE);
    const rows = listRows(runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records).outputs, 'candles');
    const longer = rows.filter(({ at, texts }) => texts['timeframe'] === '5m' && at === START);
    t.same(
      longer.filter(({ texts }) => texts['price_type'] === 'trade').map(({ texts }) => texts['gap_cause']),
      ['unknown'],
    );
    t.end();
  },
);

t.test('a minute told anew is a late row also when what its venue collected then is forgotten (N-11)', (t) => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log);
  log.open('k1', 'market', COVERS);
  log.run(MINUTE, ['k1'], SECOND);
  kline(log, 0);
  log.run(MINUTE, ['k1'], SECOND);
  log.json('capability', 'collector', 'c1', { ...toCapability(allLayers), name: 'Binance anew' });
  log.run(4 * MINUTE, ['k1'], SECOND);
  kline(log, 0, { ...BAR, c: '106' });
  const rows = listRows(runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records).outputs, 'candles');
  t.same(
    rows
      .filter(({ at, texts }) => at === START && texts['timeframe'] === '1m' && texts['price_type'] === 'trade')
      .map(({ figures, flags }) => [figures['close'], flags['late'] ?? false]),
    [
      ['105', false],
      ['106', true],
    ],
  );
  t.end();
});

t.test('candles around minutes that were off at their end, or in part, do not prove them empty (D-225)', (t) => {
  /** The minutes with a row, and their volumes: off from the second to within the fourth, then told of the second and the fifth. */
  const tell = (connId: string) => {
    const log = new TestLog();
    const reach = (instant: number, alive: string): void => log.run(START + instant - log.now, [alive], SECOND);
    log.capability(allLayers);
    reference(log);
    log.open('k1', 'market', COVERS);
    reach(MINUTE + SECOND, 'k1');
    kline(log, 0);
    log.json('capability', 'collector', 'c1', nothing);
    reach(3 * MINUTE + 20 * SECOND, 'k1');
    log.capability(allLayers);
    reach(3 * MINUTE + 22 * SECOND, 'k1');
    if (connId !== 'k1') log.open(connId, 'market', COVERS);
    reach(3 * MINUTE + 25 * SECOND, connId);
    kline(log, 1, BAR, { connId });
    reach(4 * MINUTE + 5 * SECOND, connId);
    kline(log, 4, BAR, { connId });
    reach(8 * MINUTE, connId);
    return listRows(runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records).outputs, 'candles')
      .filter(({ texts }) => texts['timeframe'] === '1m' && texts['price_type'] === 'trade')
      .map(({ at, figures }) => [(at - START) / MINUTE, figures['volume']] as const);
  };
  const expected = [
    [0, '2.5'],
    [3, undefined],
    [4, '2.5'],
  ];
  t.same(tell('k1').slice(0, 3), expected, 'the third has no row; of the fourth a part was not read');
  t.notOk(
    tell('k2').some(([minute]) => minute === 1 || minute === 2),
    'nor have they by a connection that was opened later',
  );
  t.end();
});
