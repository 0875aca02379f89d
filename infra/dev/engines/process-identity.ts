/** Which process a recorded pid meant: a pid alone may since have been given to a stranger. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process named so that no later process can be taken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Boot and start tick on Linux, the start time as `ps` prints it elsewhere. */
  readonly started: string;
}

/** What a supervisor knows about a process it started, so that its guard or a later start can end it. */
export interface RunRecord extends ProcessIdentity {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
  /** Place in the order of the start: processes end from the highest to the lowest. */
  readonly order: number;
}

/** The process that runs under this pid now, or null when none does (a zombie has ended: it counts as none). */
export function identityOf(pid: number): ProcessIdentity | null {
  const started = process.platform === 'linux' ? startedByProc(pid) : startedByPs(pid);
  return started === null ? null : { pid, started };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.started === identity.started;
}

/** Signals the whole group of a process that was started detached; false when it is gone. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Asks the process to end and forces it after `graceMs`; resolves when it is gone. */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (!isAlive(identity)) return;
  signalGroup(identity.pid, signal);
  const deadline = performance.now() + graceMs;
  while (isAlive(identity)) {
    if (performance.now() > deadline) signalGroup(identity.pid, 'SIGKILL');
    await delay(20);
  }
}

/** Ends the processes one after the other, the last started first: what feeds on another is gone before that one stops. */
export async function endInOrder(runs: readonly RunRecord[]): Promise<void> {
  for (const run of runs.toSorted((a, b) => b.order - a.order)) {
    if (!isAlive(run)) continue;
    await endProcess(run, run.signal, run.graceMs);
    // What a dead leader left in its group must not hold its ports.
    signalGroup(run.pid, 'SIGKILL');
  }
}

function startedByProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets, so fields are counted from the last ')': state is 3, starttime 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X' || fields[19] === undefined) return null;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}:${fields[19]}`;
  } catch {
    return null;
  }
}

function startedByPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}
