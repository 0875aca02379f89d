/** Identifies the process of a recorded pid: the system may since have given the pid to another process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Identifies a process so that no later one can be mistaken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Boot and start tick on Linux, the start time as `ps` prints it elsewhere. */
  readonly started: string;
}

/** Recorded about a process by its supervisor, so that its guard or a later start can end it. */
export interface RunRecord extends ProcessIdentity {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
  /** Position in the order of the start: processes end from the highest to the lowest. */
  readonly order: number;
}

/** The process that runs under this pid now, or null (a zombie has ended and counts as none). */
export function readIdentity(pid: number): ProcessIdentity | null {
  const started = process.platform === 'linux' ? readStartFromProc(pid) : readStartFromPs(pid);
  return started === null ? null : { pid, started };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return readIdentity(identity.pid)?.started === identity.started;
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

/** Signals the process to end and kills it after `graceMs`; resolves when it is gone. */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (!isAlive(identity)) return;
  signalGroup(identity.pid, signal);
  const deadline = performance.now() + graceMs;
  while (isAlive(identity)) {
    if (performance.now() > deadline) signalGroup(identity.pid, 'SIGKILL');
    await delay(20);
  }
}

/** Ends the processes one after the other, the last started first, so that a dependent process is gone before its dependency stops. */
export async function endInOrder(runs: readonly RunRecord[]): Promise<void> {
  for (const run of runs.toSorted((a, b) => b.order - a.order)) {
    if (!isAlive(run)) continue;
    await endProcess(run, run.signal, run.graceMs);
    // Children of a dead group leader must not hold its ports.
    signalGroup(run.pid, 'SIGKILL');
  }
}

function readStartFromProc(pid: number): string | null {
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

function readStartFromPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}
