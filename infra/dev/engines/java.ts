/** Locates the runtime and the archives of the Java engines. */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');
const ENGINES_DIR = join(PROJECT_ROOT, '.local', 'engines');

export class EngineMissingError extends Error {
  override readonly name = 'EngineMissingError';
}

/** What an engine's runtime is chosen for (D-122): `production`; `local`, a demo of minutes to hours on a laptop; `brief`, tests. */
export type EngineProfile = 'production' | 'local' | 'brief';

/** The collector that has no threads of its own. */
export const SERIAL_COLLECTOR = '-XX:+UseSerialGC';
/** Without the second compiler, which takes most of a start and pays it back only after minutes of the same work. */
export const FIRST_COMPILER = '-XX:TieredStopAtLevel=1';

/** Has the JVM map classes that it read at an earlier start, once `class-archives.mjs` has kept them. One of another JDK is passed over with a warning. */
export function listClassArchiveOptions(name: 'kafka' | 'questdb'): readonly string[] {
  const file = join(ENGINES_DIR, `${name}.jsa`);
  return existsSync(file) ? [`-XX:SharedArchiveFile=${file}`] : [];
}

export function findJavaCommand(env: NodeJS.ProcessEnv = process.env): string {
  const home = env.JAVA_HOME;
  return home !== undefined && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java';
}

/** The folder of an engine's archives, downloaded by infra/dev/local/bootstrap.mjs. */
export function findEngineJars(name: 'kafka' | 'questdb'): string {
  const folder = join(ENGINES_DIR, name);
  if (!existsSync(folder) || !readdirSync(folder).some((file) => file.endsWith('.jar'))) {
    throw new EngineMissingError(`${folder} holds no archives: run \`node infra/dev/local/bootstrap.mjs fetch\` once`);
  }
  return folder;
}
