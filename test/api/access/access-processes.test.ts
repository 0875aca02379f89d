// Two API processes on one database: one bucket, one day, places at once, revocation, and what their logs must not hold.
// ACCESS_REQUESTS=10000 runs it at full length, the cut line of notices included.
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import { PLANS, type PlanCode } from '../../../api/contract/plans.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createKey, revokeKey } from '../../../infra/tools/key-admin.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openPostgresLine } from '../../support/engines/postgres-line.ts';
import { type ApiNode, CLIENT_ADDRESS, type Reply, startNode, writeMarket } from '../../support/services/api-nodes.ts';
import { until } from '../../support/services/pipeline.ts';

const REQUESTS = Number(process.env['ACCESS_REQUESTS'] ?? 1_200);
const IS_SHOW = REQUESTS >= 10_000;
/** Part of every body: a log that contains it has logged a body. */
const BODY_MARK = 'WOODPECKER';

const { requests_per_second: RATE, burst: BURST } = PLANS.pro_plus.limits;
const OVERLOAD = 4;

const newKey = (pool: Pool, plan: PlanCode) =>
  createKey(pool, { plan, name: 'processes', accountId: 'acc_test', expiresAt: null }, 'test');

type Tally = {
  answered: Record<string, number>;
  limited: number;
  broken: number;
  /** Until the last was sent, and until the last was answered. */
  seconds: number;
  answeredAfter: number;
};

/** Sends requests at a steady rate, nodes and endpoints in turn; a broken connection is counted and not repeated. */
const load = async (
  key: string,
  { count, perSecond, nodes }: { count: number; perSecond: number; nodes: (i: number) => ApiNode },
): Promise<Tally> => {
  const tally: Tally = { answered: {}, limited: 0, broken: 0, seconds: 0, answeredAfter: 0 };
  const calls: Promise<void>[] = [];
  const note = (requestClass: string, { status }: Reply): void => {
    if (status === 200) tally.answered[requestClass] = (tally.answered[requestClass] ?? 0) + 1;
    else if (status === 429) tally.limited += 1;
    else throw new Error(`answered ${status}`);
  };
  const begun = performance.now();
  for (let i = 0; i < count; i++) {
    const early = begun + (i / perSecond) * 1_000 - performance.now();
    if (early > 1) await pause(early);
    const isSnapshot = i % 4 < 2;
    const [path, body] = isSnapshot
      ? ['/v2/snapshots', { where: `symbol = "${BODY_MARK}"`, layers: ['mark'] }]
      : ['/v2/venues', undefined];
    const call = nodes(i).call(key, path, body);
    calls.push(
      call.then(
        (reply) => note(isSnapshot ? 'snapshots' : 'reference', reply),
        () => {
          tally.broken += 1;
        },
      ),
    );
  }
  tally.seconds = (performance.now() - begun) / 1_000;
  await Promise.all(calls);
  tally.answeredAfter = (performance.now() - begun) / 1_000;
  return tally;
};

/** Requests that were metered without the store, and then are owed to it: none, unless this machine is very busy. */
const takenAlone = async (nodes: readonly ApiNode[]): Promise<number> => {
  const texts = await Promise.all(nodes.map((node) => node.metrics()));
  return texts.reduce((total, text) => total + Number(/^perp_api_metered_alone_total (\d+)/m.exec(text)?.[1]), 0);
};

/** The number that the plan allows until the last was sent, and until the last was answered: a slow machine answers late. */
const computeBounds = ({ seconds, answeredAfter }: Tally): [number, number] => [
  BURST + RATE * seconds,
  BURST + RATE * answeredAfter,
];

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

const usedBy = async (pool: Pool, keyId: string): Promise<Record<string, number>> => {
  const { rows } = await pool.query<{ class: string; used: number }>(
    'select class, used::int from key_usage where key_id = $1',
    [keyId],
  );
  return Object.fromEntries(rows.map((row) => [row.class, row.used]));
};

/** Counts are reported every 250 ms: counts without a change for two seconds are complete. */
const settledUse = async (pool: Pool, keyId: string): Promise<Record<string, number>> => {
  let [last, since] = ['', performance.now()];
  return until('counters do not move', 20_000, async () => {
    const used = await usedBy(pool, keyId);
    const text = JSON.stringify(used);
    if (text !== last) [last, since] = [text, performance.now()];
    return performance.now() - since > 2_000 ? used : null;
  });
};

t.test('two API processes on one database', async (t: Test) => {
  const engines = await useEngines(t, ['kafka', 'postgres']);
  const namespace = `${engines.namespace()}.`;
  const database = await engines.database();
  const pool = openPostgres(database, { max: 3 });
  t.teardown(() => pool.end());
  await migrate(pool);
  await writeMarket(engines, namespace);
  const line = await openPostgresLine(t, database);
  const start = (name: string) =>
    startNode(t, { name: `${namespace}${name}`, engines, namespace, databaseUrl: line.url });
  const one = await start('one');
  let two = await start('two');
  const names = [one.name, two.name];
  // A process that has answered nothing yet is slower than its limits.
  const { key: warming } = await newKey(pool, 'pro_plus');
  await load(warming, { count: 120, perSecond: 60, nodes: (i) => (i % 2 === 0 ? one : two) });

  await t.test(
    `${REQUESTS} requests at four times the limit: the plan's share passes, each counted once`,
    async (t) => {
      const { key, entry } = await newKey(pool, 'pro_plus');
      const nodes = (i: number): ApiNode => (i % 2 === 0 ? one : two);
      const tally = await load(key, { count: REQUESTS, perSecond: OVERLOAD * RATE, nodes });
      const passed = sum(tally.answered);
      const [least, most] = computeBounds(tally);
      t.comment(
        `passed ${passed}, valid ${least.toFixed(1)} to ${most.toFixed(1)}, limited ${tally.limited}, ${tally.seconds.toFixed(1)} s`,
      );
      const alone = await takenAlone([one, two]);
      if (alone > 0) t.comment(`PostgreSQL was slow: ${alone} metered without it`);
      t.equal(passed + tally.limited, REQUESTS, 'every request was answered');
      t.ok(passed >= 0.99 * least - 3 && passed <= 1.01 * most + 3 + alone, 'within 1 % of the plan');
      const used = await settledUse(pool, entry.key_id);
      t.comment(`counted ${JSON.stringify(used)}`);
      t.same(used, tally.answered, 'counters are the answers, by class');
      const { rows } = await pool.query('select granted::int from key_meters where key_id = $1', [entry.key_id]);
      t.same(rows, [{ granted: passed }], 'and so is the day');
    },
  );

  await t.test('one of them killed and started again: the rate holds and less than a second is lost', async (t) => {
    const { key, entry } = await newKey(pool, 'pro_plus');
    const count = Math.floor(REQUESTS / 2);
    let isDown = false;
    const nodes = (i: number): ApiNode => {
      if (i === Math.floor(count / 3)) {
        isDown = true;
        void two.child.kill('SIGKILL');
      }
      return i % 2 === 0 || (isDown && i > count / 3 + 20) ? one : two;
    };
    const tally = await load(key, { count, perSecond: OVERLOAD * RATE, nodes });
    const answered = sum(tally.answered);
    const [least, most] = computeBounds(tally);
    const used = sum(await settledUse(pool, entry.key_id));
    t.comment(
      `answered ${answered}, valid ${least.toFixed(1)} to ${most.toFixed(1)}, counted ${used}, lost ${answered - used}, broken ${tally.broken}`,
    );
    t.ok(answered <= 1.01 * most + 3 + (await takenAlone([one])), 'not more than the plan');
    t.ok(answered >= least - RATE, 'not less by more than a second');
    t.ok(used >= answered - RATE, 'not more than a second of counts is lost');
    t.ok(used <= answered + tally.broken, 'nothing is counted that was not answered, but what broke');
    two = await start('two-again');
    names.push(two.name);
  });

  await t.test('streams are counted over both, and a killed process holds its places for five seconds', async (t) => {
    const { key } = await newKey(pool, 'free');
    const hangUp = await one.stream(key);
    if (typeof hangUp === 'number') throw new Error(`answered ${hangUp}`);
    t.equal(await two.stream(key), 429, 'one stream in all');
    hangUp();
    const second = await until('a place is free', 10_000, async () => {
      const answer = await two.stream(key);
      if (typeof answer === 'number') await pause(1_000);
      return typeof answer === 'number' ? null : answer;
    });
    second();

    const other = await newKey(pool, 'free');
    const lost = await until('a place', 10_000, async () => {
      const answer = await two.stream(other.key);
      return typeof answer === 'number' ? null : answer;
    });
    await two.child.kill('SIGKILL');
    lost();
    const begun = performance.now();
    const third = await until('the dead process is forgotten', 15_000, async () => {
      await pause(700);
      const answer = await one.stream(other.key);
      return typeof answer === 'number' ? null : answer;
    });
    t.comment(`place of the killed process free after ${Math.round(performance.now() - begun)} ms`);
    third();
    two = await start('two-third');
    names.push(two.name);
  });

  await t.test('a revocation acts in both within a second', async (t) => {
    const { key, entry } = await newKey(pool, 'pro_plus');
    for (const node of [one, two]) t.equal((await node.call(key, '/v2/venues')).status, 200);
    await revokeKey(pool, entry.key_id, 'test');
    const begun = performance.now();
    for (const node of [one, two]) {
      await until('refused', 5_000, async () => ((await node.call(key, '/v2/venues')).status === 401 ? true : null));
    }
    const ms = performance.now() - begun;
    t.comment(`seen by both after ${Math.round(ms)} ms`);
    t.ok(ms < 1_000);
  });

  await t.test(
    'with the line of notices cut it acts within a minute, and a metric shows it',
    { skip: !IS_SHOW },
    async (t) => {
      const up = /perp_api_key_notices_up 1/;
      for (const node of [one, two]) t.match(await node.metrics(), up);
      line.cut('perp-listener');
      const { key, entry } = await newKey(pool, 'pro_plus');
      for (const node of [one, two]) t.equal((await node.call(key, '/v2/venues')).status, 200);
      await revokeKey(pool, entry.key_id, 'test');
      const begun = performance.now();
      await Promise.all(
        [one, two].map(async (node) => {
          await until('refused', 60_000, async () =>
            (await node.call(key, '/v2/venues')).status === 401 ? true : null,
          );
          t.comment(
            `${node.name}: refused after ${((performance.now() - begun) / 1_000).toFixed(1)} s without notices`,
          );
        }),
      );
      t.ok(performance.now() - begun < 60_000);
      for (const node of [one, two]) t.match(await node.metrics(), /perp_api_key_notices_up 0/);
      line.mend();
      for (const node of [one, two]) {
        await until('notices again', 20_000, async () => (up.test(await node.metrics()) ? true : null));
      }
    },
  );

  await t.test('logs and metrics hold no key, no body, no address of a client', async (t) => {
    await one.call(`sk_${'x'.repeat(36)}`, '/v2/venues');
    await one.call('x', `/v2/venues?where=${BODY_MARK}`);
    await one.call((await newKey(pool, 'pro')).key, '/v2/snapshots', { where: `venue = ${BODY_MARK}` });
    const logs = names.map((name) => new URL(`../../../.local/test/log/${name}.log`, import.meta.url));
    const texts = [
      await one.metrics(),
      await two.metrics(),
      ...(await Promise.all(logs.map((file) => readFile(file, 'utf8')))),
    ];
    for (const text of texts) {
      t.ok(text.length > 0);
      t.notMatch(text, /\bsk_[0-9A-Za-z]/, 'no key');
      t.notMatch(text, BODY_MARK, 'no body and no query');
      t.notMatch(text, CLIENT_ADDRESS, 'no address');
    }
  });
});
