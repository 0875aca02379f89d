/** `npm test`: every test file as a process of its own, on one set of real engines; the last line is the count. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isAlive, signalGroup } from '../infra/dev/engines/process-identity.ts';
import { watchParent } from '../infra/dev/local/parent.ts';
import { createProgress } from '../infra/dev/local/progress.ts';
import { type HostAddress, startHost, useEngines, waitForHost } from './support/engines/engines.ts';
import { cpuOfEnded } from './support/run/cpu-time.ts';
import { killProcessesOf } from './support/run/left-processes.ts';
import { MACHINE_FREE } from './support/run/machine-free.ts';
import { needsEngines } from './support/run/needed-engines.ts';
import { countAssertions, type TapCount } from './support/run/tap-count.ts';
import { bundleTap } from './support/tap/bundle-tap.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const USE_BUNDLED_TAP = ['--import', new URL('support/tap/use-bundled-tap.ts', import.meta.url).href];
/** A file system in memory, where Linux has one: most files of the engines live for seconds, and a disk's file system spends a tenth of a run on them. */
const MEMORY = '/dev/shm';
/** Free memory below this leaves the files on the disk; a run has up to 2 GB of them beside its processes. */
const MEMORY_BYTES = 12 * 2 ** 30;
const isInMemory = hasMemory();
/** Holds the data of all engines of a run. */
const RUNS = isInMemory ? join(MEMORY, 'perp-tests') : join(ROOT, '.local', 'test');
/** Temporary files of a run: below the system's folder, because paths of sockets are short. */
const TEMPORARY = isInMemory ? MEMORY : tmpdir();
/** End-to-end tests of minutes, run when they are named: `npm test -- chaos`. */
const ON_REQUEST = [
  'away',
  'brokers',
  'chaos',
  'explorer',
  'follow',
  'incidents',
  'notebooks',
  'paying',
  'restore',
  'rules',
  'rules-page',
  'settled',
  'screen',
];
/** Need the machine for themselves at first and then wait for minutes: each alone until it reports that, all others beside their waits. */
const ALONE_FIRST = ['truth', 'owners'].map(toEndToEnd);
/**
 * Each is a whole service that keeps up with messages, or is judged by seconds, of a page or of a rate: beside a second one it falls behind on a
 * slow machine. One at a time, longest first.
 */
const SERVICES = [
  ...['purity', 'stream', 'local', 'state-lag', 'examples', 'rights', 'secure', 'mutated-frames'].map(toEndToEnd),
  ...['browser/explorer', 'api/access/access-processes'].map(toTest),
];
/** Each starts engines of its own, which take most of a core until they run: one at a time, longest first. */
const OWN_ENGINES = [
  ...['processors/nightly/nightly-kills', 'processors/sinks/sink', 'infra/dev/engines', 'infra/runtime/kafka/kafka'],
  ...['ingest/outlet/outlet', 'infra/runtime/security', 'infra/runtime/questdb/questdb'],
].map(toTest);
/** Started first, longest first, so that none runs alone at the end; the rest in the order of their names. */
const LONG = [
  ...['api/operations/candles-rolled', 'clients/python', 'ingest/feed/hyperliquid-deribit', 'ingest/feed/bybit-okx'],
  ...['infra/runtime/kafka/brokers', 'browser/docs-site'],
  ...['api/operations/anchor-proofs', 'processors/runner/recovery', 'browser/account-site', 'processors/nightly/close'],
].map(toTest);
/** Folders whose tests need no more than a core: they begin at once, beside all others, and take what those leave of the cores. */
const PURE = ['ingest/venues', 'schemas', 'api/language', 'api/screen', 'api/series', 'api/live', 'api/explorer'];
/**
 * A service that gets too little of the cores falls behind for good, and each of its processes and engines has as much weight as a test file:
 * pure tests have a tenth of that weight, other files without a service a third.
 */
const NICENESS = { service: 0, other: 5, pure: 10 } as const;
/** Of every process of a run. Its offset is not a whole number of hours and its date mostly not that of UTC: what depends on the machine's zone fails. */
const ZONE = 'Pacific/Chatham';
/** For a file that hangs: on a machine with too much to do one that goes well takes many times its seconds. Long shows are given more. */
const FILE_LIMIT_MS = Number(process.env['TEST_FILE_LIMIT_S'] ?? 1_200) * 1_000;
/** Lines shown of a file's failures, and of its end. */
const SHOWN_LINES = 150;
/** Lines shown of one failed point. */
const POINT_LINES = 40;

interface FileResult extends TapCount {
  readonly file: string;
}

interface RunOptions {
  /** Lines of standard error. */
  readonly onLine?: (line: string) => void;
  /** Whether another file of the queues is begun; without it all are. */
  readonly goesOn?: () => boolean;
}

const progress = createProgress((text) => process.stdout.write(text));
const running = new Set<ChildProcess>();
/** CPU time that was already printed for a file. */
let printedCpu = 0;

const results = await main(process.argv.slice(2));
const passed = sum(results.map((result) => result.passed));
const failed = sum(results.map((result) => result.failed));
for (const { file, failed: count } of results) if (count > 0) console.log(`failed: ${file}`);
console.log(`assertions of ${results.length} files; processor time of the engines they share: ${readNewCpu()}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** Arguments are parts of file names: only files that contain one of them are run. */
async function main(wanted: readonly string[]): Promise<FileResult[]> {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT })
    .sort()
    .filter((file) => (wanted.length === 0 ? !isOnRequest(file) : wanted.some((part) => file.includes(part))));
  await bundleTap();
  const opening = ALONE_FIRST.filter((file) => files.includes(file));
  const services = SERVICES.filter((file) => files.includes(file));
  const withEngines = OWN_ENGINES.filter((file) => files.includes(file));
  const apart = new Set([...opening, ...services, ...withEngines]);
  const rest = files.filter((file) => !apart.has(file));
  const others = longestFirst(rest.filter((file) => !isPure(file)));
  const pure = rest.filter(isPure);
  process.env.TZ ??= ZONE;
  process.env.TEST_FOLDER = RUNS;
  const host = files.some(isOnEngines) ? await progress.during('the engines', startEngines()) : null;
  // After the start of the engines, whose host ends them in order: an interrupt kills what has this folder.
  const temporary = openTemporary();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  watchParent(interrupt);
  try {
    const beside = runInOrder([pure]);
    // Beside files that run alone there is room for two, of which one may wait; the rest of them fills the end of the run.
    let isOpening = true;
    const besideOpening = runInOrder([pure], { goesOn: () => isOpening });
    const opened = await runAlone(opening);
    isOpening = false;
    // Three at once, those that run alone first among them, keep two cores busy; with more, waits of tests become longer and nothing ends sooner.
    const results = await Promise.all([
      beside,
      besideOpening,
      opened.results,
      runInOrder([services, others, pure]),
      runInOrder([withEngines, others, pure]),
      opened.results.then(() => runInOrder([others, pure])),
    ]);
    return results.flat();
  } finally {
    if (host !== null) await progress.during('the engines to stop', stopEngines(host));
    rmSync(temporary, { recursive: true, force: true });
  }
}

function hasMemory(): boolean {
  return existsSync(MEMORY) && Math.min(process.availableMemory(), readFreeBytes(MEMORY)) > MEMORY_BYTES;
}

function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Makes the folder that every process of this run takes for the temporary one, so that killed tests leave nothing. */
function openTemporary(): string {
  removeLeftovers(TEMPORARY);
  const folder = mkdtempSync(join(TEMPORARY, `perp-tests-${process.pid}-`));
  process.env.TMPDIR = folder;
  return folder;
}

function toEndToEnd(name: string): string {
  return toTest(`e2e/${name}`);
}

function toTest(path: string): string {
  return `test/${path}.test.ts`;
}

function longestFirst(files: readonly string[]): string[] {
  const long = LONG.filter((file) => files.includes(file));
  return [...long, ...files.filter((file) => !long.includes(file))];
}

function isOnRequest(file: string): boolean {
  return ON_REQUEST.some((name) => file === toEndToEnd(name));
}

function isPure(file: string): boolean {
  return PURE.some((folder) => file.startsWith(`test/${folder}/`)) && !isOnEngines(file);
}

function findNiceness(file: string): number {
  if (ALONE_FIRST.includes(file) || SERVICES.includes(file)) return NICENESS.service;
  return isPure(file) ? NICENESS.pure : NICENESS.other;
}

function isOnEngines(file: string): boolean {
  return needsEngines(join(ROOT, file), join(ROOT, 'test'));
}

type SharedEngines = { readonly dir: string; readonly address: HostAddress; readonly host: ChildProcess };

/** A folder of this run, passed to the files by TEST_ENGINES_DIR. */
async function startEngines(): Promise<SharedEngines> {
  mkdirSync(RUNS, { recursive: true });
  removeLeftovers(RUNS);
  const dir = join(RUNS, `run-${process.pid}`);
  process.env.TEST_ENGINES_DIR = dir;
  const host = startHost(dir, process.pid);
  const address = await waitForHost(dir);
  await useEngines({ teardown: () => undefined }, ['kafka', 'questdb', 'postgres', 'anvil']);
  progress.print('the engines are ready');
  return { dir, address, host };
}

/** Removes the folders of our runs that were killed. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!isLeftover(name) || statSync(path).uid !== process.getuid?.()) continue;
    killProcessesOf(path);
    rmSync(path, { recursive: true, force: true });
  }
}

function isLeftover(name: string): boolean {
  const pid = /^(?:run|own|perp-tests)-(\d+)/.exec(name)?.[1];
  if (pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch {
    return true;
  }
}

async function stopEngines({ dir, address, host }: SharedEngines): Promise<void> {
  // Its parent waits for it, so that its CPU time is counted.
  host.ref();
  const ended = once(host, 'exit');
  if (isAlive(address)) process.kill(address.pid, 'SIGTERM');
  if (host.exitCode === null && host.signalCode === null) await ended;
  rmSync(dir, { recursive: true, force: true });
}

/** Takes the files out of the queues one after the other: all of the first, then what is left in the next. */
async function runInOrder(queues: readonly string[][], how: RunOptions = {}): Promise<FileResult[]> {
  const { goesOn = () => true } = how;
  const done: FileResult[] = [];
  for (const queue of queues) {
    while (goesOn()) {
      const file = queue.shift();
      if (file === undefined) break;
      done.push(await runFile(file, how));
    }
  }
  return done;
}

/** Begins one file after the other, each when the one before needs the machine for itself no more; the results come later. */
async function runAlone(files: readonly string[]): Promise<{ readonly results: Promise<FileResult[]> }> {
  const running: Promise<FileResult>[] = [];
  for (const file of files) {
    const free = Promise.withResolvers<void>();
    const onLine = (line: string): void => {
      if (line === MACHINE_FREE) free.resolve();
    };
    const result = runFile(file, { onLine });
    running.push(result);
    await Promise.race([free.promise, result]);
  }
  return { results: Promise.all(running) };
}

async function runFile(file: string, how: RunOptions): Promise<FileResult> {
  const begun = performance.now();
  const { output, ending, cpu } = await collectOutput(file, how);
  const counted = countAssertions(output);
  // A file that ends badly without a failed assertion has failed all the same.
  const failed = counted.failed === 0 && ending !== null ? 1 : counted.failed;
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const verdict = failed === 0 ? 'ok    ' : 'FAILED';
  progress.print(`${verdict} ${file}  ${counted.passed} passed, ${failed} failed, ${seconds} s, processor ${cpu}`);
  if (failed > 0) console.log([...failuresIn(output), ending ?? ''].join('\n'));
  return { file: relative(ROOT, join(ROOT, file)), passed: counted.passed, failed };
}

/** Each failed point with tap's diagnostics; the end of the output when there is none. */
function failuresIn(output: string): readonly string[] {
  const lines = output.split('\n');
  const points = lines.flatMap((line, at) => (/^\s*not ok\b/.test(line) ? [pointAt(lines, at)] : []));
  return points.length > 0 ? points.flat().slice(0, SHOWN_LINES) : lines.slice(-SHOWN_LINES);
}

function pointAt(lines: readonly string[], at: number): readonly string[] {
  const shown = lines.slice(at, at + POINT_LINES);
  const end = shown.findIndex((line) => /^\s*\.\.\.$/.test(line));
  return end === -1 ? shown : shown.slice(0, end + 1);
}

function collectOutput(
  file: string,
  { onLine = () => undefined }: RunOptions,
): Promise<{ output: string; ending: string | null; cpu: string }> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, [...USE_BUNDLED_TAP, file], {
      cwd: ROOT,
      // A group of its own: what a file has started ends with it, however it ends.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The limit of the file is ours; tap's own 30 s are for pure code, and engines start and recover in the meantime.
      env: { ...process.env, TAP_TIMEOUT: String(FILE_LIMIT_MS / 1000), LOG_LEVEL: process.env.LOG_LEVEL ?? 'error' },
    });
    running.add(child);
    if (child.pid !== undefined) lowerPriority(child.pid, findNiceness(file));
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    createInterface({ input: child.stderr }).on('line', onLine);
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      endFile(child);
    }, FILE_LIMIT_MS);
    let cpu = '';
    child.on('exit', () => {
      cpu = readNewCpu();
      endFile(child);
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      running.delete(child);
      const how = late
        ? `ended after its limit of ${FILE_LIMIT_MS / 1000} s`
        : `ended with ${signal ?? `exit code ${code}`}`;
      settle({ output, ending: code === 0 ? null : how, cpu });
    });
  });
}

/** Of a process that leads a session; Linux may share out the cores among sessions, which have a niceness of their own then (man 7 sched, autogroup). */
function lowerPriority(pid: number, niceness: number): void {
  setPriority(pid, niceness);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // No such scheduling: that of the process counts.
  }
}

/** CPU time of processes that ended since the last call: a file's own processes, when called as the file ends. */
function readNewCpu(): string {
  const ended = cpuOfEnded();
  if (ended === null) return 'unknown';
  const seconds = ended - printedCpu;
  printedCpu = ended;
  return `${seconds.toFixed(1)} s`;
}

function interrupt(): void {
  for (const child of running) endFile(child);
  const { TMPDIR } = process.env;
  if (TMPDIR !== undefined && TMPDIR !== TEMPORARY) killProcessesOf(TMPDIR);
  // The engines' host sees its owner go and stops them.
  process.exit(130);
}

function endFile(child: ChildProcess): void {
  if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
