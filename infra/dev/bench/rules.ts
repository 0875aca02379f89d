// The cost of agent rules: evaluations a second by listings and sharing, and a process that evaluates many rules over a moving market.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { createHistoryStore, type HistoryStore } from '../../../api/history/store.ts';
import type { LiveMemory } from '../../../api/live/memory.ts';
import { MarketAt } from '../../../api/rules/evaluation.ts';
import { startEvaluator } from '../../../api/rules/evaluator.ts';
import { createRuleMetrics } from '../../../api/rules/metrics.ts';
import { Questions, Selections } from '../../../api/rules/questions.ts';
import { RecentStates } from '../../../api/rules/recent-states.ts';
import { derivePhase, makeRuleId } from '../../../api/rules/rule-id.ts';
import { openSeriesCache } from '../../../api/series/cache.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { makeLiveEntry } from '../../../schemas/topics.ts';
import { migrate } from '../../postgres/migrate.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { createLog } from '../../runtime/process/log.ts';
import { openQuestdbReader } from '../../runtime/questdb/reader.ts';
import { startEngines } from '../engines/engines.ts';
import { type Figure, makeFigure, renderTable } from './instruments/figures.ts';
import { NAMESPACE, storeCandles } from './screen.ts';
import { listListed, makeMarket, NOW } from './screen-market.ts';

const EVERYTHING = { venues: null, instruments: null };
const MEASURED_MS = 2_000;
const FIRST_OFFSET = 1e12;

/** The `i`th question, over one base that is listed on four venues; or over the whole market. */
const makeQuery = (i: number, bases: number): string => {
  const rate = ((i % 977) + 1) / 1_000_000;
  const condition = `any(venues where funding > ${rate} and spread < 5bps) or max(venues, mark) > ${50_000 + (i % 9_973)}`;
  return bases === 0 ? condition : `${condition} where base = B${i % bases}`;
};

type Asking = (i: number) => string;

/** Questions a second of one core, all evaluated at one instant. */
const measureQuestions = async (
  live: LiveMemory,
  { count, asking, history = null }: { count: number; asking: Asking; history?: HistoryStore | null },
): Promise<number> => {
  const questions = new Questions(live);
  const selections = new Selections(live);
  const recent = new RecentStates(live);
  const asked = Array.from({ length: count }, (_, i) =>
    questions.of({ query: asking(i), units: 'published', freshness: '7d' }),
  );
  let [done, cpu, isWarm] = [0, process.cpuUsage(), false];
  const began = performance.now();
  while (performance.now() - began < MEASURED_MS) {
    const market = new MarketAt(NOW, { live, history }, recent);
    for (const question of asked) {
      await market.evaluate(question, selections.at(NOW, question, EVERYTHING));
      done++;
    }
    // The first round compiles, and reads the columns of windows.
    if (!isWarm) [done, cpu, isWarm] = [0, process.cpuUsage(), true];
  }
  const { user, system } = process.cpuUsage(cpu);
  return (done * 1e6) / (user + system);
};

const measureEvaluations = async (): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const listings of [400, 1_000]) {
    const live = makeMarket(listListed(listings));
    const one = await measureQuestions(live, { count: 200, asking: (i) => makeQuery(i, listings / 4) });
    const all = await measureQuestions(live, { count: 20, asking: (i) => makeQuery(i, 0) });
    figures.push(makeFigure({ name: `questions over 4 of ${listings} listings, a core`, unit: '/s', measured: one }));
    figures.push(makeFigure({ name: `questions over all of ${listings} listings, a core`, unit: '/s', measured: all }));
  }
  return figures;
};

const WINDOW_LISTINGS = 400;
const BARS = 300;

/** Rules over candles: each question has another threshold but reads the same columns. */
const WINDOWS: readonly (readonly [name: string, condition: (i: number) => string])[] = [
  ['sma(close, 20)', (i) => `any(venues where close > sma(close, 20) * ${1 + i / 100_000})`],
  [
    'ema(close, 50), rsi(close, 14)',
    (i) => `any(venues where ema(close, 20) > ema(close, 50) and rsi(close, 14) < ${40 + (i % 50)})`,
  ],
  ['percentile(high, 250, 95)', (i) => `any(venues where close > percentile(high, 250, ${50 + (i % 50)}))`],
];

/** Rules with windows of hourly candles, over one base and over the whole market, and their memory. */
const measureWindows = async (): Promise<Figure[]> => {
  const dir = mkdtempSync(join(tmpdir(), 'bench-rule-windows-'));
  const engines = await startEngines({ dir, kafka: false, postgres: false, anvil: false, ports: 'free', env: {} });
  const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
  const auth = { user: questdb_user ?? '', password: questdb_password ?? '' };
  const reader = openQuestdbReader(questdb_pg ?? '', {
    max: 6,
    timeoutMs: 60_000,
    auth,
    log: createLog('bench', 'silent'),
  });
  try {
    const store = { questdb_http: questdb_http ?? '', questdb_pg: questdb_pg ?? '' };
    const login = { questdb_user: auth.user, questdb_password: auth.password };
    await storeCandles(reader, { ...store, ...login, listings: WINDOW_LISTINGS, bars: BARS });
    const history = createHistoryStore(reader, NAMESPACE);
    const live = makeMarket(listListed(WINDOW_LISTINGS));
    const before = process.memoryUsage().rss;
    const figures: Figure[] = [];
    for (const [name, condition] of WINDOWS) {
      const one: Asking = (i) => `${condition(i)} timeframe 1h where base = B${i % (WINDOW_LISTINGS / 4)}`;
      const all: Asking = (i) => `${condition(i)} timeframe 1h`;
      const few = await measureQuestions(live, { count: 100, asking: one, history });
      const whole = await measureQuestions(live, { count: 10, asking: all, history });
      figures.push(
        makeFigure({ name: `${name} over 4 of ${WINDOW_LISTINGS} listings, a core`, unit: '/s', measured: few }),
      );
      figures.push(
        makeFigure({ name: `${name} over all of ${WINDOW_LISTINGS} listings, a core`, unit: '/s', measured: whole }),
      );
    }
    figures.push(
      makeFigure({ name: 'columns that windows keep', unit: 'MB', measured: openSeriesCache(live).bytes / 1_048_576 }),
    );
    figures.push(
      makeFigure({
        name: 'memory that windows took',
        unit: 'MB',
        measured: (process.memoryUsage().rss - before) / 1_048_576,
      }),
    );
    return figures;
  } finally {
    await reader.close();
    await engines.stop();
    rmSync(dir, { recursive: true, force: true });
  }
};

const INSERT = `
  with made as (
    insert into rules (rule_id, account_id, name, query, interval_s, units, enabled, shared, phase, freshness)
    select id, 'acc_bench', 'bench', query, 10, 'published', true, false, phase, '"7d"'
    from unnest($1::text[], $2::text[], $3::integer[]) as r (id, query, phase) returning rule_id)
  insert into rule_states (rule_id, version, since, after) select rule_id, 1, $4, $4 from made`;

const storeRules = async (pool: Pool, { rules, texts, bases }: { rules: number; texts: number; bases: number }) => {
  await pool.query("insert into accounts (account_id, plan) values ('acc_bench', 'pro_plus') on conflict do nothing");
  await pool.query("delete from rules where account_id = 'acc_bench'");
  const ids = Array.from({ length: rules }, makeRuleId);
  const queries = ids.map((_, i) => makeQuery(i % texts, bases));
  await pool.query(INSERT, [ids, queries, ids.map(derivePhase), Date.now() * 1_000]);
};

type Run = { readonly rules: number; readonly texts: number; readonly listings: number; readonly seconds: number };

/** Watermarks of every venue four times a second, as the tasks publish them. */
const moveMarket = (live: LiveMemory): NodeJS.Timeout => {
  let offset = FIRST_OFFSET;
  return setInterval(() => {
    const at = Date.now() * 1_000;
    for (const { venue } of live.venues()) {
      const entry = makeLiveEntry({ offset: ++offset, index: 0, recorded_at: at, kind: 'watermark', watermark: at });
      live.applyLive(venue, 0, codecs.live.encode(entry));
    }
  }, 250);
};

const readGauge = async (registry: Registry, name: string): Promise<number> =>
  (await registry.getSingleMetric(name)?.get())?.values[0]?.value ?? 0;

const runRules = async (pool: Pool, { rules, texts, listings, seconds }: Run): Promise<Figure[]> => {
  const live = makeMarket(listListed(listings));
  await storeRules(pool, { rules, texts, bases: listings / 4 });
  const registry = new Registry();
  const moving = moveMarket(live);
  const evaluator = startEvaluator({
    ...{ pool, live, history: null, choose: () => EVERYTHING, nowMicros: () => Date.now() * 1_000 },
    ...{ count: createRuleMetrics(registry), log: createLog('bench', 'warn') },
  });
  // The first rounds compile every question.
  await pause(25_000);
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  const [before, cpu] = [await readGauge(registry, 'perp_rules_evaluations_total'), process.cpuUsage()];
  const passed = await readGauge(registry, 'perp_rules_skipped_total');
  await pause(seconds * 1_000);
  const { user, system } = process.cpuUsage(cpu);
  const done = (await readGauge(registry, 'perp_rules_evaluations_total')) - before;
  const [lag, skipped] = [
    await readGauge(registry, 'perp_rules_lag_seconds'),
    await readGauge(registry, 'perp_rules_skipped_total'),
  ];
  await evaluator.stop();
  clearInterval(moving);
  const of = `${rules} rules at 10 s, ${texts} texts`;
  return [
    makeFigure({
      name: `${of}: evaluations`,
      unit: '/s',
      measured: done / seconds,
      note: `${skipped - passed} passed over`,
    }),
    makeFigure({ name: `${of}: processor`, unit: 'cores', measured: (user + system) / 1e6 / seconds }),
    makeFigure({ name: `${of}: instant to stored state`, unit: 's', measured: lag }),
    makeFigure({ name: `${of}: event loop held, p99`, unit: 'ms', measured: loop.percentile(99) / 1e6 }),
    makeFigure({ name: `${of}: memory`, unit: 'MB', measured: process.memoryUsage().rss / 1_048_576 }),
  ];
};

if (import.meta.main) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' }, only: { type: 'string' } } });
  if (values.only !== 'run' && values.only !== 'windows')
    process.stdout.write(`${renderTable(await measureEvaluations())}\n`);
  if (values.only === undefined || values.only === 'windows')
    process.stdout.write(`${renderTable(await measureWindows())}\n`);
  if (values.only === 'questions' || values.only === 'windows') process.exit(0);
  const dir = mkdtempSync(join(tmpdir(), 'bench-rules-'));
  const engines = await startEngines({ dir, kafka: false, questdb: false, anvil: false, ports: 'free', env: {} });
  const pool = openPostgres(engines.endpoints.database_url ?? '');
  try {
    await migrate(pool);
    const seconds = Number(values.seconds);
    for (const [rules, texts] of [
      [1_000, 1_000],
      [10_000, 100],
      [10_000, 10_000],
    ] as const)
      process.stdout.write(`${renderTable(await runRules(pool, { rules, texts, listings: 1_000, seconds }))}\n`);
  } finally {
    await pool.end();
    await engines.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
