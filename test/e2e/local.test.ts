/** `npm run demo` as a person uses it: it serves what its banner says, and no way of ending it leaves a process behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readRun } from '../../infra/dev/engines/data-dir.ts';
import { freePort, isFree, STANDARD_PORTS } from '../../infra/dev/engines/ports.ts';
import { postgresHome } from '../../infra/dev/engines/postgres.ts';
import { isAlive, type ProcessIdentity } from '../../infra/dev/engines/process-identity.ts';
import type { ServiceEndpoints } from '../../infra/dev/local/service.ts';
import { simulatedVenues } from '../../infra/dev/simulator/venues/index.ts';
import { waitFor } from '../support/wait.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIR = join(ROOT, '.local', 'test', `own-${process.pid}-demo`);
const ENDPOINTS_FILE = join(DIR, 'endpoints.json');
const VENUES = simulatedVenues.map(({ id }) => id);
const ENGINES = ['kafka', 'questdb', 'postgres', 'anvil'];
const SERVICES = ['simulator', 'ingest', 'processors', 'api', 'nightly'];

const ports: Record<string, string> = {};
for (const setting of Object.keys(STANDARD_PORTS)) ports[setting] = String(await freePort());

t.teardown(() => {
  for (const dir of [DIR, postgresHome(DIR)]) rmSync(dir, { recursive: true, force: true });
});

/** `npm run demo` in a process group of its own, on free ports and in the folder of this test. */
function startDemo(): { child: ChildProcess; said: () => string; ended: Promise<number | null> } {
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
  return { child, said: () => output, ended };
}

async function serving(demo: { said: () => string; child: ChildProcess }): Promise<ServiceEndpoints> {
  await waitFor(
    'the demo serves',
    () => demo.said().includes('Ctrl-C stops everything') || demo.child.exitCode !== null,
  );
  if (!existsSync(ENDPOINTS_FILE)) throw new Error(demo.said());
  return JSON.parse(readFileSync(ENDPOINTS_FILE, 'utf8')) as ServiceEndpoints;
}

const runsOf = (names: readonly string[]): ProcessIdentity[] => names.flatMap((name) => readRun(DIR, name) ?? []);
const running = (): ProcessIdentity[] => runsOf([...ENGINES, ...SERVICES]);

/** Resolves when everything is gone; the result is how often an engine was seen gone while a service still ran. */
async function endOfAll(): Promise<number> {
  const [engines, services] = [runsOf(ENGINES), runsOf(SERVICES)];
  let outOfOrder = 0;
  await waitFor('everything ends', () => {
    const engineGone = engines.some((engine) => !isAlive(engine));
    if (engineGone && services.some(isAlive)) outOfOrder += 1;
    return ![...engines, ...services].some(isAlive);
  });
  return outOfOrder;
}

t.test('the demo says that its venues are simulated and its example works as pasted', async (t) => {
  const demo = startDemo();
  const endpoints = await serving(demo);
  t.match(demo.said(), `Simulated venues (${VENUES.join(', ')})`);
  t.equal(statSync(ENDPOINTS_FILE).mode & 0o777, 0o600);
  t.same(Object.keys(endpoints.keys), ['free', 'mini', 'standard', 'pro', 'pro_plus']);
  t.equal((await fetch(`${endpoints.base_url}/readyz`)).status, 200);
  const example = /^ {2}(curl .*)$/m.exec(demo.said())?.[1] ?? '';
  t.same(await venuesIn(example), new Set(VENUES), 'every venue answers');

  t.equal(running().length, ENGINES.length + SERVICES.length, 'all run');
  const lock = JSON.parse(readFileSync(join(DIR, 'lock'), 'utf8')) as ProcessIdentity;
  const outOfOrder = endOfAll();
  process.kill(lock.pid, 'SIGKILL');
  await demo.ended;
  t.equal(await outOfOrder, 0, 'everything ends in order with a demo killed by -9');

  const second = startDemo();
  const again = await serving(second);
  t.same(again.keys, endpoints.keys, 'a second start keeps the keys');
  t.match(second.said(), /taking over .*is gone/);
  const next = running();
  const secondOutOfOrder = endOfAll();
  second.child.kill('SIGTERM');
  t.equal(await second.ended, 0, 'npm ends when all have ended in order');
  t.match(second.said(), /SIGTERM: stopping[\s\S]*stopped/);
  t.notOk(next.some(isAlive));
  t.equal(await secondOutOfOrder, 0);
  t.notOk(existsSync(ENDPOINTS_FILE));
  t.notOk(existsSync(join(DIR, 'lock')));
});

t.test('npm killed with -9 in the middle of a start takes everything along', async (t) => {
  const demo = startDemo();
  await waitFor('the engines are being started', () => running().length >= 3);
  const pids = running();
  demo.child.kill('SIGKILL');
  await waitFor(
    'everything ends',
    () => !pids.some(isAlive) && running().length === 0 && !existsSync(join(DIR, 'lock')),
  );
  for (const port of Object.values(ports)) t.ok(await isFree(Number(port)), `port ${port} is free`);
});

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
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) output += chunk;
  return output;
}
