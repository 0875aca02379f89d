// The cost of historical queries over HTTP, compared with QuestDB's own time for the same statements. Alone: `node infra/dev/bench/history.ts`.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLANS } from '../../../api/contract/plans.ts';
import { createHistoryStore } from '../../../api/history/store.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { candles } from '../../../api/operations/candles.ts';
import { history } from '../../../api/operations/history.ts';
import { answerTo, type Context, type Operation } from '../../../api/operations/operation.ts';
import { formatInstant, MICROS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';
import { openQuestdbReader, type QuestdbQuery, type QuestdbReader } from '../../runtime/questdb/reader.ts';
import { findProgram } from '../build/entries.ts';
import { startEngines } from '../engines/engines.ts';
import { findFreePort } from '../engines/ports.ts';
import type { Stores } from '../local/endpoints.ts';
import {
  type Known,
  LISTINGS,
  makeKnown,
  makeSymbol,
  NAMESPACE,
  VENUE,
  writeTables,
  writeTopics,
} from './history-day.ts';
import { type ApiClient, openApiClient, type Timed } from './instruments/api-client.ts';
import { measureCalls, toCallFigures } from './instruments/calls.ts';
import { type Figure, renderTable, sum } from './instruments/figures.ts';
import { readProcessUsage } from './instruments/machine.ts';
import { ROUNDS, runRounds } from './instruments/rounds.ts';
import { waitUntil } from './instruments/until.ts';

export type HistorySpec = Stores & {
  readonly database_url: string;
  readonly rounds: number;
  /** Per question and round. */
  readonly calls: number;
};

const STARTS = { everyMs: 100, forMs: 60_000 };

type Case = {
  readonly name: string;
  readonly operation: Operation;
  readonly body: Readonly<Record<string, unknown>>;
  readonly rows: number;
  readonly accept?: string;
  readonly aimMs: number | null;
};

const listCasesAt = (end: Micros): readonly Case[] => {
  const back = (seconds: number) => ({ from: formatInstant(end - seconds * 1_000_000), to: formatInstant(end) });
  const one = { where: { symbol: [makeSymbol(7)] } };
  const periods = { layers: ['mark'], interval: '10s' };
  const minutes = { timeframe: '1m' };
  return [
    {
      name: 'history of 2,000 rows',
      operation: history,
      body: { ...one, ...periods, ...back(20_000) },
      rows: 2_000,
      aimMs: 100,
    },
    {
      name: `history of ${LISTINGS} x 100 rows`,
      operation: history,
      body: { ...periods, ...back(1_000) },
      rows: LISTINGS * 100,
      aimMs: null,
    },
    {
      ...{ name: 'raw history of 100,000 rows as Parquet', operation: history, rows: LISTINGS * 999, aimMs: null },
      body: { layers: ['mark'], raw: true, ...back(9_990) },
      accept: 'application/vnd.apache.parquet',
    },
    {
      name: '1,500 candles',
      operation: candles,
      body: { ...one, ...minutes, ...back(90_000) },
      rows: 1_500,
      aimMs: 80,
    },
    {
      name: `${LISTINGS} x 150 candles`,
      operation: candles,
      body: { ...minutes, ...back(9_000) },
      rows: LISTINGS * 150,
      aimMs: null,
    },
  ];
};

const makeMemory = ({ listings, capability }: Known, settled: Micros): LiveMemory => {
  const live = new LiveMemory([VENUE]);
  live.markReady(VENUE, 0);
  live.applyCapability(capability);
  for (const version of listings) live.applyListing(version);
  live.applyHistoryWatermark(VENUE, 0, settled);
  return live;
};

/** The statements of a response, as the API sends them. */
const recordStatements = async (
  { operation, body }: Case,
  { live, reader, now }: { readonly live: LiveMemory; readonly reader: QuestdbReader; readonly now: Micros },
): Promise<QuestdbQuery[]> => {
  const asked: QuestdbQuery[] = [];
  const noting: QuestdbReader = {
    ...reader,
    query: (query) => {
      asked.push(query);
      return reader.query(query);
    },
  };
  const context = {
    ...{
      live,
      history: createHistoryStore(noting, NAMESPACE),
      evaluatedAt: now,
      archive: null,
      anchors: null,
      receipts: { find: async () => null },
      rules: null,
      payer: null,
      receiptId: 'rcp_0',
      caller: null,
    },
    ...{
      reaches: () => true,
      keepsRows: false,
      itemsLimit: { stopsAt: Number.POSITIVE_INFINITY, named: Number.POSITIVE_INFINITY },
      plan: PLANS.pro_plus,
    },
    scopeOf: () => ({ venues: null, instruments: null }),
  } as Context;
  await answerTo(operation, body, context);
  return asked;
};

const startApi = async (spec: HistorySpec): Promise<{ readonly child: ChildProcess; readonly baseUrl: string }> => {
  const port = await findFreePort();
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [findProgram('api/main.ts')], {
    stdio: 'ignore',
    env: {
      ...{ PATH, HOME, LOG_LEVEL: 'error', KAFKA_BROKERS: spec.kafka, VENUES: VENUE, TOPIC_NAMESPACE: NAMESPACE },
      ...{ QUESTDB_PG: spec.questdb_pg, QUESTDB_USER: spec.questdb_user, QUESTDB_PASSWORD: spec.questdb_password },
      ...{ DATABASE_URL: spec.database_url, PORT: String(port), METRICS_PORT: '0' },
    },
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  const serves = (): Promise<boolean> =>
    fetch(`${baseUrl}/v2/venues`).then(
      ({ ok }) => ok,
      () => false,
    );
  if (await waitUntil(serves, STARTS)) return { child, baseUrl };
  child.kill();
  throw new Error('the API of the bench does not answer');
};

type Measuring = {
  readonly client: ApiClient;
  readonly reader: QuestdbReader;
  readonly statements: readonly QuestdbQuery[];
  readonly calls: number;
  /** Process id of the API. */
  readonly pid: number;
};

const askOnce = (client: ApiClient, { operation, body, accept }: Case): Promise<Timed> =>
  client.post(operation.path, body, accept === undefined ? {} : { accept });

const measureOne = async (one: Case, { client, reader, statements, calls, pid }: Measuring): Promise<Figure[]> => {
  const { rows, name, aimMs } = one;
  let size = 0;
  const before = readProcessUsage(pid)?.cpuSeconds ?? 0;
  const answered = await measureCalls(calls, async () => {
    size = (await askOnce(client, one)).bytes;
  }, [pid]);
  const cpuMs = (((readProcessUsage(pid)?.cpuSeconds ?? 0) - before) * 1_000) / calls;
  const bare = await measureCalls(calls, () => Promise.all(statements.map((statement) => reader.query(statement))));
  const spentMs = sum(answered.map(({ ms }) => ms));
  const perSecond = Math.round((rows * calls * 1_000) / spentMs).toLocaleString('en-US');
  return toCallFigures(name, answered, {
    ...{ aimMs, bare, limitIs: `QuestDB for the same ${statements.length} statements` },
    note: `${Math.round(size / 1_024)} kB, ${perSecond} rows/s, ${calls} calls, ${cpuMs.toFixed(0)} ms of the API's processor each`,
  });
};

export const measureHistory = async (spec: HistorySpec): Promise<Figure[]> => {
  const now = Date.now() * 1_000;
  const end = Math.floor(now / MICROS_PER_MINUTE) * MICROS_PER_MINUTE - 10 * MICROS_PER_MINUTE;
  const known = makeKnown(end);
  await writeTables(spec, end);
  await writeTopics(spec, known, now);
  const auth = { user: spec.questdb_user, password: spec.questdb_password };
  const log = createLog('bench', 'error');
  const reader = openQuestdbReader(spec.questdb_pg, { max: 4, timeoutMs: 30_000, auth, log });
  const { child, baseUrl } = await startApi(spec);
  const client = await openApiClient(baseUrl, spec.database_url);
  const live = makeMemory(known, now);
  try {
    const figures: Figure[] = [];
    for (const one of listCasesAt(end)) {
      const statements = await recordStatements(one, { live, reader, now });
      const calls = one.rows > 50_000 ? Math.ceil(spec.calls / 5) : spec.calls;
      const measuring = { client, reader, statements, calls, pid: child.pid ?? 0 };
      // A process that has just started compiles its frequent code: users do not meet it in that state.
      await measureCalls(calls, () => askOnce(client, one));
      figures.push(...(await runRounds(spec.rounds, () => measureOne(one, measuring))));
    }
    return figures;
  } finally {
    client.close();
    child.kill();
    await reader.close();
  }
};

const runAlone = async (): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'bench-history-'));
  const engines = await startEngines({ dir, anvil: false, ports: 'free', env: {} });
  try {
    const { kafka, questdb_http, questdb_pg, questdb_user, questdb_password, database_url } = engines.endpoints;
    const spec = { kafka, questdb_http, questdb_pg, questdb_user, questdb_password, database_url };
    const accounts = openPostgres(database_url ?? '', { max: 1 });
    await migrate(accounts).finally(() => accounts.end());
    const figures = await measureHistory({
      ...(spec as Omit<HistorySpec, 'rounds' | 'calls'>),
      rounds: ROUNDS,
      calls: 30,
    });
    process.stdout.write(`${renderTable(figures)}\n`);
  } finally {
    await engines.stop();
    rmSync(dir, { recursive: true, force: true });
  }
};

if (import.meta.main) await runAlone();
