// Moves of rules on their way to webhooks: signed, tried again, given up, never to an address that is not public (AG-06).
import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import t from 'tap';
import { type DeliveryDeps, Sending, startDeliveries } from '../../../api/rules/deliveries.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { isPublicAddress, openResolve } from '../../../api/rules/public-address.ts';
import { recordEvaluations } from '../../../api/rules/record.ts';
import { changeRule, createRule } from '../../../api/rules/store.ts';
import { callWebhook, findWebhookFault, SIGNATURE_HEADER } from '../../../api/rules/webhook-call.ts';
import { addWebhook, enableWebhook, listWebhooks, removeWebhook } from '../../../api/rules/webhooks.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { freshPool } from '../../support/engines/fresh-database.ts';
import { isSignedWebhook } from '../../support/services/signed-webhook.ts';
import { startReceiver } from '../../support/services/webhook-receiver.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(900_000);

const makeDeps = (pool: Pool, calls: DeliveryDeps['calls'] = LOCAL): DeliveryDeps => ({
  ...{ pool, calls, count: createRuleMetrics(new Registry()) },
  log: createLog('test', 'silent'),
});

const openSending = (deps: DeliveryDeps): Sending =>
  new Sending(deps, (error) => {
    throw error;
  });

/** Sends what is due, and waits for it; the number of messages. */
const sendDue = async (sending: Sending): Promise<number> => {
  const begun = await sending.begin();
  await sending.allEnd();
  return begun;
};
const deliverDue = (deps: DeliveryDeps): Promise<number> => sendDue(openSending(deps));

/** Makes a rule of the account; what is answered records its move at its instant `i`: to true and false in turns. */
const makeMoves = async (pool: Pool): Promise<(i: number) => Promise<unknown>> => {
  const draft = { name: 'r', query: 'any(venues where mark > 1)', intervalS: 10, freshness: null } as const;
  const rule = await createRule(
    pool,
    { ...draft, units: 'published', enabled: true, shared: false },
    { accountId: 'acc_a', actor: 'test' },
  );
  const found = { reason: null, matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;
  const at = Date.now() * 1_000 + 10_000_000;
  return (i) =>
    recordEvaluations(pool, [
      { rule, at: at + i * 10_000_000, outcome: { state: i % 2 === 0 ? 'true' : 'false', ...found } },
    ]);
};

const LOCAL = { allowsLoopback: true, nowMs: Date.now };
const MESSAGE = { secret: 'whsec_a', body: '{"id":"move_1"}' };

t.test('addresses of this machine, of private networks and of their equivalents are closed', (t) => {
  const closed = [
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '0.0.0.0',
      '100.64.0.1',
    ],
    ...[
      '224.0.0.1',
      '255.255.255.255',
      '198.18.0.1',
      '::1',
      '::',
      'fe80::1',
      'fd00::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
    ],
    ...['64:ff9b::7f00:1', '2002:7f00:1::', 'ff02::1', '2001::1', '2001:db8::1', 'nonsense'],
  ];
  for (const address of closed) t.equal(isPublicAddress(address), false, address);
  for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::1'])
    t.equal(isPublicAddress(address), true, address);
  t.equal(findWebhookFault('https://example.com/x', { allowsLoopback: false }), null);
  for (const url of [
    'http://example.com',
    'ftp://example.com',
    'example.com',
    'https://user:x@example.com',
    'file:///etc/passwd',
  ])
    t.type(findWebhookFault(url, { allowsLoopback: false }), 'string', url);
  t.end();
});

t.test(
  'a name is sent to only when every address of it is public, and only to those that were looked at',
  async (t) => {
    const { url, received } = await startReceiver(t, (reply) => reply.end());
    const { port } = new URL(url);
    const named = (host: string) => `https://${host}:${port}/hook`;
    const asked: string[] = [];
    const resolveTo =
      (...addresses: string[]) =>
      async (host: string) => {
        asked.push(host);
        return addresses.map((address) => ({ address, family: address.includes(':') ? (6 as const) : (4 as const) }));
      };
    const options = { allowsLoopback: false, nowMs: Date.now, timeoutMs: 2_000 };
    for (const addresses of [['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['::1'], ['169.254.169.254']]) {
      const outcome = await callWebhook(
        { ...MESSAGE, url: named('inside.test') },
        { ...options, resolve: resolveTo(...addresses) },
      );
      t.same(outcome, { isDelivered: false, words: 'the host has an address that is not public' }, addresses.join());
    }
    const literal = await callWebhook({ ...MESSAGE, url: named('127.0.0.1') }, options);
    t.match(literal, { isDelivered: false, words: /not public/ }, 'an address as the host is looked at too');
    const mapped = await callWebhook({ ...MESSAGE, url: named('[::ffff:127.0.0.1]') }, options);
    t.match(mapped, { isDelivered: false, words: /not public/ });
    t.same(received, [], 'nothing arrived');
    // The name resolves once; the connection uses that address, whatever the name resolves to later.
    asked.length = 0;
    const pinned = { ...LOCAL, resolve: resolveTo('127.0.0.1') };
    t.match(await callWebhook({ ...MESSAGE, url: url.replace('127.0.0.1', 'nowhere.invalid') }, pinned), {
      isDelivered: true,
    });
    t.same(asked, ['nowhere.invalid']);
    t.equal(received[0]?.headers.host, `nowhere.invalid:${port}`);
  },
);

t.test(
  'names are asked of servers, literal addresses and the machine itself are not; silence is given up',
  async (t) => {
    const asked: string[] = [];
    // Answers every question of type A with 8.8.8.8, and others with nothing.
    const server = createSocket('udp4', (message, { port }) => {
      const end = message.indexOf(0, 12) + 5;
      const isA = message.readUInt16BE(end - 4) === 1;
      asked.push(message.toString('latin1', 13, 13 + (message[12] ?? 0)));
      const head = Buffer.from([...message.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
      const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 8, 8, 8, 8]);
      server.send(Buffer.concat([head, message.subarray(12, end), ...(isA ? [record] : [])]), port);
    });
    await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
    t.teardown(() => server.close());
    const resolve = openResolve([`127.0.0.1:${server.address().port}`]);
    t.same(await resolve('hook.example'), [{ address: '8.8.8.8', family: 4 }]);
    t.same(new Set(asked), new Set(['hook']));
    for (const host of ['localhost', 'a.localhost', 'localhost.'])
      t.match(await resolve(host), [{ address: '127.0.0.1' }, { address: '::1' }], host);
    t.same(await resolve('10.0.0.1'), [{ address: '10.0.0.1', family: 4 }]);
    t.same(await resolve('[::ffff:7f00:1]'), [{ address: '::ffff:7f00:1', family: 6 }]);
    t.equal(asked.length, 2, 'A and AAAA of the one name');
    const silent = { ...LOCAL, timeoutMs: 20, resolve: () => new Promise<never>(() => undefined) };
    const left = await callWebhook({ ...MESSAGE, url: 'https://silent.example/hook' }, silent);
    t.same(left, { isDelivered: false, words: 'no answer in time' });
  },
);

t.test('a receiver that is slow holds up itself alone', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const held: ServerResponse[] = [];
  const slow = await startReceiver(t, (reply) => void held.push(reply));
  const quick = await startReceiver(t, (reply) => reply.end());
  for (const { url } of [slow, quick]) await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  const move = await makeMoves(pool);
  for (const i of [0, 1, 2]) await move(i);
  const deps = makeDeps(pool);
  const deliveries = startDeliveries(deps);
  await waitFor('every message of the quick one', async () => quick.received.length >= 3);
  t.equal(slow.received.length, 1, 'one at a time');
  const release = setInterval(() => held.pop()?.end(), 10);
  await waitFor('every message of the slow one', async () => slow.received.length >= 3);
  await deliveries.stop();
  clearInterval(release);
  t.match(await listWebhooks(pool, 'acc_a'), [{ delivered: 3 }, { delivered: 3 }]);
});

t.test('the outcome of a webhook is that of its newest attempt that has ended', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const held: ServerResponse[] = [];
  const answers: ((reply: ServerResponse) => unknown)[] = [
    (reply) => reply.writeHead(500).end(),
    (reply) => reply.writeHead(204).end(),
    (reply) => held.push(reply),
  ];
  const { url, received } = await startReceiver(t, (reply) => answers.shift()?.(reply));
  await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  const move = await makeMoves(pool);
  const deps = makeDeps(pool);
  await move(0);
  await deliverDue(deps);
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 1, outcome: 'answered 500' }]);
  await pool.query("update rule_deliveries set next_at = now() + interval '1 hour'");
  await move(1);
  await deliverDue(deps);
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 1, delivered: 1, outcome: 'answered 204' }], 'a later one');
  await move(2);
  const underWay = deliverDue(deps);
  await waitFor('the third message', async () => received.length >= 3);
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 2, outcome: 'answered 204' }], 'while one is under way');
  t.equal(await new Sending(deps, () => undefined).begin(), 0, 'no other process sends it meanwhile');
  held.pop()?.end();
  await underWay;
  t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 1, delivered: 2, outcome: 'answered 200' }]);
});

t.test(
  'a receiver that answers 410 gets nothing more until its webhook is enabled, and then what waited',
  async (t) => {
    const pool = await freshPool(t);
    await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
    const answers = [204, 410];
    const { url, received } = await startReceiver(t, (reply) => reply.writeHead(answers.shift() ?? 204).end());
    const { webhookId } = await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
    const move = await makeMoves(pool);
    const deps = makeDeps(pool);
    const makeDue = () => pool.query('update rule_deliveries set next_at = now()');
    await move(0);
    await deliverDue(deps);
    await move(1);
    await deliverDue(deps);
    await makeDue();
    t.equal(await deliverDue(deps), 0, 'nothing is due to it');
    t.match(await listWebhooks(pool, 'acc_a'), [{ delivered: 1, waiting: 1, notice: /answered 410/ }]);
    await enableWebhook(pool, webhookId, 'acc_a');
    await makeDue();
    await deliverDue(deps);
    t.equal(received.length, 3);
    t.match(await listWebhooks(pool, 'acc_a'), [{ delivered: 2, waiting: 0, disabled_at: null }]);
  },
);

/** Blocks of the guide's section on webhooks. */
const guideBlock = (language: 'json' | 'python'): string => {
  const guide = readFileSync(new URL('../../../docs/guides/agents.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Webhooks\n([\s\S]*?)^## /m.exec(guide) ?? [];
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1] ?? '';
};

/** What the function of the guide answers to each: is it genuine? */
const judgeAsGuide = (
  ...messages: readonly (readonly [secret: string, signature: string, body: string])[]
): unknown => {
  const program = `${guideBlock('python')}
import json, sys
print(json.dumps([is_genuine(secret, signature, body.encode()) for secret, signature, body in json.load(sys.stdin)]))`;
  const { stdout } = spawnSync('python3', ['-c', program], { input: JSON.stringify(messages), encoding: 'utf8' });
  return JSON.parse(stdout);
};

t.test('a receiver that is written from the guide takes what is sent, and nothing else', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const { url, received } = await startReceiver(t, (reply) => reply.end());
  const { secret } = await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
  const draft = { name: '资金 "spike"', query: 'any(venues where mark > 1)', intervalS: 10, freshness: null } as const;
  const rule = await createRule(
    pool,
    { ...draft, units: 'published', enabled: true, shared: false },
    { accountId: 'acc_a', actor: 'test' },
  );
  const found = { reason: null, matched: ['币安人生-PERP'], matchedTotal: 1, unknown: [], unknownTotal: 0 } as const;
  const at = Date.now() * 1_000 + 10_000_000;
  await recordEvaluations(pool, [{ rule, at, outcome: { state: 'true', ...found } }]);
  const deps = makeDeps(pool);
  await deliverDue(deps);
  const body = received[0]?.body ?? '';
  t.same(
    Object.keys(JSON.parse(body)),
    Object.keys(JSON.parse(guideBlock('json'))),
    'the members of the guide, in its order',
  );
  const signature = String(received[0]?.headers[SIGNATURE_HEADER]);
  const [seconds = '', mac = ''] = signature.slice(2).split(',');
  const judged = judgeAsGuide(
    ...([
      [secret, signature, body],
      ['whsec_another', signature, body],
      [secret, signature, body.replace('"true"', '"false"')],
      [secret, `t=${Number(seconds) - 1},${mac}`, body],
      [secret, signature.toUpperCase(), body],
      [secret, '', body],
    ] as const),
  );
  t.same(judged, [true, false, false, false, false, false]);
});

t.test('an account has five webhooks, also when more are added at once', async (t) => {
  const pool = await freshPool(t);
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const added = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) =>
      addWebhook(pool, { accountId: 'acc_a', url: `https://hooks.test/${i}`, allowsLoopback: false }),
    ),
  );
  t.equal(added.filter(({ status }) => status === 'fulfilled').length, 5);
  t.equal((await listWebhooks(pool, 'acc_a')).length, 5);
});

/** Twenty webhooks of one receiver and one of another, all of the account, and what makes a move of it. */
const useCrowd = async (pool: Pool, urls: { readonly crowd: string; readonly quick: string }) => {
  await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro')");
  const add = (id: string, url: string) =>
    pool.query("insert into rule_webhooks (webhook_id, account_id, url, secret) values ($1, 'acc_a', $2, 's')", [
      id,
      url,
    ]);
  for (let i = 0; i < 20; i++) await add(`hook_${String(i).padStart(26, '0')}`, urls.crowd);
  const move = await makeMoves(pool);
  return { move, addQuick: () => add(`hook_${'Z'.repeat(26)}`, urls.quick) };
};

t.test('receivers that fail hold up no other, however many they are and whatever waits for them', async (t) => {
  const pool = await freshPool(t);
  const failing = await startReceiver(t, (reply) => reply.writeHead(500).end());
  const quick = await startReceiver(t, (reply) => reply.end());
  const { move, addQuick } = await useCrowd(pool, { crowd: failing.url, quick: quick.url });
  for (let i = 0; i < 4; i++) await move(i);
  await addQuick();
  await move(4);
  const sending = openSending(makeDeps(pool));
  for (let rounds = 0; rounds < 2; rounds++) await sendDue(sending);
  t.equal(quick.received.length, 1);
  await move(5);
  await sendDue(sending);
  t.equal(quick.received.length, 2, 'before any of those that failed');
});

t.test('receivers that take a message slowly come after all others, whatever waits for them', async (t) => {
  const pool = await freshPool(t);
  let nowMs = Date.now();
  const slow = await startReceiver(t, (reply) => {
    nowMs += 1_000;
    reply.end();
  });
  const quick = await startReceiver(t, (reply) => reply.end());
  const { move, addQuick } = await useCrowd(pool, { crowd: slow.url, quick: quick.url });
  for (let i = 0; i < 4; i++) await move(i);
  const calls = { allowsLoopback: true, nowMs: () => nowMs };
  const sending = openSending(makeDeps(pool, calls));
  for (let rounds = 0; rounds < 2; rounds++) await sendDue(sending);
  await addQuick();
  await move(4);
  await sendDue(sending);
  t.equal(quick.received.length, 1, 'before what waits longer for those that are slow');
});

t.test('receivers that failed or were slow leave places for the others', async (t) => {
  const pool = await freshPool(t);
  let isFailing = true;
  const silent = await startReceiver(t, (reply) => {
    if (isFailing) reply.writeHead(500).end();
  });
  const quick = await startReceiver(t, (reply) => reply.end());
  const { move, addQuick } = await useCrowd(pool, { crowd: silent.url, quick: quick.url });
  await move(0);
  const calls = { ...LOCAL, timeoutMs: 2_000 };
  const sending = openSending(makeDeps(pool, calls));
  for (let rounds = 0; rounds < 2; rounds++) await sendDue(sending);
  isFailing = false;
  await move(1);
  t.equal(await sending.begin(), 12, 'of twenty whose newest attempt failed');
  t.equal(await sending.begin(), 0, 'and no more of them while these are under way');
  await addQuick();
  await move(2);
  t.equal(await sending.begin(), 1, 'another need not wait for any of them');
  await sending.allEnd();
  t.equal(quick.received.length, 1);
});

t.test('signed over timestamp and body; redirects are not followed; a slow receiver is left', async (t) => {
  const good = await startReceiver(t, (reply) => reply.end());
  t.match(await callWebhook({ ...MESSAGE, url: good.url }, LOCAL), { isDelivered: true, words: 'answered 200' });
  const [first] = good.received;
  const signature = String(first?.headers[SIGNATURE_HEADER]);
  const check = { secret: MESSAGE.secret, body: first?.body ?? '', seconds: Date.now() / 1_000, withinS: 300 };
  t.equal(isSignedWebhook(signature, check), true);
  t.equal(isSignedWebhook(signature, { ...check, body: '{}' }), false, 'another body');
  t.equal(isSignedWebhook(signature, { ...check, secret: 'whsec_b' }), false, 'another secret');
  t.equal(isSignedWebhook(signature, { ...check, seconds: check.seconds + 301 }), false, 'too old');
  t.equal(isSignedWebhook('t=1', check), false);

  const redirecting = await startReceiver(t, (reply) => reply.writeHead(307, { location: good.url }).end());
  t.match(await callWebhook({ ...MESSAGE, url: redirecting.url }, LOCAL), { isDelivered: false, words: /redirected/ });
  t.equal(good.received.length, 1, 'redirects are not followed');
  const failing = await startReceiver(t, (reply) => reply.writeHead(500).end());
  t.match(await callWebhook({ ...MESSAGE, url: failing.url }, LOCAL), { isDelivered: false, words: 'answered 500' });
  const slow = await startReceiver(t, () => undefined);
  const left = await callWebhook({ ...MESSAGE, url: slow.url }, { ...LOCAL, timeoutMs: 50 });
  t.same(left, { isDelivered: false, words: 'no answer in time' });
});

t.test(
  'a move is queued with it, tried again with growing waits, and given up after a day with a notice',
  async (t) => {
    const pool = await freshPool(t);
    await pool.query("insert into accounts (account_id, plan) values ('acc_a', 'pro'), ('acc_b', 'pro')");
    let status = 500;
    const { received, url } = await startReceiver(t, (reply) => reply.writeHead(status).end());
    const draft = {
      name: 'r',
      query: 'any(venues where mark > 1)',
      intervalS: 10,
      units: 'published',
      freshness: null,
    } as const;
    const rule = await createRule(
      pool,
      { ...draft, enabled: true, shared: false },
      { accountId: 'acc_a', actor: 'test' },
    );
    const { webhookId, secret } = await addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: true });
    await addWebhook(pool, { accountId: 'acc_b', url, allowsLoopback: true });
    await t.rejects(addWebhook(pool, { accountId: 'acc_a', url, allowsLoopback: false }), { message: /https/ });
    const named = url.replace('//', '//user:word@');
    await t.rejects(addWebhook(pool, { accountId: 'acc_a', url: named, allowsLoopback: true }), {
      errors: [{ message: /has a user or password/, hint: /without user and password/ }],
    });
    const found = {
      state: 'true',
      reason: null,
      matched: ['BTC-PERP'],
      matchedTotal: 1,
      unknown: [],
      unknownTotal: 0,
    } as const;
    const at = Date.now() * 1_000 + 10_000_000;
    await recordEvaluations(pool, [{ rule, at, outcome: found }]);
    const deps = makeDeps(pool);
    const dueNow = () => pool.query('update rule_deliveries set next_at = now()');

    t.equal(await deliverDue(deps), 1, 'to the webhooks of the account only');
    t.equal(await deliverDue(deps), 0, 'not again at once');
    t.match(JSON.parse(received[0]?.body ?? ''), {
      ...{ event: 'rule', rule_id: rule.ruleId, name: 'r', previous_state: 'unknown', state: 'true', reason: null },
      ...{ matched: ['BTC-PERP'], matched_total: 1 },
    });
    const wait = async (): Promise<number> =>
      Number((await pool.query('select extract(epoch from next_at - now()) as s from rule_deliveries')).rows[0]?.s);
    const first = await wait();
    const renamed = { name: 'renamed', intervalS: 60, shared: true };
    await changeRule(pool, { ruleId: rule.ruleId, draft: renamed }, { accountId: 'acc_a', actor: 'test' });
    await dueNow();
    t.equal(await deliverDue(deps), 1);
    t.ok((await wait()) > first * 1.5, 'it waits longer each time');
    t.equal(received[0]?.body, received[1]?.body, 'the same message, though the rule has another name by now');
    t.match(await listWebhooks(pool, 'acc_a'), [
      { waiting: 1, delivered: 0, dead: 0, outcome: 'answered 500', disabled_at: null },
    ]);

    const age = () =>
      pool.query(
        "update rule_deliveries set next_at = now(), made_at = now() - interval '25 hours', attempts = 30 where state = 'waiting'",
      );
    const other = await createRule(
      pool,
      { ...draft, enabled: true, shared: false },
      { accountId: 'acc_a', actor: 'test' },
    );
    await age();
    await recordEvaluations(pool, [{ rule: other, at, outcome: found }]);
    status = 204;
    await pool.query(
      "update rule_deliveries set next_at = now() + interval '1 hour' where made_at < now() - interval '1 hour'",
    );
    t.equal(await deliverDue(deps), 1);
    status = 500;
    await age();
    await deliverDue(deps);
    t.match(
      await listWebhooks(pool, 'acc_a'),
      [{ waiting: 0, delivered: 1, dead: 1, disabled_at: null }],
      'a receiver that takes others and refuses this one goes on',
    );

    await changeRule(pool, { ruleId: other.ruleId, draft: { enabled: false } }, { accountId: 'acc_a', actor: 'test' });
    await age();
    await pool.query("update rule_deliveries set ended_at = now() - interval '26 hours' where state = 'delivered'");
    await deliverDue(deps);
    t.match(await listWebhooks(pool, 'acc_a'), [
      { waiting: 0, dead: 2, disabled_at: Date, notice: /24 hours \(answered 500\)/ },
    ]);
    await changeRule(pool, { ruleId: rule.ruleId, draft: { enabled: false } }, { accountId: 'acc_a', actor: 'test' });
    t.equal(await deliverDue(deps), 0, 'a disabled one receives nothing');
    status = 204;
    await enableWebhook(pool, webhookId, 'acc_a');
    await changeRule(pool, { ruleId: rule.ruleId, draft: { enabled: true } }, { accountId: 'acc_a', actor: 'test' });
    const again = await createRule(
      pool,
      { ...draft, enabled: true, shared: false },
      { accountId: 'acc_a', actor: 'test' },
    );
    await recordEvaluations(pool, [{ rule: again, at, outcome: { ...found, state: 'false' } }]);
    t.equal(await deliverDue(deps), 1);
    const last = received.at(-1);
    const signed = { secret, body: last?.body ?? '', seconds: Date.now() / 1_000, withinS: 300 };
    t.ok(isSignedWebhook(String(last?.headers[SIGNATURE_HEADER]), signed), 'signed with its secret');
    t.match(await listWebhooks(pool, 'acc_a'), [{ waiting: 0, delivered: 2, dead: 2 }]);
    for (const change of [enableWebhook, removeWebhook])
      await t.rejects(change(pool, webhookId, 'acc_b'), { message: /no webhook/ });
    await removeWebhook(pool, webhookId, 'acc_a');
    t.same(await listWebhooks(pool, 'acc_a'), []);
  },
);
