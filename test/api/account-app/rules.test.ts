// The page and the JSON of rules at the account site, without script: checked, created, changed, removed; isolated between accounts (AC-04, AG-01).
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { closeAccount } from '../../../api/accounts/close-account.ts';
import { exportAccount } from '../../../api/accounts/export-account.ts';
import { beginSession } from '../../../api/accounts/sessions.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import type { Rule } from '../../../api/rules/rule.ts';
import { changeRule, createRule, findRule, removeRule } from '../../../api/rules/store.ts';
import { addWebhook } from '../../../api/rules/webhooks.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';
import { type Browser, startSite } from '../../support/apps/site-fixture.ts';

t.setTimeout(0);

const VALID = 'any(venues where mark > 1)';
const NOTHING = { matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 };

t.test('a rule is written, checked, seen to match, changed and removed', async (t) => {
  const port = await findFreePort();
  const [base, url] = [`http://127.0.0.1:${port}`, 'http://localhost:8082'];
  const urls = { account: url, auth: url, base, api: base, mcp: null };
  const { pool, browser, site } = await startSite(t, { urls });
  const { app: api } = await testApp(market(), { keys: openKeyStore(pool) });
  t.teardown(() => api.close());
  await api.listen({ host: '127.0.0.1', port });
  const signIn = async (accountId: string): Promise<Browser> => {
    await pool.query('insert into accounts (account_id, email, plan) values ($1, $2, $3)', [
      accountId,
      `${accountId}@a.test`,
      'mini',
    ]);
    const { token } = await beginSession(pool, { accountId, agent: 'test' });
    const signedIn = browser();
    signedIn.cookies.set('session', token);
    return signedIn;
  };
  t.match(await browser().get('/rules'), { statusCode: 303 }, 'members only');
  const [mine, theirs] = [await signIn('acc_a'), await signIn('acc_b')];

  const form = { name: 'dawn watch', query: VALID, interval: '30s', units: 'published', enabled: 'on', do: 'save' };
  const bad = await mine.submit('/rules', { ...form, query: 'any(venues where nothing > 1)' });
  t.match(bad, { statusCode: 400, body: /Line 1, column 18.*nothing/s });
  t.match(bad.body, /value="dawn watch"/, 'what was written is still there');
  const checked = await mine.submit('/rules', { ...form, do: 'check' });
  t.match(checked, { statusCode: 200, body: /The query is valid.*It matches <strong>[^<]*BTC-PERP/s });
  const nothing = await mine.submit('/rules', { ...form, query: 'any(venues where mark > 1e12)', do: 'check' });
  t.match(nothing, { statusCode: 200, body: /It matches nothing/ });
  t.match(
    (await pool.query("select kind, plan, expires_at > now() as lives from api_keys where account_id = 'acc_a'")).rows,
    [{ kind: 'page', plan: 'mini', lives: true }],
    'requested with one key of the pages',
  );
  t.notMatch((await mine.get('/keys')).body, /<td>page/, 'which is not shown');
  t.match((await mine.get('/api/rules')).json(), { items: [] }, 'checking makes nothing');
  const made = await mine.submit('/rules', form);
  t.equal(made.statusCode, 303);
  const path = String(made.headers.location);
  const ruleId = path.split('/').at(-1) ?? '';
  t.match(await mine.get(path), { statusCode: 200, body: /unknown: never evaluated/ });

  const json = { 'content-type': 'application/json' };
  const live = (payload: object) => mine.send({ method: 'POST', url: '/api/rules/check', headers: json, payload });
  t.match((await live({ query: VALID, units: 'published' })).json(), { query: VALID, complexity: { cost: Number } });
  t.match((await live({ query: 'any(venues where nothing > 1)' })).json(), {
    errors: [{ code: 'DQL_UNKNOWN_FIELD', position: { line: 1, column: 18 } }],
  });
  t.match((await live({ query: `${VALID} select mark` })).json(), { errors: [{ code: 'DQL_SYNTAX' }] });
  const { words } = (await mine.get('/api/rules/words')).json();
  for (const word of ['funding', 'close', 'ema', 'binance', 'BTC-PERP'])
    t.ok(
      words.find((one: { word: string; says: string }) => one.word === word && one.says !== ''),
      word,
    );

  const rule = await findRule(pool, ruleId, null);
  const outcome = {
    state: 'true',
    reason: null,
    matched: ['BTC-PERP'],
    matchedTotal: 3,
    unknown: [],
    unknownTotal: 0,
  } as const;
  await recordEvaluations(pool, [{ rule, at: Date.now() * 1_000 + 10_000_000, outcome }]);
  const seen = await mine.get(path);
  t.match(seen.body, /true: BTC-PERP and 2 more/);
  t.match(seen.body, /Last moves/);
  t.match((await mine.get('/rules')).body, /true: BTC-PERP/);
  for (const address of [path, `${path}/nothing`]) t.equal((await theirs.get(address)).statusCode, 404);
  t.notMatch((await theirs.get('/rules')).body, /dawn watch/);

  const put = (by: Browser) =>
    by.send({
      method: 'PUT',
      url: `/api/rules/${ruleId}`,
      headers: json,
      payload: { name: 'other', query: VALID, shared: true },
    });
  t.match(await put(theirs), { statusCode: 404 });
  t.match((await put(mine)).json(), { rule_id: ruleId, name: 'other', shared: true, interval: '1m' });
  const posted = await mine.send({
    method: 'POST',
    url: '/api/rules',
    headers: json,
    payload: { name: 'x', query: `${VALID} select mark`, intervall: '1m' },
  });
  t.match(posted, { statusCode: 400 });
  t.match(posted.json().errors, [{ path: '/intervall', hint: /interval/ }]);
  for (const [name, query] of [
    ['\ud800', VALID],
    ['x', `${VALID} where symbol = "\udfff"`],
    ['a\0', VALID],
  ] as const) {
    const payload = { name, query };
    const refused = await mine.send({ method: 'PUT', url: `/api/rules/${ruleId}`, headers: json, payload });
    t.match(refused, { statusCode: 400, body: /DQL_JSON_SCHEMA/ }, JSON.stringify(payload));
  }
  const elsewhere = { ...json, origin: 'https://evil.test' };
  t.equal((await mine.send({ method: 'DELETE', url: `/api/rules/${ruleId}`, headers: elsewhere })).statusCode, 403);
  t.equal((await theirs.send({ method: 'DELETE', url: `/api/rules/${ruleId}` })).statusCode, 404);

  t.match(await mine.submit('/rules', { url: 'http://127.0.0.1/x' }, '/rules/webhooks'), {
    statusCode: 400,
    body: /https/,
  });
  t.match(await mine.submit('/rules', { url: 'https://hooks.test/x' }, '/rules/webhooks'), {
    statusCode: 200,
    body: /whsec_/,
  });
  t.notMatch((await mine.get('/rules')).body, /whsec_/, 'the secret is shown once');
  t.equal((await mine.submit(path, {}, `${path}/remove`)).statusCode, 303);
  t.equal((await mine.get(path)).statusCode, 404);
  const audit = await pool.query(
    "select action, actor from account_events where action like 'rule%' order by event_id",
  );
  t.same(audit.rows, [
    { action: 'rule_made', actor: 'owner' },
    { action: 'rule_changed', actor: 'owner' },
    { action: 'rule_removed', actor: 'owner' },
  ]);

  await t.test('rules are in the export, and end with the account', async (t) => {
    const rule = await createRule(
      pool,
      {
        ...{ name: 'kept', query: VALID, intervalS: 10, units: 'published', freshness: null },
        enabled: true,
        shared: true,
      },
      { accountId: 'acc_b', actor: 'account acc_b' },
    );
    const { secret } = await addWebhook(pool, {
      accountId: 'acc_b',
      url: 'https://hooks.test/a',
      allowsLoopback: false,
    });
    await recordEvaluations(pool, [{ rule, at: Date.now() * 1_000 + 10_000_000, outcome }]);
    const exported = JSON.parse(JSON.stringify(await exportAccount(pool, 'acc_b', site.exportParts)));
    t.match(exported.rules, {
      rules: [{ rule_id: rule.ruleId, name: 'kept', query: VALID, shared: true, state: 'true' }],
      versions: [{ version: 1, actor: 'account acc_b' }],
      moves: [{ from_state: 'unknown', to_state: 'true', matched: ['BTC-PERP'] }],
      webhooks: [{ url: 'https://hooks.test/a' }],
      messages: [{ state: 'waiting' }],
    });
    t.notMatch(JSON.stringify(exported), secret);
    t.same(
      JSON.parse(JSON.stringify(await exportAccount(pool, 'acc_a', site.exportParts))).rules.rules,
      [],
      "nothing of another's",
    );

    t.equal(await closeAccount(pool, 'acc_b', site.onClose), true);
    for (const table of [
      'rules',
      'rule_states',
      'rule_transitions',
      'rule_webhooks',
      'rule_deliveries',
      'rule_versions',
    ])
      t.same(
        (await pool.query(`select * from ${table}`)).rows.filter(({ account_id: id }) => id !== 'acc_a'),
        [],
        table,
      );
    const late = createRule(
      pool,
      { name: 'late', query: VALID, intervalS: 10, units: 'published', freshness: null, enabled: true, shared: false },
      { accountId: 'acc_b', actor: 'account acc_b' },
    );
    await t.rejects(late, { message: /no account/ }, 'nothing is made of a closed account');
    await t.rejects(addWebhook(pool, { accountId: 'acc_b', url: 'https://hooks.test/b', allowsLoopback: false }));
  });
});

t.test('changes of a rule, its removal and its evaluation wait for each other and never for ever', async (t) => {
  const { pool } = await startSite(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_c', 'pro_plus')");
  const draft = {
    name: 'r',
    query: VALID,
    intervalS: 10,
    units: 'published',
    freshness: null,
    shared: false,
  } as const;
  const owner = { accountId: 'acc_c', actor: 'test' };
  const faults: string[] = [];
  for (let round = 0; round < 2; round++) {
    const rules: Rule[] = [];
    for (let i = 0; i < 3; i++) rules.push(await createRule(pool, { ...draft, enabled: true }, owner));
    const begun = Date.now() * 1_000;
    const evaluate = (state: 'true' | 'false', second: number) =>
      recordEvaluations(
        pool,
        rules.map((rule) => ({
          ...{ rule, at: begun + second * 1_000_000 },
          outcome: { state, reason: null, ...NOTHING },
        })),
      );
    const changes = rules.flatMap(({ ruleId }, i) => [
      changeRule(pool, { ruleId, draft: { enabled: i % 2 === 0 } }, owner),
      evaluate(i % 2 === 0 ? 'true' : 'false', i + 1),
    ]);
    for (const done of await Promise.allSettled(changes))
      if (done.status === 'rejected') faults.push(String(done.reason));
    const removals = [...rules.map(({ ruleId }) => removeRule(pool, ruleId, owner)), evaluate('false', 10)];
    for (const done of await Promise.allSettled(removals))
      if (done.status === 'rejected') faults.push(String(done.reason));
  }
  t.same(faults, []);
  t.same((await pool.query('select 1 from rules')).rows, []);
});
