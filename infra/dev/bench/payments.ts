// `node infra/dev/bench/payments.ts [--calls N]`: the cost of a paid call compared with the same call with a key. A measurement, never a test.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm';
import { x402Client } from '@x402/fetch';
import type { Pool } from 'pg';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { SignedPayment } from '../../../api/payments/header.ts';
import type { Offer } from '../../../api/payments/offers.ts';
import { checkSigner } from '../../../api/payments/signature.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createKey } from '../../tools/key-admin.ts';
import { type Engines, startEngines } from '../engines/engines.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';
import { placeUsdc } from '../facilitator/local-usdc.ts';
import { startLocalPayments, toPaymentEnv } from '../local/payments.ts';
import { findQuantile } from './instruments/figures.ts';
import { readProcessUsage } from './instruments/machine.ts';
import { waitUntil } from './instruments/until.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-payments');
/** Enough payers and keys in turn that no limit is reached. */
const PAYERS = 50;
const WARM_UPS = 30;
const BODY = '{"layers": ["mark"]}';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const formatMs = (value: number | null): string => (value === null ? '-' : `${value.toFixed(2)} ms`);

type Asking = { readonly baseUrl: string; readonly pid: number };
type Way = (at: number) => Promise<Readonly<Record<string, string>>>;

const post = (baseUrl: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(`${baseUrl}/v2/snapshots`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: BODY,
  });

/** Signed before the clock starts: signing is the caller's work. */
const openPaying = async (baseUrl: string, pool: Pool, rpcUrl: string): Promise<Way> => {
  const { mint } = await placeUsdc(rpcUrl);
  const payers: PrivateKeyAccount[] = [];
  for (let i = 0; i < PAYERS; i++) {
    const payer = privateKeyToAccount(generatePrivateKey());
    await mint(payer.address, 1_000_000_000n);
    payers.push(payer);
  }
  const required = (await (await post(baseUrl, {})).json()) as PaymentRequired;
  return async (at) => {
    const payer = payers[at % PAYERS] as PrivateKeyAccount;
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer));
    const payment = await client.createPaymentPayload(structuredClone(required));
    await waitUntil(() => isSettledBy(pool, payer), { everyMs: 5, forMs: 60_000 });
    return { 'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64') };
  };
};

const OPEN =
  "select count(*)::integer as open from payments where state not in ('settled', 'failed') and ($1::text is null or payer = $1)";
const isSettledBy = async (pool: Pool, payer: PrivateKeyAccount | null): Promise<boolean> =>
  (await pool.query<{ open: number }>(OPEN, [payer?.address.toLowerCase() ?? null])).rows[0]?.open === 0;

const openKeys = async (pool: Pool): Promise<Way> => {
  const made = { plan: 'pro_plus', name: 'bench', accountId: 'acc_bench', expiresAt: null } as const;
  const keys = await Promise.all(Array.from({ length: PAYERS }, () => createKey(pool, made, 'bench')));
  return async (at) => ({ authorization: `Bearer ${keys[at % PAYERS]?.key}` });
};

/** Resolves once no work of the calls is in progress. */
type Ending = { readonly ended: () => Promise<unknown> };

/** Milliseconds of each call, one after the other, and CPU time of the API per call with all its follow-up work. */
const measure = async (way: Way, calls: number, { baseUrl, pid, ended }: Asking & Ending) => {
  const times: number[] = [];
  const began = readProcessUsage(pid)?.cpuSeconds ?? 0;
  for (let at = 0; at < calls; at++) {
    const headers = await way(at);
    const start = performance.now();
    const answer = await post(baseUrl, headers);
    const body = await answer.text();
    times.push(performance.now() - start);
    if (answer.status !== 200) throw new Error(`the call was answered ${answer.status} ${body}`);
  }
  await ended();
  return { times, cpuMs: (((readProcessUsage(pid)?.cpuSeconds ?? 0) - began) * 1_000) / calls };
};

/** The cost of the signature alone, which limits paid calls on one core. */
const measureRecovery = async (headers: Readonly<Record<string, string>>, calls: number): Promise<number> => {
  const payment = JSON.parse(Buffer.from(headers['payment-signature'] ?? '', 'base64').toString()) as SignedPayment & {
    readonly accepted: Offer;
  };
  const { authorization } = payment.payload;
  const lower = { ...authorization, from: authorization.from.toLowerCase() };
  const began = process.cpuUsage();
  for (let at = 0; at < calls; at++) {
    const nonce = `0x${randomBytes(32).toString('hex')}`;
    const other = { ...payment, payload: { ...payment.payload, authorization: { ...lower, nonce } } } as SignedPayment;
    await checkSigner(other, payment.accepted);
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000 / calls;
};

const startApi = async (engines: Engines): Promise<Asking> => {
  const { endpoints, ports, supervisor } = engines;
  const begin = (spec: ProcessSpec): Promise<void> => supervisor.start(spec).then(() => undefined);
  const payments = await startLocalPayments(engines, { options: { source: 'simulated', env: {} }, begin });
  const baseUrl = `http://127.0.0.1:${ports.PORT}`;
  const api = await supervisor.start({
    name: 'api',
    command: process.execPath,
    args: [join(PROJECT_ROOT, 'infra', 'dev', 'bench', 'paid-api.ts')],
    env: {
      ...toPaymentEnv(payments, endpoints.rpc_url),
      DATABASE_URL: endpoints.database_url ?? '',
      PORT: String(ports.PORT),
    },
    readyTimeoutMs: 60_000,
    // /readyz reports the market as behind, because it does not move.
    isReady: async () => (await fetch(`${baseUrl}/v2/venues`)).ok,
  });
  return { baseUrl, pid: api.pid() ?? 0 };
};

const measurePayments = async (engines: Engines, calls: number): Promise<void> => {
  const pool = openPostgres(engines.endpoints.database_url ?? '');
  await migrate(pool);
  const asking = await startApi(engines);
  const asked = { ...asking, ended: () => waitUntil(() => isSettledBy(pool, null), { everyMs: 20, forMs: 60_000 }) };
  const ways = {
    key: await openKeys(pool),
    payment: await openPaying(asking.baseUrl, pool, engines.endpoints.rpc_url ?? ''),
  };
  for (const way of Object.values(ways)) await measure(way, WARM_UPS, asked);
  const [load] = loadavg();
  const key = await measure(ways.key, calls, asked);
  const payment = await measure(ways.payment, calls, asked);
  const recoveryMs = await measureRecovery(await ways.payment(0), calls);
  await pool.end();

  const added = (q: number): number => (findQuantile(payment.times, q) ?? 0) - (findQuantile(key.times, q) ?? 0);
  print(
    `POST /v2/snapshots over an empty market, ${calls} calls one after the other, facilitator and chain on this machine, its load ${load?.toFixed(0)}`,
  );
  print(
    `  with a key        p50 ${formatMs(findQuantile(key.times, 0.5))}   p99 ${formatMs(findQuantile(key.times, 0.99))}   ${formatMs(key.cpuMs)} of a core`,
  );
  print(
    `  with a payment    p50 ${formatMs(findQuantile(payment.times, 0.5))}   p99 ${formatMs(findQuantile(payment.times, 0.99))}   ${formatMs(payment.cpuMs)} of a core, its settlement too`,
  );
  print(`  added             p50 ${formatMs(added(0.5))}   p99 ${formatMs(added(0.99))}`);
  print(
    `  paid calls/s a core ${(1_000 / payment.cpuMs).toFixed(0)}; limit by the recovery of the signature, ${formatMs(recoveryMs)}: ${(1_000 / recoveryMs).toFixed(0)}`,
  );
};

const { values } = parseArgs({ options: { calls: { type: 'string', default: '500' } } });
const engines = await startEngines({
  dir: DIR,
  kafka: false,
  questdb: false,
  ports: 'free',
  data: 'wipe',
  env: {},
  alsoPorts: ['PORT', 'FACILITATOR_PORT'],
});
try {
  await measurePayments(engines, Number(values.calls));
} finally {
  await engines.stop();
  rmSync(DIR, { recursive: true, force: true });
}
