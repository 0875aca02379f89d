// Python packages in a folder of their own, installed by pip once: the value of PYTHONPATH for a program that uses them.
import { execFileSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LOCAL = new URL('../../.local/', import.meta.url);
const QUIET = ['--quiet', '--no-compile', '--disable-pip-version-check'];

/** The folder of `packages`. It is made under another name first, so that it is whole whenever it is there. Throws with the output of pip. */
export const installPackages = (name: string, packages: readonly string[]): string => {
  const home = fileURLToPath(new URL(`python-${name}`, LOCAL));
  if (existsSync(home)) return home;
  const made = `${home}.${process.pid}`;
  execFileSync('python3', ['-m', 'pip', 'install', ...QUIET, '--target', made, ...packages], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  rmSync(home, { recursive: true, force: true });
  renameSync(made, home);
  return home;
};
