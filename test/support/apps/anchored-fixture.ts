// An API over a closed day: rows of every table in real engines, closed by the product's own steps, and served by an app of eight days later.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { type Anchors, openAnchors } from '../../../api/anchors/anchors.ts';
import { openClosedDays } from '../../../api/anchors/closed-days.ts';
import type { ProofDeps } from '../../../api/anchors/proof.ts';
import type { PlanCode } from '../../../api/contract/plans.ts';
import { createHistoryStore } from '../../../api/history/store.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { type ObjectStore, openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { addDays } from '../../../processors/nightly/day.ts';
import type { Micros } from '../../../schemas/records.ts';
import { type DayStore, openDayStore, rowsOfDay } from '../days/closed-day.ts';
import type { Teardown, TestEngines } from '../engines/engines.ts';
import { capability, Feed, listing, listingValues, micros, testApp } from './live-fixture.ts';
import { collecting } from './past-fixture.ts';

export const DAY = '2026-01-10';
export const LATER: Micros = micros('2026-01-18T12:00:00.000Z');
/** The order of the last two differs in UTF-8 and UTF-16. */
export const LISTINGS = [
  { venue: 'binance', symbol: 'BTCUSDT' },
  { venue: 'okx', symbol: 'BTC-USDT-SWAP' },
  { venue: 'binance', symbol: '\uFB33USDT' },
  { venue: 'binance', symbol: '😂USDT' },
] as const;

type Answer = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Record<string, unknown>;
};
export type Asked = Readonly<Record<string, string | number>>;
type AnchoredApp = {
  readonly get: (path: string, asked?: Asked, plan?: PlanCode | null) => Promise<Answer>;
  readonly proof: (asked: Asked, plan?: PlanCode | null) => Promise<Answer>;
  readonly post: (path: string, body: unknown) => Promise<Answer>;
};
type AnchoredService = DayStore & {
  readonly pool: Pool;
  readonly folder: string;
  readonly store: ObjectStore;
  readonly makeDeps: (over?: Partial<ProofDeps>) => ProofDeps;
  /** An app of its own; `nowMicros` is its clock. */
  readonly serve: (over?: { readonly deps?: ProofDeps; readonly nowMicros?: Micros }) => Promise<AnchoredApp>;
};

/** More instruments than the plan Free has, and a venue that it has not: both come last by code. */
const CROWD = Array.from({ length: 9 }, (_, n) => `A${n}`);
const OUTSIDE = 'zeta';

/** Collects everything that is anchored. */
const makeCapability = (venue: string) => ({
  ...capability(venue),
  layers: { ...collecting(venue, 'candles').layers, ...collecting(venue, 'liquidation').layers },
});

const makeFeed = (now: Micros): Feed => {
  const venues = ['binance', 'okx', OUTSIDE];
  const feed = new Feed(venues);
  const list = (venue: string, venue_symbol: string, base: string): void =>
    feed.list(listing(venue, listingValues({ venue_symbol, base, instrument: `${base}-PERP` })));
  for (const venue of venues) feed.venue(venue, makeCapability(venue));
  for (const { venue, symbol } of LISTINGS) list(venue, symbol, symbol.startsWith('BTC') ? 'BTC' : 'XYZ');
  for (const base of CROWD) list('binance', `${base}USDT`, base);
  list(OUTSIDE, 'BTCUSDT', 'BTC');
  for (const venue of venues) feed.memory.applyHistoryWatermark(venue, 0, now);
  return feed;
};

const makeUrl = (path: string, asked: Asked): string => {
  const query = new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return query.size === 0 ? path : `${path}?${query}`;
};

/** `count` windows, minutes and events of each listing and table. */
export const startAnchored = async (t: Teardown, engines: TestEngines, count: number): Promise<AnchoredService> => {
  const pool = openPostgres(await engines.database(), { max: 4 });
  await migrate(pool);
  const folder = mkdtempSync(join(tmpdir(), 'anchored-'));
  const store = openFolderStore(join(folder, 'store'));
  const day = await openDayStore(t, engines.endpoints, { pool, store, namespace: `${engines.namespace()}.` });
  t.teardown(async () => {
    await pool.end();
    rmSync(folder, { recursive: true, force: true });
  });
  await day.write(LISTINGS.flatMap((one) => rowsOfDay(DAY, one, count)));
  await pool.query("insert into daily_turnover (day, source, turnover) values ($1, 'history', '{}')", [addDays(DAY)]);
  await day.close(DAY);
  const makeDeps = (over: Partial<ProofDeps> = {}): ProofDeps => ({
    ...{ days: openClosedDays(pool), store, stored: { questdb: day.questdb, namespace: day.namespace } },
    ...over,
  });
  return {
    ...{ ...day, pool, folder, store, makeDeps },
    serve: async ({ deps = makeDeps(), nowMicros = LATER } = {}) => {
      const anchors: Anchors = openAnchors(deps, { verifyUrl: 'http://api.test/docs/verify' });
      const history = createHistoryStore(day.questdb, day.namespace);
      const { app, table } = await testApp(makeFeed(nowMicros), { anchors, history, nowMicros: () => nowMicros });
      t.teardown(() => app.close());
      // A key for each question: no limit of a plan is met.
      const makeHeaders = (plan: PlanCode | null) =>
        plan === null ? {} : { authorization: `Bearer ${table.add(plan)}` };
      const get: AnchoredApp['get'] = async (path, asked = {}, plan = null) => {
        const answer = await app.inject({ method: 'GET', url: makeUrl(path, asked), headers: makeHeaders(plan) });
        return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
      };
      return {
        get,
        proof: (asked, plan = 'pro_plus') => get('/v2/anchors/proof', asked, plan),
        post: async (url, body) => {
          const answer = await app.inject({
            method: 'POST',
            url,
            headers: makeHeaders('pro_plus'),
            payload: body as object,
          });
          return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
        },
      };
    },
  };
};
