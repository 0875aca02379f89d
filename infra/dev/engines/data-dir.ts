/** The folder of one set of engines: its lock, its generated passwords and the processes last started from it. */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writePrivateFile } from './private-file.ts';
import {
  endInOrder,
  endProcess,
  isAlive,
  type ProcessIdentity,
  type RunRecord,
  readIdentity,
} from './process-identity.ts';

/** Passwords generated at the first start; kept in a file only its owner can read. */
interface Secrets {
  readonly questdb_password: string;
  readonly questdb_readonly_password: string;
  readonly postgres_password: string;
}

/** The holder of a folder; a new start waits for a holder that is about to release it. */
interface Lock extends ProcessIdentity {
  readonly stopping: boolean;
}

export interface DataDir {
  readonly path: string;
  readonly secrets: Secrets;
  /** Records which process runs under this name; null when it has ended. */
  recordRun(name: string, run: RunRecord | null): void;
  /** Records which guard ends the processes of this run when their supervisor is killed. */
  recordGuard(guard: ProcessIdentity): void;
  /** From now on a new start waits for `release`. */
  announceStop(): void;
  release(): void;
}

/** Another living process holds the folder, or it cannot be used. */
class DataDirError extends Error {
  override readonly name = 'DataDirError';
}

/** Beside the records of the processes; it is none of them. */
const GUARD_FILE = 'guard.json';
const LOOK_EVERY_MS = 50;
/** A guard that takes longer than all its processes together is stuck. */
const GUARD_LIMIT_MS = 120_000;

/**
 * Takes the folder for this process. A lock whose process is gone (kill -9, power cut) is taken over, after every process that its
 * owner had started and left running was ended. `wipe` then removes all data of earlier runs.
 */
export async function openDataDir(
  dir: string,
  log: (line: string) => void,
  keep: 'keep' | 'wipe' = 'keep',
): Promise<DataDir> {
  const path = resolve(dir);
  mkdirSync(join(path, 'run'), { recursive: true });
  const lock = await takeLock(path, log);
  await waitForGuard(path, log);
  await endLeftovers(path, log);
  if (keep === 'wipe') wipe(path, lock);
  return {
    path,
    secrets: readSecrets(join(path, 'secrets.json')),
    recordRun: (name, run) =>
      run === null
        ? rmSync(runFile(path, name), { force: true })
        : writeFileSync(runFile(path, name), JSON.stringify(run)),
    recordGuard: (guard) => writeFileSync(join(path, GUARD_FILE), JSON.stringify(guard)),
    announceStop: () => announceStop(lock),
    release: () => rmSync(lock, { force: true }),
  };
}

function announceStop(lock: string): void {
  // Without the folder no process can start in it.
  if (!existsSync(lock)) return;
  try {
    replaceFile(lock, JSON.stringify(makeLock({ stopping: true })));
  } catch {
    // A full disk: a new start is refused instead of waiting.
  }
}

/** The process last started from the folder under this name, if it still runs. */
export function readRun(dir: string, name: string): RunRecord | null {
  const run = readJson<RunRecord>(runFile(dir, name));
  return run !== null && isAlive(run) ? run : null;
}

async function takeLock(path: string, log: (line: string) => void): Promise<string> {
  const lock = join(path, 'lock');
  const mine = join(path, `lock.${process.pid}`);
  writeFileSync(mine, JSON.stringify(makeLock({ stopping: false })));
  try {
    // A link appears with its content already in place, so a half-written lock is never read.
    while (!tryLink(mine, lock)) {
      const holder = readJson<Lock>(lock);
      if (holder !== null && isAlive(holder)) {
        await waitForRelease(holder, path, log);
      } else {
        log(`taking over ${path}: the process that held it (${holder?.pid ?? 'unknown'}) has ended`);
        setAside(lock, `${mine}.stale`, holder);
      }
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return lock;
}

/** Waits for a process that is stopping; another one keeps its folder. */
async function waitForRelease(holder: Lock, path: string, log: (line: string) => void): Promise<void> {
  if (!holder.stopping) {
    throw new DataDirError(
      `${path} is in use by process ${holder.pid}. Stop it first, or set DATA_DIR to another folder.`,
    );
  }
  log(`waiting for process ${holder.pid}, which is stopping`);
  while (isAlive(holder) && existsSync(join(path, 'lock'))) await delay(LOOK_EVERY_MS);
}

function makeLock({ stopping }: Pick<Lock, 'stopping'>): Lock {
  const me = readIdentity(process.pid);
  if (me === null) throw new DataDirError('this process cannot be seen in the process table');
  return { ...me, stopping };
}

/** Readers see the old or the new content, never a part. */
function replaceFile(file: string, content: string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a stale lock; puts it back when two starts raced and the moved lock is not the one that was checked. */
function setAside(lock: string, aside: string, judged: ProcessIdentity | null): void {
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  if (readJson<ProcessIdentity>(aside)?.started !== judged?.started) tryLink(aside, lock);
  rmSync(aside, { force: true });
}

function wipe(path: string, lock: string): void {
  for (const name of readdirSync(path)) {
    const entry = join(path, name);
    if (entry !== lock) rmSync(entry, { recursive: true, force: true });
  }
  mkdirSync(join(path, 'run'));
}

/** The guard of a killed supervisor is ending its processes: a second signal would end a process out of order. */
async function waitForGuard(path: string, log: (line: string) => void): Promise<void> {
  const guard = readJson<ProcessIdentity>(join(path, GUARD_FILE));
  if (guard === null || !isAlive(guard)) return;
  log('waiting for the processes of an earlier run to end');
  const deadline = performance.now() + GUARD_LIMIT_MS;
  while (isAlive(guard) && performance.now() < deadline) await delay(LOOK_EVERY_MS);
  await endProcess(guard, 'SIGKILL', 0);
}

async function endLeftovers(path: string, log: (line: string) => void): Promise<void> {
  const names = readdirSync(join(path, 'run')).flatMap((file) => /^(.*)\.json$/.exec(file)?.[1] ?? []);
  const runs = names.flatMap((name) => {
    const run = readRun(path, name);
    if (run !== null) log(`ending ${name} (process ${run.pid}), left over from an earlier run`);
    return run ?? [];
  });
  await endInOrder(runs);
  for (const name of names) rmSync(runFile(path, name), { force: true });
}

function readSecrets(file: string): Secrets {
  const known = readJson<Secrets>(file);
  if (known !== null) return known;
  const made: Secrets = {
    questdb_password: makePassword(),
    questdb_readonly_password: makePassword(),
    postgres_password: makePassword(),
  };
  writePrivateFile(file, `${JSON.stringify(made, null, 2)}\n`);
  return made;
}

// Letters and digits only: the passwords appear in URLs, in a Java properties file and in ILP configuration strings.
function makePassword(): string {
  return randomBytes(18).toString('hex');
}

function runFile(path: string, name: string): string {
  return join(path, 'run', `${name}.json`);
}

function readJson<T>(file: string): T | null {
  if (!existsSync(file)) return null;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return null;
  }
}
