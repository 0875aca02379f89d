// A query that the plan does not cover is refused at its place in the text, or at the member of the object (E-05, E-06).
import t from 'tap';
import type { ApiError } from '../../../schemas/errors.ts';
import { MICROS_PER_DAY } from '../../../schemas/instants.ts';
import { market, NOW, testApp } from '../../support/apps/live-fixture.ts';

/** Under Free, twenty days after the market began: the plan reaches back seven, and has no depth. */
const ask = async (body: Record<string, unknown>): Promise<string[]> => {
  const { app, as } = await testApp(market(), { nowMicros: () => NOW + 20 * MICROS_PER_DAY });
  try {
    const headers = { 'content-type': 'application/json', ...as('free') };
    const answer = await app.inject({ method: 'POST', url: '/v2/screen', headers, payload: JSON.stringify(body) });
    const { errors = [] } = answer.json<{ readonly errors?: readonly ApiError[] }>();
    return errors.map(({ code, position, path }) =>
      [code, position && `${position.offset}+${position.length}`, path].filter((one) => one !== undefined).join(' '),
    );
  } finally {
    await app.close();
  }
};

/** Fourteen days before the present of `ask`. */
const T = new Date(Math.floor((NOW + 6 * MICROS_PER_DAY) / 1000)).toISOString().slice(0, 10);

const CASES: readonly (readonly [Record<string, unknown>, readonly string[]])[] = [
  [{ query: `base = BTC as of ${T}` }, ['PLAN_LIMIT 17+10']],
  [{ query: 'any(venues where mark > 1 and depth_bid(10bps) > 1)' }, ['PLAN_LIMIT 30+16']],
  [{ query: `select mark, depth_ask(10bps) as of ${T}` }, ['PLAN_LIMIT 13+16', 'PLAN_LIMIT 36+10']],
  [
    { query: `select depth_ask(10bps) as of ${T}`, where: 'base = BTC' },
    ['PLAN_LIMIT 7+16 /query', 'PLAN_LIMIT 30+10 /query'],
  ],
  [{ query: { dql: '1', as_of: T } }, ['PLAN_LIMIT /query/as_of']],
  [
    {
      query_object: {
        dql: '1',
        select: [{ type: 'call', name: 'depth_bid', args: [{ type: 'code', value: '10bps' }] }],
      },
    },
    ['PLAN_LIMIT /query_object/select/0'],
  ],
  [
    {
      query: {
        dql: '1',
        condition: {
          type: 'any',
          where: {
            type: 'cmp',
            op: '>',
            left: { type: 'call', name: 'depth_bid', args: [{ type: 'code', value: '10bps' }] },
            right: { type: 'number', value: 1 },
          },
        },
      },
    },
    ['PLAN_LIMIT /query/condition/where/left'],
  ],
];

t.test('what a plan does not cover is marked in the query (D-503)', async (t) => {
  for (const [body, expected] of CASES) t.same(await ask(body), expected, JSON.stringify(body));
});
