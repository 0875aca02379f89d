// One instant of the evaluator over a log: each rule under the plan of its owner; at a stop in its middle the result is still that of the log (AG-03, AG-04, AG-06).
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { startEvaluator } from '../../../api/rules/evaluator.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { emptyMemory, feedLog, makeLog, randomQuery, SECOND, slowMarketAt } from './rule-log.ts';

const FROM = 1_795_000_000 * SECOND;
const SECONDS = 20;

type Recorded = { readonly rule_id: string; readonly at: number; readonly state: string };

/** How each of them in turn is asked. */
type Form = { readonly plan: string; readonly freshness: string | null };

/** A database with these queries as rules, all due each ten seconds; keeps the names of its statements and what is recorded. */
const fakeDatabase = (queries: readonly string[], forms: readonly Form[] = [{ plan: 'pro_plus', freshness: null }]) => {
  const statements: string[] = [];
  const recorded: Recorded[] = [];
  const rules = queries.map((query, i) => ({
    ...{ rule_id: `rule_${i}`, account_id: 'account', name: 'rule', query, interval_s: 10, units: 'published' },
    ...{ enabled: true, shared: false, version: 1, phase: 0, created_at: new Date(0) },
    ...{ updated_at: new Date(0), after: String(FROM), ...forms[i % forms.length] },
  }));
  const answer = (text: string, values: readonly unknown[]): readonly object[] => {
    if (text.includes('lease_rule_shards')) return Array.from({ length: 64 }, (_, shard) => ({ shard }));
    if (text.includes('as any')) return [{ any: true }];
    if (text.includes('record_evaluations')) recorded.push(...(JSON.parse(String(values[0])) as Recorded[]));
    return text.includes('from rules r') ? rules : [];
  };
  const query = async (text: string, values: readonly unknown[] = []) => {
    statements.push(/lease_rule_shards|record_evaluations|delete from rule_nodes/.exec(text)?.[0] ?? 'other');
    const rows = answer(text, values);
    return { rows, rowCount: rows.length };
  };
  return { pool: { query } as unknown as Pool, statements, recorded };
};

type Run = Pick<Parameters<typeof startEvaluator>[0], 'choose'> & {
  readonly log: ReturnType<typeof makeLog>;
  readonly random: () => number;
};

/** An evaluator over a log that is stopped when the first rule of the first instant is about to be evaluated; until it has ended. */
const runOneInstant = async (pool: Pool, { log, random, choose }: Run): Promise<void> => {
  const memory = emptyMemory();
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;
  const evaluator = startEvaluator({
    ...{ pool, live: memory, history: null, nowMicros: () => FROM + SECONDS * SECOND },
    choose: (plan, at) => {
      if (!isStopped) evaluator.stop().then(stopping.resolve, stopping.reject);
      isStopped = true;
      return choose(plan, at);
    },
    count: createRuleMetrics(new Registry()),
    log: createLog('test', 'silent'),
    leaseMs: 4,
  });
  feedLog(memory, log, random);
  await stopping.promise;
};

t.test(
  'an instant under way at the stop has the result of the log, and no lease is renewed after the release',
  async (t) => {
    const random = createRandom(11).next;
    const queries = Array.from({ length: 40 }, () => randomQuery(random));
    const log = makeLog(random, FROM, SECONDS);
    const { pool, statements, recorded } = fakeDatabase(queries);
    await runOneInstant(pool, { log, random, choose: () => ({ venues: null, instruments: null }) });

    const at = FROM + 10 * SECOND;
    t.same(new Set(recorded.map((one) => one.at)), new Set([at]), 'the instant under way, and none after it');
    const evaluate = slowMarketAt(log, at);
    const wanted = await Promise.all(
      queries.map(async (query, i) => ({
        rule_id: `rule_${i}`,
        state: (await evaluate({ query, units: 'published', freshness: null })).state,
      })),
    );
    const found = new Map(recorded.map(({ rule_id, state }) => [rule_id, state]));
    t.same(
      wanted.map(({ rule_id }) => ({ rule_id, state: found.get(rule_id) })),
      wanted,
    );
    t.equal(statements.at(-1), 'delete from rule_nodes', 'the release is the last statement');
  },
);

t.test(
  'rules of one query are evaluated each by its own bounds and under the plan of its owner (AC-02, AG-04)',
  async (t) => {
    const random = createRandom(12).next;
    const queries = ['100', '100.5', '101'].flatMap((price) => {
      const query = `count(venues where mark > ${price}) >= 2`;
      return [query, query, query];
    });
    const forms = [
      { plan: 'pro_plus', freshness: null },
      { plan: 'pro', freshness: null },
      { plan: 'pro_plus', freshness: '1s' },
    ];
    const log = makeLog(random, FROM, SECONDS);
    const { pool, recorded } = fakeDatabase(queries, forms);
    await runOneInstant(pool, {
      log,
      random,
      choose: ({ code }) => ({ venues: code === 'pro' ? ['binance'] : null, instruments: null }),
    });
    const at = FROM + 10 * SECOND;
    const evaluate = slowMarketAt(log, at);
    const wanted = await Promise.all(
      queries.map(async (query, i) => {
        const { plan, freshness } = forms[i % forms.length] as Form;
        const seen = plan === 'pro' ? `${query} where venue = binance` : query;
        return (await evaluate({ query: seen, units: 'published', freshness })).state;
      }),
    );
    const found = new Map(recorded.map(({ rule_id, state }) => [rule_id, state]));
    t.same(
      queries.map((_, i) => found.get(`rule_${i}`)),
      wanted,
    );
  },
);
