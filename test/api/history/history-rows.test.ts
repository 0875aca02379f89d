// Stored history without a store: figures, seams, periods, instants, raw rows, and what a request means (H-02 to H-08, N-05).
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { findItemsLimit } from '../../../api/data-app/answers.ts';
import { chooseFormat } from '../../../api/data-app/row-formats.ts';
import { countRows, describeFit } from '../../../api/history/answer.ts';
import { describeFit as describeCandlesFit } from '../../../api/history/candles.ts';
import { createFitting, makeTooLarge } from '../../../api/history/fitting.ts';
import { gatherLosses, listRuns } from '../../../api/history/gather.ts';
import { findRawLimits } from '../../../api/history/limits.ts';
import { readTimes } from '../../../api/history/request.ts';
import { makeRowObject, type RowFacts } from '../../../api/history/row-object.ts';
import {
  answerPeriods,
  answerRaw,
  findNewestAt,
  joinSeries,
  listPeriods,
  listReadings,
} from '../../../api/history/series.ts';
import { HistoryReader } from '../../../api/history/store.ts';
import { fromCells, fromRow, type StoredReading, type StoredRow } from '../../../api/history/stored-row.ts';
import type { QuestdbQuery } from '../../../infra/runtime/questdb/reader.ts';
import { makeReadingRow } from '../../../processors/task/rows.ts';
import { joinFigure } from '../../../schemas/decimals.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import { COUNTS_WITHIN } from '../../../schemas/windows.ts';
import { listing, listingValues, market, NOW, reading } from '../../support/apps/live-fixture.ts';

const WINDOW = 10;
const NO_RECENT = { sealed: [], provisional: [] };

/** Window `n` ends at `10 n`; its reading came `early` before that. */
const makeReading = (
  n: number,
  { early = 1, late = false, srcOffset = n }: { early?: number; late?: boolean; srcOffset?: number } = {},
): StoredRow => ({
  fromAt: (n - 1) * WINDOW,
  at: n * WINDOW,
  late,
  srcOffset,
  reading: reading({ received_at: n * WINDOW - early }),
  gapCause: null,
});
const silent = (from: number, to: number, cause: GapCause = 'no_update'): StoredRow => ({
  fromAt: (from - 1) * WINDOW,
  at: to * WINDOW,
  late: false,
  srcOffset: to,
  reading: null,
  gapCause: cause,
});

t.test('a double and the sparse digits give the venue’s digits back', (t) => {
  for (const [double, exact, digits] of [
    ['76568.0', undefined, '76568'],
    ['1.0E-7', undefined, '0.0000001'],
    ['1.0E21', undefined, '1000000000000000000000'],
    ['-0.0', undefined, '0'],
    ['60000.12345678901', '60000.123456789012345678', '60000.123456789012345678'],
    [null, undefined, null],
    ['NaN', undefined, null],
  ] as const) {
    t.equal(joinFigure(double, exact), digits, `${double} ${exact}`);
  }
  t.end();
});

t.test('a row from memory and its cells from the store are the same', (t) => {
  const one = reading({ layer: 'funding', valid_until: NOW + 7 });
  const row = makeReadingRow(
    { venue: 'okx', symbol: 'X', layer: 'funding' },
    { from: NOW - 9, at: NOW, srcOffset: 4, late: false },
    one,
  );
  const line = [
    ...['okx:X', String(NOW), String(NOW - 9), 'present', null, 'f', String(one.venue_ts), String(one.received_at)],
    ...[String(one.recorded_at), 'connection', 'venue', String(NOW + 7), 'c1', null, null, '4'],
    ...[String(one.instants.next_funding_at), '1.25E-5', '1.0E-4', '3600000.0'],
  ];
  const cells = fromCells('funding', line);
  t.equal(cells.listing, 'okx:X');
  t.same(cells.row, fromRow('funding', row));
  t.end();
});

t.test('a row in store and memory counts once, and a sealed window has no provisional row', (t) => {
  const joined = joinSeries([makeReading(1), silent(2, 4)], {
    sealed: [makeReading(1), makeReading(5), makeReading(5, { late: true, srcOffset: 9 })],
    provisional: [silent(1, 1, 'unknown'), silent(3, 3, 'unknown'), silent(5, 5, 'unknown'), makeReading(6)],
  });
  t.same(
    joined.map(({ at, late, reading }) => [at, late, reading !== null]),
    [
      [10, false, true],
      [40, false, false],
      [50, false, true],
      [50, true, true],
      [60, false, true],
    ],
  );
  t.end();
});

t.test('periods: the last reading, else the last cause that reaches in, else unknown', (t) => {
  const series = [
    makeReading(1),
    silent(2, 2, 'venue_down'),
    silent(3, 5, 'parse_error'),
    makeReading(6),
    makeReading(6, { late: true, srcOffset: 7 }),
  ];
  const toLengths = (length: number, to: number) =>
    answerPeriods(series, listPeriods(0, to, length)).map(({ row, gapCause }) => row?.at ?? gapCause);
  t.same(toLengths(10, 70), [10, 'venue_down', 'parse_error', 'parse_error', 'parse_error', 60, 'unknown']);
  t.same(toLengths(20, 60), [10, 'parse_error', 60]);
  t.same(toLengths(30, 60), [10, 60]);
  t.same(
    answerPeriods([silent(1, 1, 'venue_down'), silent(2, 2, 'parse_error')], listPeriods(0, 40, 20)).map(
      (p) => p.gapCause,
    ),
    ['parse_error', 'unknown'],
  );
  t.end();
});

t.test('instants: the newest window that had ended; gaps are passed over', (t) => {
  const readings = listReadings([makeReading(1), silent(2, 4), makeReading(5), makeReading(6, { late: true })]);
  t.same(
    [9, 10, 49, 50, 60].map((at) => findNewestAt(readings, at)?.at ?? null),
    [null, 10, 10, 50, 50],
  );
  t.end();
});

t.test('raw: however many windows were sealed at once, and wherever a request is cut, the rows are the same', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('reading' as const, 'venue_down' as const, 'parse_error' as const), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      fc.integer({ min: 0, max: 120 }),
      (kinds, joins, cut) => {
        const single = kinds.map((kind, i) =>
          kind === 'reading' ? makeReading(i + 1, { early: 3 }) : silent(i + 1, i + 1, kind),
        );
        const runs: StoredRow[] = [];
        single.forEach((row, i) => {
          const last = runs.at(-1);
          const joined = last?.reading === null && row.reading === null && last.gapCause === row.gapCause && joins[i];
          if (joined) runs[runs.length - 1] = { ...row, fromAt: last.fromAt };
          else runs.push(row);
        });
        const show = (series: readonly StoredRow[], from: number, to: number) =>
          answerRaw(joinSeries(series, NO_RECENT), { from, to, windowMicros: WINDOW }).map(
            ({ at, row, gapCause }) => `${at} ${row?.srcOffset ?? gapCause}`,
          );
        const end = (kinds.length + 1) * WINDOW;
        const whole = show(single, 0, end);
        t.same(show(runs, 0, end), whole);
        t.same([...show(runs, 0, Math.min(cut, end)), ...show(runs, Math.min(cut, end), end)], whole);
      },
    ),
    { numRuns: 60 },
  );
  t.end();
});

t.test('a request is moved in to boundaries, cut at now, and never turned round', (t) => {
  const meant = (from: string, to: string) => readTimes({ interval: '1m', from, to }, NOW);
  const micros = (text: string) => Date.parse(text) * 1_000;
  t.same(meant('2026-01-15T11:00:00.000001Z', '2026-01-15T11:02:59Z'), {
    mode: 'interval',
    length: 60_000_000,
    from: micros('2026-01-15T11:01:00Z'),
    to: micros('2026-01-15T11:02:00Z'),
  });
  t.match(meant('2026-01-15T11:59Z', '2027-01-01'), { to: micros('2026-01-15T12:00:00Z') });
  const nothing = micros('2026-01-15T11:01:00Z');
  t.match(meant('2026-01-15T11:00:10Z', '2026-01-15T11:00:50Z'), { from: nothing, to: nothing });
  t.same(readTimes({ as_of: '2026-01-15' }, NOW), { mode: 'at', instants: [micros('2026-01-15T00:00:00Z')] });
  t.end();
});

t.test('the reported reach of a raw answer fits, and instants are read in runs', (t) => {
  const layers = ['mark', 'funding'] as const;
  const asked = { mode: 'raw', from: NOW - 86_400_000_000, to: NOW } as const;
  t.same(findRawLimits(asked, layers, 9), []);
  const most = { ...asked, from: NOW - 1_000_000_000_000 };
  t.same(findRawLimits(most, ['mark'], 1), [], 'as many rows as the limit');
  t.match(findRawLimits({ ...most, from: most.from - 1 }, ['mark'], 1), [{ message: /have 100001 rows/ }]);
  const [error] = findRawLimits(asked, layers, 100);
  t.match(error, { code: 'DQL_LIMIT', message: 'The answer would have 1008000 rows, the limit is 100000.' });
  const reach = Date.parse(/reaches to (\S+) /.exec(error?.hint ?? '')?.[1] ?? '') * 1_000;
  t.same(findRawLimits({ ...asked, to: reach }, layers, 100), []);
  const rows = layers.reduce((sum, layer) => sum + 100 * countRows({ ...asked, to: reach }, layer), 0);
  t.ok(rows <= 8_388_608 / 400 && rows > 0.9 * (8_388_608 / 400), `${rows} rows of 400 bytes fit`);
  t.same(listRuns([0, 120_000_000, 240_000_001]), [
    { instants: [0, 120_000_000], step: null },
    { instants: [240_000_001], step: null },
  ]);
  t.end();
});

t.test('a hint names the window or the instants that fit, and none where nothing fits (H-08)', (t) => {
  const window = { from: NOW - 600_000_000, to: NOW - 300_000_000 };
  const asked = { mode: 'interval', length: 60_000_000, ...window } as const;
  t.match(describeFit(asked), /^A window of about 300s fits: send to 2026-01-15T11:55:00.500Z,/);
  t.match(describeFit({ ...asked, to: asked.from }), /^Narrow where or layers/);
  const raw = { mode: 'raw', ...window, to: window.from + 54_000_000 } as const;
  t.match(describeFit(raw), /^One answer reaches to about 2026-01-15T11:50:54.500Z \(54s\)/);
  t.match(describeFit({ mode: 'at', instants: [NOW] }), /^About 1 instant fits/);
  t.match(describeFit({ mode: 'at', instants: [] }), /^Narrow where or layers/);
  const candles = { timeframe: '1h', length: 3_600_000_000, priceType: 'trade', from: NOW, to: NOW } as const;
  t.equal(describeCandlesFit(candles), 'Narrow where: no window of this size fits.');
  t.match(describeCandlesFit({ ...candles, to: NOW + 43_200_000_000 }), /^A window of about 43200s fits/);
  t.end();
});

t.test('the window that fits is the longest whose rows fit, whichever listing has the larger ones (H-08)', (t) => {
  const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 12 }), { minLength: 1, maxLength: 6 });
  const checked = fc.property(sizes, fc.integer({ min: 0, max: 20_000 }), (listings, limit) => {
    const fitting = createFitting();
    for (const rows of listings) {
      const sized = rows.map((bytes, i) => ({ steps: i + 1, bytes }));
      fitting.add(100 + rows.reduce((sum, bytes) => sum + bytes, 0), sized);
    }
    const measure = (steps: number) =>
      listings.reduce((sum, rows) => sum + 100 + rows.slice(0, steps).reduce((all, bytes) => all + bytes, 0), 0);
    const steps = fitting.countSteps(limit);
    if (steps > 0) t.ok(measure(steps) <= limit);
    if (steps < 12) t.ok(measure(steps + 1) > limit || measure(steps) > limit);
  });
  fc.assert(checked, { numRuns: 200 });
  t.end();
});

t.test('a limit that the caller lowered bounds a hint, not how far an answer grows (T-04)', (t) => {
  const most = 8_388_608;
  const limitOf = (headers: object) => findItemsLimit({ headers } as FastifyRequest);
  const lowered = limitOf({ 'x-service-max-bytes': '65536' });
  t.same(lowered, { stopsAt: most, named: 65_536 });
  t.same(limitOf({}), { stopsAt: most, named: most });
  const table = limitOf({ 'x-service-max-bytes': '65536', accept: 'text/csv' });
  t.ok(table.stopsAt > most, 'a table is judged by its own bytes afterwards');
  const refusal = { code: 'DQL_LIMIT', message: 'The answer has more than 9000000 bytes, the limit is 65536.' };
  t.match(makeTooLarge(9_000_000, lowered, 'Narrow where.'), { errors: [{ ...refusal, hint: 'Narrow where.' }] });
  t.end();
});

t.test('Accept picks the format it likes best, JSON when it names none of ours', (t) => {
  for (const [accept, format] of [
    [undefined, 'json'],
    ['*/*', 'json'],
    ['text/csv', 'csv'],
    ['application/x-ndjson, application/json', 'ndjson'],
    ['application/json;q=0.2, text/csv;q=0.8', 'csv'],
    ['text/csv;q=0', 'json'],
    ['application/vnd.apache.parquet', 'parquet'],
    ['q=,;;', 'json'],
    // The most specific range counts (RFC 9110 section 12.5.1).
    ['application/json;q=0.2, */*', 'csv'],
    ['*/*;q=0.1, application/json;q=0', 'csv'],
    ['text/csv;q=0.3, text/*, application/json;q=0.5', 'json'],
    ['text/csv;q=0, text/*', 'json'],
    ['application/json;q=0.5, application/*', 'ndjson'],
    ['application/json, text/plain, */*', 'json'],
    ['*/*, text/csv', 'json'],
    ['text/csv, */*;q=0.1', 'csv'],
  ] as const) {
    t.equal(chooseFormat(accept), format, String(accept));
  }
  t.end();
});

/** L-07, from the reason that wins to the one that gives way to all. */
const REASONS = [
  ...['policy_off', 'venue_capability', 'not_retained', 'gap', 'no_value', 'connection_lost', 'horizon_unknown'],
  ...['horizon_passed', 'freshness_bound'],
] as const;

t.test('of several reasons of a row the first of L-07 wins, whichever they are', (t) => {
  const HELD = { received_at: NOW - 60_000_000, venue_ts: null } as const;
  const READINGS: readonly [StoredReading | null, GapCause | null, readonly string[]][] = [
    [null, null, ['no_value']],
    [null, 'collector_down', ['gap']],
    [reading({ ...HELD, valid: false, gap_cause: 'crossed_book' }), null, ['gap']],
    [reading({ ...HELD, horizon_source: null }), null, ['horizon_unknown']],
    [reading({ ...HELD, horizon_source: 'documented', valid_until: NOW - 1 }), null, ['horizon_passed']],
    [reading(HELD), null, []],
  ];
  let rows = 0;
  for (const [held, gapCause, reasons] of READINGS) {
    for (const policy of ['on', 'off', 'not_published', null] as const) {
      for (const isKept of [true, false]) {
        for (const lostAt of [null, NOW - 5]) {
          for (const boundMs of [30_000, 90_000]) {
            const isLost = lostAt !== null && held?.horizon_source === 'connection';
            const holds = [
              ...reasons,
              ...(policy === 'off' || (policy === null && isKept) ? ['policy_off'] : []),
              ...(policy === 'not_published' ? ['venue_capability'] : []),
              ...(isKept ? [] : ['not_retained']),
              ...(isLost ? ['connection_lost'] : []),
              ...(held?.valid === true && boundMs < 60_000 ? ['freshness_bound'] : []),
            ];
            const question: RowFacts = {
              ...{ at: NOW, reading: held, gapCause, late: false, policy, lostAt, boundMs, units: 'published' },
              ...{ retentionFrom: isKept ? NOW - 1 : NOW + 1, allowStale: false, mark: () => null },
              version: listing('binance', listingValues()),
            };
            const { reason } = makeRowObject(question, { includeGaps: true }) as { readonly reason?: string };
            t.equal(
              reason,
              REASONS.find((one) => holds.includes(one)),
              JSON.stringify([holds, policy]),
            );
            rows += 1;
          }
        }
      }
    }
  }
  t.equal(rows, READINGS.length * 32);
  t.end();
});

t.test(
  'ends of more connections than one statement names are found, each as it counted at its instant (F-02, N-11)',
  async (t) => {
    const feed = market();
    feed.memory.applyHistoryWatermark('binance', 0, NOW);
    const at = NOW - 600_000_000;
    const received = at - 1_000_000;
    const asked: number[] = [];
    /** The connection `i` ended `i` microseconds after its reading, which is recorded as late as counts at `at`. */
    const query = async ({ values = [] }: QuestdbQuery) => {
      const [, , , ...connections] = values;
      asked.push(connections.length);
      return connections.map((connection) => {
        const i = Number(String(connection).slice(1));
        const cause = i % 2 === 0 ? 'connection_lost' : 'collector_down';
        return [String(connection), String(received), String(received + i), String(at + COUNTS_WITHIN), cause];
      });
    };
    const reader = new HistoryReader({ query, ping: async () => undefined, close: async () => undefined }, '');
    const of = { venue: 'binance', venueSymbol: 'BTCUSDT' };
    const rows = Array.from({ length: 401 }, (_, i) => ({
      ...makeReading(i),
      reading: reading({ conn_id: `c${i}`, received_at: received, horizon_source: 'connection' }),
    }));
    const losses = await gatherLosses(
      { reader, live: feed.memory },
      rows.map((row) => [of, row] as const),
      at,
    );
    t.same(asked, [200, 200, 1]);
    for (const [i, row] of rows.entries()) {
      if (losses(of, row.reading, at) !== received + i) t.fail(`the end of connection ${i}`);
      const before = i % 2 === 0 ? null : received + i;
      if (losses(of, row.reading, at - 1) !== before) t.fail(`the end of connection ${i} as known before`);
      const next = { ...row.reading, received_at: received + i + 1 };
      // A lost connection is closed for good; after a silence another span may have begun.
      const after = i % 2 === 0 ? received + i : null;
      if (losses(of, next, at) !== after) t.fail(`what came after connection ${i}`);
    }
  },
);
