// GET /v2/agent/state over a real PostgreSQL: states returned to each caller, the cost of `fresh`, and rules that are never returned (AG-04, AG-05).
import type { Pool } from 'pg';
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { Meter } from '../../../api/access/meter.ts';
import { spendQuota } from '../../../api/access/quotas.ts';
import { PLANS, type PlanCode } from '../../../api/contract/plans.ts';
import { checkRule } from '../../../api/rules/check-rule.ts';
import { openAgentRules } from '../../../api/rules/desk.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { Rule, RuleDraft, RuleState } from '../../../api/rules/rule.ts';
import { makeRuleId } from '../../../api/rules/rule-id.ts';
import { changeRule, createRule, readTransitions, removeRule } from '../../../api/rules/store.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { offersFor, send, settledLedger, sign, startPaidApi, withPayment } from '../../support/apps/paid-api.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { startPaymentWorld } from '../../support/services/payment-world.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);

const PATH = '/v2/agent/state';
const DRAFT: RuleDraft = {
  ...{ name: 'spike', query: 'any(venues where mark > 1)', intervalS: 10, units: 'published', freshness: null },
  ...{ enabled: true, shared: false },
};
const OWNER = { accountId: 'acc_a', actor: 'test' };
const EVERYTHING = { venues: null, instruments: null };

const newKey = async (pool: Pool, accountId: string, plan: PlanCode = 'pro'): Promise<string> =>
  (await createKey(pool, { plan, name: 'test', accountId, expiresAt: null }, 'test')).key;

const makeRule = (pool: Pool, over: Partial<RuleDraft> = {}, accountId = 'acc_a'): Promise<Rule> =>
  createRule(pool, { ...DRAFT, ...over }, { accountId, actor: 'test' });

let instant = Date.now() * 1_000;
/** As an evaluator writes it; each later than the one before. */
const find = async (pool: Pool, rule: Rule, state: RuleState): Promise<number> => {
  instant = Math.max(instant, Date.now() * 1_000) + 10_000_000;
  const reason = state === 'unknown' ? 'stale_input' : null;
  const codes = {
    matched: state === 'true' ? ['BTC-PERP'] : [],
    matchedTotal: state === 'true' ? 1 : 0,
    unknown: [],
    unknownTotal: 0,
  };
  return recordEvaluations(pool, [{ rule, at: instant, outcome: { state, reason, ...codes } }]);
};

const startApi = async (t: Teardown) => {
  const pool = await freshPool(t);
  const feed = market();
  const nowMicros = () => Date.now() * 1_000;
  const rules = openAgentRules({ pool, live: feed.memory, history: null, choose: () => EVERYTHING, nowMicros });
  for (const venue of ['binance', 'okx']) feed.watermark(venue, nowMicros());
  const meter = new Meter();
  const { app } = await testApp(feed, { keys: openKeyStore(pool), rules, meter, nowMicros });
  t.teardown(() => app.close());
  const ask = async (key: string, query = '') => {
    const answer = await app.inject({ url: `${PATH}${query}`, headers: { authorization: `Bearer ${key}` } });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json(), text: answer.body };
  };
  return { pool, feed, app, ask, meter };
};

t.test('members of an answer, in their order; every caller has its own previous state', async (t) => {
  const { pool, ask } = await startApi(t);
  const [one, two] = [await newKey(pool, 'acc_a'), await newKey(pool, 'acc_a')];
  const rule = await makeRule(pool);
  const first = await ask(one);
  t.match(first, { status: 200, headers: { 'cache-control': 'no-store' } });
  t.same(Object.keys(first.body), ['evaluated_at', 'receipt_id', 'rules', 'missing']);
  t.same(Object.keys(first.body.rules[0]), [
    ...[
      'rule_id',
      'name',
      'state',
      'reason',
      'previous_state',
      'changed',
      'since',
      'evaluated_at',
      'next_evaluation_at',
    ],
    ...['effective_interval', 'query', 'matched', 'matched_total', 'unknown', 'unknown_total'],
  ]);
  t.match(first.body.rules, [
    {
      rule_id: rule.ruleId,
      state: 'unknown',
      reason: 'never_evaluated',
      previous_state: null,
      changed: false,
      evaluated_at: null,
      effective_interval: '10s',
    },
  ]);
  t.equal(await find(pool, rule, 'true'), 1);
  const { body } = await ask(one);
  t.match(body.rules, [
    { state: 'true', reason: null, previous_state: 'unknown', changed: true, matched: ['BTC-PERP'] },
  ]);
  const [{ evaluated_at, next_evaluation_at }] = body.rules;
  t.ok(body.evaluated_at >= evaluated_at && next_evaluation_at > evaluated_at, 'an answer is of no earlier instant');
  t.match(
    (await ask(one)).body.rules,
    [{ state: 'true', previous_state: 'true', changed: false }],
    'reading updates it',
  );
  t.match(
    (await ask(two)).body.rules,
    [{ state: 'true', previous_state: null, changed: false }],
    'another key received nothing',
  );
  await find(pool, rule, 'false');
  const both = await Promise.all([...Array(6)].map((_, i) => ask(i % 2 === 0 ? one : two)));
  for (const key of [0, 1]) {
    const before = both.filter((_, i) => i % 2 === key).map((answer) => answer.body.rules[0].previous_state);
    t.same([...before].sort(), ['false', 'false', 'true'], 'of concurrent reads exactly one returns the change');
  }
});

t.test('a state counts as given only when it reaches its caller (AG-04, N-13, T-04)', async (t) => {
  const { pool, app, ask } = await startApi(t);
  const key = await newKey(pool, 'acc_a');
  const rule = await makeRule(pool, { name: 'x'.repeat(60), query: `any(venues where mark > 1)${' '.repeat(4_000)}` });
  const call = (method: 'GET' | 'HEAD', headers: Record<string, string> = {}) =>
    app.inject({ method, url: PATH, headers: { authorization: `Bearer ${key}`, ...headers } });
  const tooSmall = { 'x-service-max-bytes': '4096' };
  const missed = async (): Promise<void> => {
    t.match(await call('HEAD'), { statusCode: 200, body: '' });
    const refused = await call('GET', tooSmall);
    t.equal(refused.statusCode, 400);
    const hint = 'Narrow rule_id: name at most 1 rule a call.';
    t.match(refused.json(), { errors: [{ code: 'DQL_LIMIT', hint }] }, 'the hint names the member to narrow');
  };
  await missed();
  t.match((await ask(key)).body.rules, [{ previous_state: null, changed: false }], 'the first that was given');
  await find(pool, rule, 'true');
  await missed();
  t.match((await ask(key)).body.rules, [{ state: 'true', previous_state: 'unknown', changed: true }]);
  t.match((await ask(key)).body.rules, [{ state: 'true', previous_state: 'true', changed: false }]);
});

t.test('a late or repeated evaluation changes nothing, and one of an earlier version neither', async (t) => {
  const { pool } = await startApi(t);
  await newKey(pool, 'acc_a');
  const rule = await makeRule(pool);
  const outcome = { state: 'true', reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  const at = instant + 50_000_000;
  t.equal(await recordEvaluations(pool, [{ rule, at, outcome }]), 1);
  t.equal(await recordEvaluations(pool, [{ rule, at, outcome: { ...outcome, state: 'false' } }]), 0);
  t.equal(await recordEvaluations(pool, [{ rule, at: at - 1, outcome: { ...outcome, state: 'false' } }]), 0);
  const at2 = at + 10_000_000;
  const twins = await Promise.all(
    [1, 2].map(() => recordEvaluations(pool, [{ rule, at: at2, outcome: { ...outcome, state: 'false' } }])),
  );
  t.same(twins.sort(), [0, 1], 'of two at once one counts');
  const changed = await changeRule(
    pool,
    { ruleId: rule.ruleId, draft: { query: 'any(venues where mark > 2)' } },
    OWNER,
  );
  t.equal(await recordEvaluations(pool, [{ rule, at: at2 + 1, outcome }]), 0, 'the question is another one now');
  t.equal(await recordEvaluations(pool, [{ rule: changed, at: at2 + 1, outcome }]), 1);
  await changeRule(pool, { ruleId: rule.ruleId, draft: { enabled: false } }, OWNER);
  const moves = await readTransitions(pool, rule.ruleId);
  t.match(moves.map(({ from, to, reason }) => `${from} ${to} ${reason}`).reverse(), [
    ...[
      'unknown true null',
      'true false null',
      'false unknown never_evaluated',
      'unknown true null',
      'true unknown disabled',
    ],
  ]);
});

t.test(
  'since is the instant of the last move, the next evaluation follows from the rhythm, a disabled rule has none',
  async (t) => {
    const { pool, ask } = await startApi(t);
    const key = await newKey(pool, 'acc_a');
    const rule = await makeRule(pool, { intervalS: 60 });
    const states: RuleState[] = ['true', 'true', 'false', 'unknown', 'unknown'];
    let moved = 0;
    for (const [i, state] of states.entries()) {
      await find(pool, rule, state);
      if (state !== states[i - 1]) moved = instant;
      const { rules, evaluated_at } = (await ask(key)).body;
      t.match(rules, [{ state, since: formatInstant(moved), evaluated_at: formatInstant(instant) }]);
      const [now, next] = [evaluated_at, rules[0].next_evaluation_at].map((at) => Date.parse(at) / 1_000) as [
        number,
        number,
      ];
      t.ok(next > now && next <= now + 60, rules[0].next_evaluation_at);
      t.equal(next % 60, rule.phase % 60);
    }
    const change = (enabled: boolean) => changeRule(pool, { ruleId: rule.ruleId, draft: { enabled } }, OWNER);
    await change(false);
    const disabled = { reason: 'disabled', since: formatInstant(instant), next_evaluation_at: null };
    for (const query of ['', '?fresh=true'])
      t.match((await ask(key, query)).body.rules, [{ ...disabled, evaluated_at: formatInstant(instant) }], query);
    await change(true);
    t.match((await ask(key)).body.rules, [
      { reason: 'never_evaluated', evaluated_at: null, next_evaluation_at: String },
    ]);
  },
);

t.test('what others own is missing; what they share is read by name; nothing readable is 404', async (t) => {
  const { pool, ask } = await startApi(t);
  const [mine, theirs] = [await newKey(pool, 'acc_a'), await newKey(pool, 'acc_b')];
  const [own, shared, hidden] = [
    await makeRule(pool),
    await makeRule(pool, { shared: true }, 'acc_b'),
    await makeRule(pool, {}, 'acc_b'),
  ];
  const unknown = makeRuleId();
  const named = await ask(
    mine,
    `?rule_id=${hidden.ruleId},${own.ruleId}&rule_id=${shared.ruleId}&rule_id=${unknown}&rule_id=${own.ruleId}`,
  );
  t.equal(named.status, 200);
  t.same(
    named.body.rules.map((one: { rule_id: string }) => one.rule_id),
    [own.ruleId, shared.ruleId],
    'in the order named, once',
  );
  t.same(named.body.missing, [hidden.ruleId, unknown]);
  t.same(
    (await ask(mine)).body.rules.map((one: { rule_id: string }) => one.rule_id),
    [own.ruleId],
    'of the account',
  );
  for (const query of [`?rule_id=${hidden.ruleId}`, `?rule_id=${unknown}`, `?rule_id=${hidden.ruleId}&fresh=true`])
    t.match(await ask(mine, query), { status: 404, body: { errors: [{ code: 'NOT_FOUND' }] } }, query);
  t.equal((await ask(theirs, `?rule_id=${hidden.ruleId}`)).status, 200);
  await t.rejects(changeRule(pool, { ruleId: hidden.ruleId, draft: { name: 'x' } }, OWNER), { message: /no rule/ });
  await t.rejects(removeRule(pool, hidden.ruleId, OWNER), { message: /no rule/ });
  const bad = ['rule_x', `${own.ruleId}x`, 'rule_%00', ''];
  for (const id of bad)
    t.match(await ask(mine, `?rule_id=${id}`), { status: 400, body: { errors: [{ path: '/rule_id/0' }] } }, id);
  const many = Array.from({ length: 101 }, makeRuleId);
  t.match(await ask(mine, `?rule_id=${many.join()}`), { status: 400, body: { errors: [{ path: '/rule_id' }] } });
  t.match(await ask(mine, `?rule_id=${many.slice(1).join()}`), { status: 404 });
});

t.test('fresh evaluates now, once a second and rule, within the evaluations of the day', async (t) => {
  const { pool, ask, meter } = await startApi(t);
  const key = await newKey(pool, 'acc_f', 'free');
  const other = await newKey(pool, 'acc_f', 'free');
  const rule = await makeRule(
    pool,
    { query: 'any(venues where mark > 1) or mark_is_nothing', name: 'broken' },
    'acc_f',
  );
  const broken = await ask(key, '?fresh=true');
  t.equal(broken.status, 200, broken.text);
  t.match(broken.body.rules, [{ state: 'unknown', reason: 'evaluation_error', matched: [] }]);
  await changeRule(
    pool,
    { ruleId: rule.ruleId, draft: { query: 'any(venues where mark > 1)', freshness: '7d' } },
    { accountId: 'acc_f', actor: 'test' },
  );
  const again = () => pool.query('update rule_states set fresh_at = null');
  await again();
  const first = await ask(key, '?fresh=true');
  t.match(first.body.rules, [{ rule_id: rule.ruleId, reason: /^(stale_input|null)$/, effective_interval: '5m' }]);
  t.equal(first.body.rules[0].evaluated_at, first.body.evaluated_at, 'of this very instant');
  const twins = await Promise.all([ask(key, '?fresh=true'), ask(key, '?fresh=true')]);
  const now = twins.filter((answer) => answer.body.rules?.[0]?.evaluated_at === answer.body.evaluated_at);
  t.ok(now.length <= 1, 'a second evaluation within the second is not made');
  const { rows } = await pool.query<{ key_id: string }>(
    "select key_id from api_keys where account_id = 'acc_f' order by created_at",
  );
  const account = { keyId: rows[0]?.key_id ?? '', plan: PLANS.free };
  // The remaining quota of the day, one by one, until it is used up.
  const spend = () => spendQuota(meter, account, { quota: 'agent_evaluations', count: 1, nowMs: Date.now() });
  let left = 0;
  while (
    await spend().then(
      () => true,
      () => false,
    )
  )
    left++;
  t.ok(left >= 20 - 4 && left <= 20 - 2, `${left} of 20 were left after two or three evaluations`);
  await again();
  const refused = await ask(other, '?fresh=true');
  t.match(refused, { status: 200 }, 'the quota is that of a key');
  await again();
  await waitFor('a request of the key is there', async () => {
    const over = await ask(key, '?fresh=true');
    const isOver = over.headers['x-service-limit'] === 'agent_evaluations_per_day';
    if (isOver)
      t.match(over, { status: 429, body: { errors: [{ code: 'RATE_LIMITED' }] }, headers: { 'retry-after': /^\d+$/ } });
    return isOver;
  });
  const held = await pool.query('select fresh_at from rule_states');
  t.same(held.rows, [{ fresh_at: null }], 'a refused call delays no other');
});

t.test('rules are as many as the plan has room for, and valid', async (t) => {
  const { pool, feed } = await startApi(t);
  await newKey(pool, 'acc_free', 'free');
  const made = await Promise.allSettled(Array.from({ length: 5 }, () => makeRule(pool, {}, 'acc_free')));
  t.equal(made.filter(({ status }) => status === 'fulfilled').length, 1, 'also when more are made at once');
  await t.rejects(makeRule(pool, {}, 'acc_free'), { message: /room for 1 rule/ });
  await newKey(pool, 'acc_free', 'mini');
  await makeRule(pool, {}, 'acc_free');
  const { codes } = findDirectory(feed.memory);
  const faults = (query: string): unknown => {
    try {
      checkRule({ query, units: 'published' }, codes);
      return [];
    } catch (error) {
      return (error as { errors: { code: string; path: string; position?: { offset: number } }[] }).errors.map(
        (one) => [one.code, one.position?.offset, one.path],
      );
    }
  };
  const valid = 'any(venues where mark > 1)';
  t.same(faults(valid), []);
  t.same(faults(`${valid} select mark`), [['DQL_SYNTAX', valid.length + 8, '/query']]);
  t.same(faults(`${valid} order by max(venues, mark)`), [['DQL_SYNTAX', valid.length + 10, '/query']]);
  t.same(faults(`${valid} as of 2026-01-15`), [['DQL_SYNTAX', valid.length + 7, '/query']]);
  t.same(faults('any(venues where nothing > 1)'), [['DQL_UNKNOWN_FIELD', 17, '/query']]);
  t.same(faults('sum(venues, oi) > 1'), [['DQL_TYPE', 0, '/query']]);
});

t.test('a payer reads shared rules for 0.01 USDC a name, with a previous state of its own', async (t) => {
  const world = await startPaymentWorld(t);
  const pool = await freshPool(t);
  const feed = market();
  const nowMicros = () => Date.now() * 1_000;
  const rules = openAgentRules({ pool, live: feed.memory, history: null, choose: () => EVERYTHING, nowMicros });
  const { url } = await startPaidApi(t, world, { pool, rules });
  await newKey(pool, 'acc_a');
  const [shared, hidden] = [await makeRule(pool, { shared: true }), await makeRule(pool)];
  const unknown = makeRuleId();
  const call = (ids: readonly string[]) => ({
    path: `${PATH}${ids.length === 0 ? '' : `?rule_id=${ids.join()}`}`,
    method: 'GET',
  });
  const readPrice = async (ids: readonly string[]) => (await offersFor(url, call(ids)))[0]?.amount;
  t.equal(await readPrice([]), '10000', 'none named: one is quoted');
  t.equal(
    await readPrice([shared.ruleId, hidden.ruleId, unknown, shared.ruleId]),
    '30000',
    'distinct names, found or not',
  );
  t.match(await send(url, call(['rule_x'])), { status: 400, body: { errors: [{ code: 'DQL_JSON_SCHEMA' }] } });
  t.match(await send(url, call(Array.from({ length: 101 }, makeRuleId))), { status: 400 });

  const buyer = await world.newBuyer();
  const before = await world.balanceOf(buyer.address);
  const buy = async (ids: readonly string[]) => {
    const [offer] = await offersFor(url, call(ids));
    return send(url, withPayment(await sign(buyer, offer as never), call(ids)));
  };
  t.equal((await buy([hidden.ruleId, unknown])).status, 404, 'nothing readable');
  t.match(await buy([]), { status: 400, body: { errors: [{ path: '/rule_id' }] } });
  const first = await buy([shared.ruleId, hidden.ruleId]);
  t.match(first, {
    status: 200,
    body: { rules: [{ rule_id: shared.ruleId, previous_state: null }], missing: [hidden.ruleId] },
  });
  await find(pool, shared, 'true');
  t.match(await buy([shared.ruleId]), {
    status: 200,
    body: { rules: [{ previous_state: 'unknown', state: 'true', changed: true }] },
  });
  t.equal((await settledLedger(pool, buyer.address)).length, 2);
  t.equal(before - (await world.balanceOf(buyer.address)), 30_000n, 'two names and one');
  t.match(await settledLedger(pool, buyer.address), [{ class: 'agent_state' }, { class: 'agent_state' }]);
});
