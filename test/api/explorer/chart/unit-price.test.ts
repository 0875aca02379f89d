// Prices of one base unit: exact, absent where the multiplier is not known (N-07).
import t from 'tap';
import type { HistoryRow } from '../../../../api/explorer/chart/line.ts';
import { toUnitPrice } from '../../../../api/explorer/chart/unit-price.ts';

const row = (values: HistoryRow['values']): HistoryRow => ({
  ...{ at: '2026-01-15T12:00:00.000Z', status: 'present', venue_ts: null, received_at: null, valid_until: null },
  values,
});

t.test('a price is divided by the multiplier, the other figures stay', (t) => {
  const { values } = toUnitPrice(row({ mark: '0.02130487', basis: '-0.000072' }), 'mark', '1000');
  t.same(values, { mark: '0.00002130487', basis: '-0.000072' });
  const same = row({ mark: '97000.10' });
  t.equal(toUnitPrice(same, 'mark', '1'), same, 'digits as they came');
  t.end();
});

t.test('without a multiplier there is no such price, and a hole stays what it is', (t) => {
  t.match(toUnitPrice(row({ mark: '0.0213' }), 'mark', null), {
    values: { mark: null },
    null_reasons: { mark: 'unit_unknown' },
  });
  const hole = row({});
  t.equal(toUnitPrice(hole, 'mark', null), hole);
  t.end();
});
