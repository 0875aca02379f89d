// The past of a local run: decides whether a start has to write or finish it, and runs the process that does.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PastMessage, PastOrder, PastSettings, PastStart } from '../past/main.ts';
import { readPast, toPastFile, writePast } from '../past/state.ts';
import type { Progress } from './progress.ts';

/** Days of the past that a reader can request. */
export type ArchivedPast = Extract<PastMessage, { archived: unknown }>['archived'];

/** `again`: a start was interrupted while it wrote. `finish`: it is in the log, its days are not archived yet. */
type PastWork = 'first' | 'again' | 'finish';

type PastFolder = {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Whether this start removes all data. */
  readonly isWiped?: boolean;
};

/**
 * What a start has to do. An interrupted start has served no client, so its folder is emptied and the past begun anew. Null: the folder has its
 * past, or was made without one, or the log is external.
 */
export function readPastWork({ dir, env, isWiped = false }: PastFolder): PastWork | null {
  if (env['KAFKA_BROKERS']) return null;
  if (isWiped) return 'first';
  const held = readPast(toPastFile(dir));
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
const explainFailure = (error: Error): string => {
  const [reason = ''] = error.message.split('\n');
  return `it could not be finished (${reason}); everything else runs, and the next start continues it`;
};

/** Begins to make the past at once, which needs no engine. */
export function startPast({ dir, work, shards, progress }: PastOptions): PastRun {
  const written = Promise.withResolvers<void>();
  const archived = Promise.withResolvers<ArchivedPast>();
  const fail = (error: Error): void => {
    written.reject(error);
    archived.reject(error);
  };
  // Callers await both; a run that is stopped before does not.
  for (const { promise } of [written, archived]) promise.catch(() => undefined);
  const child = fork(fileURLToPath(new URL('../past/main.ts', import.meta.url)));
  const ended = once(child, 'exit');
  child.on('error', fail);
  child.on('exit', () => fail(new Error('the past was stopped')));
  child.on('message', (message: PastMessage) => {
    if ('progress' in message) progress.print(`past: ${message.progress}`);
    else if ('failed' in message) {
      const error = new Error(message.failed);
      progress.print(`past: ${explainFailure(error)}`);
      fail(error);
    } else if ('archived' in message) archived.resolve(message.archived);
    else {
      progress.print(`past: ${message.written} messages are in the log`);
      written.resolve();
    }
  });
  child.send({ shards, makes: work !== 'finish' } satisfies PastStart);
  return {
    begun: () => {
      if (work !== 'finish') writePast(toPastFile(dir), { state: 'writing', nowMs: Date.now(), oldDayMs: 0 });
    },
    write: async (order) => {
      child.send({ ...order, file: toPastFile(dir), shards } satisfies PastOrder);
      if (work !== 'finish') await progress.during('the past', written.promise);
    },
    settings: (nightly) => void child.send({ nightly } satisfies PastSettings),
    archived: archived.promise,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
