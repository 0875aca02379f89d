// What is kept for a while by the wall clock, when that clock is set back: it is read again, not kept for as long as the step was.
import t from 'tap';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { hashKey, makeKey } from '../../../api/access/keys.ts';
import { createLocalPermits } from '../../../api/access/permits.ts';
import { readWords } from '../../../api/account-app/rule-check.ts';
import type { Site } from '../../../api/account-app/site.ts';
import { createStatusReader } from '../../../api/open-pages/read-status.ts';
import { SlidingQuantiles } from '../../../api/status/sliding-quantiles.ts';
import { openStatusStore } from '../../../api/status/status-store.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { answerJson, openEdgeServer } from '../../support/services/edge-server.ts';

const HOUR_MS = 3_600_000;
/** The last second of a year. */
const NOW_MS = Date.UTC(2026, 11, 31, 23, 59, 59);

/** A database of one row that counts its statements, and answers none while it is away. */
const fakePool = (row: Readonly<Record<string, unknown>> | null) => {
  const told = { row, isAway: false, asked: 0 };
  const query = async (): Promise<unknown> => {
    told.asked += 1;
    if (told.isAway) throw new Error('the database is away');
    return { rows: told.row === null ? [] : [told.row] };
  };
  return { told, pool: { query } as never };
};

t.test('a key that was revoked is refused within a minute, also without a notice (E-03)', async (t) => {
  const key = makeKey();
  const { told, pool } = fakePool({ key_id: 'key_1', hash: hashKey(key), plan: 'pro', expires_at: null });
  const keys = openKeyStore(pool);
  t.match(await keys.find(key, NOW_MS), { keyId: 'key_1' });
  told.row = null;
  t.match(await keys.find(key, NOW_MS + 29_999), { keyId: 'key_1' }, 'no query for half a minute');
  t.equal(told.asked, 1);
  t.equal(await keys.find(key, NOW_MS - HOUR_MS), 'unknown', 'the clock was set back by an hour');
});

t.test('a key is not taken for good through an outage of an hour', async (t) => {
  const key = makeKey();
  const { told, pool } = fakePool({ key_id: 'key_1', hash: hashKey(key), plan: 'pro', expires_at: null });
  const keys = openKeyStore(pool);
  await keys.find(key, NOW_MS);
  told.isAway = true;
  t.match(await keys.find(key, NOW_MS + 54_999), { keyId: 'key_1' });
  t.equal(await keys.find(key, NOW_MS + 55_000), 'unreachable');
  t.equal(await keys.find(key, NOW_MS - HOUR_MS), 'unreachable', 'how long ago it was read is not known');
});

t.test('the status is read again', async (t) => {
  let nowMs = NOW_MS;
  const { told, pool } = fakePool(null);
  const store = openStatusStore(pool, createLog('test', 'silent'), () => nowMs);
  const first = await store.read();
  const statements = told.asked;
  nowMs += 9_999;
  t.equal(await store.read(), first);
  nowMs -= HOUR_MS;
  t.not(await store.read(), first);
  t.equal(told.asked, 2 * statements);

  const edge = await openEdgeServer(t, [answerJson(200, { items: [] })]);
  const read = createStatusReader({ urls: { api: edge.url } as never, nowMs: () => nowMs });
  await read();
  nowMs -= HOUR_MS;
  await read();
  t.equal(edge.requests.length, 4);
});

t.test('the names that rules are checked with are read again', async (t) => {
  let nowMs = NOW_MS;
  const names = { fields: [], sources: [], functions: [], instruments_delisted: [] };
  const edge = await openEdgeServer(t, [
    answerJson(200, { ...names, venues: [], currencies: [], assets: [], instruments: [] }),
  ]);
  const site = { urls: { api: edge.url }, nowMs: () => nowMs } as unknown as Site;
  await readWords(site);
  nowMs += 9_999;
  await readWords(site);
  t.equal(edge.requests.length, 1);
  nowMs -= HOUR_MS;
  await readWords(site);
  t.equal(edge.requests.length, 2);
});

t.test('quantiles of the last hour have nothing of before the step', (t) => {
  const held = new SlidingQuantiles();
  held.add(5_000, NOW_MS);
  held.add(5_000, NOW_MS - 1_000);
  t.match(held.read(NOW_MS), { count: 2 }, 'two clocks may differ by seconds, also at the turn of a minute');
  held.add(1, NOW_MS - HOUR_MS);
  t.match(held.read(NOW_MS - HOUR_MS), { count: 1, p50: 1 });
  t.equal(held.read(NOW_MS - 3 * HOUR_MS), null);
  t.end();
});

t.test('permits of a process without its store go on', async (t) => {
  const permits = createLocalPermits();
  const rate = { rate: 2, burst: 4, dayLimit: 1_000, ahead: 0, returned: 0, dayChange: 0, used: {} };
  const take = async (nowMs: number): Promise<number | undefined> =>
    (await permits.exchange([{ keyId: 'key_1', day: '2026-12-31', waiting: 4, ...rate }], nowMs))[0]?.permits;
  t.equal(await take(NOW_MS), 4);
  t.equal(await take(NOW_MS - 4_999), 0, 'a request that began before another, and comes after it, fills nothing');
  t.equal(await take(NOW_MS + 500), 1);
  t.equal(await take(NOW_MS - HOUR_MS), 0);
  t.equal(await take(NOW_MS - HOUR_MS + 1_000), 2, 'filled from the step on');
});
