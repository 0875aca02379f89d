/** Child processes of one run: started until ready, restarted when they die, and never left behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeError } from '../../../schemas/thrown.ts';
import type { DataDir } from './data-dir.ts';
import { endProcess, type ProcessIdentity, type RunRecord, readIdentity, signalGroup } from './process-identity.ts';

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Another user than ours; PostgreSQL refuses to run as root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly stopSignal?: NodeJS.Signals;
  readonly stopGraceMs?: number;
  /** By default `READY_TIMEOUT_MS`. */
  readonly readyTimeoutMs?: number;
  /** One probe: true once the process serves. A throw means "not yet"; its message is part of the error of a process that is never ready. */
  readonly isReady: () => Promise<boolean>;
  /** Called for each line of standard output, for a process that announces its addresses; all output goes to the log file too. */
  readonly onLine?: (line: string) => void;
}

export interface Supervised {
  readonly name: string;
  pid(): number | null;
  /** Resolves once the process serves (again). */
  ready(): Promise<void>;
  /** Stops it permanently. */
  stop(): Promise<void>;
  /** kill -9, like a crash; the supervisor restarts it. Resolves when the killed process is gone. */
  kill(): Promise<void>;
  /** kill -9 without a restart until `restart`. Resolves when the killed process is gone. */
  crash(): Promise<void>;
  /** Stops it cleanly and leaves it down until `restart`, like an engine that is away. */
  hold(): Promise<void>;
  /** Stops it cleanly and starts it again; resolves once it serves. */
  restart(): Promise<void>;
}

export interface Supervisor {
  /** Starts a process and resolves once it is ready; throws with the end of its log when it is not. */
  start(spec: ProcessSpec): Promise<Supervised>;
  /** Stops all processes, the last started first, and ends the guard; nothing can be started afterwards. */
  stop(): Promise<void>;
}

class ProcessError extends Error {
  override readonly name = 'ProcessError';
}

/** Bounds a start that hangs, on a machine with ten times its usual load as well: a starting process announces its address. */
const READY_TIMEOUT_MS = 300_000;
const PROBE_EVERY_MS = 60;
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 10_000;
/** A process that served this long resets its backoff. */
const STEADY_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const LOG_LIMIT_BYTES = 32 * 1024 * 1024;

export function createSupervisor(dataDir: DataDir, log: (line: string) => void): Supervisor {
  const guard = startGuard(dataDir);
  const children: SupervisedProcess[] = [];
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    dataDir.announceStop();
    for (const child of [...children].reverse()) await child.stop();
    await guard.end();
  };
  mkdirSync(join(dataDir.path, 'log'), { recursive: true });
  return {
    async start(spec) {
      if (stopped !== null) throw new ProcessError(`${spec.name} was not started: the run is being stopped`);
      const child = new SupervisedProcess(spec, children.length, { dataDir, guard, log });
      children.push(child);
      await child.begin();
      return child;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

interface Run {
  readonly dataDir: DataDir;
  readonly guard: Guard;
  readonly log: (line: string) => void;
}

class SupervisedProcess implements Supervised {
  readonly name: string;
  readonly #spec: ProcessSpec;
  readonly #order: number;
  readonly #dataDir: DataDir;
  readonly #guard: Guard;
  readonly #log: (line: string) => void;
  #running: { readonly child: ChildProcess; readonly identity: ProcessIdentity } | null = null;
  #wanted = true;
  /** Has been ready since `begin`: only then does the supervisor recover from its death. */
  #served = false;
  #backoffMs = FIRST_BACKOFF_MS;
  #readiness = Promise.resolve();
  readonly #abandoned = new AbortController();

  constructor(spec: ProcessSpec, order: number, run: Run) {
    this.name = spec.name;
    this.#spec = spec;
    this.#order = order;
    this.#dataDir = run.dataDir;
    this.#guard = run.guard;
    this.#log = run.log;
  }

  pid(): number | null {
    return this.#running?.identity.pid ?? null;
  }

  async ready(): Promise<void> {
    for (;;) {
      const awaited = this.#readiness;
      const failure = await awaited.then(
        () => null,
        (error: unknown) => ({ error }),
      );
      // It died again meanwhile: only the newest start counts.
      if (awaited !== this.#readiness) continue;
      if (failure !== null) throw failure.error;
      return;
    }
  }

  async begin(): Promise<void> {
    this.#wanted = true;
    const startedAt = performance.now();
    this.#served = false;
    this.#expectReady(this.#spawn().then(() => this.#untilReady(startedAt)));
    await this.#readiness;
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    this.#abandoned.abort();
    await this.#end();
    // A process that was being spawned is ended there.
    await this.#readiness.catch(() => undefined);
  }

  async kill(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    const back = new Promise<void>((settle) => running.child.once('exit', () => settle()));
    signalGroup(running.identity.pid, 'SIGKILL');
    await back;
  }

  async crash(): Promise<void> {
    this.#wanted = false;
    await this.kill();
  }

  async hold(): Promise<void> {
    this.#wanted = false;
    await this.#end();
  }

  async restart(): Promise<void> {
    await this.hold();
    await this.begin();
  }

  async #end(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    const gone = new Promise<void>((settle) => running.child.once('exit', () => settle()));
    await endProcess(running.identity, this.#ending().signal, this.#ending().graceMs);
    await gone;
  }

  #ending(): Pick<RunRecord, 'signal' | 'graceMs'> {
    return { signal: this.#spec.stopSignal ?? 'SIGTERM', graceMs: this.#spec.stopGraceMs ?? STOP_GRACE_MS };
  }

  async #spawn(): Promise<void> {
    const spec = this.#spec;
    const log = openLog(this.#logFile());
    const child = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...process.env, ...spec.env },
      // Its own group: Ctrl-C reaches only us, and we stop the processes in order.
      detached: true,
      stdio: ['ignore', spec.onLine === undefined ? log : 'pipe', log],
      ...spec.user,
    });
    forwardLines(child, log, spec.onLine);
    const pid = await waitForSpawn(child, spec);
    const identity = readIdentity(pid) ?? { pid, started: 'ended at once' };
    this.#running = { child, identity };
    const life = { pid, startedAt: performance.now() };
    child.once('exit', (code, signal) => this.#onExit(life, code, signal));
    // Stopped while it was being spawned: nothing else would end it.
    if (!this.#wanted) signalGroup(pid, 'SIGKILL');
    this.#record({ ...identity, ...this.#ending(), order: this.#order });
    if (child.exitCode !== null || child.signalCode !== null) this.#onExit(life, child.exitCode, child.signalCode);
  }

  #record(run: RunRecord | null): void {
    this.#guard.record(this.name, run);
    this.#dataDir.recordRun(this.name, run);
  }

  #onExit({ pid, startedAt }: Life, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#running?.identity.pid !== pid) return;
    // Children of a dead group leader must not hold its ports.
    signalGroup(pid, 'SIGKILL');
    this.#record(null);
    this.#running = null;
    if (!this.#wanted || !this.#served) return;
    const livedMs = performance.now() - startedAt;
    if (livedMs > STEADY_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
    this.#log(`${this.name} died (${reason}) after ${formatSeconds(livedMs)}; its log: ${this.#logFile()}`);
    this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    const waitMs = this.#backoffMs;
    this.#backoffMs = Math.min(this.#backoffMs * 2, LONGEST_BACKOFF_MS);
    this.#expectReady(this.#comeBack(waitMs));
  }

  async #comeBack(waitMs: number): Promise<void> {
    const diedAt = performance.now();
    await delay(waitMs, undefined, { signal: this.#abandoned.signal });
    let isSpawned = false;
    try {
      await this.#spawn();
      isSpawned = true;
      await this.#untilReady(diedAt);
      this.#log(`${this.name} is back after ${formatSeconds(performance.now() - diedAt)}`);
    } catch (error) {
      // A process that runs without serving, or without a record for the next start, is ended: its death is handled like any other.
      if (!isSpawned) this.#log(`${this.name} cannot be started again: ${(error as Error).message}`);
      if (this.#running !== null) await this.kill();
      else if (!isSpawned && this.#wanted) this.#scheduleRestart();
      throw error;
    }
  }

  #expectReady(readiness: Promise<void>): void {
    this.#readiness = readiness;
    readiness.catch(() => undefined);
  }

  async #untilReady(startedAt: number): Promise<void> {
    const pid = this.pid();
    let answer = '';
    for (;;) {
      if (this.pid() !== pid || pid === null) {
        throw new ProcessError(`${this.name} ended before it was ready\n${readTail(this.#logFile())}`);
      }
      try {
        if (await this.#spec.isReady()) {
          this.#served = true;
          return;
        }
      } catch (error) {
        answer = `: ${describeError(error)}`;
      }
      const waited = performance.now() - startedAt;
      if (waited > (this.#spec.readyTimeoutMs ?? READY_TIMEOUT_MS)) {
        throw new ProcessError(
          `${this.name} was not ready after ${formatSeconds(waited)}${answer}\n${readTail(this.#logFile())}`,
        );
      }
      await delay(PROBE_EVERY_MS);
    }
  }

  #logFile(): string {
    return join(this.#dataDir.path, 'log', `${this.name}.log`);
  }
}

/** One process of a child, from its spawn to its exit. */
interface Life {
  readonly pid: number;
  readonly startedAt: number;
}

interface Guard {
  /** Records what to end from now on; null when the process has ended. */
  record(name: string, run: RunRecord | null): void;
  /** Resolves when it is gone: the next run may then write its records into the folder. */
  end(): Promise<void>;
}

/** One small process per supervisor, which ends the running processes once we are gone; see guard.ts. */
function startGuard(dataDir: DataDir): Guard {
  const script = fileURLToPath(new URL('./guard.ts', import.meta.url));
  const guard = spawn(process.execPath, [script], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = new Promise<void>((settle) => {
    for (const event of ['exit', 'error'] as const) guard.once(event, () => settle());
  });
  guard.unref();
  guard.stdin.on('error', () => undefined);
  (guard.stdin as unknown as { unref?: () => void }).unref?.();
  const identity = readIdentity(guard.pid ?? 0);
  if (identity !== null) dataDir.recordGuard(identity);
  return {
    record: (name, run) => guard.stdin.write(`${JSON.stringify({ name, run })}\n`),
    end() {
      guard.ref();
      guard.kill('SIGKILL');
      return gone;
    },
  };
}

function waitForSpawn(child: ChildProcess, spec: ProcessSpec): Promise<number> {
  return new Promise((settle, fail) => {
    child.once('error', (error) => fail(new ProcessError(`${spec.name} cannot be started: ${error.message}`)));
    child.once('spawn', () => settle(child.pid ?? 0));
  });
}

function forwardLines(child: ChildProcess, log: number, onLine: ((line: string) => void) | undefined): void {
  if (child.stdout === null || onLine === undefined) {
    closeSync(log);
    return;
  }
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    writeSync(log, `${line}\n`);
    onLine(line);
  });
  lines.on('close', () => closeSync(log));
}

function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

function readTail(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return [...lines.slice(-15), `(whole log: ${file})`].join('\n');
}

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
