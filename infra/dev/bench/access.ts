// `node infra/dev/bench/access.ts [--requests N] [--tries N]`: the cost of the access checks of a request, compared with a route without any,
// and whether the time of a refusal reveals how much of a wrong key was correct. A measurement, never a test.
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import fastify, { type FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { Call } from '../../../api/access/call.ts';
import { openKeyStore } from '../../../api/access/key-store.ts';
import { composeKey, makeRandomCharacters } from '../../../api/access/keys.ts';
import { keepSettled, Meter } from '../../../api/access/meter.ts';
import { createSharedPermits } from '../../../api/access/permits.ts';
import { createSharedPlaces } from '../../../api/access/place-store.ts';
import { Places } from '../../../api/access/places.ts';
import { type AccessDeps, checkAccess } from '../../../api/access/steps.ts';
import { addAccess } from '../../../api/data-app/access-hook.ts';
import { snapshots } from '../../../api/operations/snapshots.ts';
import { ChallengeMeter } from '../../../api/payments/challenge-meter.ts';
import { openPaymentChecks } from '../../../api/payments/checks.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';
import { createKey } from '../../tools/key-admin.ts';
import { startEngines } from '../engines/engines.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { computeMean, findQuantile } from './instruments/figures.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-access');
/** Enough keys in turn that no limit of a plan is reached. */
const KEYS = 200;
const RANDOM_LENGTH = 32;
/** So many random characters that nobody hits the real key by chance. */
const WRONG = 8;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const formatMicros = (ms: number | null): string => (ms === null ? '-' : `${(ms * 1_000).toFixed(1)} µs`);

const makeDeps = (pool: Pool): AccessDeps => ({
  keys: openKeyStore(pool),
  meter: new Meter(createSharedPermits(pool), new Places(createSharedPlaces(pool))),
  payments: openPaymentChecks({
    challenges: new ChallengeMeter(),
    terms: { network: 'eip155:8453', asset: '0x', payTo: null, token: { name: 'USD Coin', version: '2' } },
    baseUrl: 'http://bench',
    desk: null,
  }),
  onFault: (error) => print(String(error)),
});

const makeKeys = async (pool: Pool): Promise<readonly string[]> => {
  const made = { plan: 'pro_plus', name: 'bench', accountId: 'acc_bench', expiresAt: null } as const;
  const keys: string[] = [];
  for (let i = 0; i < KEYS; i++) keys.push((await createKey(pool, made, 'bench')).key);
  return keys;
};

const callWith = (key: string): Call => ({
  operation: snapshots,
  method: 'POST',
  headers: { authorization: `Bearer ${key}` },
  query: new URLSearchParams(),
  params: {},
  path: '/',
  address: '127.0.0.1',
  receiptId: 'rcp_bench',
  nowMs: Date.now(),
  account: null,
  price: null,
  payment: null,
  leases: { request: null, stream: null, quota: null },
});

/** Two routes with the same response; one is an operation with all its checks. */
const openTwoRoutes = async (deps: AccessDeps): Promise<FastifyInstance> => {
  const app = fastify() as unknown as FastifyInstance;
  addAccess(app, { ...deps, log: createLog('bench', 'silent') });
  app.get('/open', (_request, reply) => reply.send('ok'));
  app.route({
    method: 'GET',
    url: '/checked',
    config: { operation: snapshots },
    handler: (_r, reply) => reply.send('ok'),
  });
  await app.ready();
  return app;
};

const measureTimes = async (app: FastifyInstance, keys: readonly string[], requests: number) => {
  const times = { open: [] as number[], checked: [] as number[] };
  for (let i = 0; i < requests; i++) {
    const headers = { authorization: `Bearer ${keys[i % keys.length]}` };
    for (const route of i % 2 === 0 ? (['open', 'checked'] as const) : (['checked', 'open'] as const)) {
      const began = performance.now();
      const { statusCode } = await app.inject({ url: `/${route}`, headers });
      times[route].push(performance.now() - began);
      if (statusCode !== 200) throw new Error(`${route} answered ${statusCode}`);
    }
  }
  return times;
};

const measureCost = async (pool: Pool, requests: number): Promise<void> => {
  const deps = makeDeps(pool);
  const stop = keepSettled(deps.meter, createLog('bench', 'silent'));
  const keys = await makeKeys(pool);
  const app = await openTwoRoutes(deps);
  await measureTimes(app, keys, Math.min(requests, 4_000));
  const { open, checked } = await measureTimes(app, keys, requests);
  const alone: number[] = [];
  for (let i = 0; i < requests; i++) {
    const call = callWith(keys[i % KEYS] ?? '');
    const began = performance.now();
    const refused = await checkAccess(call, deps);
    deps.meter.headers(call.account?.keyId ?? '', call.account?.plan.limits ?? failAlways(), call.nowMs);
    call.leases.request?.(200);
    alone.push(performance.now() - began);
    if (refused !== null) throw new Error(`refused: ${refused.body.errors[0]?.message}`);
  }
  await app.close();
  await stop();
  const difference = (findQuantile(checked, 0.5) ?? 0) - (findQuantile(open, 0.5) ?? 0);
  print(`access per request, ${requests} requests of ${KEYS} keys in turn, PostgreSQL behind it`);
  print(
    `  route without checks   p50 ${formatMicros(findQuantile(open, 0.5))}   p99 ${formatMicros(findQuantile(open, 0.99))}`,
  );
  print(
    `  route with checks      p50 ${formatMicros(findQuantile(checked, 0.5))}   p99 ${formatMicros(findQuantile(checked, 0.99))}`,
  );
  print(`  difference of p50      ${formatMicros(difference)}   aim < 50 µs ${difference < 0.05 ? 'met' : 'MISSED'}`);
  print(
    `  the steps by themselves p50 ${formatMicros(findQuantile(alone, 0.5))}   p99 ${formatMicros(findQuantile(alone, 0.99))}`,
  );
};

const failAlways = (): never => {
  throw new Error('a key of ours was refused');
};

/** Welch's t of two samples. */
const computeWelch = (a: readonly number[], b: readonly number[]): number => {
  const variance = (x: readonly number[], m: number): number =>
    x.reduce((sum, v) => sum + (v - m) ** 2, 0) / (x.length - 1);
  const [ma, mb] = [computeMean(a), computeMean(b)];
  return (ma - mb) / Math.sqrt(variance(a, ma) / a.length + variance(b, mb) / b.length);
};

/** z of the rank sum of `a` among both (Mann and Whitney); stalls of the machine count as one rank each. */
const rankZ = (a: readonly number[], b: readonly number[]): number => {
  const all = [...a.map((value) => ({ value, isA: true })), ...b.map((value) => ({ value, isA: false }))];
  all.sort((x, y) => x.value - y.value);
  const ranks = all.reduce((sum, { isA }, i) => sum + (isA ? i + 1 : 0), 0);
  const u = ranks - (a.length * (a.length + 1)) / 2;
  const spread = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12);
  return (u - (a.length * b.length) / 2) / spread;
};

const KINDS = ['near', 'far', 'control'] as const;
type Kind = (typeof KINDS)[number];
const NAMES: Readonly<Record<Kind, string>> = {
  near: '24 of 32 characters right',
  far: 'no character right',
  control: 'no character right, again',
};

/** One difference on two scales. The means leave out the slowest 5 % of both together, which are stalls of the machine. */
const compare = (times: Readonly<Record<Kind, readonly number[]>>, [one, other]: readonly [Kind, Kind]): boolean => {
  const [a, b] = [times[one], times[other]];
  const most = findQuantile([...a, ...b], 0.95) ?? 0;
  const t = computeWelch(
    a.filter((time) => time <= most),
    b.filter((time) => time <= most),
  );
  const z = rankZ(a, b);
  print(`  "${NAMES[one]}" against "${NAMES[other]}": Welch t ${t.toFixed(2)}, rank z ${z.toFixed(2)}`);
  return Math.abs(t) < 3 && Math.abs(z) < 3;
};

/** Keys that begin as a real one and keys that are wrong throughout; all have a valid checksum, so each is looked up. */
const measureTiming = async (pool: Pool, tries: number): Promise<void> => {
  const deps = makeDeps(pool);
  const [real = ''] = await makeKeys(pool);
  const prefix = real.slice(3, 3 + RANDOM_LENGTH - WRONG);
  const times: Record<Kind, number[]> = { near: [], far: [], control: [] };
  for (let i = 0; i < tries; i++) {
    const kind = KINDS[randomInt(KINDS.length)] ?? 'far';
    // All keys are made each time: work before the clock starts affects it through a colder cache.
    const ends = [makeRandomCharacters(WRONG), makeRandomCharacters(WRONG), makeRandomCharacters(WRONG)];
    const made = KINDS.map((k, at) =>
      composeKey((k === 'near' ? prefix : makeRandomCharacters(prefix.length)) + ends[at]),
    );
    const call = callWith(made[KINDS.indexOf(kind)] ?? '');
    const began = performance.now();
    const refused = await checkAccess(call, deps);
    // A lookup that PostgreSQL did not finish in time carries no information about the key.
    if (refused?.status === 503) continue;
    times[kind].push(performance.now() - began);
    if (refused?.status !== 401) throw new Error('a made-up key was let in');
  }
  print(`refusal of a wrong key, ${tries} tries, each looked up in PostgreSQL`);
  for (const kind of KINDS) {
    const [p50, p95] = [findQuantile(times[kind], 0.5), findQuantile(times[kind], 0.95)];
    print(`  ${NAMES[kind].padEnd(26)} n ${times[kind].length}  p50 ${formatMicros(p50)}  p95 ${formatMicros(p95)}`);
  }
  const isQuiet = compare(times, ['near', 'far']);
  compare(times, ['control', 'far']);
  print(isQuiet ? '  no difference at 3 sigma' : '  A DIFFERENCE at 3 sigma, unless the control shows one too');
};

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, tries: { type: 'string', default: '100000' } },
});
const engines = await startEngines({
  dir: DIR,
  kafka: false,
  questdb: false,
  anvil: false,
  ports: 'free',
  data: 'wipe',
});
try {
  const pool = openPostgres(engines.endpoints.database_url ?? '');
  await migrate(pool);
  await measureCost(pool, Number(values.requests));
  await measureTiming(pool, Number(values.tries));
  await pool.end();
} finally {
  await engines.stop();
  rmSync(DIR, { recursive: true, force: true });
}
