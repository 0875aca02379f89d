/** `npm run demo` as a person uses it: it serves what its banner says, and no way of ending it leaves a process behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readRun } from '../../infra/engines/data-dir.ts';
import { freePort, STANDARD_PORTS } from '../../infra/engines/ports.ts';
import { postgresHome } from '../../infra/engines/postgres.ts';
import { isAlive, type ProcessIdentity } from '../../infra/engines/process-identity.ts';
import type { ServiceEndpoints } from '../../infra/local/service.ts';
import { simulatedVenues } from '../../infra/simulator/venues/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIR = join(ROOT, '.local', 'test', `own-${process.pid}-demo`);
const ENDPOINTS_FILE = join(DIR, 'endpoints.json');
const VENUES = simulatedVenues.map(({ id }) => id);
const NAMES = ['kafka', 'questdb', 'postgres', 'anvil', 'simulator', 'ingest', 'processors', 'api'];

/** From the end of the start. */
const FIRST_ANSWER_MS = 10_000;

const ports: Record<string, string> = {};
for (const setting of Object.keys(STANDARD_PORTS)) ports[setting] = String(await freePort());

t.teardown(() => {
  for (const dir of [DIR, postgresHome(DIR)]) rmSync(dir, { recursive: true, force: true });
});

async function until(what: string, isSo: () => boolean, limitMs = 90_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`never came: ${what}`);
    await delay(50);
  }
}

/** The demo in a process group of its own, on free ports and in the folder of this test. */
function startDemo(): { child: ChildProcess; said: () => string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [join(ROOT, 'infra', 'local', 'bootstrap.mjs'), 'demo'], {
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
  const ended = new Promise<number | null>((settle) => child.once('exit', (code) => settle(code)));
  return { child, said: () => output, ended };
}

async function serving(demo: { said: () => string; child: ChildProcess }): Promise<ServiceEndpoints> {
  await until('the demo serves', () => demo.said().includes('Ctrl-C stops everything') || demo.child.exitCode !== null);
  if (!existsSync(ENDPOINTS_FILE)) throw new Error(demo.said());
  return JSON.parse(readFileSync(ENDPOINTS_FILE, 'utf8')) as ServiceEndpoints;
}

const running = (): ProcessIdentity[] => NAMES.flatMap((name) => readRun(DIR, name) ?? []);

t.test('the demo says that its venues are simulated and its example works as pasted', async (t) => {
  const demo = startDemo();
  const endpoints = await serving(demo);
  t.match(demo.said(), `Simulated venues (${VENUES.join(', ')})`);
  t.equal(statSync(ENDPOINTS_FILE).mode & 0o777, 0o600);
  t.same(Object.keys(endpoints.keys), ['free', 'mini', 'standard', 'pro', 'pro_plus']);
  t.equal((await fetch(`${endpoints.base_url}/readyz`)).status, 200);
  const example = /^ {2}(curl .*)$/m.exec(demo.said())?.[1] ?? '';
  t.same(await venuesIn(example), new Set(VENUES), 'every venue answers');

  const pids = running();
  t.equal(pids.length, NAMES.length, 'all run');
  const lock = JSON.parse(readFileSync(join(DIR, 'lock'), 'utf8')) as ProcessIdentity;
  process.kill(lock.pid, 'SIGKILL');
  await demo.ended;
  await until('everything ends with a demo killed by -9', () => !pids.some(isAlive));

  const second = startDemo();
  const again = await serving(second);
  t.same(again.keys, endpoints.keys, 'a second start keeps the keys');
  t.match(second.said(), /taking over .*is gone/);
  const next = running();
  second.child.kill('SIGTERM');
  t.equal(await second.ended, 0, 'stopped in order');
  t.match(second.said(), /SIGTERM: stopping[\s\S]*stopped/);
  t.notOk(next.some(isAlive));
  t.notOk(existsSync(ENDPOINTS_FILE));
  t.notOk(existsSync(join(DIR, 'lock')));
});

t.test('a starter killed with -9 in the middle of a start takes everything along', async (t) => {
  const demo = startDemo();
  await until('the engines are being started', () => running().length >= 3);
  const pids = running();
  demo.child.kill('SIGKILL');
  await until('everything ends', () => !pids.some(isAlive) && running().length === 0);
  t.pass('nothing is left');
});

/** Venues in the answer of the example; a venue is in it from when its listings are known. */
async function venuesIn(example: string): Promise<ReadonlySet<string>> {
  const deadline = performance.now() + FIRST_ANSWER_MS;
  for (;;) {
    const { items } = JSON.parse(await shell(example)) as { items: readonly { readonly venue: string }[] };
    const found = new Set(items.map(({ venue }) => venue));
    if (found.size >= VENUES.length || performance.now() > deadline) return found;
    await delay(50);
  }
}

async function shell(command: string): Promise<string> {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) output += chunk;
  return output;
}
