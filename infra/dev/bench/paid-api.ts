// The API over an empty market as a separate process, for the bench of payments: two calls differ only in how they are admitted.
import { openAccountStore } from '../../../api/access/account-store.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { keepSettled, Meter } from '../../../api/access/meter.ts';
import { createSharedPermits } from '../../../api/access/permits.ts';
import { createSharedPlaces } from '../../../api/access/place-store.ts';
import { Places } from '../../../api/access/places.ts';
import { createApiMetrics } from '../../../api/data-app/api-metrics.ts';
import { buildApp } from '../../../api/data-app/build-app.ts';
import { startPayments } from '../../../api/payments/payments.ts';
import { openReceipts } from '../../../api/payments/receipts.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { createClock } from '../../runtime/time/clock.ts';
import { USDC } from '../facilitator/local-usdc.ts';
import { makeMarket } from './screen-market.ts';

const { DATABASE_URL = '', FACILITATOR_URL: url = '', PAYMENT_RPC_URL: rpcUrl = '' } = process.env;
const { PAYMENT_PAY_TO: payTo = '', PORT: port = '' } = process.env;

const log = createLog('bench', 'warn');
const { nowMicros } = createClock();
const pool = openPostgres(DATABASE_URL);
const registry = createMetrics();
const live = makeMarket([]);
const meter = new Meter(createSharedPermits(pool), new Places(createSharedPlaces(pool)));
keepSettled(meter, log);
const baseUrl = `http://127.0.0.1:${port}`;
const terms = { network: 'eip155:8453', asset: USDC, payTo, token: { name: 'USD Coin', version: '2' } };
const payments = await startPayments(
  { terms, baseUrl, facilitator: { url, headers: {} }, rpcUrl },
  { pool, registry, log },
);
const app = await buildApp({
  ...{ live, hub: new StreamHub({ live, nowMicros }), nowMicros, meter, baseUrl, log },
  keys: openKeyStore(pool),
  accounts: openAccountStore(pool),
  payments: payments.checks,
  receipts: openReceipts(pool),
  areKeysReachable: async () => true,
  metrics: createApiMetrics(registry, live, nowMicros),
  simulated: true,
});
await app.listen({ host: '127.0.0.1', port: Number(port) });
