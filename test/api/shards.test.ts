// Answers about a venue whose listings are spread over shards, of which some are away for a while: those about each listing are the answers of a
// venue whose only task has the log of the listing's shard (design section 5).
import type { InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import type { HistoryStore } from '../../api/history/store.ts';
import { formatInstantMicros } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { toShard } from '../../schemas/shards.ts';
import { testApp } from '../support/apps/live-fixture.ts';
import { useEngines } from '../support/engines/engines.ts';
import { openTestStore } from '../support/engines/test-store.ts';
import { PAPER_LAYERS } from '../support/tasks/oracle.ts';
import { SYMBOLS } from '../support/tasks/paper-log.ts';
import { PaperWorld, type PaperWorldOptions } from '../support/tasks/paper-world.ts';
import { SECOND, START } from '../support/tasks/task-driver.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb']);
const SEED = 31;
const SHARDS = 2;
/** Seconds of the log: shortly after a shard returned, and long after. */
const STAGES = [249, 306, 369, 494, 823, 1_133, 1_273];
/** Watermarks by which the store is behind. */
const BEHIND = 5;

type World = { readonly paper: PaperWorld; readonly history: HistoryStore };
type Item = Readonly<Record<string, unknown>>;
type Question = { readonly path: string; readonly body?: Readonly<Record<string, unknown>> };

const openWorld = async (t: Test, options: Omit<PaperWorldOptions, 'write' | 'seed'>): Promise<World> => {
  const { history, write } = await openTestStore(t, engines);
  return { paper: new PaperWorld({ ...options, seed: SEED, write }), history };
};

const QUERIES = [
  'any(venues where mark > 0) select mark, index, basis, age(mark), status(bid)',
  'any(venues where last > 0 or bid > 0 or funding > -1) select last, bid, ask, spread, funding, depth_bid(25bps)',
  'count(venues where oi > 0) >= 0 select oi, volume_24h, turnover_24h',
  'any(venues where close > 0) timeframe 1m select close, sma(close, 3), gaps(5), volume',
];

const listPast = (now: Micros): Question[] =>
  [1, 37, 121, 290].flatMap((back): Question[] => {
    const at = now - back * SECOND;
    const [from, to] = [formatInstantMicros(at - 180 * SECOND), formatInstantMicros(at)];
    const history = { layers: PAPER_LAYERS, allow_stale: true };
    const asOf = formatInstantMicros(Math.max(at, START + 60 * SECOND));
    return [
      { path: '/v2/snapshots/history', body: { ...history, from, to, interval: '1m', units: 'quote' } },
      { path: '/v2/snapshots/history', body: { ...history, at: [from, to], freshness: '3600s' } },
      { path: '/v2/snapshots/history', body: { ...history, from, to, raw: true } },
      { path: '/v2/candles', body: { from, to, timeframe: '1m', units: 'quote' } },
      { path: '/v2/liquidations', body: { from, to } },
      ...QUERIES.map((query) => ({ path: '/v2/screen', body: { query: `${query} as of ${asOf}` } })),
    ];
  });

const listQuestions = (now: Micros): Question[] => [
  ...['published', 'base', 'quote'].map((units) => ({
    path: '/v2/snapshots',
    body: { layers: PAPER_LAYERS, allow_stale: true, units },
  })),
  { path: '/v2/books', body: { depth: 25 } },
  ...['published', 'quote'].flatMap((units) =>
    QUERIES.map((query) => ({ path: '/v2/screen', body: { query, units } })),
  ),
  { path: '/v2/instruments' },
  ...listPast(now),
];

/** Items by what they are about. */
const groupItems = (answer: Item): Map<string, Item[]> => {
  const items = (answer['items'] ?? answer['instruments']) as Item[];
  return Map.groupBy(items, (item) => String(item['venue_symbol'] ?? item['instrument']).replace('-PERP', ''));
};

const openClient = async (t: Test, { paper, history }: World) => {
  const now = paper.paper.log.now;
  const { app, as } = await testApp(paper.feed, { history, nowMicros: () => now });
  t.teardown(() => app.close());
  return async ({ path, body }: Question): Promise<Item> => {
    const headers = { 'content-type': 'application/json', ...as('pro_plus') };
    const asked: InjectOptions =
      body === undefined ? { method: 'GET', url: path } : { method: 'POST', url: path, payload: JSON.stringify(body) };
    const answer = await app.inject({ ...asked, headers });
    if (answer.statusCode !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${answer.body}`);
    return answer.json<Item>();
  };
};

t.test('answers about a listing are those of its shard alone', async (t) => {
  const spread = await openWorld(t, { shards: SHARDS });
  const alone = await Promise.all(Array.from({ length: SHARDS }, (_, logOf) => openWorld(t, { logOf })));
  for (const second of STAGES) {
    for (const { paper } of [spread, ...alone]) await paper.goTo(second, BEHIND);
    const now = spread.paper.paper.log.now;
    const ask = await openClient(t, spread);
    const clients = await Promise.all(alone.map((world) => openClient(t, world)));
    let [compared, differ] = [0, 0];
    for (const question of listQuestions(now)) {
      const found = groupItems(await ask(question));
      const wanted = await Promise.all(clients.map(async (client) => groupItems(await client(question))));
      for (const symbol of SYMBOLS) {
        const of = wanted[toShard(symbol, SHARDS)]?.get(symbol);
        if (of !== undefined) compared++;
        if (JSON.stringify(found.get(symbol)) === JSON.stringify(of)) continue;
        differ++;
        t.same(found.get(symbol), of, `${symbol} at ${second}: ${question.path} ${JSON.stringify(question.body)}`);
      }
    }
    t.equal(differ, 0, `answers at second ${second}`);
    t.ok(compared > 100, `${compared} compared`);
  }
});
