/** Ends what a run of tests started and an interrupt left: processes in groups of their own, such as a whole demo. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** Kills the processes whose temporary folder (TMPDIR) is `folder`, but not this one. */
export function killProcessesOf(folder: string): void {
  for (const pid of listPids()) {
    if (pid === process.pid || !hasFolder(pid, folder)) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

function listPids(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function hasFolder(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`TMPDIR=${folder}`);
  } catch {
    // Gone, or another user's.
    return false;
  }
}
