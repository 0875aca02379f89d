// Random historical queries over a real store and a moving seam: each answer equals a slow and independent reading of the raw log, byte for byte;
// of several shards, of the log of each listing's.
import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import type { HistoryStore } from '../../../api/history/store.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { toShard } from '../../../schemas/shards.ts';
import { testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import {
  type CandleQuestion,
  type EventsQuestion,
  type Oracle,
  PAPER_LAYERS,
  type Question,
} from '../../support/tasks/oracle.ts';
import { SYMBOLS } from '../../support/tasks/paper-log.ts';
import { PaperWorld } from '../../support/tasks/paper-world.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';

/** Questions a stage; the full form runs 200 of each kind: ORACLE_QUESTIONS=200. */
const QUESTIONS = Number(process.env['ORACLE_QUESTIONS'] ?? 16);
/** Over the midnight before a leap day: LOG_START=2028-02-28T23:50:00Z. */
const SEED = Number(process.env['ORACLE_SEED'] ?? 11);
/** Seconds of the log at which questions are sent; a little after windows end. The last one is long after the last frame. */
const STAGES = [303, 443, 583, 743, 783, 823, 1_093, 1_273, 1_503];
/** How far the store is behind what memory knows, in watermarks of a second. */
const BEHIND = [0, 0, 40, 0, 5, 0, 7, 90, 0];

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb']);

const TIMEFRAMES = { '1m': 1, '2m': 2, '3m': 3, '5m': 5, '15m': 15 } as const;
const INTERVALS = { '10s': 10, '30s': 30, '1m': 60, '2m': 120, '5m': 300 } as const;

class Asker {
  readonly #draw: () => number;
  readonly #shards: number;
  constructor(seed: number, shards: number) {
    this.#draw = createRandom(seed).next;
    this.#shards = shards;
  }
  #one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#draw() * of.length)] as T;
  }
  #some<T>(of: readonly T[]): T[] {
    const some = of.filter(() => this.#draw() < 0.4);
    return some.length > 0 ? some : [this.#one(of)];
  }
  /** An instant of the log, sometimes a little before it, on no boundary, on one, or on a microsecond. */
  #instant(to: number): number {
    const at = START - 30 * SECOND + Math.floor(this.#draw() * (to - START + 30 * SECOND));
    return this.#one([at, at - (at % SECOND), at - (at % (10 * SECOND)), at - (at % (60 * SECOND))]);
  }
  #span(now: number): { from: number; to: number } {
    const [a, b] = [this.#instant(now), this.#instant(now)];
    return a === b ? { from: a, to: a + SECOND } : { from: Math.min(a, b), to: Math.max(a, b) };
  }
  history(now: number): Question {
    const question = {
      layers: this.#some(PAPER_LAYERS),
      symbols: this.#some(SYMBOLS),
      units: this.#one(['published', 'base', 'quote'] as const),
      numberFormat: this.#one(['json', 'string'] as const),
      allowStale: this.#draw() < 0.5,
      includeGaps: this.#draw() < 0.7,
      freshnessMs: this.#one([null, null, 5_000, 3_600_000]),
    };
    const mode = this.#one(['interval', 'raw', 'at'] as const);
    if (mode === 'at') {
      const count = 1 + Math.floor(this.#draw() * 12);
      const [first, step] = [this.#instant(now - 2 * SECOND), this.#one([null, null, 7, 121, 130])];
      const instants = Array.from({ length: count }, (_, i) =>
        step === null ? this.#instant(now - 2 * SECOND) : Math.min(first + i * step * SECOND, now - 2 * SECOND),
      );
      return { ...question, mode, instants: [...new Set(instants)].sort((a, b) => a - b) };
    }
    if (mode === 'raw') return { ...question, mode, ...this.#span(now) };
    const isSlow = question.layers.some((layer) => layer === 'funding' || layer === 'stats');
    const lengths = Object.values(INTERVALS).filter((seconds) => !isSlow || seconds >= 60);
    return { ...question, mode, length: this.#one(lengths) * SECOND, ...this.#span(now) };
  }
  candles(now: number): CandleQuestion {
    const timeframe = this.#one(Object.keys(TIMEFRAMES) as (keyof typeof TIMEFRAMES)[]);
    const [symbols, includeGaps] = [this.#some(SYMBOLS), this.#draw() < 0.7];
    return { symbols, includeGaps, timeframe, minutes: TIMEFRAMES[timeframe], ...this.#span(now) };
  }
  /** Items of all listings are in the order of time: of one shard. */
  events(now: number): EventsQuestion {
    const shard = Math.floor(this.#draw() * this.#shards);
    const symbols = SYMBOLS.filter((symbol) => toShard(symbol, this.#shards) === shard);
    return { symbols: this.#some(symbols.length > 0 ? symbols : ['LIN']), ...this.#span(now) };
  }
}

const text = (at: number): string =>
  `${new Date(Math.floor(at / SECOND) * 1_000).toISOString().slice(0, 19)}.${String(at % SECOND).padStart(6, '0')}Z`;

type OracleOf = (symbol: string) => Oracle;

/** Items of an answer, listing by listing: each from the log of its own shard. */
const joinItems = <Q extends { readonly symbols: readonly string[] }>(
  question: Q,
  read: (symbol: string, of: Q) => string,
): string => {
  const items = question.symbols.map((symbol) => read(symbol, { ...question, symbols: [symbol] }).slice(1, -1));
  return `[${items.filter((text) => text !== '').join(',')}]`;
};

type Asked = {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly expected: (oracleOf: OracleOf, now: number) => string;
};

const cut = <Q extends { readonly from: number; readonly to: number }>(question: Q, now: number): Q => ({
  ...question,
  to: Math.max(question.from, Math.min(question.to, now)),
});

const askHistory = (question: Question): Asked => {
  const { layers, symbols, units, numberFormat, allowStale, includeGaps, freshnessMs } = question;
  const times =
    question.mode === 'at'
      ? { at: question.instants.map(text) }
      : {
          from: text(question.from),
          to: text(question.to),
          ...(question.mode === 'raw' ? { raw: true } : { interval: intervalNamed(question.length) }),
        };
  const freshness = freshnessMs === null ? {} : { freshness: `${freshnessMs / 1_000}s` };
  return {
    path: '/v2/snapshots/history',
    body: {
      ...{ where: { symbol: symbols }, layers, units, number_format: numberFormat, allow_stale: allowStale },
      ...{ include_gaps: includeGaps, ...times, ...freshness },
    },
    expected: (oracleOf, now) =>
      joinItems(question.mode === 'at' ? question : cut(question, now), (symbol, of) => oracleOf(symbol).history(of)),
  };
};
const intervalNamed = (length: number): string =>
  Object.entries(INTERVALS).find(([, seconds]) => seconds * SECOND === length)?.[0] ?? '';

const askCandles = (question: CandleQuestion): Asked => ({
  path: '/v2/candles',
  body: {
    where: { symbol: question.symbols },
    timeframe: question.timeframe,
    include_gaps: question.includeGaps,
    ...{ from: text(question.from), to: text(question.to) },
  },
  expected: (oracleOf, now) => joinItems(cut(question, now), (symbol, of) => oracleOf(symbol).candles(of)),
});

const askEvents = (question: EventsQuestion): Asked => ({
  path: '/v2/liquidations',
  body: { where: { symbol: question.symbols }, limit: 5_000, from: text(question.from), to: text(question.to) },
  expected: (oracleOf, now) => oracleOf(question.symbols[0] ?? '').liquidations(cut(question, now)),
});

const questionsAt = (asker: Asker, now: number, count: number): Asked[] =>
  Array.from({ length: count }, () => [
    askHistory(asker.history(now)),
    askCandles(asker.candles(now)),
    askEvents(asker.events(now)),
  ]).flat();

type Settled = { readonly asked: Asked; readonly sha: string };

type World = { readonly world: PaperWorld; readonly history: HistoryStore };

const askAll = async (t: Test, { world, history }: World, asked: readonly Asked[]): Promise<Settled[]> => {
  const now = world.paper.log.now;
  const oracleOf = world.oracles();
  const { app, as } = await testApp(world.feed, { history, nowMicros: () => now });
  const settled: Settled[] = [];
  for (const one of asked) {
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    const answer = await app.inject({ method: 'POST', url: one.path, headers, payload: JSON.stringify(one.body) });
    const title = `${one.path} ${JSON.stringify(one.body)}`;
    if (answer.statusCode !== 200) {
      t.fail(`${title}: ${answer.body}`);
      continue;
    }
    const { items, ...envelope } = answer.json<{ items: unknown; settled: boolean; items_sha256: string }>();
    const expected = one.expected(oracleOf, now);
    const isEqual = envelope.items_sha256 === createHash('sha256').update(expected).digest('hex');
    // The whole difference of the parsed items is readable; of the texts it is not.
    if (isEqual) t.pass(title.slice(0, 80));
    else t.same(items, JSON.parse(expected), title);
    if (envelope.settled) settled.push({ asked: one, sha: envelope.items_sha256 });
  }
  await app.close();
  return settled;
};

const checkWorld = async (t: Test, shards: number, count: number): Promise<void> => {
  const { history, write } = await openTestStore(t, engines);
  const world = new PaperWorld({ seed: SEED, write, shards });
  const asker = new Asker(SEED, shards);
  const kept: Settled[] = [];
  for (const [stage, second] of STAGES.entries()) {
    await world.goTo(second, BEHIND[stage] ?? 0);
    const again = kept.filter((_, i) => i % 3 === stage % 3).slice(-count);
    const settled = await askAll(t, { world, history }, [
      ...again.map(({ asked }) => asked),
      ...questionsAt(asker, world.paper.log.now, count),
    ]);
    for (const { asked, sha } of again) {
      const now = settled.find((one) => one.asked === asked);
      t.equal(now?.sha, sha, 'settled for ever');
    }
    kept.push(...settled.filter(({ asked }) => !again.some((one) => one.asked === asked)));
  }
  t.comment(`${kept.length} settled answers`);
  t.ok(kept.length > count, 'enough was settled');
};

t.test('every answer agrees with the log, and a settled one stays', (t) => checkWorld(t, 1, QUESTIONS));
t.test('likewise of two shards', (t) => checkWorld(t, 2, Math.ceil(QUESTIONS / 2)));
