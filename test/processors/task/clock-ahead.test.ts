// A collector whose clock is ahead, until it ends itself (D-11): what it stamped stands in the way of nothing (D-510).
import t from 'tap';
import { listReadings, listRows, runTask, SECOND, type TestLog } from '../../support/tasks/task-driver.ts';
import { begin, COVERS, MINUTE, mark, SPEC } from '../../support/tasks/task-logs.ts';

const [HOUR, DAY] = [60 * MINUTE, 24 * 60 * MINUTE];

/** Marks and ticks of a collector whose clock is `ahead` of the log, for nine seconds; `cause`: of the end of its connection. */
const collectAhead = (log: TestLog, ahead: number, cause = 'collector_down'): void => {
  const begun = log.now;
  const stamped = (): { recordedAt: number } => ({ recordedAt: log.now - ahead + 1_000 });
  log.now += ahead;
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS }, stamped());
  for (let second = 1; second <= 9; second++) {
    log.now = begun + ahead + second * SECOND;
    mark(log, '999', { connId: 'k2', ...stamped() });
    const connections = [{ conn_id: 'k2', opened_at: begun + ahead }];
    log.json('tick', 'collector', 'c2', { collector: 'c2', connections }, stamped());
  }
  log.json('lost', 'market', 'k2', { lost_at: log.now, cause, detail: '' }, stamped());
  log.now = begun + 9 * SECOND;
};

const isPresent = ({ texts }: ReturnType<typeof listRows>[number]): boolean => texts['status'] === 'present';

t.test('the next collector’s readings are the newest at once, by whatever the other was ahead', (t) => {
  for (const ahead of [6 * SECOND, HOUR, DAY, 366 * DAY]) {
    const log = begin();
    log.run(20 * SECOND, ['k1']);
    mark(log, '101');
    collectAhead(log, ahead);
    log.run(SECOND, ['k1']);
    mark(log, '102');
    log.run(2 * MINUTE, ['k1']);
    const { outputs } = runTask(SPEC, log.records);
    t.same(
      listReadings(outputs, 'mark').map(({ values }) => values['mark']),
      ['101', '102'],
      `${ahead / SECOND} s ahead`,
    );
    t.same(
      listRows(outputs, 'mark')
        .filter(isPresent)
        .map(({ instants }) => instants['received_at']),
      [20, 30].map((second) => log.records[0] && log.records[0].message.received_at + second * SECOND),
    );
    const letters = outputs.flatMap(({ deadLetters }) => deadLetters);
    t.same([letters.length, letters[0]?.code], [9, 'COLLECTOR_CLOCK']);
  }
  t.end();
});

t.test('no window reads a collector as alive because another one was ahead of it', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  collectAhead(log, 5 * MINUTE, 'connection_lost');
  // Nobody collects while the log comes to where the stamps were.
  log.run(10 * MINUTE, [], SECOND, null);
  const from = (log.records[0]?.message.received_at ?? 0) + 40 * SECOND;
  const causes = listRows(runTask(SPEC, log.records).outputs, 'mark')
    .filter(({ instants }) => (instants['from_at'] ?? 0) >= from)
    .map(({ texts }) => texts['gap_cause']);
  t.same([...new Set(causes)], ['collector_down']);
  t.end();
});

t.test('up to five seconds a clock may be ahead, and what it stamps is read (D-11)', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['k1']);
  log.now += 5 * SECOND;
  mark(log, '101', { recordedAt: log.now - 5 * SECOND });
  const { outputs } = runTask(SPEC, log.records);
  t.same(listReadings(outputs, 'mark').length, 1);
  t.same(
    outputs.flatMap(({ deadLetters }) => deadLetters),
    [],
  );
  t.end();
});
