// Further requirements of screen on a query: quantities as published are not added up across venues (DQL-24, DQL-33e).
import t from 'tap';
import { compile, type Demands } from '../../../api/language/compile.ts';
import { listReadmeQueries } from '../../../infra/dev/tools/documented-queries.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { CODES } from './codes.ts';

/** Under `units: published`, and under the others. */
const PUBLISHED: Demands = { where: null, refuseQuantitySums: true, outOfRange: () => null };
const CONVERTED: Demands = { ...PUBLISHED, refuseQuantitySums: false };

/** Codes and places of the faults of a query; none when it is accepted. */
const findFaults = (text: string, demands: Demands): string[] => {
  try {
    compile({ text }, CODES, demands);
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.errors.map(({ code, position }) => `${code} ${position?.offset}+${position?.length}`);
  }
};

t.test('a sum of quantities is refused as published and accepted in one unit', async (t) => {
  for (const sum of [
    'sum(venues, oi)',
    'sum(venues, oi * mark)',
    'sum(venues, depth_bid(10bps))',
    'sum(venues, sma(oi, 5, 1h))',
    'sum(venues, rolling_sum(volume, 24, 1h))',
    // A rank or a rate of change is no quantity, so dividing by one leaves a quantity.
    'sum(venues, oi / percentile_rank(oi, 100, 1h))',
    'sum(venues, oi / roc(oi, 24, 1h))',
  ]) {
    t.same(findFaults(`${sum} > 0`, PUBLISHED), [`DQL_TYPE 0+${sum.length}`], sum);
    t.same(findFaults(`${sum} > 0`, CONVERTED), [], sum);
  }
});

t.test('what has the unit of no quantity is added up as published', async (t) => {
  for (const sum of [
    'sum(venues, turnover_24h)',
    'sum(venues, depth_bid_value(10bps))',
    'sum(venues, turnover_24h * percentile_rank(oi, 100, 1h))',
    'sum(venues, turnover_24h * rsi(oi, 14, 1h))',
    // A quantity over a quantity is none.
    'sum(venues, oi / lot_size)',
    'sum(venues, oi / abs(lot_size))',
    'sum(venues, oi / ema(oi, 24, 1h))',
  ]) {
    t.same(findFaults(`${sum} > 0`, PUBLISHED), [], sum);
  }
});

t.test('every query of README.md is accepted', async (t) => {
  const queries = listReadmeQueries();
  t.equal(queries.length, 4);
  for (const query of queries) t.same(findFaults(query, PUBLISHED), [], query);
});

t.test('each instant of a clause that is given twice is judged (DQL-07, Q-02)', async (t) => {
  const words = { message: 'Out of range.', hint: 'Ask for another instant.' };
  const demands: Demands = { ...PUBLISHED, outOfRange: (at) => (at < Date.UTC(2026, 0, 2) * 1000 ? words : null) };
  t.same(findFaults('as of 2026-01-01 as of 2026-01-03', demands), [
    'DQL_AS_OF_RANGE 6+10',
    'DQL_DUPLICATE_CLAUSE 17+5',
  ]);
  t.same(findFaults('as of 2026-01-01 as of 2026-01-01', demands), [
    ...['DQL_AS_OF_RANGE 6+10', 'DQL_DUPLICATE_CLAUSE 17+5', 'DQL_AS_OF_RANGE 23+10'],
  ]);
  t.same(
    findFaults('as of 2026-01-01 as of foo', demands),
    ['DQL_AS_OF_RANGE 6+10', 'DQL_DUPLICATE_CLAUSE 17+5', 'DQL_SYNTAX 23+3'],
    'once, where the second has no instant',
  );
});

t.test('an instant out of range is refused with the range in both forms (N-03)', (t) => {
  const [text, as_of] = ['instrument = BTC-PERP as of 1999-12-30', '1999-12-30'];
  const condition = {
    ...{ type: 'cmp', op: '=' },
    ...{ left: { type: 'field', name: 'instrument' }, right: { type: 'code', value: 'BTC-PERP' } },
  };
  const object = { dql: '1', condition, as_of };
  t.throws(() => compile({ text }, CODES, CONVERTED), { errors: [{ message: /an instant from 2000 to 2100/ }] });
  t.throws(() => compile({ object, path: '/query_object' }, CODES, CONVERTED), {
    errors: [{ path: '/query_object/as_of', message: /an instant from 2000 to 2100/ }],
  });
  t.end();
});
