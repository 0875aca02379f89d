// Status of a reading at an instant: every legal pair, their precedence, every transition and the boundaries (L-07, F-01 to F-05).
import fc from 'fast-check';
import t from 'tap';
import {
  computeValidUntil,
  findStatusAt,
  type Held,
  type Reason,
  type Status,
  type StatusQuestion,
} from '../../schemas/freshness.ts';

const T = Date.UTC(2026, 0, 15, 12) * 1_000;
const SECOND = 1_000_000;

const clocked: Held = {
  valid: true,
  gap_cause: null,
  venue_ts: T - 2 * SECOND,
  received_at: T - 1_500_500,
  horizon_source: 'documented',
  valid_until: T + 4 * SECOND,
};
const connected: Held = { ...clocked, horizon_source: 'connection', valid_until: null };
const ask = (change: Partial<StatusQuestion>): StatusQuestion => ({
  reading: clocked,
  policy: 'on',
  lostAt: null,
  boundMs: 30_000,
  at: T,
  stateLag: false,
  ...change,
});
const pair = (change: Partial<StatusQuestion>): [Status, Reason | null] => {
  const { status, reason } = findStatusAt(ask(change));
  return [status, reason];
};

t.test('every legal pair of status and reason is reached (L-07)', (t) => {
  t.same(pair({}), ['present', null]);
  t.same(pair({ reading: connected }), ['present', null]);
  t.same(pair({ reading: connected, lostAt: T - 1 }), ['stale', 'connection_lost']);
  t.same(pair({ stateLag: true }), ['stale', 'state_lag']);
  t.same(pair({ reading: { ...clocked, horizon_source: null, valid_until: null } }), ['stale', 'horizon_unknown']);
  t.same(pair({ reading: { ...clocked, valid_until: T - 1 } }), ['stale', 'horizon_passed']);
  t.same(pair({ boundMs: 1_000 }), ['stale', 'freshness_bound']);
  t.same(pair({ reading: null }), ['missing', 'no_value']);
  t.same(pair({ reading: { ...clocked, valid: false, gap_cause: 'crossed_book' } }), ['missing', 'gap']);
  t.same(pair({ policy: 'not_published' }), ['not_published', 'venue_capability']);
  t.same(pair({ policy: 'off' }), ['off', 'policy_off']);
  t.same(
    pair({ reading: { ...clocked, valid_until: null } }),
    ['stale', 'horizon_unknown'],
    'a clock horizon without its instant proves nothing',
  );
  t.end();
});

t.test('of several reasons the first of L-07’s order wins', (t) => {
  type Fault = readonly [Reason, Partial<StatusQuestion>, Partial<Held>];
  const faults: readonly Fault[] = [
    ['policy_off', { policy: 'off' }, {}],
    ['venue_capability', { policy: 'not_published' }, {}],
    ['gap', {}, { valid: false, gap_cause: 'sequence_break' }],
    ['connection_lost', { lostAt: T - 1 }, { horizon_source: 'connection' }],
    ['state_lag', { stateLag: true }, {}],
    ['horizon_unknown', {}, { horizon_source: null, valid_until: null }],
    ['horizon_passed', {}, { valid_until: T - 1 }],
    ['freshness_bound', { boundMs: 1_000 }, {}],
  ];
  for (const [i, [first, questionA, heldA]] of faults.entries()) {
    for (const [second, questionB, heldB] of faults.slice(i + 1)) {
      const clash = Object.keys(heldA).some((k) => k in heldB);
      if (clash) continue;
      const reading = { ...clocked, ...heldB, ...heldA };
      t.equal(findStatusAt(ask({ ...questionB, ...questionA, reading })).reason, first, `${first} before ${second}`);
    }
  }
  t.equal(findStatusAt(ask({ policy: 'off', reading: null })).reason, 'policy_off');
  t.equal(findStatusAt(ask({ reading: null, lostAt: T - 1, stateLag: true })).reason, 'no_value');
  t.end();
});

t.test('a value moves through the transitions of F-04', (t) => {
  const newer: Held = { ...connected, received_at: T + 1 };
  const steps: readonly (readonly [string, Partial<StatusQuestion>, Status, Reason | null])[] = [
    ['listing first seen', { reading: null }, 'missing', 'no_value'],
    ['first accepted reading', { reading: connected }, 'present', null],
    ['newer reading', { reading: newer, at: T + 2 }, 'present', null],
    ['connection lost', { reading: newer, lostAt: T + 3, at: T + 3 }, 'stale', 'connection_lost'],
    [
      'reconnected without a new reading: the old span stays lost',
      { reading: newer, lostAt: T + 3, at: T + 9 },
      'stale',
      'connection_lost',
    ],
    ['re-confirmed on the new connection', { reading: { ...newer, received_at: T + 10 }, at: T + 11 }, 'present', null],
    ['pipeline behind', { stateLag: true }, 'stale', 'state_lag'],
    ['pipeline caught up', { stateLag: false }, 'present', null],
    ['horizon passed', { at: T + 4 * SECOND + 1 }, 'stale', 'horizon_passed'],
    ['another reason takes precedence', { at: T + 4 * SECOND + 1, stateLag: true }, 'stale', 'state_lag'],
    ['found invalid', { reading: { ...connected, valid: false, gap_cause: 'crossed_book' } }, 'missing', 'gap'],
    ['bound tighter than the age', { boundMs: 1_000 }, 'stale', 'freshness_bound'],
    ['policy switched off', { policy: 'off' }, 'off', 'policy_off'],
    ['switched on again', { reading: null }, 'missing', 'no_value'],
    ['venue stops publishing', { policy: 'not_published' }, 'not_published', 'venue_capability'],
  ];
  for (const [name, change, status, reason] of steps) t.same(pair(change), [status, reason], name);
  t.end();
});

t.test('boundaries: valid through valid_until, lost at the loss, stale only above the bound', (t) => {
  t.same(pair({ reading: { ...clocked, valid_until: T } }), ['present', null], 'valid_until = T');
  t.same(pair({ reading: connected, lostAt: T }), ['stale', 'connection_lost'], 'lost at T');
  t.same(pair({ reading: connected, lostAt: T + 1 }), ['present', null], 'a loss after T is not known at T');
  t.equal(findStatusAt(ask({ reading: connected, lostAt: T + 1 })).valid_until, null);
  for (const lostAt of [T - 5, T])
    t.equal(findStatusAt(ask({ reading: connected, lostAt })).valid_until, lostAt, 'valid_until is the loss');
  t.equal(
    findStatusAt(ask({ lostAt: T - 5 })).valid_until,
    clocked.valid_until,
    'a clock horizon ignores the connection',
  );
  t.same(pair({ lostAt: T - 5 }), ['present', null]);
  t.same(pair({ boundMs: 1_500 }), ['present', null], 'age 1500.5 ms is 1500 ms, which is not above 1500');
  t.same(pair({ boundMs: 1_499 }), ['stale', 'freshness_bound']);
  t.same(
    pair({ reading: connected, boundMs: 1_499 }),
    ['stale', 'freshness_bound'],
    'the bound holds for connections too (F-03)',
  );
  t.end();
});

t.test('ages are floors of receipt and venue stamps; a layer that is not collected has none', (t) => {
  const answer = findStatusAt(ask({}));
  t.equal(answer.age_ms, 1_500);
  t.equal(answer.venue_age_ms, 2_000);
  t.equal(
    findStatusAt(ask({ reading: { ...clocked, venue_ts: T + 1 } })).venue_age_ms,
    -1,
    'negative when the venue’s clock is ahead',
  );
  t.equal(findStatusAt(ask({ reading: { ...clocked, venue_ts: null } })).venue_age_ms, null);
  t.same(
    findStatusAt(ask({ reading: { ...clocked, valid: false, gap_cause: 'crossed_book' } })),
    { ...answer, status: 'missing', reason: 'gap', gap_cause: 'crossed_book' },
    'a gap has the ages of its reading',
  );
  t.equal(
    findStatusAt(ask({ reading: { ...clocked, valid: false } })).gap_cause,
    'unknown',
    'a gap always has a cause',
  );
  const none = { gap_cause: null, age_ms: null, venue_age_ms: null, valid_until: null };
  t.same(findStatusAt(ask({ reading: null })), { status: 'missing', reason: 'no_value', ...none });
  t.same(findStatusAt(ask({ policy: 'off' })), { status: 'off', reason: 'policy_off', ...none });
  t.end();
});

t.test(
  'valid_until is fixed at storage: the venue’s stamp plus the horizon, receipt when there is none or it is ahead (F-01, F-02)',
  (t) => {
    const stored = { venue_ts: T - 5, received_at: T, horizon_ms: 2_000, horizon_source: 'documented' };
    t.equal(computeValidUntil(stored), T - 5 + 2 * SECOND);
    t.equal(computeValidUntil({ ...stored, venue_ts: null }), T + 2 * SECOND);
    t.equal(computeValidUntil({ ...stored, venue_ts: T + 7 }), T + 2 * SECOND, 'a fast venue clock buys no freshness');
    for (const horizon_source of ['assumed', 'measured', 'venue_declared'])
      t.equal(computeValidUntil({ ...stored, horizon_source }), T - 5 + 2 * SECOND);
    t.equal(computeValidUntil({ ...stored, horizon_source: 'connection' }), null);
    t.equal(computeValidUntil({ ...stored, horizon_source: null }), null);
    t.equal(computeValidUntil({ ...stored, horizon_ms: null }), null);
    t.end();
  },
);

t.test('without a new reading a value never becomes valid again', (t) => {
  const reading = fc.record({
    valid: fc.constant(true),
    gap_cause: fc.constant(null),
    venue_ts: fc.constant(null),
    received_at: fc.integer({ min: T - 60 * SECOND, max: T }),
    horizon_source: fc.constantFrom('connection', 'documented', null),
    valid_until: fc.integer({ min: T - SECOND, max: T + 60 * SECOND }),
  });
  const lostAt = fc.option(fc.integer({ min: T, max: T + 60 * SECOND }));
  const later = fc.integer({ min: 0, max: 90 * SECOND });
  fc.assert(
    fc.property(reading, lostAt, later, later, (held, lost, a, b) => {
      const [first, second] = [Math.min(a, b), Math.max(a, b)].map(
        (d) => findStatusAt(ask({ reading: held, lostAt: lost, at: T + d })).status,
      );
      return first === 'present' || second === 'stale';
    }),
    { numRuns: 2_000 },
  );
  t.end();
});
