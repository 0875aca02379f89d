/** Whichever of npm, the bootstrap and the script ends, and however: running processes end in order. The chain is real, engines are stand-ins. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readRun } from '../../../infra/dev/engines/data-dir.ts';
import { isAlive, type ProcessIdentity, readIdentity } from '../../../infra/dev/engines/process-identity.ts';
import { waitFor } from '../../support/wait.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PROCESSES = ['engine', 'collector', 'server'];
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const;
/** From the outermost to the innermost. */
const CHAIN = ['npm', 'bootstrap', 'script'] as const;
const IN_ORDER = [...PROCESSES].reverse().flatMap((name) => [`${name} stops`, `${name} ended`]);

interface Run {
  readonly chain: Readonly<Record<(typeof CHAIN)[number], ProcessIdentity>>;
  readonly readOutput: () => string;
  readonly events: () => string[];
  readonly exited: Promise<number | null>;
  readonly processes: () => ProcessIdentity[];
}

/** A clone with everything installed; its script `demo` is test/support/stand-in.ts. */
function clone(): string {
  const root = mkdtempSync(join(tmpdir(), 'starters-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const bootstrap = ['infra/dev/local/bootstrap.mjs', 'infra/dev/engines/class-archives.mjs'];
  for (const file of [...bootstrap, 'infra/dev/engines/pom.xml', 'package-lock.json']) {
    cpSync(join(ROOT, file), join(root, file));
  }
  const own = join(root, 'node_modules', 'node', 'bin');
  const engines = join(root, '.local', 'engines');
  for (const dir of [own, engines]) mkdirSync(dir, { recursive: true });
  symlinkSync(process.execPath, join(own, 'node'));
  writeFileSync(join(root, 'node_modules', '.installed-from'), hashFile(join(root, 'package-lock.json')));
  writeFileSync(join(engines, 'fetched-from'), hashFile(join(root, 'infra/dev/engines/pom.xml')));
  writeFileSync(join(engines, 'archived-by'), spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr);
  const standIn = new URL('../../support/stand-in.ts', import.meta.url).href;
  writeFileSync(join(root, 'infra', 'dev', 'local', 'demo.ts'), `import ${JSON.stringify(standIn)};\n`);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { demo: string } };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', scripts: { demo: scripts.demo } }));
  return root;
}

const hashFile = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

const readLines = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);

/** `npm run demo`, until its three processes run; the start itself continues until the file `go` exists. */
async function start(root: string, dir: string): Promise<Run> {
  mkdirSync(dir, { recursive: true });
  const child = spawn('npm', ['run', 'demo'], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, STAND_IN_DIR: dir },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const exited = new Promise<number | null>((settle) => child.once('exit', (code) => settle(code)));
  const before = readLines(join(dir, 'events')).length;
  const events = (): string[] => readLines(join(dir, 'events')).slice(before);
  t.teardown(() => child.kill('SIGTERM'));
  await waitFor('the processes run', () => PROCESSES.every((name) => events().includes(`${name} runs`)), {
    seen: () => output,
  });
  const script = Number(
    events()
      .find((event) => event.startsWith('stand-in '))
      ?.split(' ')[1],
  );
  const bootstrap = readParent(script);
  const chain = { npm: known(child.pid ?? 0), bootstrap: known(bootstrap), script: known(script) };
  return {
    chain,
    readOutput: () => output,
    events,
    exited,
    processes: () => PROCESSES.flatMap((name) => readRun(dir, name) ?? []),
  };
}

function known(pid: number): ProcessIdentity {
  const identity = readIdentity(pid);
  if (identity === null) throw new Error(`process ${pid} does not run`);
  return identity;
}

function readParent(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

const root = clone();
t.jobs = 4;

for (const ended of CHAIN) {
  for (const signal of SIGNALS) {
    t.test(`${signal} to ${ended}`, { buffered: true }, async (t) => {
      const dir = join(root, 'data', `${ended}-${signal}`);
      const run = await start(root, dir);
      const during = signal === 'SIGINT';
      if (!during) {
        writeFileSync(join(dir, 'go'), '');
        await waitFor('the start is over', () => run.events().includes('all run'));
      }
      const all = [...Object.values(run.chain), ...run.processes()];
      t.equal(all.length, CHAIN.length + PROCESSES.length, 'all run');
      process.kill(run.chain[ended].pid, signal);
      await waitFor('everything ends', () => !all.some(isAlive), { seen: run.readOutput });
      const stops = run.events().slice(run.events().findIndex((event) => event.endsWith('stops')));
      t.same(stops, IN_ORDER, `one after the other, the last started first\n${run.readOutput()}`);
      t.equal(
        existsSync(join(dir, 'lock')),
        signal === 'SIGKILL' && ended === 'script',
        'only a killed script leaves its lock',
      );
    });
  }
}

t.test('a start waits for a run that is being stopped, by its script or by its guard', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const dir = join(root, 'data', `again-${signal}`);
    const first = await start(root, dir);
    writeFileSync(join(dir, 'go'), '');
    await waitFor('the start is over', () => first.events().includes('all run'));
    process.kill(first.chain.script.pid, signal);
    const second = await start(root, dir);
    const events = first.events().filter((event) => / (stops|ended|runs)$/.test(event));
    t.same(
      events.slice(PROCESSES.length, -PROCESSES.length),
      IN_ORDER,
      'the processes of the first end in order before those of the second run',
    );
    t.ok(events.slice(-PROCESSES.length).every((event) => event.endsWith('runs')));
    process.kill(second.chain.npm.pid, 'SIGTERM');
    await waitFor('everything ends', () => !Object.values(second.chain).some(isAlive));
  }
});
