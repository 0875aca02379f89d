// The whole service of simulated venues, selling its answers on a chain and through a facilitator of the test's own; one closed day of two listings, one shared rule.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { TIER_PRICES } from '../../../api/contract/archive.ts';
import type { Endpoint } from '../../../api/contract/endpoint.ts';
import { agentState } from '../../../api/operations/agent-state.ts';
import { anchorDay } from '../../../api/operations/anchor-day.ts';
import { archiveFile } from '../../../api/operations/archive-file.ts';
import { derivePhase } from '../../../api/rules/rule-id.ts';
import { simulatedVenues } from '../../../infra/dev/simulator/venues/index.ts';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { type DayStore, openDayStore, rowsOfDay } from '../days/closed-day.ts';
import { type PostedFacts, recordPosted } from '../days/posted-roots.ts';
import { fillPath } from '../documents/example-path.ts';
import { type Teardown, type TestEndpoints, useEngines } from '../engines/engines.ts';
import { waitFor } from '../wait.ts';
import { type PaymentWorld, startPaymentWorld } from './payment-world.ts';
import { type Api, apiReady, startApi, startIngest, startProcessors, startSimulator } from './pipeline.ts';

const VENUES = simulatedVenues.map(({ id }) => id);
const LISTINGS = 2;
/** Enough for a liquidation in a minute, little enough to share two cores. */
const RATE = 120;

type PaidService = {
  readonly api: Api;
  readonly pool: Pool;
  readonly world: PaymentWorld;
  readonly endpoints: TestEndpoints;
  readonly namespace: string;
};

/** All of it ends with the test. `settings` are those of the API besides. */
export const startPaidService = async (
  t: Teardown,
  settings: Readonly<Record<string, string>> = {},
): Promise<PaidService> => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const world = await startPaymentWorld(t);
  const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1, venues: VENUES };
  const market = { SIM_VENUES: VENUES.join(), SIM_LISTINGS: String(LISTINGS), SIM_RATE: String(RATE) };
  const simulator = await startSimulator(market);
  const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
  t.teardown(() => Promise.all(children.map((child) => child.kill())));
  const [databaseUrl, folder] = [await engines.database(), mkdtempSync(join(tmpdir(), 'paid-service-'))];
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const api = await startApi(spec, databaseUrl, {
    ARCHIVE_DIR: folder,
    FACILITATOR_URL: world.facilitatorUrl,
    PAYMENT_RPC_URL: world.rpcUrl,
    PAYMENT_PAY_TO: world.payTo,
    ...settings,
  });
  t.teardown(() => api.child.kill());
  await apiReady(api);
  const pool = openPostgres(databaseUrl, { max: 2 });
  t.teardown(() => pool.end());
  const places = { pool, store: openFolderStore(folder), namespace: spec.namespace };
  await closeExampleDay(await openDayStore(t, engines.endpoints, places), pool);
  await addRule(pool);
  return { api, pool, world, endpoints: engines.endpoints, namespace: spec.namespace };
};

/** The shared rule that the example of states reads; it holds whenever the venues publish. */
const addRule = async (pool: Pool): Promise<void> => {
  const [ruleId = ''] = agentState.example.input['rule_id'] as readonly string[];
  const owner = 'acc_of_rules';
  await pool.query('insert into accounts (account_id, plan) values ($1, $2)', [owner, 'pro']);
  await pool.query(
    `insert into rules (rule_id, account_id, name, query, interval_s, units, enabled, shared, phase)
     values ($1, $2, 'funding spike', 'any(venues where mark > 0)', 10, 'published', true, true, $3)`,
    [ruleId, owner, derivePhase(ruleId)],
  );
  const now = Date.now() * 1_000;
  await pool.query('insert into rule_states (rule_id, version, since, after) values ($1, 1, $2, $2)', [ruleId, now]);
};

const SOLD = [
  ['BTCUSDT', 'BTC-PERP', 'core'],
  ['ETHUSDT', 'ETH-PERP', 'top100'],
] as const;

/** The day that examples about the archive and anchors name, of a listing of each tier: archived, closed and, by its row, posted. */
const closeExampleDay = async ({ write, close }: DayStore, pool: Pool): Promise<void> => {
  const day = String(anchorDay.example.input['day']);
  const rows = SOLD.flatMap(([symbol]) => rowsOfDay(day, { venue: 'binance', symbol }, 4));
  await write(rows.filter(({ table }) => table === 'funding' || table === 'mark'));
  await close(day);
  // Listings that were first seen after the day have no instrument on it, and no price.
  for (const [symbol, instrument, tier] of SOLD) {
    const set = 'update archive_sets set instrument = $3, tier = $4 where day = $1 and venue_symbol = $2';
    await pool.query(set, [day, symbol, instrument, tier]);
  }
  const { contract, tx_hash, block, anchored_at } = anchorDay.example.output.anchor as PostedFacts;
  await recordPosted(pool, day, { network: 'eip155:8453', contract, tx_hash, block, anchored_at }, { binding: true });
};

/** Members of the file of the cheaper tier that differ. */
export const TOP100_FILE = {
  path: fillPath(archiveFile.path, { ...archiveFile.example.input, listing: 'binance:ETHUSDT' }),
  price: TIER_PRICES.top100,
};

export type PaidCall = { readonly method: string; readonly path: string; readonly body: string | null };

/** The example of an endpoint as a call; its period is the hour up to now. */
export const exampleCall = ({ method, path, example }: Endpoint, nowMs = Date.now()): PaidCall => {
  const hour = { from: new Date(nowMs - 3_600_000).toISOString(), to: new Date(nowMs).toISOString() };
  const changed = Object.entries(hour).filter(([name]) => name in example.input);
  const input = { ...example.input, ...Object.fromEntries(changed) };
  if (method === 'POST') return { method, path: fillPath(path, input), body: JSON.stringify(input) };
  const asked = Object.entries(input).filter(([name]) => !path.includes(`{${name}}`));
  const query = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return { method, path: `${fillPath(path, input)}${query === '' ? '' : `?${query}`}`, body: null };
};

type Entry = { readonly receipt_id: string; readonly state: string; readonly amount: string; readonly bought: string };

/** Purchases of one account, in order, once all are settled or failed. */
export const awaitSettled = (pool: Pool, payer: string): Promise<readonly Entry[]> =>
  waitFor('every payment is settled or failed', async () => {
    const { rows } = await pool.query<Entry>(
      `select receipt_id, state, amount, coalesce(class, plan) as bought from v_payments where payer = $1
      order by presented_at, receipt_id`,
      [payer.toLowerCase()],
    );
    return rows.every(({ state }) => state === 'settled' || state === 'failed') ? rows : null;
  });
