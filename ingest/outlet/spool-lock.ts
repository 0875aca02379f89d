// One process for each spool folder: a file names the owner; an owner that no longer runs is ignored.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Start tick of a process, which distinguishes it from a later one with the same pid; empty where the system does not report it. */
const readStart = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command's name may contain spaces and brackets, so fields are counted from the last bracket: starttime is the 22nd.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
};

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Pid of the running owner other than this process, or null. */
const readOwner = (file: string): number | null => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  const [pid = Number.NaN, start = ''] = [Number(text.split(' ')[0]), text.split(' ')[1]];
  const isOther = Number.isInteger(pid) && pid > 0 && pid !== process.pid && isRunning(pid);
  return isOther && readStart(pid) === start ? pid : null;
};

/** Locks the folder. Throws when a running process owns it: two collectors would use one name. */
export const lockFolder = (dir: string): void => {
  const file = join(dir, 'owner');
  const owner = readOwner(file);
  if (owner !== null)
    throw new Error(`${dir} belongs to process ${owner}: each running collector needs its own COLLECTOR_ID`);
  writeFileSync(file, `${process.pid} ${readStart(process.pid)}`);
};

export const unlockFolder = (dir: string): void => rmSync(join(dir, 'owner'), { force: true });
