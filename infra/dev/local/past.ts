// The past of a local run: decides whether a start has to write or finish it, and runs the thread that does.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { pastFile, readPast, writePast } from '../past/state.ts';
import type { PastMessage, PastOrder, PastSettings, PastStart } from '../past/worker.ts';
import type { Progress } from './progress.ts';

/** Days of the past that a reader can request. */
export type ArchivedPast = Extract<PastMessage, { archived: unknown }>['archived'];

/** `again`: a start was interrupted while it wrote. `finish`: it is in the log, its days are not archived yet. */
export type PastWork = 'first' | 'again' | 'finish';

export type PastFolder = {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whether this start removes all data. */
  readonly isWiped?: boolean;
};

/**
 * What a start has to do. An interrupted start has served no client, so its folder is emptied and the past begun anew. Null: the folder has its
 * past, or was made without one, or the log is external.
 */
export function pastWork({ dir, env, isWiped = false }: PastFolder): PastWork | null {
  if (env['KAFKA_BROKERS']) return null;
  if (isWiped) return 'first';
  const held = readPast(pastFile(dir));
  if (held === null) return existsSync(join(dir, 'keys.json')) ? null : 'first';
  return ({ writing: 'again', written: 'finish', archived: null } as const)[held.state];
}

export type PastRun = {
  /** Called before other data is written to the folder, once the folder is ours: from here on an interrupted start is recorded. */
  readonly begun: () => void;
  /** Called once Kafka runs. Resolves when the past is whole in the log. */
  readonly write: (order: Omit<PastOrder, 'file' | 'shards'>) => Promise<void>;
  /** Settings of the nightly steps, which follow once its rows are stored. */
  readonly settings: (nightly: PastSettings['nightly']) => void;
  /** Resolves when its days are archived and the old one is closed. */
  readonly archived: Promise<ArchivedPast>;
  readonly stop: () => Promise<void>;
};

type PastOptions = {
  readonly dir: string;
  readonly work: PastWork;
  readonly shards: number;
  readonly progress: Progress;
};

/** One sentence: the first line of the failure, and its consequence. */
export const explainFailure = (error: unknown): string => {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return `it could not be finished (${reason}); everything else runs, and the next start goes on with it`;
};

/** Begins to make the past at once, which needs no engine. */
export function startPast({ dir, work, shards, progress }: PastOptions): PastRun {
  const written = Promise.withResolvers<void>();
  const archived = Promise.withResolvers<ArchivedPast>();
  const fail = (error: unknown): void => {
    written.reject(error);
    archived.reject(error);
  };
  // Callers await both; a run that is stopped before does not.
  for (const { promise } of [written, archived]) promise.catch(() => undefined);
  const worker = new Worker(new URL('../past/worker.ts', import.meta.url));
  worker.on('error', (error) => {
    progress.print(`past: ${explainFailure(error)}`);
    fail(error);
  });
  worker.on('exit', () => fail(new Error('the past was stopped')));
  worker.on('message', (message: PastMessage) => {
    if ('progress' in message) progress.print(`past: ${message.progress}`);
    else if ('archived' in message) archived.resolve(message.archived);
    else {
      progress.print(`past: ${message.written} messages are in the log`);
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
