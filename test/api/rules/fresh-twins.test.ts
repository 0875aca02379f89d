// Two calls with `fresh=true` in one second: the rule is evaluated once, and both are told what was found (AG-03).
import type { Pool } from 'pg';
import t from 'tap';
import { openAgentRules } from '../../../api/rules/desk.ts';
import type { Rule, RuleDraft } from '../../../api/rules/rule.ts';
import { changeRule, createRule } from '../../../api/rules/store.ts';
import { market } from '../../support/apps/live-fixture.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);

const DRAFT: RuleDraft = {
  ...{ name: 'r', query: 'any(venues where mark > 1)', intervalS: 300, units: 'published', freshness: null },
  ...{ enabled: true, shared: false },
};

const makeRule = async (pool: Pool): Promise<Rule> => {
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  return createRule(pool, DRAFT, { accountId: 'acc_a', actor: 'test' });
};

/** A rule and what evaluates it, at an instant that stands. */
const openDesk = async (t: Parameters<typeof freshPool>[0]) => {
  const pool = await freshPool(t);
  const { ruleId } = await makeRule(pool);
  const choose = () => ({ venues: null, instruments: null });
  // After the rule's creation, whose instant has microseconds: within one millisecond the rule would count as changed since.
  const at = (Date.now() + 1) * 1_000;
  const desk = openAgentRules({ pool, live: market().memory, history: null, choose, nowMicros: () => at });
  return { pool, ruleId, at, desk };
};

t.test('the second call waits for the evaluation of the first, and makes its own where that fails', async (t) => {
  const { pool, ruleId, at, desk } = await openDesk(t);
  const readEvaluatedAt = async (): Promise<number> => {
    const { rows } = await pool.query<{ at: string | null }>('select evaluated_at as at from rule_states');
    return Number(rows[0]?.at);
  };
  let statements = 0;
  pool.on('release', () => {
    statements += 1;
  });
  /** Two calls of one second, of which the first ends its evaluation with `end` once the second has looked. */
  const callTwice = async (at: number, end: () => Promise<void>) => {
    const claimed = Promise.withResolvers<void>();
    const looked = Promise.withResolvers<void>();
    const first = desk.evaluate([ruleId], at, async () => {
      claimed.resolve();
      await looked.promise;
      await end();
    });
    const firstEnded = first.catch(() => undefined);
    await claimed.promise;
    let spent = 0;
    const before = statements;
    const second = desk.evaluate([ruleId], at + 1, async (count) => {
      spent += count;
    });
    const told = second.then(readEvaluatedAt);
    await waitFor('two statements of the second call', async () => statements >= before + 2);
    looked.resolve();
    await firstEnded;
    return { told: await told, spent };
  };
  t.same(await callTwice(at, async () => undefined), { told: at, spent: 0 });
  const later = at + 2_000_000;
  t.same(await callTwice(later, () => Promise.reject(new Error('the day is used up'))), { told: later + 1, spent: 1 });
});

t.test('a rule that was changed since its evaluation of the second is not waited for', async (t) => {
  const { pool, ruleId, at, desk } = await openDesk(t);
  let spent = 0;
  const spend = async (count: number): Promise<void> => {
    spent += count;
  };
  await desk.evaluate([ruleId], at, spend);
  const draft = { query: 'any(venues where mark > 2)' };
  await changeRule(pool, { ruleId, draft }, { accountId: 'acc_a', actor: 'test' });
  let statements = 0;
  pool.on('release', () => {
    statements += 1;
  });
  await desk.evaluate([ruleId], at + 1, spend);
  t.equal(spent, 1, 'once a second');
  t.ok(statements <= 3, `${statements} statements`);
  await changeRule(pool, { ruleId, draft: { enabled: false } }, { accountId: 'acc_a', actor: 'test' });
  await desk.evaluate([ruleId], at + 2_000_000, spend);
  t.equal(spent, 1, 'a disabled rule is not evaluated');
});

t.test('the second call evaluates also where the first fails between its two looks', async (t) => {
  const pool = await freshPool(t);
  const { ruleId } = await makeRule(pool);
  const at = Date.now() * 1_000;
  const choose = () => ({ venues: null, instruments: null });
  const deps = { live: market().memory, history: null, choose, nowMicros: () => at };
  const claimed = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  const first = openAgentRules({ ...deps, pool }).evaluate([ruleId], at, async () => {
    claimed.resolve();
    await refused.promise;
    throw new Error('the day is used up');
  });
  const firstEnded = first.catch(() => undefined);
  await claimed.promise;
  let looks = 0;
  /** Holds the second statement up until the first call has failed. */
  const query = async (...asked: Parameters<Pool['query']>) => {
    looks += 1;
    if (looks === 2) {
      refused.resolve();
      await firstEnded;
    }
    return pool.query(...asked);
  };
  const held = new Proxy(pool, { get: (of, name) => (name === 'query' ? query : Reflect.get(of, name, of)) });
  let spent = 0;
  await openAgentRules({ ...deps, pool: held }).evaluate([ruleId], at + 1, async (count) => {
    spent += count;
  });
  t.equal(spent, 1);
});
