// Gap rows become incidents whose ranges match them, once, with any number of runners (OP-01); presence by day (OP-02). Real QuestDB and PostgreSQL.
import { Registry } from 'prom-client';
import t from 'tap';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { countAtOnce, formatNote, type GapGroup, isOver, joinGaps } from '../../../processors/nightly/gap-groups.ts';
import { reportGaps } from '../../../processors/nightly/gap-incidents.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { presence } from '../../../processors/nightly/steps/presence.ts';
import { makeMissingMinute } from '../../../processors/task/minutes.ts';
import { makeCandleRow, makeEventGapRow, makeGapRow, makeReadingRow } from '../../../processors/task/rows.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Row } from '../../../schemas/topics.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { micros, reading } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const log = createLog('gap-incidents-test', 'silent');
const NOON = micros('2026-01-15T12:00:00.000Z');
const S: Micros = 1_000_000;

const group = (from: number, to: number, over: Partial<GapGroup> = {}): GapGroup => ({
  ...{ venue: 'binance', layer: 'mark', cause: 'connection_lost', listings: 2, listing: 'binance:BTCUSDT' },
  ...{ from: NOON + from * S, to: NOON + to * S },
  ...over,
});

t.test(
  'gap rows that follow each other within the longest window are one incident, each cause and venue its own',
  (t) => {
    const spans = (groups: readonly GapGroup[]) =>
      joinGaps([], groups).map(({ venue, cause, from, to }) => [venue, cause, (from - NOON) / S, (to - NOON) / S]);
    t.same(spans([group(10, 20), group(20, 30), group(0, 60, { layer: 'funding' })]), [
      ['binance', 'connection_lost', 0, 60],
    ]);
    t.same(spans([group(0, 10), group(70, 80), group(141, 150)]), [
      ['binance', 'connection_lost', 0, 80],
      ['binance', 'connection_lost', 141, 150],
    ]);
    t.same(spans([group(0, 10), group(0, 10, { venue: 'okx' }), group(0, 10, { cause: 'crossed_book' })]).length, 3);
    const [one] = joinGaps([], [group(0, 10, { listings: 1 }), group(10, 20, { listings: 1 })]);
    t.match(one, { listings: 1, listing: 'binance:BTCUSDT' });
    const [two] = joinGaps(
      [],
      [group(0, 10, { listings: 1 }), group(10, 20, { listings: 1, listing: 'binance:ETHUSDT' })],
    );
    t.equal(two?.listing, null);
    t.equal(formatNote(two as never), 'The connection to the venue was lost. One listing at a time: mark.');
    const held = joinGaps([], [group(0, 10)]);
    t.same(joinGaps(held, [group(10, 20, { layer: 'book' })]), [
      { ...held[0], layers: ['book', 'mark'], to: NOON + 20 * S },
    ]);
    t.equal(isOver(held[0] as never, NOON + 130 * S), true);
    t.equal(isOver(held[0] as never, NOON + 130 * S - 1), false);
    t.end();
  },
);

t.test('listings that are lost at several instants are counted together while all of them are missing', (t) => {
  const of = (listing: string, from: number, to: number, listings = 1): GapGroup =>
    group(from, to, { layer: 'trades', listings, listing: `binance:${listing}` });
  const note = (groups: readonly GapGroup[]) =>
    joinGaps([], countAtOnce(groups)).map((incident) => formatNote(incident).replace(/^.*lost\. /, ''));
  t.same(note([of('A', 0, 5), of('B', 1, 6), of('C', 2, 3, 10)]), ['12 listings: trades.']);
  t.same(note([of('A', 0, 5), of('B', 5, 6), of('A', 7, 8)]), ['One listing at a time: trades.']);
  t.same(note([of('A', 0, 5), of('A', 5, 6)]), ['binance:A: trades.']);
  t.same(note([of('A', 0, 5), { ...of('B', 1, 6), venue: 'okx' }]), ['binance:A: trades.', 'binance:B: trades.']);
  t.same(note([of('B', 3, 4), of('A', 0, 10), of('C', 5, 6), of('D', 5, 7)]), ['3 listings: trades.']);
  t.end();
});

const engines = await useEngines(t, ['postgres', 'questdb']);
const store = await openTestStore(t, engines);
const pool = openPostgres(await engines.database(), { max: 6 });
t.teardown(() => pool.end());
await migrate(pool);

/** W at `seconds` after noon, with the rows sealed at that time. */
const contextAt = (seconds: number): NightlyContext => ({
  ...{ database: pool, questdb: store.reader, namespace: store.namespace, api: null, store: null, log },
  metrics: createNightlyMetrics(new Registry()),
  historyWatermark: async () => ({ at: NOON + seconds * S + SEALS_AFTER, of: 'binance/0' }),
  isBinding: async () => false,
  nowMs: Date.now,
  progress: () => undefined,
});

let offset = 1;
const span = (from: number, to: number) => ({
  from: NOON + from * S,
  at: NOON + to * S,
  srcOffset: offset++,
  late: false,
});
const missing = (symbol: string, [from, to]: [number, number], cause: GapCause, layer: ReadingLayer = 'mark'): Row =>
  makeGapRow({ venue: 'binance', symbol, layer }, span(from, to), cause);
const lostMark = (venue: string, from: number, to: number): Row =>
  makeGapRow({ venue, symbol: 'BTCUSDT', layer: 'mark' }, span(from, to), 'sequence_break');
const lostTrades = (venue: string, from: number, to: number): Row =>
  makeEventGapRow('trades', { venue, symbol: 'BTCUSDT' }, { ...span(from, to), cause: 'sequence_break' });
const present = (symbol: string, to: number, late = false): Row => {
  const at = NOON + to * S - 1_000;
  const held = reading({
    layer: 'mark',
    instants: {},
    values: { mark: '1' },
    venue_ts: at,
    received_at: at,
    recorded_at: at,
  });
  return makeReadingRow({ venue: 'binance', symbol, layer: 'mark' }, { ...span(to - 10, to), late }, held);
};

const incidents = async () => {
  const { rows } = await pool.query(
    `select gap_cause as cause, layers, state, note, extract(epoch from from_at) as "from", extract(epoch from to_at) as "to"
     from incidents where kind = 'gap' order by from_at, gap_cause`,
  );
  return rows.map(({ from, to, ...rest }) => ({ ...rest, from: Number(from) - NOON / S, to: Number(to) - NOON / S }));
};

t.test(
  'an outage is one incident that grows while it lasts, closes when it is over, and is not reported twice',
  async (t) => {
    await store.write([
      ...[10, 20].flatMap((to) => [
        missing('BTCUSDT', [to - 10, to], 'connection_lost'),
        missing('ETHUSDT', [to - 10, to], 'connection_lost'),
      ]),
      missing('ETHUSDT', [0, 60], 'no_update', 'funding'),
      missing('BTCUSDT', [0, 60], 'not_listed', 'stats'),
      missing('BTCUSDT', [20, 30], 'no_update'),
      present('ETHUSDT', 30),
      makeReadingRow(
        { venue: 'binance', symbol: 'BTCUSDT', layer: 'book' },
        { ...span(0, 10), late: true },
        reading({ layer: 'book', valid: false, gap_cause: 'crossed_book', values: {}, instants: {} }),
      ),
    ]);
    await reportGaps(contextAt(15));
    t.match(await incidents(), [{ cause: 'connection_lost', from: 0, to: 10, state: 'open', layers: ['mark'] }]);
    await Promise.all([reportGaps(contextAt(79)), reportGaps(contextAt(79))]);
    const all = await incidents();
    t.match(all[0], { cause: 'connection_lost', from: 0, to: 20, state: 'open', note: /lost\. 2 listings: mark\.$/ });
    t.match(all[1], {
      cause: 'no_update',
      from: 0,
      to: 60,
      state: 'open',
      layers: ['funding'],
      note: /binance:ETHUSDT: funding\.$/,
    });
    t.equal(
      all.length,
      2,
      'one quiet listing of two, one that is not listed, and what came too late to count are none',
    );
    await reportGaps(contextAt(139));
    t.equal((await incidents())[0]?.state, 'open');
    await reportGaps(contextAt(140));
    t.equal((await incidents())[0]?.state, 'closed');
    await store.write([missing('BTCUSDT', [290, 300], 'connection_lost')]);
    await reportGaps(contextAt(300));
    await reportGaps(contextAt(300));
    t.match(await incidents(), [
      { to: 20, state: 'closed' },
      { to: 60, state: 'closed' },
      { from: 290, to: 300, state: 'open' },
    ]);
  },
);

t.test('minutes without a candle are incidents too, of whichever price, and longer candles add nothing', async (t) => {
  const missingMinute = (priceType: 'trade' | 'mark', minute: number, cause: GapCause = 'venue_down'): Row =>
    makeCandleRow(
      { venue: 'binance', symbol: 'BTCUSDT', priceType },
      makeMissingMinute(NOON + minute * 60 * S, cause),
      offset++,
    );
  const hour = makeCandleRow(
    { venue: 'binance', symbol: 'BTCUSDT', priceType: 'mark' },
    { ...makeMissingMinute(NOON, 'venue_down'), timeframe: '1h', closeTime: NOON + 3_600 * S },
    offset++,
  );
  await store.write([missingMinute('mark', 7), missingMinute('trade', 8), missingMinute('mark', 8), hour]);
  const seen = async () => (await incidents()).filter(({ cause }) => cause === 'venue_down');
  await reportGaps(contextAt(479));
  t.same(await seen(), [], 'a minute is not looked at before its end is');
  await reportGaps(contextAt(480));
  t.match(await seen(), [{ from: 420, to: 480, layers: ['candles'], note: /binance:BTCUSDT: candles\.$/ }]);
  t.equal((await seen()).length, 1);
  await reportGaps(contextAt(541));
  t.match(await seen(), [{ from: 420, to: 540, layers: ['candles'], state: 'open' }]);
});

t.test('a look that fails leaves nothing, and the next one finds it', async (t) => {
  await store.write([missing('BTCUSDT', [590, 600], 'crossed_book')]);
  const before = await incidents();
  const failing = {
    ...contextAt(600),
    questdb: { ...store.reader, query: async () => Promise.reject(new Error('away')) },
  };
  await t.rejects(reportGaps(failing), { message: 'away' });
  t.same(await incidents(), before);
  await reportGaps(contextAt(600));
  t.match((await incidents()).at(-1), { cause: 'crossed_book', from: 590, to: 600 });
});

t.test('presence counts windows with and without a reading, once the day is sealed', async (t) => {
  await t.rejects(
    presence.run('2026-01-15', contextAt(3_600)),
    /not the end of 2026-01-15 with its last window; VENUES names the venues that are waited for$/,
  );
  const after = 12 * 3_600;
  // One window ends with the day before, two with this one.
  const midnights = [present('ETHUSDT', -after), present('ETHUSDT', after), present('BTCUSDT', after)];
  await store.write([...midnights, present('ETHUSDT', 40, true)]);
  t.equal(await presence.run('2026-01-15', contextAt(after)), '3 venues and layers');
  await presence.run('2026-01-15', contextAt(after));
  const { rows } = await pool.query(
    "select layer, listings, present_s::int, missing_s::int from daily_presence where venue = 'binance' order by layer",
  );
  t.same(rows, [
    { layer: 'funding', listings: 1, present_s: 0, missing_s: 60 },
    { layer: 'mark', listings: 2, present_s: 30, missing_s: 70 },
    { layer: 'stats', listings: 1, present_s: 0, missing_s: 60 },
  ]);
});

/** Rows of a venue, each stored at the second at which its window is sealed. */
const SEALED: readonly (readonly [second: number, row: Row])[] = [
  // Begins and ends within one window.
  [1_210, lostTrades('okx', 1_203.5, 1_207.5)],
  // Ends within a window, after the last window without a reading.
  [1_210, lostTrades('bybit', 1_201.5, 1_210)],
  [1_210, lostMark('bybit', 1_200, 1_210)],
  [1_220, lostTrades('bybit', 1_210, 1_213.5)],
  // Begins within a minute of the end of the first, and is known nearly two minutes after it.
  [1_220, lostMark('deribit', 1_210, 1_220)],
  [1_320, lostMark('deribit', 1_260, 1_320)],
  // Two that a later row joins.
  [1_220, lostMark('hyperliquid', 1_210, 1_220)],
  [1_290, lostTrades('hyperliquid', 1_285, 1_290)],
  [1_320, lostMark('hyperliquid', 1_260, 1_320)],
];

t.test(
  'of rows that are sealed one after another, looks at any time find the same incidents as one at the end',
  async (t) => {
    for (let second = 1_190; second <= 1_460; second += 3) {
      const due = SEALED.filter(([at]) => at > second - 3 && at <= second).map(([, row]) => row);
      if (due.length > 0) await store.write(due);
      await reportGaps(contextAt(second));
    }
    const { rows } = await pool.query(
      `select venue, layers, state, extract(epoch from from_at) as "from", extract(epoch from to_at) as "to"
     from incidents where kind = 'gap' and venue <> 'binance' order by from_at, venue`,
    );
    t.same(
      rows.map(({ from, to, ...rest }) => ({ ...rest, from: Number(from) - NOON / S, to: Number(to) - NOON / S })),
      [
        { venue: 'bybit', layers: ['mark', 'trades'], state: 'closed', from: 1_200, to: 1_213.5 },
        { venue: 'okx', layers: ['trades'], state: 'closed', from: 1_203.5, to: 1_207.5 },
        { venue: 'deribit', layers: ['mark'], state: 'closed', from: 1_210, to: 1_320 },
        { venue: 'hyperliquid', layers: ['mark', 'trades'], state: 'closed', from: 1_210, to: 1_320 },
      ],
    );
  },
);
