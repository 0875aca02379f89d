// Rules of a whole service while its API processes are killed: every move that is stored is the one the log makes at that instant, none is
// missing, none is duplicated (AG-02, AG-03, AG-06). RULES=200 RULES_SECONDS=600 is the full size; RULES_SEED other rules and markets.
import type { Pool } from 'pg';
import t, { type Test } from 'tap';
import type { Rule } from '../../api/rules/rule.ts';
import { createRule, readTransitions } from '../../api/rules/store.ts';
import type { FaultEntry } from '../../infra/dev/simulator/faults.ts';
import { openKafka } from '../../infra/runtime/kafka/kafka.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { useEngines } from '../support/engines/engines.ts';
import { Dice } from '../support/screen/random-market.ts';
import { Slow, type SlowListing } from '../support/screen/slow-evaluator.ts';
import {
  type Api,
  apiReady,
  type PipelineSpec,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
} from '../support/services/pipeline.ts';
import { type Inject, injectFaults, type Target } from '../support/truth/fault-plan.ts';
import { findFigures, type MarketRule, randomRule, toQuery } from '../support/truth/market-rules.ts';
import {
  type BoundsMs,
  DEFAULT_BOUNDS,
  findLags,
  type LiveLogEntry,
  PublishedMarket,
  readLiveLog,
} from '../support/truth/published-market.ts';
import type { Snapshots } from '../support/truth/truth.ts';
import { waitFor } from '../support/wait.ts';

const SEED = Number(process.env['RULES_SEED'] ?? 41);
const RULES = Number(process.env['RULES'] ?? 40);
const SECONDS = Number(process.env['RULES_SECONDS'] ?? 60);
const VENUES = ['binance', 'bybit', 'okx'];
/** A venue: each fault has listings of its own, while in a run of many rounds a third of them may leave. */
const LISTINGS = 12;
/** The first ones are never delisted. */
const ASKED_LISTINGS = 4;
const SECOND = 1_000_000;
/** Shortest interval of the plan of the rules. */
const INTERVAL_S = 10;
/** Longer than an instant can be caught up with (30 s), and than any lease. */
const AWAY_MS = 50_000;
/** A venue further behind is stale in live answers (L-07); what a process received of it is a second older than the log. */
const BEHIND = 4 * SECOND;

const nowMicros = (): number => Date.now() * 1_000;

type Nodes = {
  readonly start: () => Promise<Api>;
  readonly kill: (i: number) => Promise<void>;
  readonly held: (Api | null)[];
};

/** Two API processes over one database. */
const openNodes = async (t: Test, spec: PipelineSpec, database: string): Promise<Nodes> => {
  const start = async (): Promise<Api> => {
    const api = await startApi(spec, database);
    t.teardown(() => (api.child.process.signalCode === null ? api.child.kill() : undefined));
    return api;
  };
  const held: (Api | null)[] = [await start(), await start()];
  return {
    start,
    held,
    async kill(i) {
      await held[i]?.child.kill('SIGKILL');
      held[i] = null;
    },
  };
};

const startService = async (t: Test) => {
  const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
  const database = await engines.database();
  const namespace = `${engines.namespace()}.`;
  const spec = { stores: engines.endpoints, namespace, shards: 2, venues: VENUES };
  const simulator = await startSimulator({
    ...{ SIM_SEED: String(SEED), SIM_VENUES: VENUES.join(), SIM_LISTINGS: String(LISTINGS) },
    SIM_RATE: String(VENUES.length * LISTINGS * 5),
  });
  const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
  t.teardown(() => Promise.all(children.map((child) => child.kill())));
  const nodes = await openNodes(t, spec, database);
  for (const api of nodes.held) if (api !== null) await apiReady(api);
  const pool = openPostgres(database, { max: 4 });
  t.teardown(() => pool.end());
  const handle = openKafka({ brokers: [spec.stores.kafka], clientId: 'rules' }, createLog('test', 'silent'));
  t.teardown(() => handle.close());
  return { spec, simulator, nodes, pool, handle };
};
type Service = Awaited<ReturnType<typeof startService>>;

const findApi = ({ nodes }: Service): Api => nodes.held.find((api) => api !== null) as Api;

type Asked = { readonly rule: Rule; readonly about: MarketRule; readonly json: Json; readonly madeAt: number };
type Json = Readonly<Record<string, unknown>> & { readonly type: string };
type Parsed = { readonly query: { readonly json: { readonly condition: Json } | string } };

const readCondition = ({ query: { json } }: Parsed): Json =>
  (typeof json === 'string' ? (JSON.parse(json) as { condition: Json }) : json).condition;

const readState = async (pool: Pool, ruleId: string): Promise<{ after: number; evaluated: boolean }> => {
  const { rows } = await pool.query<{ after: string; evaluated_at: string | null }>(
    'select after, evaluated_at from rule_states where rule_id = $1',
    [ruleId],
  );
  return { after: Number(rows[0]?.after), evaluated: (rows[0]?.evaluated_at ?? null) !== null };
};

const OWNER = { accountId: 'acc_rules', actor: 'test' };
const DRAFT = { intervalS: INTERVAL_S, units: 'published', enabled: true, shared: false } as const;

/** Valid rules, near the figures of the market; created once evaluation runs, so that none of their instants precedes it. */
const makeRules = async (t: Test, service: Service, targets: readonly Target[]): Promise<readonly Asked[]> => {
  const { pool } = service;
  const api = findApi(service);
  await pool.query("insert into accounts (account_id, plan) values ('acc_rules', 'pro_plus')");
  const first = await createRule(pool, { ...DRAFT, name: 'first', query: 'venues_listed > 0', freshness: null }, OWNER);
  await waitFor('the first rule is evaluated', async () => (await readState(pool, first.ruleId)).evaluated);
  const asked = new Set(
    VENUES.flatMap((venue) => targets.filter((one) => one.venue === venue).slice(0, ASKED_LISTINGS)),
  );
  const bases = new Map<string, string>();
  type Listing = { readonly venue: string; readonly venue_symbol: string; readonly base: string };
  const { items } = (await (await fetch(`${api.baseUrl}/v2/instruments`)).json()) as {
    readonly items: readonly Listing[];
  };
  for (const { venue, venue_symbol: symbol, base } of items)
    if ([...asked].some((one) => one.venue === venue && one.symbol === symbol)) bases.set(`${venue}:${symbol}`, base);
  const body = { layers: [...READING_LAYERS], number_format: 'string', allow_stale: true };
  const market = findFigures(await api.post<Snapshots>('/v2/snapshots', body), (venue, symbol) =>
    bases.get(`${venue}:${symbol}`),
  );
  const dice = new Dice(SEED);
  const rules: Asked[] = [];
  let refused = 0;
  while (rules.length < RULES && refused < RULES) {
    const about = randomRule(dice, market, VENUES);
    const query = toQuery(about);
    const parsed = await api.post<Parsed>('/v2/dql/parse', { query }).catch((error: unknown) => {
      t.comment(`refused: ${query}: ${String(error).slice(0, 200)}`);
      refused++;
      return null;
    });
    if (parsed === null) continue;
    const rule = await createRule(
      pool,
      { ...DRAFT, name: `rule ${rules.length}`, query, freshness: about.freshness },
      OWNER,
    );
    rules.push({ rule, about, json: readCondition(parsed), madeAt: (await readState(pool, rule.ruleId)).after });
  }
  t.equal(rules.length, RULES, `rules over ${market.size} bases; ${refused} were no valid queries`);
  return rules;
};

/** AG-03: whole seconds of the rule's rhythm. */
const listInstants = ({ phase, intervalS }: Rule, from: number, to: number): readonly number[] => {
  const instants: number[] = [];
  for (let second = Math.floor(from / SECOND) + 1; second * SECOND <= to; second++)
    if ((second - phase) % intervalS === 0) instants.push(second * SECOND);
  return instants;
};

const readAfter = async (pool: Pool): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await pool.query<{ rule_id: string; after: string }>('select rule_id, after from rule_states');
  return new Map(rows.map(({ rule_id: id, after }) => [id, Number(after)]));
};

/** Every instant up to `to` is behind us, evaluated or passed over. */
const evaluatedUpTo = async ({ pool }: Service, rules: readonly Asked[], to: number): Promise<void> => {
  let late: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    const after = await readAfter(pool);
    late = rules.flatMap(({ rule, madeAt }) => {
      const last = listInstants(rule, madeAt, to).at(-1) ?? 0;
      return (after.get(rule.ruleId) ?? 0) >= last ? [] : [`${rule.ruleId} at ${after.get(rule.ruleId)}, not ${last}`];
    });
    return late.length === 0;
  };
  await waitFor(`rules are evaluated up to ${to}`, look, { everyMs: 200, seen: () => late.slice(0, 3) });
};

/** One after the other dies and is started again while the rules continue; in the middle both at once. Answers how many died. */
const killInTurn = async (service: Service, rules: readonly Asked[], until: number): Promise<number> => {
  const { nodes } = service;
  let kills = 0;
  let wereBoth = false;
  const middle = (nowMicros() + until) / 2;
  const restart = async (which: readonly number[]): Promise<void> => {
    await Promise.all(which.map((i) => nodes.kill(i)));
    kills += which.length;
    for (const i of which) nodes.held[i] = await nodes.start();
    await Promise.all(which.map((i) => apiReady(nodes.held[i] as Api)));
    await evaluatedUpTo(service, rules, nowMicros());
  };
  for (let i = 0; nowMicros() < until; i++) {
    if (!wereBoth && nowMicros() > middle) {
      wereBoth = true;
      await restart([0, 1]);
    } else await restart([i % 2]);
  }
  return kills;
};

type Away = {
  /** The last instant of each rule before all processes were gone. */
  readonly after: ReadonlyMap<string, number>;
  readonly from: number;
  readonly readyAt: number;
};

/** No process runs for longer than instants can be caught up with; then one starts. */
const stayAway = async ({ nodes, pool }: Service): Promise<Away> => {
  await Promise.all([nodes.kill(0), nodes.kill(1)]);
  const from = nowMicros();
  const after = await readAfter(pool);
  await waitFor('the log has gone on alone', () => nowMicros() > from + AWAY_MS * 1_000, { everyMs: 1_000 });
  nodes.held[0] = await nodes.start();
  await apiReady(nodes.held[0]);
  return { after, from, readyAt: nowMicros() };
};

type Found = { readonly at: number; readonly state: string; readonly matched: readonly string[] };
type Move = { readonly at: number; readonly from: string; readonly to: string; readonly matched: readonly string[] };

const toBounds = ({ freshness }: MarketRule): BoundsMs => {
  if (freshness === null) return DEFAULT_BOUNDS;
  const ms = (text: string): number => Number(text.slice(0, -1)) * 1_000;
  if (typeof freshness !== 'string') return { ...DEFAULT_BOUNDS, mark: ms(freshness.mark) };
  return Object.fromEntries(READING_LAYERS.map((layer) => [layer, ms(freshness)])) as BoundsMs;
};

/** AG-02 over the listings that the rule is about. */
const findState = ({ about, json }: Asked, listings: readonly SlowListing[]): Omit<Found, 'at'> => {
  const { bases, venues } = about;
  const selected = listings.filter(
    ({ base, venue }) => bases.includes(base) && (venues === null || venues.includes(venue)),
  );
  const results = [...Map.groupBy(selected, ({ instrument }) => instrument)].map(([instrument, group]) => {
    const worth = new Slow(group, undefined).worth(json, null);
    return { instrument, result: worth.is === 'truth' ? worth.x : null };
  });
  const matched = results.filter(({ result }) => result === true).map(({ instrument }) => instrument);
  if (matched.length > 0) return { state: 'true', matched: matched.sort() };
  return { state: results.some(({ result }) => result === null) ? 'unknown' : 'false', matched };
};

/** The value of every rule at each of its instants up to `to`. */
const evaluateSlowly = (
  liveLog: readonly LiveLogEntry[],
  rules: readonly Asked[],
  to: number,
): ReadonlyMap<string, readonly Found[]> => {
  const market = new PublishedMarket(liveLog);
  const due = rules.flatMap((asked) => listInstants(asked.rule, asked.madeAt, to).map((at) => ({ asked, at })));
  due.sort((a, b) => a.at - b.at);
  const found = new Map<string, Found[]>(rules.map(({ rule }) => [rule.ruleId, []]));
  for (const { asked, at } of due) {
    market.advance(at);
    found.get(asked.rule.ruleId)?.push({ at, ...findState(asked, market.listingsAt(at, toBounds(asked.about))) });
  }
  return found;
};

type Unsure = { readonly isUnsure: (at: number) => boolean; readonly isPassed: (at: number) => boolean };

/** Transitions that the found states make; where an answer depends on its instant, the stored one is used. */
const findMoves = (found: readonly Found[], stored: readonly Move[], { isUnsure, isPassed }: Unsure): Move[] => {
  const moves: Move[] = [];
  let state = 'unknown';
  for (const { at, state: to, matched } of found) {
    if (isPassed(at)) continue;
    const liveLog = isUnsure(at) ? stored.find((move) => move.at === at) : undefined;
    if (liveLog !== undefined) moves.push(liveLog);
    else if (!isUnsure(at) && to !== state) moves.push({ at, from: state, to, matched });
    state = moves.at(-1)?.to ?? state;
  }
  return moves;
};

const storedMoves = async (pool: Pool, { ruleId }: Rule): Promise<readonly Move[]> =>
  [...(await readTransitions(pool, ruleId, 10_000))]
    .reverse()
    .map(({ at, from, to, matched }) => ({ at, from, to, matched: [...matched].sort() }));

const ALL_MOVES = ['true', 'false', 'unknown'].flatMap((from) =>
  ['true', 'false', 'unknown'].filter((to) => to !== from).map((to) => `${from} ${to}`),
);

t.setTimeout(SECONDS * 1_000 + 1_500_000);

t.test(`moves of ${RULES} rules while processes die (RULES_SEED=${SEED})`, async (t) => {
  const service = await startService(t);
  const { simulator, pool, spec, handle } = service;
  await waitFor('the market is present', async () => {
    const { items } = await findApi(service).post<Snapshots>('/v2/snapshots', { layers: ['mark', 'book', 'funding'] });
    const states = items.flatMap(({ layers }) => Object.values(layers).map(({ status }) => status));
    return states.length > 0 && states.filter((status) => status === 'present').length > 0.9 * states.length;
  });
  const targets = await simulator.get<Target[]>('/listings');
  const rules = await makeRules(t, service, targets);
  const until = nowMicros() + SECONDS * SECOND;
  const inject: Inject = (request) => simulator.fault(request) as Promise<FaultEntry>;
  const [kills] = await Promise.all([
    killInTurn(service, rules, until),
    injectFaults(inject, targets, { venues: VENUES, seconds: SECONDS }),
  ]);
  const to = nowMicros();
  await evaluatedUpTo(service, rules, to);
  const away = await stayAway(service);
  const end = nowMicros() + 12 * SECOND;
  await evaluatedUpTo(service, rules, end);

  const liveLog = await readLiveLog(handle, spec);
  const lags = findLags(liveLog, BEHIND);
  const isUnsure = (at: number): boolean => lags.some(([from, until]) => at > from && at <= until + SECOND);
  const found = evaluateSlowly(liveLog, rules, end);
  const stored = new Map<string, readonly Move[]>();
  for (const { rule } of rules)
    stored.set(
      rule.ruleId,
      (await storedMoves(pool, rule)).filter(({ at }) => at <= end),
    );
  const evaluations = [...found.values()].reduce((sum, all) => sum + all.length, 0);
  const unsure = [...found.values()].reduce((sum, all) => sum + all.filter(({ at }) => isUnsure(at)).length, 0);
  const moves = [...stored.values()].flat();
  t.comment(
    `${kills} processes died, ${evaluations} evaluations, ${moves.length} moves, ${unsure} unsure, ${liveLog.length} entries of the log`,
  );
  const lagging = lags.filter(([from]) => from > (rules[0]?.madeAt ?? 0));
  const lengths = lagging.map(([from, until]) => (until - from) / SECOND);
  t.comment(`a task was behind ${lagging.length} times, at most ${Math.max(0, ...lengths).toFixed(1)} s`);

  // Up to the absence, through all the kills. Counts cases that depend on whether a venue was behind.
  let excused = 0;
  for (const { rule } of rules) {
    const id = rule.ruleId;
    const isPassed = (at: number): boolean => at > to;
    const made = (stored.get(id) ?? []).filter(({ at }) => at <= to);
    const exact = findMoves(found.get(id) ?? [], made, { isUnsure: () => false, isPassed });
    const isExact = JSON.stringify(made) === JSON.stringify(exact);
    if (!isExact) excused += 1;
    t.same(made, isExact ? exact : findMoves(found.get(id) ?? [], made, { isUnsure, isPassed }), rule.query);
  }
  t.ok(excused <= RULES / 4, `${RULES - excused} of ${RULES} rules moved exactly as in the log, without any doubt`);
  const kinds = new Set(moves.map(({ from, to }) => `${from} ${to}`));
  const least = RULES >= 200 ? ALL_MOVES.length : 4;
  t.ok(kinds.size >= least, `${kinds.size} of ${ALL_MOVES.length} kinds of moves: ${[...kinds].join(', ')}`);
  const moving = [...stored.values()].filter((all) => all.length > 1).length;
  t.ok(moving > RULES / 4, `${moving} rules moved more than once`);
  const { rows } = await pool.query(
    'select rule_id, at from rule_transitions group by rule_id, at having count(*) > 1',
  );
  t.same(rows, [], 'no move occurs twice');

  // Through the absence: what was too long ago is passed over, by every rule up to one instant, and nothing after it.
  const differing = (since: number): readonly string[] =>
    rules.flatMap(({ rule }) => {
      const isPassed = (at: number): boolean => at > (away.after.get(rule.ruleId) ?? 0) && at < since;
      const made = stored.get(rule.ruleId) ?? [];
      const wanted = findMoves(found.get(rule.ruleId) ?? [], made, { isUnsure, isPassed });
      return JSON.stringify(made) === JSON.stringify(wanted) ? [] : [rule.query];
    });
  const seconds = Array.from({ length: Math.ceil((away.readyAt - away.from) / SECOND) }, (_, i) => i);
  const fitting = seconds.filter((i) => differing(away.from + i * SECOND).length === 0);
  t.comment(`evaluated again from ${fitting.join()} s after the last process died; ready ${seconds.length} s after it`);
  t.ok(
    fitting.length > 0,
    `one instant from which all are evaluated again; at best ${Math.min(...seconds.map((i) => differing(away.from + i * SECOND).length))} differ`,
  );
});
