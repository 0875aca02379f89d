// How the truth test judges a mark whose index has not arrived: true while marked so and its market is new, a difference otherwise.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatInstant } from '../../schemas/instants.ts';
import { findDifferences } from '../support/truth/true-values.ts';
import { type LayerObject, type Seen, TruthIndex } from '../support/truth/truth.ts';

const BEGAN = 1_760_000_000_000_000;
const SECOND = 1_000_000;

const makeRow = (venue: string, at: number) => ({
  truth: { venue, symbol: 'BTC', layer: 'mark', venue_ts: at, values: { mark: '101.5', index: '101' } },
  written_at: at,
});

const openTruth = (dir: string): TruthIndex => {
  const file = join(dir, 'truth.ndjson');
  const rows = ['okx', 'bybit'].flatMap((venue) => [BEGAN, BEGAN + 90 * SECOND].map((at) => makeRow(venue, at)));
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const truth = new TruthIndex(file);
  truth.read();
  return truth;
};

const HALF = {
  status: 'present',
  values: { mark: '101.5', index: null, basis: null },
  null_reasons: { index: 'no_value', basis: 'no_value' },
};

const seenAt = (venue: string, at: number, object: Partial<LayerObject>): Seen => ({
  venue,
  symbol: 'BTC',
  layer: 'mark',
  at,
  object: { ...object, venue_ts: formatInstant(at) } as LayerObject,
});

t.test('a mark without its index', (t) => {
  const truth = openTruth(t.testdir());
  const judged = (venue: string, at: number, object: Partial<LayerObject>) =>
    findDifferences(seenAt(venue, at, object), truth);
  const { null_reasons, values } = HALF;
  t.same(judged('okx', BEGAN, HALF), [], 'is true of a new market');
  const stale = { status: 'stale', values: {}, withheld: { values, null_reasons } };
  t.same(judged('okx', BEGAN, stale), [], 'also withheld');
  const index = {
    ...HALF,
    values: { mark: null, index: '101', basis: null },
    null_reasons: { mark: 'no_value', basis: 'no_value' },
  };
  t.same(judged('okx', BEGAN, index), [], 'and so is an index without its mark');
  t.same(
    judged('okx', BEGAN, { ...HALF, values: { ...values, mark: '101.6' } }),
    ['mark is 101.6, true is 101.5'],
    'another digit is a difference',
  );
  t.same(
    judged('okx', BEGAN, { ...HALF, null_reasons: { index: 'no_value' } }),
    ['basis is null without its reason'],
    'and so is a silent null',
  );
  t.same(
    judged('okx', BEGAN, { ...HALF, values: { ...values, basis: '0.004' } }),
    ['basis is 0.004 of one half'],
    'and a basis of one half',
  );
  t.same(judged('okx', BEGAN + 90 * SECOND, HALF), ['index has no value'], 'a market of 90 s has both');
  t.same(judged('bybit', BEGAN, HALF), ['index has no value'], 'a venue that publishes both at once has both');
  t.end();
});
