// Whatever an owner, a stranger or a wallet does before, while and after an account is closed: nothing of it is left but what names it in the audit
// and the ledger, in any table (E-02, P-06, T-10, AG-01).
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { makeKey } from '../../../api/access/keys.ts';
import { listOwnKeys, revokeOwnKey } from '../../../api/accounts/account-keys.ts';
import { closeAccount } from '../../../api/accounts/close-account.ts';
import { linkKey } from '../../../api/accounts/link-key.ts';
import { preparePageKey } from '../../../api/accounts/page-key.ts';
import { mailCode, resetPassword, signIn } from '../../../api/accounts/signing-in.ts';
import { writeRecoveryMessage } from '../../../api/payments/recover-key.ts';
import { changeRule, createRule, removeRule } from '../../../api/rules/store.ts';
import { addWebhook, listWebhooks, removeWebhook } from '../../../api/rules/webhooks.ts';
import { openConnections } from '../../../api/sign-in/connections.ts';
import { createUnits } from '../../../api/sign-in/units.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import {
  ACCOUNT_URL,
  type Browser,
  connect,
  PASSWORD,
  readAccount,
  signUp,
  startSite,
} from '../../support/apps/site-fixture.ts';

t.setTimeout(0);
const { browser, pool, site } = await startSite(t);

const BASE_URL = 'http://api.test';
const STRANGER = { address: '192.0.2.9', agent: 'test' };
const LOCKED = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";

/** What somebody acts with. */
type Held = {
  readonly one: Browser;
  readonly email: string;
  readonly account: string;
  readonly code: string;
  readonly page: string;
  /** A key of the account, as it was shown. */
  readonly key: string;
  readonly rule: string;
  readonly connection: string;
};

const sendJson = (one: Browser, url: string, payload: object) =>
  one.send({ method: 'POST', url, headers: { origin: ACCOUNT_URL }, payload });

/** A plan that a wallet has bought, as the ledger has it, and the wallet's message that links it. */
const buyPlan = async (email: string) => {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const payer = wallet.address.toLowerCase();
  const transaction = `0x${createHash('sha256').update(payer).digest('hex')}`;
  const { entry } = await createKey(
    pool,
    { plan: 'mini', name: 'bought', accountId: `wallet:${payer}`, expiresAt: new Date(Date.now() + 86_400_000) },
    'test',
  );
  await pool.query(
    `with paid as (
       insert into payment_ledger (receipt_id, transaction, network, payer, nonce, amount, plan, presented_at, settled_at)
       values ($1, $1, 'n', $2, $1, 9000000, 'mini', now(), now()))
     insert into plan_purchases (payer, nonce, signature, plan, key_id, receipt_id, delivered_at)
     values ($2, $1, 's', 'mini', $3, $1, now())`,
    [transaction, payer, entry.key_id],
  );
  const issued = { transaction, issuedAt: new Date().toISOString(), account: email };
  const signature = await wallet.signMessage({ message: writeRecoveryMessage(BASE_URL, issued) });
  return { ...issued, payer, signature };
};

const draft = {
  ...{ name: 'rule', query: 'any(venues where mark > 1)', intervalS: 3_600, units: 'published' as const },
  ...{ freshness: null, enabled: true, shared: false },
};

type Act = (held: Held) => Promise<unknown>;
const ACTS: Readonly<Record<string, Act>> = {
  'signs in': ({ email }) => signIn(pool, { ...STRANGER, email, password: PASSWORD }, () => undefined),
  'asks for a code': ({ email }) => mailCode(pool, { site: ACCOUNT_URL, email }),
  'sets a password with a code': ({ email, code }) =>
    resetPassword(pool, { ...STRANGER, email, code, password: 'three unrelated words' }),
  'changes the password': ({ one, page }) =>
    one.submitFrom(page, { current: PASSWORD, password: 'a new long secret' }, '/security/password'),
  'makes new codes': ({ one, page }) => one.submitFrom(page, {}, '/security/codes'),
  'makes a key': ({ one }) => sendJson(one, '/api/keys', { name: 'another' }),
  'asks for the key of pages': ({ account }) => preparePageKey(pool, Buffer.alloc(32, 3), account),
  'sends a key in a URL': ({ key }) => openKeyStore(pool).markCompromised([key]),
  'links a bought key': async ({ account, email }) =>
    linkKey(await buyPlan(email), account, {
      pool,
      chain: { isMessageOf: async () => false },
      baseUrl: BASE_URL,
      nowMs: Date.now(),
    }),
  'makes a rule': ({ account }) => createRule(pool, draft, { accountId: account, actor: 'test' }),
  'adds a webhook': ({ account }) =>
    addWebhook(pool, { accountId: account, url: 'https://example.com/hook', allowsLoopback: false }),
  'allows a client': ({ account }) => {
    const connections = openConnections({ units: createUnits(pool), keyOf: makeKey, nowMs: Date.now });
    return connections.allow({
      ...{ accountId: account, clientId: 'client', clientName: null, redirectUri: 'http://localhost:1234/cb' },
      instead: null,
    });
  },
  'revokes a key': async ({ account }) => {
    const [own] = await listOwnKeys(pool, account);
    return revokeOwnKey(pool, own?.key_id ?? '', account);
  },
  'signs out': ({ one, page }) => one.submitFrom(page, {}, '/sign-out'),
  'changes a rule': ({ account, rule }) =>
    changeRule(pool, { ruleId: rule, draft: { name: 'other' } }, { accountId: account, actor: 'test' }),
  'removes a rule': ({ account, rule }) => removeRule(pool, rule, { accountId: account, actor: 'test' }),
  'removes a webhook': async ({ account }) => {
    const [hook] = await listWebhooks(pool, account);
    return removeWebhook(pool, hook?.webhook_id ?? '', account);
  },
  'ends a connection as its client': ({ connection }) =>
    openConnections({ units: createUnits(pool), keyOf: makeKey, nowMs: Date.now }).end(connection, 'client'),
  'takes the export': ({ one }) => one.get('/security/export'),
};

/** Rows that a closed account keeps: each is dead, and none names its owner. */
const KEPT: Readonly<Record<string, string>> = {
  accounts: 'email is null and password_hash is null and closed_at is not null',
  api_keys: 'revoked_at is not null',
  account_sessions: 'ended_at is not null',
  connections: 'ended_at is not null',
  account_events: 'true',
};

/** What is left of a closed account, by table. */
const listLeft = async (from: Pool, account: string, email: string): Promise<readonly string[]> => {
  const { rows: tables } = await from.query<{ name: string; is_of_accounts: boolean }>(`
    select t.table_name as name, exists (select 1 from information_schema.columns c
      where c.table_name = t.table_name and c.column_name = 'account_id' and c.table_schema = 'public') as is_of_accounts
    from information_schema.tables t where t.table_schema = 'public' and t.table_type = 'BASE TABLE'`);
  const left: string[] = [];
  for (const { name, is_of_accounts } of tables) {
    const named = await from.query(`select r::text as row from ${name} r where strpos(r::text, $1) > 0`, [email]);
    left.push(...named.rows.map(({ row }) => `${name} names the owner: ${row}`));
    if (!is_of_accounts) continue;
    const held = await from.query(
      `select r::text as row from ${name} r where account_id = $1 and not (${KEPT[name] ?? 'false'})`,
      [account],
    );
    left.push(...held.rows.map(({ row }) => `${name} has ${row}`));
  }
  return left;
};

/** One address may sign up so often at a site within an hour: a long run goes on at another one over the same database. */
const MOST_SIGN_UPS = 50;
let signedUp = 0;
let openBrowser = browser;

const arrive = async (): Promise<Held> => {
  signedUp += 1;
  if (signedUp % MOST_SIGN_UPS === 0) openBrowser = (await startSite(t, { pool })).browser;
  const one = openBrowser();
  const { email, codes } = await signUp(one);
  const account = await readAccount(pool, email);
  const { key } = (await sendJson(one, '/api/keys', { name: 'laptop' })).json<{ key: string }>();
  const connection = await connect(pool, account);
  const { ruleId: rule } = await createRule(pool, { ...draft, name: 'first' }, { accountId: account, actor: 'test' });
  await addWebhook(pool, { accountId: account, url: 'https://example.com/first', allowsLoopback: false });
  // A plan with room for another rule and key.
  await pool.query("update accounts set plan = 'pro' where account_id = $1", [account]);
  return { one, email, account, key, rule, connection, code: codes[0] ?? '', page: (await one.get('/security')).body };
};

/** Begins the works in their order, each once the one before waits for the account's row or is over; then lets go of the row. */
const runInTurn = async (account: string, works: readonly (() => Promise<unknown>)[]): Promise<void> => {
  const blocker = await pool.connect();
  try {
    await blocker.query('begin');
    await blocker.query('select 1 from accounts where account_id = $1 for update', [account]);
    let over = 0;
    const running: Promise<unknown>[] = [];
    for (const work of works) {
      running.push(work().finally(() => over++));
      while ((await blocker.query(LOCKED)).rows.length + over < running.length);
    }
    await blocker.query('commit');
    await Promise.all(running);
  } finally {
    blocker.release();
  }
};

/** What comes before is closed like everything that there was: security.test.ts has it. */
const WHEN =
  process.env.ACT_ROUNDS === undefined ? (['while', 'after'] as const) : (['before', 'while', 'after'] as const);
for (const [what, act] of Object.entries(ACTS)) {
  t.test(`an account is closed, and somebody ${what}`, async (t) => {
    for (const when of WHEN) {
      const held = await arrive();
      const close = (): Promise<unknown> => closeAccount(pool, held.account, site.onClose);
      let status = 0;
      const run = async (): Promise<void> => {
        const outcome = await act(held).catch((error: Error) => {
          if (/deadlock/.test(error.message)) throw error;
        });
        status = (outcome as { statusCode?: number } | undefined)?.statusCode ?? 0;
      };
      if (when === 'after') {
        await close();
        await run();
      } else await runInTurn(held.account, when === 'before' ? [run, close] : [close, run]);
      t.same(await listLeft(pool, held.account, held.email), [], when);
      t.ok(status < 500, `${when}: ${status}`);
    }
  });
}

/** More of something than the plan Free or the law has room for. */
const EXCESS = `
  select 'recovery codes' as what, count(*)::int from recovery_codes where account_id = $1 and kind = 'kept' having count(*) > 10
  union all select 'mailed codes', count(*)::int from recovery_codes where account_id = $1 and kind = 'mailed' and used_at is null having count(*) > 1
  union all select 'keys', count(*)::int from api_keys where account_id = $1 and kind = 'account' and revoked_at is null having count(*) > 2
  union all select 'rules', count(*)::int from rules where account_id = $1 having count(*) > 1
  union all select 'webhooks', count(*)::int from rule_webhooks where account_id = $1 having count(*) > 5
  union all select 'connections', count(*)::int from connections where account_id = $1 and ended_at is null having count(*) > 5`;

// More by hand: ACT_ROUNDS=300 ACT_SEED=3 npm test -- accounts/closing; the seed is in the title.
const ROUNDS = Number(process.env.ACT_ROUNDS ?? 4);
const SEED = Number(process.env.ACT_SEED ?? 1);
t.test(`acts at once fail nobody and pass no limit, ACT_ROUNDS=${ROUNDS} ACT_SEED=${SEED}`, async (t) => {
  const random = createRandom(SEED).next;
  const names = Object.keys(ACTS);
  const choose = (): string => names[Math.floor(random() * names.length)] ?? '';
  for (let round = 0; round < ROUNDS; round++) {
    const held = await arrive();
    await pool.query("update accounts set plan = 'free' where account_id = $1", [held.account]);
    for (let i = 0; i < 4; i++) await connect(pool, held.account);
    for (let i = 0; i < 3; i++)
      await addWebhook(pool, { accountId: held.account, url: `https://example.com/${i}`, allowsLoopback: false });
    // Of each act two, so that it meets itself.
    const [first, second] = round === 0 ? ['makes new codes', 'makes a key'] : [choose(), choose()];
    const acted = [first, first, second, second];
    const outcomes = await Promise.allSettled(acted.map((name) => (ACTS[name] as Act)(held)));
    const failed = outcomes.flatMap((outcome) => {
      if (outcome.status === 'rejected')
        return /deadlock|duplicate key/.test(String(outcome.reason)) ? [String(outcome.reason)] : [];
      const { statusCode = 0 } = (outcome.value ?? {}) as { statusCode?: number };
      return statusCode >= 500 ? [String(statusCode)] : [];
    });
    t.same(failed, [], acted.join(', '));
    t.same((await pool.query(EXCESS, [held.account])).rows, [], acted.join(', '));
  }
});
