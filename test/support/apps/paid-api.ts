// An API that takes payments: the data app over a small market, its payments in a real PostgreSQL, on a chain and facilitator of their own.
import type { PaymentPayload } from '@x402/core/types';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import type { PrivateKeyAccount } from 'viem/accounts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import type { ArchiveManifest } from '../../../api/contract/archive.ts';
import type { FileLinks } from '../../../api/files/links.ts';
import type { HistoryStore } from '../../../api/history/store.ts';
import type { Offer } from '../../../api/payments/offers.ts';
import { startPayments } from '../../../api/payments/payments.ts';
import type { AgentRules } from '../../../api/rules/desk.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import type { Teardown } from '../engines/engines.ts';
import { freshPool } from '../engines/fresh-database.ts';
import { type Authorization, NETWORK, type PaymentWorld, signPayment } from '../services/payment-world.ts';
import { waitFor } from '../wait.ts';
import { market, testApp } from './live-fixture.ts';

type PaidApi = {
  readonly url: string;
  readonly pool: Pool;
  readonly registry: Registry;
  readonly keys: Readonly<Record<string, string>>;
};

export const startPaidApi = async (
  t: Teardown,
  world: Pick<PaymentWorld, 'facilitatorUrl' | 'rpcUrl' | 'payTo' | 'usdc'>,
  over: {
    pool?: Pool;
    history?: HistoryStore;
    manifest?: ArchiveManifest;
    files?: FileLinks;
    rules?: AgentRules;
    token?: { name: string; version: string };
  } = {},
): Promise<PaidApi> => {
  const pool = over.pool ?? (await freshPool(t));
  const registry = new Registry();
  const token = over.token ?? { name: 'USD Coin', version: '2' };
  const payments = await startPayments(
    {
      terms: { network: NETWORK, asset: world.usdc, payTo: world.payTo, token },
      baseUrl: 'http://api.test',
      facilitator: { url: world.facilitatorUrl, headers: {} },
      rpcUrl: world.rpcUrl,
    },
    { pool, registry, log: createLog('test', 'silent') },
  );
  const { app } = await testApp(market(), { ...over, payments: payments.checks, keys: openKeyStore(pool) });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await payments.stop();
  });
  return { url, pool, registry, keys: {} };
};

export type Sent = {
  readonly path?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
};

export const send = async (url: string, sent: Sent = {}): Promise<Answer> => {
  const { path = '/v2/snapshots', method = 'POST', body = {}, headers = {} } = sent;
  const isJson = method === 'POST';
  const answer = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(isJson ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: answer.status, headers: answer.headers, body: parsed };
};

/** The offers for a call; the first is its price. */
export const offersFor = async (url: string, sent: Sent = {}): Promise<readonly Offer[]> =>
  (await send(url, sent)).body.accepts as readonly Offer[];

export const toHeader = (payment: unknown): string => Buffer.from(JSON.stringify(payment)).toString('base64');

export const withPayment = (payment: unknown, sent: Sent = {}): Sent => ({
  ...sent,
  headers: { ...sent.headers, 'payment-signature': toHeader(payment) },
});

/** Seconds since 1970, as an authorisation has them. */
export const inSeconds = (ahead: number): string => String(Math.floor(Date.now() / 1_000) + ahead);

/** Nearly the longest that is taken: a busy machine is no reason for a payment to expire. */
const VALID_S = 300;

/** A good payment of an offer. */
export const sign = (
  account: PrivateKeyAccount,
  offer: Offer,
  changed: Partial<Authorization> = {},
): Promise<PaymentPayload> => signPayment(account, offer as never, { validBefore: inSeconds(VALID_S), ...changed });

export const readErrorCode = ({ body }: Answer): string | undefined =>
  (body.errors as readonly { readonly code: string }[] | undefined)?.[0]?.code;

type Ledger = {
  readonly transaction: string | null;
  readonly amount: string;
  readonly class: string | null;
  readonly plan: string | null;
  readonly receipt_id: string;
  readonly state: string;
};

export const readLedger = async (pool: Pool, payer?: string): Promise<readonly Ledger[]> =>
  (
    await pool.query<Ledger>(
      'select * from v_payments where $1::text is null or payer = $1 order by presented_at, receipt_id',
      [payer?.toLowerCase() ?? null],
    )
  ).rows;

/** The payments of a payer once nothing of them is under way. */
export const settledLedger = (pool: Pool, payer?: string): Promise<readonly Ledger[]> =>
  waitFor('every payment is settled or failed', async () => {
    const rows = await readLedger(pool, payer);
    return rows.every(({ state }) => state === 'settled' || state === 'failed') ? rows : null;
  });

/** Settings of an API process that takes payments. */
export const paymentSettings = ({ payTo, facilitatorUrl, rpcUrl }: PaymentWorld): Readonly<Record<string, string>> => ({
  PAYMENT_PAY_TO: payTo,
  FACILITATOR_URL: facilitatorUrl,
  PAYMENT_RPC_URL: rpcUrl,
});
