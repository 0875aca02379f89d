// The past of a local run: whether a start has one to write or to finish, and the thread that does it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { pastFile, readPast, writePast } from '../past/state.ts';
import type { PastOrder, PastSettings, PastStart, PastWord } from '../past/worker.ts';
import type { Progress } from './progress.ts';

/** Days of it that a reader can ask for. */
export type ToldPast = Extract<PastWord, { archived: unknown }>['archived'];

/** `again`: a start was cut off while it wrote. `finish`: it is in the log, its days are not archived yet. */
export type PastWork = 'first' | 'again' | 'finish';

export type PastFolder = {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whatever it holds is removed at this start. */
  readonly isWiped?: boolean;
};

/**
 * What a start has to do. One that was cut off has served nobody, so its folder is emptied and the past begun anew. Null: the folder has its past,
 * or was made without one, or the log is somebody else's.
 */
export function pastWork({ dir, env, isWiped = false }: PastFolder): PastWork | null {
  if (env['KAFKA_BROKERS']) return null;
  if (isWiped) return 'first';
  const held = readPast(pastFile(dir));
  if (held === null) return existsSync(join(dir, 'keys.json')) ? null : 'first';
  return ({ writing: 'again', written: 'finish', archived: null } as const)[held.state];
}

export type PastRun = {
  /** Called before anything else is kept in the folder, which is ours by now: from here on a start that is cut off is known. */
  readonly begun: () => void;
  /** Once Kafka is there. Resolves when the past is whole in the log. */
  readonly write: (order: Omit<PastOrder, 'file' | 'shards'>) => Promise<void>;
  /** Of the nightly steps, which follow once its rows are stored. */
  readonly settings: (nightly: PastSettings['nightly']) => void;
  /** Its days are archived, the old one is closed. */
  readonly archived: Promise<ToldPast>;
  readonly stop: () => Promise<void>;
};

type PastOptions = {
  readonly dir: string;
  readonly work: PastWork;
  readonly shards: number;
  readonly progress: Progress;
};

/** One sentence for a person: the first line of what went wrong, and what comes of it. */
export const explainFailure = (error: unknown): string => {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return `it could not be finished (${reason}); everything else runs, and the next start goes on with it`;
};

/** Begins to make it at once: that needs no engine. */
export function startPast({ dir, work, shards, progress }: PastOptions): PastRun {
  const written = Promise.withResolvers<void>();
  const archived = Promise.withResolvers<ToldPast>();
  const fail = (error: unknown): void => {
    written.reject(error);
    archived.reject(error);
  };
  // Both are awaited by whoever wants them; a run that is stopped before leaves them alone.
  for (const { promise } of [written, archived]) promise.catch(() => undefined);
  const worker = new Worker(new URL('../past/worker.ts', import.meta.url));
  worker.on('error', (error) => {
    progress.say(`past: ${explainFailure(error)}`);
    fail(error);
  });
  worker.on('exit', () => fail(new Error('the past was stopped')));
  worker.on('message', (word: PastWord) => {
    if ('progress' in word) progress.say(`past: ${word.progress}`);
    else if ('archived' in word) archived.resolve(word.archived);
    else {
      progress.say(`past: ${word.written} messages are in the log`);
      written.resolve();
    }
  });
  worker.postMessage({ shards, makes: work !== 'finish' } satisfies PastStart);
  return {
    begun: () => {
      if (work !== 'finish') writePast(pastFile(dir), { state: 'writing', nowMs: Date.now(), oldDayMs: 0 });
    },
    write: async (order) => {
      worker.postMessage({ ...order, file: pastFile(dir), shards } satisfies PastOrder);
      if (work !== 'finish') await progress.during('the past', written.promise);
    },
    settings: (nightly) => worker.postMessage({ nightly } satisfies PastSettings),
    archived: archived.promise,
    stop: async () => void (await worker.terminate()),
  };
}
