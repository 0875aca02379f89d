/** Locates the runtime and the archives of the Java engines. */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const PROJECT_ROOT = resolve(import.meta.dirname, '../../..');
const ENGINES_DIR = join(PROJECT_ROOT, '.local', 'engines');

export class EngineMissingError extends Error {
  override readonly name = 'EngineMissingError';
}

/** For runs of minutes: C2 and a parallel collector cost more CPU than they save (first minute of Kafka 8.3 to 4.4 s, QuestDB 6.5 to 4.2 s). */
export const LIGHT_JVM: readonly string[] = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** A heap that follows what is in use: by default the old generation keeps up to 70 % more free room than that. */
export const SMALL_HEAP: readonly string[] = ['-Xms64m', '-XX:MinHeapFreeRatio=10', '-XX:MaxHeapFreeRatio=25'];

/**
 * Each thread's arena keeps its peak, and glibc raises the mmap threshold by itself: buffers of closed connections then fragment the heap. Without
 * these bounds QuestDB grows for hours.
 */
export const FEW_ARENAS = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' };

/** Has the JVM map classes that it read at an earlier start, once `class-archives.mjs` has kept them. One of another JDK is passed over with a warning. */
export function listClassArchiveOptions(name: 'kafka' | 'questdb'): readonly string[] {
  const file = join(ENGINES_DIR, `${name}.jsa`);
  return existsSync(file) ? [`-XX:SharedArchiveFile=${file}`] : [];
}

export function findJavaCommand(): string {
  const home = process.env.JAVA_HOME;
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
