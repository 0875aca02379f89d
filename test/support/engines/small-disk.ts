// A file system of a few kilobytes in memory, for tests of a full disk; only where this process may mount one.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Teardown } from './engines.ts';

/** Its folder, or null where none can be mounted. `size` as mount reads it: `512k`. */
export const smallDisk = (t: Teardown, size: string): string | null => {
  const dir = mkdtempSync(join(tmpdir(), 'disk-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    return null;
  }
  t.teardown(() => execFileSync('umount', ['-l', dir]));
  return dir;
};

/** For a test's `skip`: why it cannot run here, or false. */
export const noSmallDisk: string | false = (() => {
  const ends: (() => unknown)[] = [];
  const dir = smallDisk({ teardown: (work) => ends.unshift(work) }, '64k');
  for (const end of ends) end();
  return dir === null ? 'no small file system can be mounted here' : false;
})();
