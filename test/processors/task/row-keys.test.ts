// Rows of a task that differ are rows of the store that differ: the store keeps one of each key (design section 7).
import t from 'tap';
import type { Row } from '../../../schemas/topics.ts';
import { makeLateCandle, makeLateMark } from '../../support/tasks/late-logs.ts';
import { listCandles } from '../../support/tasks/minute-logs.ts';
import { formatRowKey } from '../../support/tasks/row-keys.ts';
import { listRows, runTask } from '../../support/tasks/task-driver.ts';
import { busyLog, SPEC } from '../../support/tasks/task-logs.ts';

const show = ({ texts, flags }: Row): string => `${texts['status']}${flags['late'] ? ', late' : ''}`;

t.test('the gap that a late reading seals, and the late reading (N-11)', (t) => {
  const rows = listRows(runTask(SPEC, makeLateMark().records).outputs, 'mark');
  t.same(rows.map(show).sort(), ['missing', 'present', 'present, late']);
  t.equal(new Set(rows.map(formatRowKey)).size, rows.length);
  t.end();
});

t.test('the gap that a late candle seals, and the late candle (H-13)', (t) => {
  const rows = listCandles(makeLateCandle());
  t.same(rows.map(show).sort(), ['missing', 'present, late']);
  t.equal(new Set(rows.map(formatRowKey)).size, rows.length);
  t.end();
});

t.test('every row of a busy log', (t) => {
  const rows = listRows(runTask(SPEC, busyLog().records).outputs);
  t.ok(rows.length > 100);
  t.equal(new Set(rows.map(formatRowKey)).size, rows.length);
  t.end();
});
