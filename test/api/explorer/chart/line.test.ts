// History rows as lines: every row without a figure is a hole with its reason and cause; late rows are marked.
import t from 'tap';
import { buildLine, findHole, findNearestPoint, type HistoryRow } from '../../../../api/explorer/chart/line.ts';

const T0 = Date.parse('2026-01-15T12:00:00.000Z');
const STEP = 10_000;
const row = (step: number, over: Partial<HistoryRow>): HistoryRow => ({
  at: new Date(T0 + step * STEP).toISOString(),
  status: 'present',
  venue_ts: null,
  received_at: null,
  valid_until: null,
  values: { mark: '97000.10' },
  ...over,
});
const gap = (step: number, cause: string): HistoryRow =>
  row(step, { status: 'missing', reason: 'gap', gap_cause: cause, values: {} });

t.test('rows without a figure are holes, neighbours of one cause a single one', (t) => {
  const rows = [row(1, {}), gap(2, 'connection_lost'), gap(3, 'connection_lost'), gap(4, 'sequence_break'), row(5, {})];
  const line = buildLine('binance', rows, { member: 'mark', stepMs: STEP });
  t.same(line.ys, [97000.1, Number.NaN, Number.NaN, Number.NaN, 97000.1]);
  t.same(line.digits, ['97000.10', null, null, null, '97000.10'], 'digits as they came');
  t.same(
    line.holes.map(({ fromMs, toMs, cause }) => [(fromMs - T0) / STEP, (toMs - T0) / STEP, cause]),
    [
      [1, 3, 'connection_lost'],
      [3, 4, 'sequence_break'],
    ],
  );
  t.equal(line.holes[0]?.words, 'The connection to the venue was lost.');
  t.end();
});

t.test('stale rows, rows not retained and figures that are null are holes with their reasons', (t) => {
  const rows = [
    row(1, { status: 'missing', reason: 'not_retained', values: {} }),
    row(2, { status: 'stale', reason: 'horizon_passed', values: {} }),
    row(3, { values: { mark: null }, null_reasons: { mark: 'unit_unknown' } }),
    row(4, { values: {} }),
    row(5, { status: 'not_published', reason: 'venue_capability', values: {} }),
  ];
  t.same(
    buildLine('binance', rows, { member: 'mark', stepMs: STEP }).holes.map(({ reason }) => reason),
    ['not_retained', 'horizon_passed', 'unit_unknown', 'no_value', 'venue_capability'],
  );
  t.end();
});

t.test('an unknown cause is shown as in the answer', (t) => {
  const { holes } = buildLine('x', [gap(1, 'cosmic_ray')], { member: 'mark', stepMs: STEP });
  t.same([holes[0]?.label, holes[0]?.words], ['cosmic ray', 'cosmic ray']);
  t.end();
});

t.test('late rows are points with a mark', (t) => {
  const line = buildLine('x', [row(1, {}), row(2, { late: true })], { member: 'mark', stepMs: STEP });
  t.same(line.late, [1]);
  t.same(line.holes, []);
  t.end();
});

t.test('a hole does not include the instant it begins after', (t) => {
  const line = buildLine('x', [row(1, {}), gap(2, 'no_update'), row(3, {})], { member: 'mark', stepMs: STEP });
  t.equal(findHole(line, T0 + STEP), null);
  t.equal(findHole(line, T0 + STEP + 1)?.cause, 'no_update');
  t.equal(findHole(line, T0 + 2 * STEP)?.cause, 'no_update');
  t.equal(findHole(line, T0 + 2 * STEP + 1), null);
  t.end();
});

t.test('an instant has the nearest point, of two equally near ones the earlier', (t) => {
  t.same(
    [0, 10, 14, 16, 99].map((ms) => findNearestPoint([10, 20, 30], ms)),
    [0, 0, 0, 1, 2],
  );
  t.equal(findNearestPoint([], 5), -1);
  t.end();
});
