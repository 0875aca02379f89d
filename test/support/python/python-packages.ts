// Python packages in a folder of their own, installed by pip once: the value of PYTHONPATH for a program that uses them.
import { execFile } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const LOCAL = new URL('../../../.local/', import.meta.url);
const MOST_OUTPUT = 64 * 1024 * 1024;

/** `pip install` as every test runs it; `options` are pip's own, before its command. Rejects with the output of pip. */
export const installByPip = (words: readonly string[], options: readonly string[] = []): Promise<unknown> => {
  const install = ['install', '--quiet', '--no-compile', '--disable-pip-version-check'];
  return promisify(execFile)('python3', ['-m', 'pip', ...options, ...install, ...words], { maxBuffer: MOST_OUTPUT });
};

/** The folder of `packages`. It is made under another name first, so that it is whole whenever it is there. */
export const installPackages = async (name: string, packages: readonly string[]): Promise<string> => {
  const home = fileURLToPath(new URL(`python-${name}`, LOCAL));
  if (existsSync(home)) return home;
  const made = `${home}.${process.pid}`;
  await installByPip(['--target', made, ...packages]);
  rmSync(home, { recursive: true, force: true });
  renameSync(made, home);
  return home;
};
