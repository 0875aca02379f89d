/** Where the Java engines find their runtime and their archives. */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');
const ENGINES_DIR = join(PROJECT_ROOT, '.local', 'engines');

export class EngineMissingError extends Error {
  override readonly name = 'EngineMissingError';
}

export function javaCommand(env: NodeJS.ProcessEnv = process.env): string {
  const home = env.JAVA_HOME;
  return home !== undefined && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java';
}

/** The folder of an engine's archives; they are fetched by infra/dev/local/bootstrap.mjs. */
export function engineJars(name: 'kafka' | 'questdb'): string {
  const folder = join(ENGINES_DIR, name);
  if (!existsSync(folder) || !readdirSync(folder).some((file) => file.endsWith('.jar'))) {
    throw new EngineMissingError(`${folder} holds no archives: run \`node infra/dev/local/bootstrap.mjs fetch\` once`);
  }
  return folder;
}
