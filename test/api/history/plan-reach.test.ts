// How far back a plan reads: what the service names as the earliest instant, or lists as included, is what it takes (H-09, AR-01, AR-05, D-273).
import t from 'tap';
import { findFileRefusals, isIncluded } from '../../../api/archive/plan.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { findReachRefusals } from '../../../api/history/past.ts';
import { formatInstant, MICROS_PER_DAY, MICROS_PER_SECOND, parseInstant } from '../../../schemas/instants.ts';

/** A leap day, the turns of a year and a month, a moment within a day. */
const NOWS = ['2028-02-29T23:59:59.999999Z', '2027-01-01', '2026-05-01', '2026-01-15T12:00:00.500001Z'].map(
  (text) => parseInstant(text) ?? Number.NaN,
);

t.test('whoever asks from the instant on that a refusal names is not refused again', (t) => {
  for (const plan of Object.values(PLANS)) {
    for (const now of NOWS) {
      const refuse = (first: number, evaluatedAt = now) =>
        findReachRefusals(first, plan, { evaluatedAt, path: '/from' });
      if (plan.history_days === null) {
        t.same(refuse(0), [], `${plan.name} reads everything`);
        continue;
      }
      const earliest = now - plan.history_days * MICROS_PER_DAY;
      const [refusal] = refuse(earliest - 61 * MICROS_PER_SECOND);
      t.match(refusal, { code: 'PLAN_LIMIT', path: '/from' });
      const told = /back to (\S+)\.$/.exec(refusal?.message ?? '')?.[1] ?? '';
      t.equal(told, formatInstant(earliest), plan.name);
      const asked = parseInstant(told) ?? Number.NaN;
      for (const later of [0, 1, 100_000, 60 * MICROS_PER_SECOND])
        t.same(refuse(asked, now + later), [], `${later} us later`);
      t.equal(refuse(asked, now + 60 * MICROS_PER_SECOND + 1).length, 1);
    }
  }
  t.end();
});

t.test('a file that is listed as included is not refused a moment later, and the list itself is exact', (t) => {
  const choice = { venues: null, instruments: null };
  for (const plan of Object.values(PLANS)) {
    for (const now of NOWS) {
      // The ends of days are the edges: of the day that ended when the plan's history begins, and of the days beside it.
      const midnight = Math.floor(now / MICROS_PER_DAY) * MICROS_PER_DAY;
      const scopeAt = (evaluatedAt: number) => ({ plan, choice, evaluatedAt });
      for (const days of [-1, 0, 1]) {
        const ended = midnight - ((plan.history_days ?? 1_000) + days) * MICROS_PER_DAY;
        const day = formatInstant(ended - MICROS_PER_DAY).slice(0, 10);
        const file = { venue: 'binance', venueSymbol: 'BTCUSDT', layer: 'mark', instrument: 'BTC-PERP', day };
        for (const at of [midnight - 1, midnight, midnight + 1, now]) {
          const isWithin = plan.history_days === null || ended >= at - plan.history_days * MICROS_PER_DAY;
          t.equal(isIncluded(file, scopeAt(at)), isWithin, `${plan.name}: ${day} at ${formatInstant(at)}`);
          if (!isWithin) continue;
          for (const later of [0, 1, MICROS_PER_SECOND, 60 * MICROS_PER_SECOND])
            t.same(findFileRefusals(file, scopeAt(at + later)), [], `${later} us later`);
        }
      }
      if (plan.history_days === null) continue;
      const ended = midnight - plan.history_days * MICROS_PER_DAY;
      const day = formatInstant(ended - MICROS_PER_DAY).slice(0, 10);
      const file = { venue: 'binance', venueSymbol: 'BTCUSDT', layer: 'mark', instrument: 'BTC-PERP', day };
      const [refusal] = findFileRefusals(file, scopeAt(midnight + 60 * MICROS_PER_SECOND + 1));
      t.match(refusal, { code: 'PLAN_LIMIT', path: '/day' });
    }
  }
  t.end();
});
