// A selection of known names that selects no listing is an empty answer on every endpoint and in every reader (S-04, S-05).
import t from 'tap';
import { HistoryReader } from '../../../api/history/store.ts';
import { FIELDS, SOURCES } from '../../../api/language/fields.ts';
import { FUNCTIONS } from '../../../api/language/functions.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import type { QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { market, NOW, testApp } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history } = await openTestStore(t, await useEngines(t, ['questdb']));
const { app, table } = await (async () => {
  const feed = market();
  feed.memory.applyHistoryWatermark('binance', 0, NOW);
  feed.memory.applyHistoryWatermark('okx', 0, NOW);
  return testApp(feed, { history });
})();
t.teardown(() => app.close());

/** Both names are listed, and not together. */
const EMPTY = 'instrument = ETH-PERP and venue = okx';
const AS_OF = 'as of 2026-01-15T11:30:00Z';
const SPAN = { from: '2026-01-15T10:00:00Z', to: '2026-01-15T11:00:00Z' };

type Answer = { readonly status: number; readonly body: string };
const ask = async (method: 'GET' | 'POST', url: string, body?: unknown): Promise<Answer> => {
  const headers = { authorization: `Bearer ${table.add('pro_plus')}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { payload: JSON.stringify(body) };
  const answer = await app.inject({ method, url, headers, ...sent });
  return { status: answer.statusCode, body: answer.body };
};

const BODIES: Readonly<Record<string, readonly Record<string, unknown>[]>> = {
  '/v2/snapshots': [{ layers: READING_LAYERS, units: 'base', allow_stale: true }],
  '/v2/snapshots/history': [
    { layers: READING_LAYERS, interval: '1m', ...SPAN },
    { layers: READING_LAYERS, interval: '1h', units: 'quote', ...SPAN },
    { layers: READING_LAYERS, raw: true, ...SPAN },
    { layers: READING_LAYERS, at: [SPAN.from], units: 'base' },
    { layers: READING_LAYERS, at: [SPAN.from, '2026-01-15T10:00:10Z', SPAN.to] },
    { layers: READING_LAYERS, as_of: SPAN.to },
  ],
  '/v2/candles': [
    { timeframe: '1m', units: 'quote', ...SPAN },
    { timeframe: '1h', price_type: 'mark', ...SPAN },
  ],
  '/v2/liquidations': [{ ...SPAN }, { side: 'long', units: 'base', ...SPAN }],
  '/v2/books': [{ depth: 5, units: 'base' }],
};

t.test('every endpoint with a selection answers an empty one', async (t) => {
  // archive.test.ts requests the list of files, over its manifest.
  const asked = new Set(['/v2/screen', '/v2/instruments', '/v2/archive', ...Object.keys(BODIES)]);
  const selecting = OPERATIONS.filter(({ input }) => JSON.stringify(input).includes('"where":')).map(
    ({ path }) => path,
  );
  t.same(
    selecting.filter((path) => !asked.has(path)),
    [],
    'no endpoint is left out',
  );
  for (const [path, bodies] of Object.entries(BODIES)) {
    for (const body of bodies) {
      const answer = await ask('POST', path, { where: EMPTY, ...body });
      t.match(answer, { status: 200, body: /"items":\[\]/ }, `${path} ${JSON.stringify(body)}`);
    }
  }
  const instruments = await ask('GET', `/v2/instruments?where=${encodeURIComponent(EMPTY)}`);
  t.match(instruments, { status: 200, body: /"items":\[\]/ });
});

t.test('a stream of no listing opens and has an empty snapshot', async (t) => {
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${table.add('pro_plus')}` };
  const url = `${base}/v2/stream?layers=mark&where=${encodeURIComponent(EMPTY)}`;
  const answer = await fetch(url, { headers });
  t.equal(answer.status, 200);
  const first = await answer.body?.getReader().read();
  t.match(new TextDecoder().decode(first?.value), /event: hello/);
});

const expressions = [
  ...[...FIELDS.values()].map(({ name }) => name),
  ...[...SOURCES.keys()],
  ...[...FUNCTIONS.values()].map(({ example }) => example.replace(/^any\(venues where (.*)\)( timeframe .*)?$/, '$1')),
  'max(venues, mark)',
  'min(venues where funding > 0, volume)',
  'count(venues where sma(close, 3) > 1)',
];

t.test('every expression of a screen, live and as of, is empty without a listing', async (t) => {
  for (const expression of expressions) {
    for (const clause of ['', AS_OF]) {
      for (const units of ['published', 'base', 'quote']) {
        const query = `timeframe 1h ${clause} where ${EMPTY} select ${expression}`;
        const answer = await ask('POST', '/v2/screen', { query, units, include_unknown: true });
        t.match(answer, { status: 200, body: /"instruments":\[\]/ }, `${query} ${units}`);
      }
    }
  }
});

t.test('a reader of history sends no statement for no listing', async (t) => {
  const texts: string[] = [];
  const store: QuestdbReader = {
    query: async ({ text }) => {
      texts.push(text);
      return [];
    },
    ping: async () => undefined,
    close: async () => undefined,
  };
  const reader = new HistoryReader(store, '');
  const range = { after: 0, to: NOW };
  for (const layer of READING_LAYERS) {
    const none = { layer, listings: [] };
    t.equal((await reader.windows(none, range)).size, 0);
    t.equal((await reader.lastOfPeriods(none, range, { length: 60_000_000, kind: 'gap' })).size, 0);
    t.equal((await reader.longGaps(none, range)).size, 0);
    t.equal((await reader.asOf(none, NOW)).size, 0);
  }
  t.equal((await reader.spans([], { task: 'okx/0', from: 0, to: NOW })).size, 0);
  t.same(texts, []);
});
