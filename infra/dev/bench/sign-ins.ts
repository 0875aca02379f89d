// `DATABASE_URL=… node infra/dev/bench/sign-ins.ts [--rate 200] [--seconds 20]`: the effect of sign-in attempts on the other pages of a web
// process: their times with and without the attempts, and the responses to the attempts. A measurement, never a test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { createAccount } from '../../../api/accounts/accounts.ts';
import { hashPassword } from '../../../api/accounts/passwords.ts';
import { beginSession } from '../../../api/accounts/sessions.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { findProgram } from '../build/entries.ts';
import { findFreePort } from '../engines/ports.ts';
import { findQuantile, makeFigure, renderTable } from './instruments/figures.ts';
import { waitUntil } from './instruments/until.ts';

const PAGES_A_SECOND = 20;
const PAGES = ['/keys', '/security', '/sign-in', '/healthz'];
const WEB = findProgram('api/web.ts');

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '200' }, seconds: { type: 'string', default: '20' } },
});
const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
const url = process.env['DATABASE_URL'];
if (url === undefined) throw new Error('set DATABASE_URL to an empty database');
const pool = openPostgres(url);
await migrate(pool);
const accountId = await createAccount(pool, {
  email: 'owner@example.com',
  passwordHash: await hashPassword('orbit lantern quarry'),
});
if (accountId === null) throw new Error('the database is not empty');
const { token } = await beginSession(pool, { accountId, agent: 'bench' });
const port = await findFreePort();
const origin = `http://localhost:${port}`;
const env = {
  ...process.env,
  ...{ ACCOUNT_PORT: String(port), ACCOUNT_URL: origin, INTERNAL_PORT: String(await findFreePort()) },
  // Each attempt comes from its own address, as behind a proxy.
  ...{ METRICS_PORT: '0', TRUSTED_PROXIES: '127.0.0.1,::1', LOG_LEVEL: 'warn' },
};
const web = spawn(process.execPath, [WEB], { env, stdio: ['ignore', 'ignore', 'inherit'] });
const isUp = (): Promise<boolean> =>
  fetch(`${origin}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
if (!(await waitUntil(isUp, { everyMs: 100, forMs: 120_000 }))) throw new Error('the web process does not listen');

let made = 0;
/** In another network each time. */
const makeAddress = (): string =>
  `10.${++made % 250}.${Math.floor(made / 250) % 250}.${Math.floor(made / 62_500) % 250}`;

const page = await fetch(`${origin}/sign-in`);
const cookie = page.headers
  .getSetCookie()
  .map((line) => line.split(';')[0])
  .join('; ');
const form = /action="\/sign-in"[\s\S]*?name="_form"[^>]*value="([^"]*)"/.exec(await page.text())?.[1] ?? '';

const attempt = async (): Promise<number> => {
  const body = new URLSearchParams({
    _form: form,
    email: `nobody${made}@example.com`,
    password: 'a wrong long secret',
  });
  const headers = { cookie, origin, 'sec-fetch-site': 'same-origin', 'x-forwarded-for': makeAddress() };
  const answer = await fetch(`${origin}/sign-in`, { method: 'POST', body, headers, redirect: 'manual' });
  await answer.arrayBuffer();
  return answer.status;
};

const readPage = async (i: number): Promise<number> => {
  const began = performance.now();
  const headers = { cookie: `session=${token}`, 'x-forwarded-for': makeAddress() };
  const answer = await fetch(`${origin}${PAGES[i % PAGES.length]}`, { headers });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${PAGES[i % PAGES.length]} answered ${answer.status}`);
  return performance.now() - began;
};

/** Calls at a rate, independent of earlier calls; returns their results. */
const callAtRate = async <T>(perSecond: number, call: (i: number) => Promise<T>): Promise<T[]> => {
  const calls: Promise<T>[] = [];
  const began = performance.now();
  const due = (): number => Math.min(seconds, (performance.now() - began) / 1_000) * perSecond;
  while (calls.length < seconds * perSecond) {
    while (calls.length < due()) calls.push(call(calls.length));
    await new Promise((done) => setTimeout(done, 2));
  }
  return Promise.all(calls);
};

const toPageFigures = (name: string, times: readonly number[]) =>
  [0.5, 0.99].map((share) =>
    makeFigure({ name: `other pages, ${name}, p${share * 100}`, unit: 'ms', measured: findQuantile(times, share) }),
  );

await callAtRate(PAGES_A_SECOND, readPage);
const alone = await callAtRate(PAGES_A_SECOND, readPage);
const [beside, statuses] = await Promise.all([callAtRate(PAGES_A_SECOND, readPage), callAtRate(rate, attempt)]);
const counted = [...new Set(statuses)].sort().map((status) => {
  const share = statuses.filter((one) => one === status).length / seconds;
  return makeFigure({ name: `attempts answered ${status}`, unit: '/s', measured: share });
});
const figures = [
  ...toPageFigures('alone', alone),
  ...toPageFigures(`beside ${rate} attempts a second`, beside),
  ...counted,
];
process.stdout.write(`${renderTable(figures)}\n`);
web.kill();
await once(web, 'close');
await pool.end();
