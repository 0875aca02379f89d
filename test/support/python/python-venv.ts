// A Python environment with the client of this clone as `pip install ./clients/python` makes it; kept until a requirement or the client changes.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installByPip } from './python-packages.ts';

export const PYTHON_CLIENT = fileURLToPath(new URL('../../../clients/python', import.meta.url));
const LOCAL = fileURLToPath(new URL('../../../.local', import.meta.url));
const run = promisify(execFile);

/** Builds the client without fetching the builder again. */
const BUILDER = ['hatchling'];

const hashParts = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);

const clientHash = (): string => {
  const files = ['pyproject.toml', 'README.md', ...globSync('src/**/*.{py,typed}', { cwd: PYTHON_CLIENT }).sort()];
  return hashParts(files.flatMap((file) => [file, readFileSync(join(PYTHON_CLIENT, file), 'utf8')]));
};

const isDone = (mark: string, hash: string): boolean => existsSync(mark) && readFileSync(mark, 'utf8') === hash;

/** Runs pip for an environment that has none of its own: installing one takes longer than everything else here. */
const installInto = (home: string, ...words: readonly string[]): Promise<unknown> =>
  installByPip(words, ['--python', join(home, 'bin/python')]);

const OLDEST = [3, 11] as const;

/** Rejects with a message where `python3` is older than the client supports. */
const requirePython = async (): Promise<void> => {
  const { stdout } = await run('python3', ['-c', 'import sys; print(*sys.version_info[:2])']);
  const [major = 0, minor = 0] = stdout.split(' ').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new Error(`python3 is ${major}.${minor}: the Python client needs ${OLDEST.join('.')} or newer`);
};

/** The environment's python, with the client and `packages`. Rejects with the output of pip. */
export const pythonWithClient = async (name: string, packages: readonly string[]): Promise<string> => {
  await requirePython();
  const requirements = readFileSync(join(PYTHON_CLIENT, 'tests/requirements.txt'), 'utf8');
  const wanted = hashParts([requirements, ...packages]);
  const home = join(LOCAL, `python-${name}`);
  const [made, installed] = [join(home, 'made'), join(home, 'installed')];
  if (!isDone(made, wanted)) {
    rmSync(home, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', '--without-pip', home]);
    await installInto(home, '--constraint', join(PYTHON_CLIENT, 'tests/requirements.txt'), ...BUILDER, ...packages);
    writeFileSync(made, wanted);
  }
  const client = clientHash();
  if (!isDone(installed, client)) {
    await installInto(home, '--no-deps', '--no-build-isolation', '--force-reinstall', PYTHON_CLIENT);
    writeFileSync(installed, client);
  }
  return join(home, 'bin/python');
};
