/** `npm run demo` as a person uses it: it serves what its banner lists, and no way of ending it leaves a process behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { readRun } from '../../infra/dev/engines/data-dir.ts';
import { findFreePort, isFree, STANDARD_PORTS } from '../../infra/dev/engines/ports.ts';
import { choosePostgresHome } from '../../infra/dev/engines/postgres.ts';
import { isAlive, type ProcessIdentity } from '../../infra/dev/engines/process-identity.ts';
import type { DemoAccount } from '../../infra/dev/local/demo-accounts.ts';
import type { ServiceEndpoints } from '../../infra/dev/local/endpoints.ts';
import { readPast, toPastFile } from '../../infra/dev/past/state.ts';
import { simulatedVenues } from '../../infra/dev/simulator/venues/index.ts';
import { toDayAt } from '../../processors/nightly/day.ts';
import { MS_PER_DAY } from '../../schemas/instants.ts';
import { checkDocuments } from '../support/documents/demo-documents.ts';
import { TEST_FOLDER } from '../support/engines/test-folder.ts';
import { openChromium, visit } from '../support/services/browser.ts';
import { BOUND_MS, waitFor } from '../support/wait.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIR = join(TEST_FOLDER, `own-${process.pid}-demo`);
const ENDPOINTS_FILE = join(DIR, 'endpoints.json');
const VENUES = simulatedVenues.map(({ id }) => id);
const ENGINES = ['kafka', 'questdb', 'postgres', 'anvil'];
const SERVICES = ['simulator', 'ingest', 'processors', 'facilitator', 'api', 'web', 'nightly'];

const ports: Record<string, string> = {};
for (const setting of Object.keys(STANDARD_PORTS)) ports[setting] = String(await findFreePort());

t.teardown(() => {
  for (const dir of [DIR, choosePostgresHome(DIR)]) rmSync(dir, { recursive: true, force: true });
});

/** `npm run demo` in a process group of its own, on free ports and in the folder of this test. */
function startDemo(): { child: ChildProcess; readOutput: () => string; ended: Promise<number | null> } {
  const child = spawn('npm', ['run', 'demo'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...ports, DATA_DIR: DIR, ENDPOINTS_FILE, SIM_LISTINGS: '4', SIM_RATE: '50' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  t.teardown(() => child.kill('SIGTERM'));
  const ended = new Promise<number | null>((settle) => child.once('exit', (code) => settle(code)));
  return { child, readOutput: () => output, ended };
}

async function serving(demo: { readOutput: () => string; child: ChildProcess }): Promise<ServiceEndpoints> {
  await waitFor(
    'the demo serves',
    () => demo.readOutput().includes('Ctrl-C stops everything') || demo.child.exitCode !== null,
  );
  if (!existsSync(ENDPOINTS_FILE)) throw new Error(demo.readOutput());
  return JSON.parse(readFileSync(ENDPOINTS_FILE, 'utf8')) as ServiceEndpoints;
}

const readRuns = (names: readonly string[]): ProcessIdentity[] => names.flatMap((name) => readRun(DIR, name) ?? []);
const running = (): ProcessIdentity[] => readRuns([...ENGINES, ...SERVICES]);

/** Resolves when everything is gone; the result is how often an engine was seen gone while a service still ran. */
async function endOfAll(): Promise<number> {
  const [engines, services] = [readRuns(ENGINES), readRuns(SERVICES)];
  let outOfOrder = 0;
  await waitFor('everything ends', () => {
    const engineGone = engines.some((engine) => !isAlive(engine));
    if (engineGone && services.some(isAlive)) outOfOrder += 1;
    return ![...engines, ...services].some(isAlive);
  });
  return outOfOrder;
}

t.test('a first start killed while it writes the past takes everything along', async (t) => {
  const cut = startDemo();
  await waitFor('the past is being written', () => readPast(toPastFile(DIR))?.state === 'writing');
  await endsWhole(t, cut);
});

t.test('the next demo shows that its venues are simulated, and its example works as pasted', async (t) => {
  const demo = startDemo();
  const endpoints = await serving(demo);
  t.match(demo.readOutput(), `Simulated venues (${VENUES.join(', ')})`);
  t.equal(statSync(ENDPOINTS_FILE).mode & 0o777, 0o600);
  t.match(endpoints.anchor_contract, /^0x[0-9a-f]{40}$/);
  t.same(Object.keys(endpoints.keys), ['free', 'mini', 'standard', 'pro', 'pro_plus']);
  t.equal((await fetch(`${endpoints.base_url}/readyz`)).status, 200);
  const example = /^ {2}(curl .*)$/m.exec(demo.readOutput())?.[1] ?? '';
  t.same(await venuesIn(example), new Set(VENUES), 'every venue answers');
  const paying = /^node --input-type=module[\s\S]*?^END$/m.exec(demo.readOutput())?.[0] ?? '';
  const paid = await shell(paying);
  t.match(paid, /^200 rcp_\w+ .*"items":/, 'the lines that pay work as pasted');

  await waitFor('all run', () => running().length === ENGINES.length + SERVICES.length);
  t.match(demo.readOutput(), `${endpoints.accounts.pro.email}  ${endpoints.accounts.pro.password}`);
  for (const account of Object.values(endpoints.accounts)) t.equal(await signedInAt(endpoints, account), '/keys');
  t.match(endpoints.payer, { address: /^0x[0-9a-fA-F]{40}$/, private_key: endpoints.buyer_private_key });
  const [rule = ''] = endpoints.shared_rules;
  const told = await fetch(`${endpoints.base_url}/v2/agent/state?rule_id=${rule}`, {
    headers: { authorization: `Bearer ${endpoints.keys.mini}` },
  });
  t.match(await told.json(), { rules: [{ rule_id: rule, effective_interval: '30s' }], missing: [] });
  await pastThere(demo);
  t.equal(readPast(toPastFile(DIR))?.state, 'archived');
  await checkPast(t, endpoints);
  await checkProofPage(t, endpoints);
  await checkDocuments(t, endpoints, paid.split(' ')[1] ?? '');
  const lock = JSON.parse(readFileSync(join(DIR, 'lock'), 'utf8')) as ProcessIdentity;
  const outOfOrder = endOfAll();
  process.kill(lock.pid, 'SIGKILL');
  await demo.ended;
  t.equal(await outOfOrder, 0, 'everything ends in order with a demo killed by -9');

  const second = startDemo();
  const again = await serving(second);
  t.same(again.keys, endpoints.keys, 'a second start keeps the keys');
  t.same(again.accounts, endpoints.accounts, 'and the accounts');
  t.equal(again.anchor_contract, endpoints.anchor_contract, 'and the contract of the anchors');
  t.match(second.readOutput(), /taking over .*has ended/);
  t.notMatch(second.readOutput(), 'messages are in the log', 'the past is written once');
  const next = running();
  const secondOutOfOrder = endOfAll();
  second.child.kill('SIGTERM');
  t.equal(await second.ended, 0, 'npm ends when all have ended in order');
  t.match(second.readOutput(), /SIGTERM: stopping[\s\S]*stopped/);
  t.notOk(next.some(isAlive));
  t.equal(await secondOutOfOrder, 0);
  t.notOk(existsSync(ENDPOINTS_FILE));
  t.notOk(existsSync(join(DIR, 'lock')));
});

t.test('npm killed with -9 in the middle of a start takes everything along', async (t) => {
  const demo = startDemo();
  await waitFor('the engines are being started', () => running().length >= 3);
  await endsWhole(t, demo);
});

/** Kills npm with -9: every process ends, and every port is free again. */
async function endsWhole(t: Test, demo: { readonly child: ChildProcess }): Promise<void> {
  const pids = running();
  demo.child.kill('SIGKILL');
  await waitFor(
    'everything ends',
    () => !pids.some(isAlive) && running().length === 0 && !existsSync(join(DIR, 'lock')),
  );
  for (const port of Object.values(ports)) t.ok(await isFree(Number(port)), `port ${port} is free`);
}

/** Where the account site leads after a sign-in as a browser without script does it. */
async function signedInAt({ account_url: site }: ServiceEndpoints, account: DemoAccount): Promise<string | null> {
  const page = await fetch(`${site}/sign-in`);
  const token = /name="_form" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const answer = await fetch(`${site}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: page.headers.getSetCookie()[0]?.split(';')[0] ?? '', origin: site ?? '' },
    body: new URLSearchParams({ ...account, _form: token }),
  });
  return answer.headers.get('location');
}

const pastThere = (demo: { readOutput: () => string }): Promise<unknown> =>
  waitFor('the past is archived', () => demo.readOutput().includes('The past is ready'));

type FileItem = {
  readonly listing: string;
  readonly venue: string;
  readonly layer: string;
  readonly final: boolean;
  readonly included: boolean;
};
type Rows = { readonly status: string; readonly gap_cause?: string; readonly late?: boolean }[];

/** The uses of the past: files for a free key, hours for an indicator, a closed day with its gaps and late rows, each window once. */
async function checkPast(t: Test, { base_url: base, keys }: ServiceEndpoints): Promise<void> {
  const ask = async <T>(path: string, key: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${base}${path}`, init);
    t.equal(answer.status, 200, path);
    return (await answer.json()) as T;
  };
  type Venues = { readonly items: readonly { readonly state: string }[] };
  await waitFor('every venue is live: nothing that the past left behind counts as lost (V-01)', async () => {
    const { items } = await ask<Venues>('/v2/venues', keys.free);
    return items.every(({ state }) => state === 'live');
  });
  type Files = { readonly items: readonly FileItem[] };
  const yesterday = toDayAt(Date.now() - MS_PER_DAY);
  const { items: files } = await ask<Files>(`/v2/archive?from=${yesterday}&to=${yesterday}&limit=1000`, keys.free);
  t.ok(files.every(({ final }) => !final));
  const marks = files.filter(({ layer }) => layer === 'mark');
  const included = marks.find((one) => one.included);
  t.ok(included, 'a free key has files of yesterday');
  const link = `${base}/v2/archive/${included?.listing}/mark/${yesterday}`;
  const file = await fetch(link, { headers: { authorization: `Bearer ${keys.free}` } });
  t.equal(file.status, 200, `it fetches the one of ${included?.listing}`);
  t.equal(
    Buffer.from(await file.arrayBuffer())
      .subarray(0, 4)
      .toString(),
    'PAR1',
  );
  const oldDay = toDayAt(readPast(toPastFile(DIR))?.oldDayMs ?? 0);
  const { items: old } = await ask<Files>(`/v2/archive?from=${oldDay}&to=${oldDay}&limit=1000`, keys.pro);
  t.same(new Set(old.map(({ venue }) => venue)), new Set(VENUES), 'the old day has every venue');
  t.ok(old.every(({ final }) => final));

  const query = { query: 'any(venues where ema(close, 20, 1h) > 0) where base = BTC' };
  const screen = await ask<{ instruments: readonly unknown[] }>('/v2/screen', keys.pro, query);
  t.equal(screen.instruments.length, 1, 'an average of 80 hours is known');
  const okx = { where: 'venue = okx and base = BTC and quote = USDT', layers: ['mark'], raw: true };
  const range = { from: `${oldDay}T12:00:00Z`, to: `${oldDay}T12:20:00Z` };
  type History = { readonly items: readonly { layers: Record<string, { readonly rows: Rows }> }[] };
  const history = await ask<History>('/v2/snapshots/history', keys.pro_plus, { ...okx, ...range });
  const rows = history.items[0]?.layers['mark']?.rows ?? [];
  t.ok(
    rows.some(({ late }) => late === true),
    'late rows',
  );
  t.ok(
    rows.some((row) => row.gap_cause === 'collector_down'),
    'gaps',
  );
}

/** The proof page as it opens: a row of the old day, every step recomputed in the browser, the root on the chain among them. */
async function checkProofPage(t: Test, { account_url: site }: ServiceEndpoints): Promise<void> {
  const { page, faults } = await visit(await openChromium(t), 'desktop');
  await page.goto(`${site}/explore/proof`);
  // Until then it shows its current step, followed by dots.
  const head = page.locator('#proof-head').filter({ hasText: /\.$|^This is not a proof/ });
  await head.waitFor({ timeout: BOUND_MS });
  t.match(
    await head.textContent(),
    /^Proven in a rehearsal: all \d+ steps hold, the root on the chain among them\. .* is not binding\.$/,
  );
  t.same(faults, []);
}

/** Venues in the answer of the example, once all are in it: a venue is from when its listings are known. */
async function venuesIn(example: string): Promise<ReadonlySet<string>> {
  let found: ReadonlySet<string> = new Set();
  await waitFor('every venue answers', async () => {
    const { items } = JSON.parse(await shell(example)) as { items: readonly { readonly venue: string }[] };
    found = new Set(items.map(({ venue }) => venue));
    return found.size >= VENUES.length;
  });
  return found;
}

async function shell(command: string): Promise<string> {
  const child = spawn('sh', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) output += chunk;
  return output;
}
