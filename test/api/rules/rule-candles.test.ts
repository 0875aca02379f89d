// Which candles a rule counts at an instant: those that a live screen of that instant counts, by whichever process and however late (AG-03, DQL-26).
import t from 'tap';
import { evaluateNow, MarketAt, type Outcome } from '../../../api/rules/evaluation.ts';
import { Questions, Selections } from '../../../api/rules/questions.ts';
import { RecentStates } from '../../../api/rules/recent-states.ts';
import type { Micros } from '../../../schemas/records.ts';
import { Feed, listing, listingValues, micros } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';
import { candle, MINUTE, withCandles } from '../../support/screen/market.ts';

t.setTimeout(900_000);
const { history, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const NOON = micros('2026-01-15T12:00:00.000Z');
const SECOND: Micros = 1_000_000;
const BTC = { venue: 'binance', symbol: 'BTCUSDT', timeframe: '1m', length: MINUTE } as const;
const CROSSES = 'any(venues where crossover(close, sma(close, 3))) timeframe 1m where venue = binance';

const minute = (open: Micros, close: string) => candle({ ...BTC, open }, { close, volume: '1' });
await write([100, 100, 100, 100].map((close, i) => minute(NOON - (4 - i) * MINUTE, String(close))));

/** The market as of just after noon, and what a rule finds at an instant of it. */
const openMarket = () => {
  const feed = new Feed(['binance']);
  const recent = new RecentStates(feed.memory);
  feed.venue('binance', withCandles('binance'));
  feed.list(listing('binance', listingValues()));
  feed.memory.applyHistoryWatermark('binance', 0, NOON);
  const [questions, selections] = [new Questions(feed.memory), new Selections(feed.memory)];
  const question = questions.of({ query: CROSSES, units: 'published', freshness: null });
  const market = { live: feed.memory, history };
  const selectedAt = (at: Micros) => selections.at(at, question, { venues: null, instruments: null });
  const tell = (open: Micros, close: string, recordedAt: Micros): void => {
    const row = minute(open, close);
    feed.entry('binance', {
      ...{ kind: 'provisional', symbol: 'BTCUSDT', recorded_at: recordedAt },
      row: { ...row, instants: { ...row.instants, recorded_at: recordedAt } },
    });
  };
  const state = ({ state }: Outcome) => state;
  return {
    feed,
    tell,
    findByRule: async (at: Micros) => state(await new MarketAt(at, market, recent).evaluate(question, selectedAt(at))),
    findNow: async (at: Micros) => state(await evaluateNow(question, selectedAt(at), { ...market, at })),
  };
};

/** By second after noon: the candle of the minute before noon is told again and again, those after it once each. */
const TOLD: ReadonlyMap<number, readonly [open: Micros, close: string]> = new Map([
  [62, [NOON, '110']],
  [63, [NOON, '110']],
  [73, [NOON, '110']],
  [121, [NOON + MINUTE, '90']],
]);

t.test(
  'each instant of a rule finds what a screen of that instant finds, also when it is evaluated later',
  async (t) => {
    const { feed, tell, findByRule, findNow } = openMarket();
    const found: [Micros, string][] = [];
    for (let second = 55; second <= 130; second++) {
      const at = NOON + second * SECOND;
      const row = TOLD.get(second);
      if (row !== undefined) tell(...row, at - SECOND / 2);
      feed.watermark('binance', at);
      const state = await findByRule(at);
      t.equal(state, await findNow(at), `${second} s after noon`);
      found.push([at, state]);
    }
    const moves = found.filter(([, state], i) => state !== found[i - 1]?.[1]);
    t.same(
      moves.map(([at, state]) => [(at - NOON) / SECOND, state]),
      [
        [55, 'false'],
        [62, 'true'],
        [121, 'false'],
      ],
      'it moves when the candle has come, and once',
    );
    for (const [at, state] of found.slice(-30))
      t.equal(await findByRule(at), state, 'evaluated again by what came until then');
  },
);

t.test('a process that takes a rule over finds the same for instants that another evaluated', async (t) => {
  const before = openMarket();
  const after = openMarket();
  const found: [Micros, string][] = [];
  for (let second = 55; second <= 75; second++) {
    const at = NOON + second * SECOND;
    for (const { feed, tell } of [before, after]) {
      const row = TOLD.get(second);
      if (row !== undefined) tell(...row, at - SECOND / 2);
      feed.watermark('binance', at);
    }
    found.push([at, await before.findByRule(at)]);
  }
  for (const [at, state] of found) t.equal(await after.findByRule(at), state, `${(at - NOON) / SECOND} s after noon`);
});
