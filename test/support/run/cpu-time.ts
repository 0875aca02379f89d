/** CPU time of processes that have ended, reported by Linux to a parent that waited for them; not available elsewhere. */
import { readFileSync } from 'node:fs';

/** Linux counts it in hundredths of a second, whatever the kernel's own tick is (man 5 proc, sysconf(_SC_CLK_TCK)). */
const TICKS_A_SECOND = 100;

/** Seconds of user and system time of our ended children, and of those that they waited for; null where the system does not report it. */
export function cpuOfEnded(): number | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    // The name may hold blanks and brackets: fields are counted after its last bracket; cutime and cstime are 16 and 17.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND;
  } catch {
    return null;
  }
}
