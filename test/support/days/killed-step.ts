// One nightly step in a process of its own, which ends itself with SIGKILL at a place of it: node killed-step.ts <JSON of KilledStep>.
import { spawn } from 'node:child_process';
import { Registry } from 'prom-client';
import { openFolderStore } from '../../../infra/runtime/files/object-store.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import type { Day } from '../../../processors/nightly/day.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import type { AnchorSettings } from '../../../processors/nightly/steps/anchor/config.ts';
import { STEPS } from '../../../processors/nightly/steps/index.ts';
import type { TestEndpoints } from '../engines/engines.ts';

export type KilledStep = {
  readonly step: string;
  readonly day: Day;
  readonly nowMs: number;
  readonly databaseUrl: string;
  readonly endpoints: Pick<TestEndpoints, 'questdb_pg' | 'questdb_user' | 'questdb_password'>;
  readonly namespace: string;
  readonly folder: string;
  readonly anchors?: AnchorSettings;
  /** The place, and which time it is reached; null: it runs to its end. */
  readonly killedAt: { readonly place: string; readonly time: number } | null;
};

/** The report, or null when it was killed at its place. Rejects when it ended in another way. */
export const runKilled = async (work: KilledStep): Promise<string | null> => {
  const args = [import.meta.filename, JSON.stringify(work)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  return new Promise((settle, fail) =>
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') settle(null);
      else if (code === 0) settle(out.trim());
      else fail(new Error(err));
    }),
  );
};

const run = async ({ step: name, day, nowMs, killedAt, ...work }: KilledStep): Promise<string> => {
  const { questdb_pg: pg, questdb_user: user, questdb_password: password } = work.endpoints;
  const log = createLog('killed-step', 'silent');
  const database = openPostgres(work.databaseUrl, { max: 3 });
  const questdb = openQuestdbReader(pg, { max: 1, timeoutMs: 15_000, auth: { user, password }, log });
  let times = 0;
  const context: NightlyContext = {
    ...{ database, questdb, log, namespace: work.namespace, api: null, store: openFolderStore(work.folder) },
    ...(work.anchors === undefined ? {} : { anchors: work.anchors }),
    historyWatermark: async () => ({ at: nowMs * 1_000, of: 'binance/0' }),
    isBinding: async () => false,
    nowMs: () => nowMs,
    progress: () => undefined,
    metrics: createNightlyMetrics(new Registry()),
    reached: (place) => {
      if (place !== killedAt?.place) return;
      times += 1;
      if (times === killedAt.time) process.kill(process.pid, 'SIGKILL');
    },
  };
  try {
    const step = STEPS.find((one) => one.name === name);
    if (step === undefined) throw new Error(`${name} is no step`);
    return await step.run(day, context);
  } finally {
    await questdb.close();
    await database.end();
  }
};

if (import.meta.main) process.stdout.write(`${await run(JSON.parse(process.argv[2] ?? '') as KilledStep)}\n`);
