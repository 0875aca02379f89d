// State of a key that processes share besides its bucket, on a real PostgreSQL: concurrent places, quotas of the day, the scope of narrowing plans.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import t from 'tap';
import { openAccountStore } from '../../../api/access/account-store.ts';
import type { Account } from '../../../api/access/key-store.ts';
import { Meter } from '../../../api/access/meter.ts';
import { createSharedPermits } from '../../../api/access/permits.ts';
import { createSharedPlaces, PLACES_CHANNEL } from '../../../api/access/place-store.ts';
import { Places } from '../../../api/access/places.ts';
import { spendQuota } from '../../../api/access/quotas.ts';
import { createScopeChooser } from '../../../api/access/scope.ts';
import { keepTurnover } from '../../../api/access/turnover-store.ts';
import { LimitReached } from '../../../api/contract/limits.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { listenPostgres } from '../../../infra/runtime/postgres/listener.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createKey } from '../../../infra/tools/key-admin.ts';
import { Feed, listing, listingValues, market, NOW, reading } from '../../support/apps/live-fixture.ts';
import type { Teardown } from '../../support/engines/engines.ts';
import { freshDatabase } from '../../support/engines/fresh-database.ts';
import { until } from '../../support/services/pipeline.ts';

const log = createLog('test', 'silent');

/** Places of one process, which is notified of what others want. */
const openPlaces = async (t: Teardown, { url, pool }: { url: string; pool: Pool }): Promise<Places> => {
  const places = new Places(createSharedPlaces(pool));
  const channels = { [PLACES_CHANNEL]: (name: string) => void places.giveBackIdle(name) };
  const listener = listenPostgres({ url, channels, onListening: () => undefined, log });
  t.teardown(() => listener.stop());
  await until('listening', 5_000, () => (listener.isListening() ? true : null));
  return places;
};

t.test('however many processes answer a key, never more at once than its plan, and no place is lost', async (t) => {
  const store = await freshDatabase(t);
  const processes = await Promise.all([openPlaces(t, store), openPlaces(t, store), openPlaces(t, store)]);
  const MOST = 5;
  let [inUse, most, taken, refused] = [0, 0, 0, 0];
  const ask = async (i: number): Promise<void> => {
    const places = processes[i % 3] ?? new Places();
    if (!(await places.take('k', MOST))) {
      refused += 1;
      return;
    }
    inUse += 1;
    taken += 1;
    most = Math.max(most, inUse);
    await pause((i * 7) % 11);
    inUse -= 1;
    places.free('k');
  };
  for (let round = 0; round < 12; round++) {
    await Promise.all(Array.from({ length: 25 }, (_, i) => ask(round * 25 + i)));
  }
  t.equal(most, MOST, `${taken} taken, ${refused} refused`);
  await Promise.all(processes.map((places) => places.settle({ idleMs: 0 })));
  t.same((await store.pool.query('select 1 from key_places')).rows, [], 'nothing is held any more');
  t.equal(await processes[0]?.busyEverywhere('k', MOST), 0);
});

t.test('a place that lies idle in one process serves the next request in another', async (t) => {
  const store = await freshDatabase(t);
  const [one, two, three] = await Promise.all([openPlaces(t, store), openPlaces(t, store), openPlaces(t, store)]);
  const order = [one, two, three, three, one, two, one, three];
  for (const places of order) {
    t.ok(await places.take('k', 2), 'one after the other none is refused, in any process');
    places.free('k');
  }
  t.ok(await one.take('k', 2));
  t.ok(await two.take('k', 2));
  await until('the places in use are reported', 3_000, async () => {
    await Promise.all([one.settle(), two.settle()]);
    return (await three.busyEverywhere('k', 2)) === 2 ? true : null;
  });
  t.notOk(await three.take('k', 2), 'both are in use');
  t.ok(three.isFull('k', 2), 'and that is remembered for a moment');
  one.free('k');
  await until('the free one', 2_000, async () => ((await three.take('k', 2)) ? true : null));
  t.pass('comes free');
});

t.test('the places of a dead process are free, those of a forgotten one are reported again', async (t) => {
  const { pool } = await freshDatabase(t);
  const [dead, other] = [new Places(createSharedPlaces(pool, 'dead')), new Places(createSharedPlaces(pool, 'other'))];
  t.ok(await dead.take('k', 1));
  t.notOk(await other.take('k', 1));
  await pool.query("update api_nodes set seen_at = now() - interval '6 seconds' where node = 'dead'");
  await until('free', 1_000, async () => ((await other.take('k', 1)) ? true : null));
  other.free('k');
  await other.settle({ idleMs: 0 });
  await pool.query('truncate api_nodes, key_places');
  // The database has lost its state: the next report of a live process contains everything.
  await until('reported again', 5_000, async () => {
    await dead.settle();
    return (await pool.query("select 1 from key_places where node = 'dead'")).rows.length === 1 ? true : null;
  });
  t.notOk(await other.take('k', 1));
});

t.test('without the database a process counts its own places, and reports them when it is back', async (t) => {
  const { pool } = await freshDatabase(t);
  let isAway = true;
  const query = (...args: Parameters<Pool['query']>) =>
    isAway ? Promise.reject(new Error('connection refused')) : pool.query(...args);
  const places = new Places(createSharedPlaces({ query: query as unknown as Pool['query'] }, 'node'));
  t.ok(await places.take('k', 2));
  t.ok(await places.take('k', 2));
  t.notOk(await places.take('k', 2));
  isAway = false;
  await until('told', 5_000, async () => {
    await places.settle();
    return (await pool.query('select held from key_places')).rows[0]?.held === 2 ? true : null;
  });
  t.pass('the places are reported');
});

t.test(
  'a report of places that is executed after a later one of its process changes nothing (AC-02, D-1175)',
  async (t) => {
    const { pool } = await freshDatabase(t);
    let isCut = false;
    let executeLate = async (): Promise<unknown> => undefined;
    const query = (...args: Parameters<Pool['query']>): unknown => {
      if (!isCut) return pool.query(...args);
      isCut = false;
      executeLate = async () => pool.query(...args);
      return Promise.reject(new Error('connection reset by peer'));
    };
    const places = new Places(createSharedPlaces({ query: query as Pool['query'] }, 'node'));
    const other = new Places(createSharedPlaces(pool, 'other'));
    t.ok(await places.take('k', 3));
    isCut = true;
    t.ok(await places.take('k', 3), 'the statement was sent, and its connection was lost');
    t.ok(await places.take('k', 3));
    const readHeld = async () => (await pool.query('select held from key_places')).rows[0]?.held;
    await until('all places are reported', 10_000, async () => {
      await places.settle();
      return (await readHeld()) === 3 ? true : null;
    });
    await t.rejects(executeLate(), /report 2 of places was overtaken/);
    t.equal(await readHeld(), 3);
    t.notOk(await other.take('k', 3), 'all three are in use');
  },
);

t.test('counts whose acknowledgement was lost are reported again and count once', async (t) => {
  const { pool } = await freshDatabase(t);
  let losses = 0;
  const query = async (...args: Parameters<Pool['query']>): Promise<unknown> => {
    const answer: unknown = await pool.query(...args);
    if (losses >= 3) return answer;
    losses += 1;
    throw new Error('connection reset by peer');
  };
  const lossy = createSharedPermits({ query: query as unknown as Pool['query'] });
  const permits = createSharedPermits(pool);
  const meter = new Meter({ exchange: permits.exchange, report: lossy.report });
  const { limits } = PLANS.pro;
  const spend = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      t.equal(await meter.admit('k', limits, Date.now()), null);
      meter.finish('k', 'snapshots', i % 5 === 4 ? 503 : 200);
    }
  };
  for (let i = 0; i < 3; i++) {
    await spend(5);
    await t.rejects(meter.settle(Date.now(), { idleMs: 0 }), /connection reset/);
    t.match(meter.headers('k', limits, Date.now()).state, `"day";r=${limits.requests_per_day - 4 * (i + 1)};`);
  }
  await meter.settle(Date.now(), { idleMs: 0 });
  t.same((await pool.query('select class, used::int from key_usage')).rows, [{ class: 'snapshots', used: 12 }]);
  t.same((await pool.query('select granted::int from key_meters')).rows, [{ granted: 12 }]);
});

const createAccount = async (pool: Pool): Promise<Account> => {
  const { entry } = await createKey(pool, { plan: 'free', name: 'q', accountId: 'acc', expiresAt: null }, 'test');
  return { keyId: entry.key_id, plan: PLANS.free };
};

t.test('quotas of the day are shared by processes, all or none of a call, and are shown in the account', async (t) => {
  const { pool } = await freshDatabase(t);
  const account = await createAccount(pool);
  const { keyId } = account;
  const meters = [new Meter(createSharedPermits(pool)), new Meter(createSharedPermits(pool))];
  const nowMs = Date.now();
  const day = new Date(nowMs).toISOString().slice(0, 10);
  let [used, refused] = [0, 0];
  for (let i = 0; i < PLANS.free.limits.dql_per_day + 20; i++) {
    const spending = spendQuota(meters[i % 2] ?? new Meter(), account, { quota: 'dql', count: 1, nowMs });
    await spending.then(
      (end) => {
        used += 1;
        end(200);
      },
      (error: unknown) => {
        if (!(error instanceof LimitReached)) throw error;
        t.match(error, { status: 429, refusal: { limit: 'dql_per_day', figure: 500, retryAfterS: Number } });
        refused += 1;
      },
    );
  }
  for (const meter of meters) await meter.settle(nowMs, { idleMs: 0 });
  t.same([used, refused], [500, 20]);
  t.equal((await openAccountStore(pool).read(keyId, day))?.used['dql'], used);

  const meter = meters[0] ?? new Meter();
  const spend = async (count: number, atMs: number, status = 200) =>
    (await spendQuota(meter, account, { quota: 'agent_evaluations', count, nowMs: atMs }))(status);
  await spend(20, nowMs, 503);
  await meter.settle(nowMs, { idleMs: 0 });
  await spend(15, nowMs);
  await t.rejects(spend(6, nowMs), { message: 'The plan Free allows 20 agent evaluations a day.' });
  await meter.settle(nowMs, { idleMs: 0 });
  // An exhausted day is queried again after a second.
  await spend(5, nowMs + 1_001);
  await meter.settle(nowMs, { idleMs: 0 });
  t.equal((await openAccountStore(pool).read(keyId, day))?.used['agent_evaluations'], 20, 'all or none');
});

const stats = (turnover: string) =>
  reading({ layer: 'stats', values: { turnover_24h: turnover }, instants: {}, raw: null });

/** Three listings of two venues; statistics of binance alone. */
const marketWithStats = (): Feed => {
  const feed = market();
  feed.read('binance', 'BTCUSDT', stats('1000'));
  feed.read('binance', 'ETHUSDT', stats('3000'));
  return feed;
};

t.test(
  'the first process with statistics writes the day, every other reads it, and a restart changes nothing',
  async (t) => {
    const { pool } = await freshDatabase(t);
    const keep = (feed: Feed, at = NOW) => {
      const kept = keepTurnover({ pool, live: feed.memory, nowMicros: () => at, log });
      t.teardown(() => kept.stop());
      return kept;
    };
    const early = keep(market());
    await early.refresh();
    t.equal(early.current(), null, 'without statistics nothing is written');
    const first = keep(marketWithStats());
    await first.refresh();
    t.equal(first.current()?.day, '2026-01-15');
    const narrow = { ...PLANS.free, venues: 1, instruments: 1 };
    const choice = { venues: ['binance'], instruments: ['ETH-PERP'] };
    t.same(createScopeChooser(marketWithStats().memory, first.current)(narrow, NOW), choice);
    await early.refresh();
    t.same(
      createScopeChooser(market().memory, early.current)(narrow, NOW),
      choice,
      'a node without statistics chooses alike',
    );

    const changed = marketWithStats();
    changed.read('binance', 'BTCUSDT', stats('9000'));
    changed.list(listing('binance', listingValues({ instrument: 'SOL-PERP', venue_symbol: 'SOLUSDT', base: 'SOL' })));
    const restarted = keep(changed);
    await restarted.refresh();
    t.same(createScopeChooser(changed.memory, restarted.current)(narrow, NOW), choice, 'until the next day is written');

    await pool.query('insert into daily_turnover (day, source, turnover) values ($1, $2, $3)', [
      '2026-01-16',
      'history',
      { binance: { 'BTC-PERP': '5', 'ETH-PERP': '4' }, okx: { 'BTC-PERP': '2' }, elsewhere: { 'BTC-PERP': '1000000' } },
    ]);
    await restarted.refresh();
    t.equal(restarted.current()?.day, '2026-01-15', 'not before its day');
    const tomorrow = keep(changed, NOW + 86_400_000_000);
    await tomorrow.refresh();
    const next = { venues: ['binance'], instruments: ['BTC-PERP'] };
    t.same(createScopeChooser(changed.memory, tomorrow.current)(narrow, NOW), next, 'only served venues can be chosen');
  },
);

t.test(
  'a first day is chosen once every venue has statistics; one that is down is waited for two minutes',
  async (t) => {
    const { pool } = await freshDatabase(t);
    const feed = new Feed(['binance', 'bybit', 'okx']);
    for (const [venue, symbol] of [
      ['binance', 'BTCUSDT'],
      ['bybit', 'ETHUSDT'],
    ] as const) {
      feed.venue(venue);
      const [instrument, base] = [symbol.replace('USDT', '-PERP'), symbol.replace('USDT', '')];
      feed.list(listing(venue, listingValues({ instrument, venue_symbol: symbol, base })));
    }
    let at = NOW;
    const kept = keepTurnover({ pool, live: feed.memory, nowMicros: () => at, log });
    t.teardown(() => kept.stop());
    feed.read('binance', 'BTCUSDT', stats('1000'));
    await kept.refresh();
    feed.read('bybit', 'ETHUSDT', stats('3000'));
    await kept.refresh();
    t.equal(kept.current(), null, 'of okx nothing is known, not even whether it publishes statistics');
    at += 119_000_000;
    await kept.refresh();
    t.equal(kept.current(), null);
    at += 2_000_000;
    await kept.refresh();
    t.same(
      [...(kept.current()?.turnover.keys() ?? [])].sort(),
      ['binance', 'bybit', 'okx'],
      'half of what is expected is enough now',
    );
    const { pool: other } = await freshDatabase(t);
    feed.venue('okx');
    const next = keepTurnover({ pool: other, live: feed.memory, nowMicros: () => NOW, log });
    t.teardown(() => next.stop());
    await next.refresh();
    t.equal(next.current(), null, 'a venue whose listings are not known yet');
    feed.list(listing('okx', listingValues({ venue_symbol: 'SOL-USDT-SWAP', instrument: 'SOL-PERP', base: 'SOL' })));
    feed.read('okx', 'SOL-USDT-SWAP', stats('9000'));
    await next.refresh();
    const choice = createScopeChooser(feed.memory, next.current)({ ...PLANS.free, venues: 2 }, NOW);
    t.same(choice.venues, ['bybit', 'okx'], 'the largest, not the first');
  },
);

t.test(
  'a clock of the database that is set back holds no key and no place up for as long as the step was',
  async (t) => {
    const { pool } = await freshDatabase(t);
    const permits = createSharedPermits(pool);
    const ask = (waiting: number) =>
      permits.exchange(
        [
          {
            ...{ keyId: 'k', day: '2026-01-15', rate: 100, burst: 2, dayLimit: 1_000, waiting, ahead: 0 },
            ...{ returned: 0, dayChange: 0, used: {} },
          },
        ],
        Date.now(),
      );
    t.match(await ask(2), [{ permits: 2 }]);
    await pool.query("update key_meters set refilled_at = refilled_at + interval '1 hour'");
    await ask(0);
    await until('filled again', 10_000, async () => ((await ask(1))[0]?.permits === 1 ? true : null));

    const [dead, other] = [new Places(createSharedPlaces(pool, 'dead')), new Places(createSharedPlaces(pool, 'other'))];
    t.ok(await dead.take('k', 1));
    await pool.query("update api_nodes set seen_at = seen_at + interval '1 hour'");
    t.notOk(await other.take('k', 1), 'it may be alive');
    await until('forgotten', 30_000, async () => ((await other.take('k', 1)) ? true : null));
  },
);

t.test(
  'a process whose clock is days ahead begins no day of a key, and none is refused for those days (AC-03)',
  async (t) => {
    const { pool } = await freshDatabase(t);
    const { keyId } = await createAccount(pool);
    const limits = { ...PLANS.free.limits, requests_per_day: 4 };
    // So far ahead a process may be: its day is the latest at any time of the day.
    const nowMs = Date.now() + 3_600_000;
    const day = new Date(nowMs).toISOString().slice(0, 10);
    const AHEAD_MS = 40 * 86_400_000;
    const right = new Meter(createSharedPermits(pool));
    const ahead = new Meter(createSharedPermits(pool));
    const ask = async (meter: Meter, atMs: number): Promise<string> => {
      const refusal = await meter.admit(keyId, limits, atMs);
      if (refusal === null) meter.finish(keyId, 'snapshots', 200);
      await meter.settle(atMs, { idleMs: 0 });
      return refusal?.limit ?? 'taken';
    };
    t.equal(await ask(right, nowMs), 'taken');
    t.equal(await ask(ahead, nowMs + AHEAD_MS), 'taken');
    t.equal(await ask(right, nowMs), 'taken');
    t.equal(await ask(ahead, nowMs + AHEAD_MS), 'taken');
    t.equal(await ask(ahead, nowMs + AHEAD_MS + 2_000), 'requests_per_day', 'the four of today');
    t.equal((await openAccountStore(pool).read(keyId, day))?.used['snapshots'], 4);
    // Of before the clock of the database was set back by 40 days: it counts for today, and no longer.
    await pool.query('update key_meters set tokens = 2, day = day + 40 where key_id = $1', [keyId]);
    t.equal(await ask(new Meter(createSharedPermits(pool)), nowMs), 'requests_per_day');
    await pool.query('update key_meters set tokens = 2, day = day - 1 where key_id = $1', [keyId]);
    t.equal(await ask(new Meter(createSharedPermits(pool)), nowMs), 'taken', 'the day after');
  },
);
