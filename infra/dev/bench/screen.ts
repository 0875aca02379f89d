// The cost of screens and of parsing: the operation itself, over a memory copy and a real QuestDB; no HTTP. Alone:
// `node infra/dev/bench/screen.ts [--listings 1000] [--bars 300]`; with 2000 bars the worst legal query is measured too.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PLANS } from '../../../api/contract/plans.ts';
import { createHistoryStore, type HistoryStore } from '../../../api/history/store.ts';
import { compile } from '../../../api/language/compile.ts';
import type { LiveMemory } from '../../../api/live/memory.ts';
import { answerTo, type Context } from '../../../api/operations/operation.ts';
import { screen } from '../../../api/operations/screen.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { openSeriesCache } from '../../../api/series/cache.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { writeJson } from '../../../schemas/json.ts';
import { toTableName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { createLog } from '../../runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../runtime/questdb/reader.ts';
import { createRowSender } from '../../runtime/questdb/row-sender.ts';
import { startEngines } from '../engines/engines.ts';
import type { Stores } from '../local/endpoints.ts';
import { measureCalls, measureStringify, toCallFigures } from './instruments/calls.ts';
import { type Figure, makeFigure, makeUpperAim, renderTable } from './instruments/figures.ts';
import { ROUNDS, runRounds } from './instruments/rounds.ts';
import { listListed, makeCandle, makeMarket, NOW } from './screen-market.ts';

type ScreenSpec = Omit<Stores, 'kafka'> & {
  readonly listings: number;
  /** Hourly candles of each listing. */
  readonly bars: number;
};

/** Dedicated tables, beside others in the store. */
export const NAMESPACE = 'bench.screen.';
/** Bars of each listing that the worst legal query reads. */
export const WORST_BARS = 2_000;
const WARM_UPS = 10;
const BATCH = 50_000;

const FIELDS_ONLY =
  'any(venues where funding > 1bps and spread < 5bps and age(bid) < 30s) or max(venues, mark) > 2 * min(venues, mark)';
const WARM = 'any(venues where ema(close, 20) > ema(close, 50) and rsi(close, 14) < 70) timeframe 1h';
const WORST =
  'any(venues where sma(ema(close, 250), 500) > sma(ema(open, 250), 500) and percentile(sma(high, 500), 500, 95) > stdev(low, 500)) timeframe 1h';

const makeContext = (live: LiveMemory, history: HistoryStore): Context =>
  ({
    ...{
      live,
      history,
      evaluatedAt: NOW,
      archive: null,
      anchors: null,
      receipts: { find: async () => null },
      rules: null,
      payer: null,
      receiptId: 'rcp_0',
      reaches: () => true,
      keepsRows: false,
      itemsLimit: { stopsAt: Number.POSITIVE_INFINITY, named: Number.POSITIVE_INFINITY },
      caller: null,
    },
    ...{ plan: PLANS.pro_plus, scopeOf: () => ({ venues: null, instruments: null }) },
  }) as Context;

const ask = async (query: string, context: Context): Promise<string> => {
  const { body, numberFormat } = await answerTo(screen, { query, include_unknown: true, limit: 500 }, context);
  return writeJson(body, { numberFormat });
};

/** On a busy machine an evaluation may exceed its budget. */
const askOrRefusal = async (query: string, context: Context): Promise<string | null> => {
  try {
    return await ask(query, context);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return null;
  }
};

/** `served`: after that many refusals. */
type Cold = { readonly ms: number; readonly refused: number; readonly firstMs: number; readonly served: boolean };

/** The first call loads the columns; when that exceeds the budget of an evaluation, later calls use what it has loaded. */
const warmUp = async (query: string, context: Context): Promise<Cold> => {
  const began = performance.now();
  let firstMs = 0;
  for (let refused = 0; ; refused++) {
    const served = (await askOrRefusal(query, context)) !== null;
    const ms = performance.now() - began;
    if (refused === 0) firstMs = ms;
    if (served || refused >= WARM_UPS) return { ms, refused, firstMs, served };
  }
};

const describeWarmUp = ({ ms, refused, served }: Cold): string => {
  if (!served) return `REFUSED ${refused + 1} TIMES, for ${Math.round(ms)} ms`;
  return refused === 0 ? 'served' : `refused ${refused} times; served after ${Math.round(ms)} ms`;
};

type Case = {
  readonly name: string;
  readonly query: string;
  /** Per round. */
  readonly calls: number;
  readonly aimMs: number;
  readonly context: Context;
};

const measureRound = async ({ name, query, calls, aimMs, context }: Case): Promise<Figure[]> => {
  const before = process.cpuUsage();
  let [late, text] = [0, ''];
  const asked = await measureCalls(calls, async () => {
    const answer = await askOrRefusal(query, context);
    if (answer === null) late += 1;
    text = answer ?? text;
  });
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1_000 / calls;
  const kilobytes = Math.round(text.length / 1024);
  return toCallFigures(name, asked, {
    ...{ aimMs, bare: text === '' ? [] : await measureStringify(JSON.parse(text)) },
    ...{ limitIs: 'JSON.stringify of the same answer' },
    note: `${kilobytes} kB, ${calls} calls (${late} refused), ${cpuMs.toFixed(1)} ms of processor each`,
  });
};

/** There is one first response; later ones come in rounds. */
const measure = async (one: Case): Promise<Figure[]> => {
  const cold = await warmUp(one.query, one.context);
  // By now the engine has compiled the frequent code.
  for (let i = 0; i < Math.min(20, one.calls); i++) await askOrRefusal(one.query, one.context);
  return [
    makeFigure({
      name: `${one.name}, first answer`,
      unit: 'ms',
      measured: cold.firstMs,
      aim: makeUpperAim(5_000),
      note: describeWarmUp(cold),
    }),
    ...(await runRounds(ROUNDS, () => measureRound(one))),
  ];
};

const measureRate = (work: () => void): number => {
  const began = performance.now();
  let n = 0;
  while (performance.now() - began < 1_000) for (let i = 0; i < 20; i++, n++) work();
  return (n * 1_000) / (performance.now() - began);
};

const measureParsing = (live: LiveMemory): Promise<Figure[]> => {
  const { codes } = findDirectory(live);
  const text = JSON.stringify(compile({ text: WARM }, codes).json);
  const parse = (): number => measureRate(() => compile({ text: WARM }, codes));
  parse();
  return runRounds(ROUNDS, async () => [
    makeFigure({
      name: 'queries parsed, checked, costed and printed',
      unit: '/s',
      measured: parse(),
      limit: measureRate(() => JSON.parse(text)),
      limitIs: 'JSON.parse of its machine form',
    }),
  ]);
};

/** Hourly candles of every listing, in tables of the bench's own. */
export const storeCandles = async (reader: QuestdbReader, { listings, bars, ...store }: ScreenSpec): Promise<void> => {
  await ensureTables((text) => reader.query({ text }), { namespace: NAMESPACE });
  const auth = { user: store.questdb_user, password: store.questdb_password };
  const sender = createRowSender(store.questdb_http, { auth, log: createLog('bench', 'silent') });
  const table = toTableName(NAMESPACE, 'candles');
  const listed = listListed(listings);
  try {
    let batch: Row[] = [];
    for (let i = 0; i < bars; i++) {
      for (const one of listed) batch.push(makeCandle(one, i));
      if (batch.length < BATCH && i < bars - 1) continue;
      await sender.send(table, batch);
      batch = [];
    }
    await sender.waitVisible([table]);
  } finally {
    await sender.close();
  }
};

const toMegabytes = (bytes: number): number => bytes / 1_048_576;

const measureFigures = async (reader: QuestdbReader, { listings, bars }: ScreenSpec): Promise<Figure[]> => {
  const live = makeMarket(listListed(listings));
  const context = makeContext(live, createHistoryStore(reader, NAMESPACE));
  const before = process.memoryUsage().rss;
  const of = `screen of ${listings} listings`;
  const figures = [
    ...(await measureParsing(live)),
    ...(await measure({ name: `${of}, fields only`, query: FIELDS_ONLY, calls: 100, aimMs: 25, context })),
    ...(await measure({ name: `${of}, ema and rsi`, query: WARM, calls: 50, aimMs: 100, context })),
  ];
  if (bars >= WORST_BARS)
    figures.push(
      ...(await measure({ name: `${of}, worst legal query`, query: WORST, calls: 1, aimMs: 5_000, context })),
    );
  figures.push(makeFigure({ name: 'series cache', unit: 'MB', measured: toMegabytes(openSeriesCache(live).bytes) }));
  figures.push(
    makeFigure({
      name: 'memory that screens took',
      unit: 'MB',
      measured: toMegabytes(process.memoryUsage().rss - before),
    }),
  );
  return figures;
};

/** Figures over a QuestDB that may be shared. */
export const measureScreens = async (spec: ScreenSpec): Promise<Figure[]> => {
  const auth = { user: spec.questdb_user, password: spec.questdb_password };
  const log = createLog('bench', 'silent');
  const reader = openQuestdbReader(spec.questdb_pg, { max: 6, timeoutMs: 30_000, auth, log });
  try {
    await storeCandles(reader, spec);
    return await measureFigures(reader, spec);
  } finally {
    await reader.close();
  }
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { listings: { type: 'string', default: '1000' }, bars: { type: 'string', default: '300' } },
  });
  const dir = mkdtempSync(join(tmpdir(), 'bench-screen-'));
  const engines = await startEngines({ dir, kafka: false, postgres: false, anvil: false, ports: 'free', env: {} });
  const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
  try {
    const store = { questdb_http: questdb_http ?? '', questdb_pg: questdb_pg ?? '' };
    const login = { questdb_user: questdb_user ?? '', questdb_password: questdb_password ?? '' };
    const size = { listings: Number(values.listings), bars: Number(values.bars) };
    process.stdout.write(`${renderTable(await measureScreens({ ...store, ...login, ...size }))}\n`);
  } finally {
    await engines.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
