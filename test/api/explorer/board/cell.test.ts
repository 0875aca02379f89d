// The content of a cell: every status of a reading, statuses that the page derives itself, and no number where none is valid.
import t from 'tap';
import { type Cell, type CellTime, toCell } from '../../../../api/explorer/board/cell.ts';
import { listCellDetails } from '../../../../api/explorer/board/cell-details.ts';
import type { Reading } from '../../../../api/explorer/board/reading.ts';
import { GAP_CAUSES } from '../../../../schemas/gap-causes.ts';
import { createRandom } from '../../../support/mutations.ts';

const NOW = Date.parse('2026-01-15T12:00:10.000Z');
const TIME: CellTime = { nowMs: NOW, boundMs: 30_000, lostSinceMs: null };
const instant = (ms: number): string => new Date(NOW + ms).toISOString();

const reading = (over: Partial<Reading> = {}): Reading => ({
  status: 'present',
  venue_ts: instant(-3_100),
  received_at: instant(-3_000),
  age_ms: 12,
  valid_until: null,
  values: { funding: '0.00009985' },
  units: { funding: 'fraction' },
  ...over,
});
const see = (over: Partial<Reading>, time: Partial<CellTime> = {}): Cell =>
  toCell(reading(over), 'funding', { ...TIME, ...time });

t.test('a present reading is its digits with an age that grows', (t) => {
  t.same(see({}), { kind: 'figure', digits: '0.00009985', unit: 'fraction', ageMs: 3_000 });
  t.match(see({}, { nowMs: NOW + 5_000 }), { kind: 'figure', ageMs: 8_000 });
  t.match(see({}, { nowMs: NOW - 60_000 }), { kind: 'figure', ageMs: 0 }, 'a clock that is behind makes no age');
  t.end();
});

t.test('stale and missing readings are withheld with their reason', (t) => {
  for (const [over, label, words] of [
    [{ status: 'stale', reason: 'connection_lost' }, 'connection lost', /connection that delivered it was lost/],
    [{ status: 'stale', reason: 'horizon_passed' }, 'horizon passed', /horizon has passed/],
    [{ status: 'missing', reason: 'gap', gap_cause: 'crossed_book' }, 'crossed book', /The book was crossed/],
    [{ status: 'missing', reason: 'no_value', received_at: null }, 'no value', /Nothing was received/],
    [{ status: 'stale', reason: 'moon_phase' }, 'moon phase', /^moon phase$/],
    [{ status: 'missing', reason: 'gap', gap_cause: 'policy_off' }, 'policy off', /not collected/],
  ] as const) {
    // Digits that a careless answer might still hold are not shown either.
    const cell = see(over);
    t.match(cell, { kind: 'withheld', label, words });
    t.notMatch(JSON.stringify(cell), /9985/);
  }
  t.end();
});

t.test('what was never there is neither a figure nor withheld', (t) => {
  t.match(see({ status: 'not_published', reason: 'venue_capability' }), { kind: 'absent', label: 'not published' });
  t.match(see({ status: 'off', reason: 'policy_off' }), { kind: 'absent', label: 'off' });
  t.same(toCell(undefined, 'funding', TIME), { kind: 'waiting' });
  t.end();
});

t.test('a figure that is null or not there is withheld with the reason that the answer has', (t) => {
  t.match(see({ values: { funding: null }, null_reasons: { funding: 'unit_unknown' } }), { label: 'unit unknown' });
  t.match(see({ values: {} }), { kind: 'withheld', label: 'no value' });
  t.end();
});

t.test('a change that the stream does not send in time is detected by the page', (t) => {
  t.match(see({ valid_until: instant(-1_000) }), { kind: 'figure' }, 'the stream has its second to send it');
  t.match(see({ valid_until: instant(-5_000) }), { kind: 'withheld', label: 'horizon passed' });
  t.match(see({ received_at: instant(-40_000) }), { kind: 'withheld', label: 'freshness bound' });
  t.match(see({}, { lostSinceMs: NOW }), { kind: 'withheld', label: 'stream lost', ageMs: 3_000 });
  t.end();
});

t.test('whatever a reading contains, digits are shown of a present one alone', (t) => {
  const random = createRandom(7);
  const one = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  let figures = 0;
  for (let round = 0; round < 5_000; round++) {
    const status = one(['present', 'stale', 'missing', 'not_published', 'off'] as const);
    const over = {
      status,
      ...(random(2) === 0 ? {} : { reason: one(['gap', 'horizon_passed', 'connection_lost']) }),
      ...(random(2) === 0 ? {} : { gap_cause: one(Object.keys(GAP_CAUSES)) }),
      received_at: one([null, instant(-random(100_000))]),
      valid_until: one([null, instant(random(20_000) - 10_000)]),
      values: one([{}, { funding: null }, { funding: '0.00009985' }]) as Reading['values'],
    };
    const lostSinceMs = one([null, null, NOW - 1]);
    const cell = see(over, { lostSinceMs });
    const details = JSON.stringify(listCellDetails(cell, reading(over), { nowMs: NOW, quote: 'USDT', asset: 'BTC' }));
    if (cell.kind === 'figure') figures += 1;
    const mayShow = status === 'present' && lostSinceMs === null;
    if ((cell.kind === 'figure' || details.includes('9985')) && !mayShow) t.fail(`${JSON.stringify(over)}: ${details}`);
  }
  t.ok(figures > 100, `${figures} figures among 5000 readings`);
  t.end();
});

t.test('details have the whole digits, the instants and the reason', (t) => {
  const details = listCellDetails(see({}), reading({ instants: { next_funding_at: instant(60_000) } }), {
    nowMs: NOW,
    quote: 'USDT',
    asset: 'BTC',
  });
  t.same(details, [
    { label: 'Figure', text: '0.00009985 (fraction)' },
    { label: 'Received', text: '2026-01-15 12:00:07.000 UTC, 3 s ago' },
    { label: 'Stated by the venue', text: '2026-01-15 12:00:06.900 UTC' },
    { label: 'Next settlement', text: '2026-01-15 12:01:10.000 UTC' },
  ]);
  const price: Cell = { kind: 'figure', digits: '96995.01', unit: 'quote', ageMs: 0 };
  t.match(
    listCellDetails(price, reading(), { nowMs: NOW, quote: 'USDT', asset: 'BTC' })[0],
    { text: '96995.01 USDT' },
    'a price names its currency',
  );
  const size: Cell = { kind: 'figure', digits: '57057264.7', unit: 'base', ageMs: 0 };
  t.match(
    listCellDetails(size, reading(), { nowMs: NOW, quote: 'USDT', asset: '1000PEPE' })[0],
    { text: '57057264.7 1000PEPE' },
    'a quantity names what it is a number of (V-04)',
  );
  t.same(listCellDetails({ kind: 'waiting' }, undefined, { nowMs: NOW, quote: 'USDT', asset: 'BTC' }).length, 1);
  t.end();
});
