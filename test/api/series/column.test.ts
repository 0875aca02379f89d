// Columns of series: elements in any order of arrival, growth at the newest end, the time an evaluation may take (DQL-26, SC-06).
import fc from 'fast-check';
import t from 'tap';
import { HistoryReader } from '../../../api/history/store.ts';
import { Budget } from '../../../api/screen/screen.ts';
import { Column } from '../../../api/series/column.ts';
import { type ColumnSpec, isQuantitySpec, toPeriod, toWindowPeriod } from '../../../api/series/column-spec.ts';
import { type Filling, fillFromStore, putRow, type Target } from '../../../api/series/load.ts';
import type { QuestdbQuery } from '../../../infra/runtime/questdb/reader.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { candle, HOUR, sampled } from '../../support/screen/market.ts';

t.test('a column holds what was received last in each period, in whatever order it came', async () => {
  const put = fc.record({
    period: fc.integer({ min: 100, max: 400 }),
    value: fc.integer({ min: 1, max: 1_000_000 }),
    received: fc.integer({ min: 1, max: 1_000_000 }),
  });
  const puts = fc.uniqueArray(put, { selector: ({ received }) => received, maxLength: 200 });
  fc.assert(
    fc.property(puts, fc.integer({ min: 1, max: 60 }), (all, room) => {
      const column = new Column(100, 100 + room);
      const expected = new Map<number, { value: number; received: number }>();
      for (const one of all) {
        column.put(one.period, one);
        if (one.received > (expected.get(one.period)?.received ?? 0)) expected.set(one.period, one);
      }
      for (let period = column.first; period <= 400; period++) {
        const held = expected.get(period);
        // Elements before the column moved on may have been dropped with their periods, but never a later one's place.
        if (column.has(period) && column.copy(period, 1)[0] !== held?.value) {
          throw new Error(`${period}: ${column.copy(period, 1)[0]}, not ${held?.value}`);
        }
        if (held === undefined && column.has(period)) throw new Error(`${period} is held and was never put`);
      }
      const [newest] = [...expected.keys()].sort((a, b) => b - a);
      if (newest !== undefined && !column.has(newest)) throw new Error(`the newest, ${newest}, is not held`);
    }),
  );
});

t.test('a column of the past holds its periods as if nothing had come after them', async () => {
  const put = fc.record({
    period: fc.integer({ min: 90, max: 400 }),
    value: fc.integer({ min: 1, max: 1_000_000 }),
    received: fc.integer({ min: 1, max: 1_000_000 }),
    digits: fc.option(fc.constantFrom('1.00000000000000000001', '2.00000000000000000001'), { nil: undefined }),
  });
  const puts = fc.uniqueArray(put, { selector: ({ received }) => received, maxLength: 200 });
  fc.assert(
    fc.property(puts, fc.integer({ min: 0, max: 60 }), (all, room) => {
      const last = 100 + room;
      const [whole, own] = [1, 2].map(() => new Column(100, last, { isQuantity: true, isOfPast: true }));
      if (whole === undefined || own === undefined) return false;
      for (const one of all) {
        whole.put(one.period, one);
        if (one.period <= last) own.put(one.period, one);
      }
      const show = (column: Column) => [
        [...column.copy(last, room + 1)],
        Array.from({ length: room + 1 }, (_, i) => [column.digitsOf(100 + i), column.receivedAt(100 + i)]),
        whole.has(last + 1),
      ];
      return JSON.stringify(show(whole)) === JSON.stringify(show(own)) && !whole.has(last + 1);
    }),
  );
});

t.test('copies are oldest first, with NaN where nothing is', async (t) => {
  const column = new Column(10, 12);
  column.put(10, { value: 1, received: 100 });
  column.put(12, { value: 3, received: 300 });
  t.same([...column.copy(12, 4)], [Number.NaN, 1, Number.NaN, 3]);
  t.equal(column.copyRecorded(12, 2), null, 'only columns of quantities keep when they were recorded');
  t.equal(column.receivedAt(12), 300);
  t.equal(column.receivedAt(11), null);
  column.put(12, { value: Number.NaN, received: 400 });
  t.same([...column.copy(12, 1)], [Number.NaN], 'an invalidation that came later takes its period’s element away');
  t.equal(column.has(12), true, 'and it came');
  column.put(9, { value: 9, received: 500 });
  t.equal(column.has(9), false, 'older than the first is dropped');
  column.put(1_000, { value: 7, received: 600 });
  t.equal(column.has(1_000), true);
  t.ok(column.first > 12);
});

t.test(
  'a column keeps the digits of its newest periods that a double does not give back, and when quantities were recorded',
  async (t) => {
    const column = new Column(10, 40, { isQuantity: true });
    for (let period = 10; period <= 40; period++) {
      const digits = `1.00000000000000000${period}1`;
      column.put(period, { value: 1, received: period, recorded: 2 * period, digits, unit: 'contracts' });
    }
    t.equal(column.digitsOf(40), '1.00000000000000000401');
    t.equal(column.digitsOf(32), null, 'an older period is never printed');
    column.put(40, { value: 2, received: 41, recorded: 90 });
    t.equal(column.digitsOf(40), null, 'what replaced it is whole');
    t.same([...(column.copyRecorded(41, 3) ?? [])], [78, 90, Number.NaN]);
    column.put(41, { value: 3, received: 42, unit: 'base' });
    t.same(column.copyUnits(42, 4), ['contracts', null, 'base', null], 'and the unit of each, where it has one');
    column.put(104, { value: 4, received: 43, unit: 'contracts' });
    column.put(105, { value: 5, received: 44, unit: 'base' });
    t.ok(column.first > 41, 'it has moved on');
    t.same(column.copyUnits(105, 3), [null, 'contracts', 'base'], 'and its units with it');
    column.put(300, { value: 6, received: 45, unit: 'quote' });
    t.same(column.copyUnits(300, 2), [null, 'quote']);
    t.same(column.copyUnits(41, 2), [null, null]);
    column.put(301, { value: Number.NaN, received: 46, unitsDiffer: true });
    t.same(
      [300, 301, 302].map((period) => column.hasDifferentUnits(period)),
      [false, true, false],
    );
    t.same(column.copyUnits(301, 2), ['quote', null], 'minutes of different units have none');
    column.put(301, { value: 7, received: 47, unit: 'base' });
    t.equal(column.hasDifferentUnits(301), false, 'nor is it so for ever');
    const prices = new Column(10, 12);
    prices.put(10, { value: 1, received: 1, unit: 'base' });
    t.same(prices.copyUnits(10, 1), [null], 'a column of prices keeps none');
    t.equal(new Column(10, 12, { isQuantity: true }).bytes, (prices.bytes * 3) / 2 + 67, 'a byte a period');
  },
);

t.test('a column of quantities keeps the digits of every period, and counts their bytes', async (t) => {
  const DIGITS = '1.00000000000000000001';
  const fill = (isQuantity: boolean): Column => {
    const column = new Column(1, 40, { isQuantity, isOfPast: true });
    for (let period = 1; period <= 40; period++) column.put(period, { value: 1, received: period, digits: DIGITS });
    return column;
  };
  t.equal(new Column(1, 40).copyDigits(40, 2), null);
  const quantities = fill(true);
  t.same(quantities.copyDigits(41, 3), [DIGITS, DIGITS, null]);
  t.equal(quantities.copyDigits(40, 40)?.filter((digits) => digits === DIGITS).length, 40);
  t.ok(quantities.bytes > new Column(1, 40, { isQuantity: true, isOfPast: true }).bytes);
  t.equal(fill(false).copyDigits(40, 40), null, 'prices are not converted');
  quantities.put(40, { value: 2, received: 50 });
  t.same(quantities.copyDigits(40, 1), [null], 'a later figure that its double gives back');
  const moving = new Column(1, 4, { isQuantity: true });
  moving.put(1, { value: 1, received: 1, digits: DIGITS });
  moving.put(500, { value: 1, received: 500 });
  t.equal(moving.copyDigits(500, 500), null, 'they go with their periods');
});

t.test('a window belongs to the period it ends in', async (t) => {
  t.equal(toWindowPeriod(120, 60), 2);
  t.equal(toWindowPeriod(121, 60), 3);
  t.equal(toPeriod(120, 60), 2, 'a period that ends now has ended');
  t.equal(toPeriod(119, 60), 1);
});

t.test('past its budget an evaluation is refused with the figure', async (t) => {
  const code = (error: unknown): string | undefined =>
    error instanceof ServiceError ? error.errors[0]?.code : undefined;
  const spent = new Budget(0);
  t.match(await spent.breathe().catch((error: unknown) => error), { errors: [{ message: /0 seconds/ }] });
  const never = new Promise<void>(() => undefined);
  const noCause = async () => null;
  t.equal(code(await new Budget(20).within(never, noCause).catch((error: unknown) => error)), 'DQL_LIMIT');
  for (const hint of [undefined, 'Repeat the query.']) {
    const refusal = await new Budget(1).within(never, noCause, hint).catch((error: unknown) => error);
    t.match(refusal, { errors: [{ code: 'DQL_LIMIT', hint: hint ?? 'Narrow where, or use smaller windows.' }] });
  }
  t.equal(await new Budget(1_000).within(Promise.resolve(7), noCause), 7);
  const failed = new Budget(1_000).within(Promise.reject(new Error('away')), noCause);
  t.match(await failed.catch((error: unknown) => error), { message: 'away' });
});

t.test('of candles the last row of a period counts, whenever it was received (H-13)', async (t) => {
  for (const [keepsLastRow, expected] of [
    [true, 2],
    [false, 1],
  ] as const) {
    const column = new Column(10, 12, { keepsLastRow });
    column.put(11, { value: 1, received: 200 });
    column.put(11, { value: 2, received: 100 });
    t.same([...column.copy(11, 1)], [expected]);
  }
});

t.test('a candle without a volume keeps why: its minutes count in different units (H-13)', async (t) => {
  const of = { venue: 'binance', symbol: 'BTCUSDT', timeframe: '1h', length: HOUR, open: 10 * HOUR } as const;
  const put = (member: string, bar: Parameters<typeof candle>[1]): boolean => {
    const spec: ColumnSpec = { kind: 'candles', priceType: 'trade', member, timeframe: '1h' };
    const column = new Column(1, 20, { keepsLastRow: true, isQuantity: isQuantitySpec(spec) });
    putRow(candle(of, bar), { spec, column });
    return column.hasDifferentUnits(11);
  };
  t.equal(put('volume', { close: '8', unitsDiffer: true }), true);
  t.equal(put('volume', { close: '8', volume: '5' }), false);
  t.equal(put('volume', { close: '8' }), false, 'a candle that lacks it otherwise');
  t.equal(put('volume', 'empty'), false);
  t.equal(put('volume', null), false);
  t.equal(put('close', { volume: '5', unitsDiffer: true }), false);
});

t.test('a row without a figure has come, a gap has not (DQL-26, H-12)', async (t) => {
  const of = { venue: 'binance', symbol: 'BTCUSDT' } as const;
  const open = 10 * HOUR;
  const putInto = (
    spec: ColumnSpec,
    row: Parameters<typeof putRow>[0],
  ): [boolean, number | undefined, number | null] => {
    const column = new Column(1, 20, { keepsLastRow: spec.kind === 'candles' });
    putRow(row, { spec, column });
    return [column.has(11), column.copy(11, 1)[0], column.receivedAt(11)];
  };
  const close: ColumnSpec = { kind: 'candles', priceType: 'trade', member: 'close', timeframe: '1h' };
  const hourly = (bar: Parameters<typeof candle>[1]) => candle({ ...of, timeframe: '1h', length: HOUR, open }, bar);
  t.same(putInto(close, hourly({ close: '5' })), [true, 5, open + HOUR + 500_000]);
  t.same(putInto(close, hourly('empty')), [true, Number.NaN, null], 'proved empty');
  t.same(putInto({ ...close, member: 'volume' }, hourly('empty')), [true, 0, null]);
  t.same(
    putInto(close, hourly({ volume: '0' })),
    [true, Number.NaN, open + HOUR + 500_000],
    'published without prices',
  );
  t.same(putInto(close, hourly(null)), [false, Number.NaN, null]);
  const index: ColumnSpec = { kind: 'layer', layer: 'mark', member: 'index', timeframe: '1h' };
  const read = sampled({ ...of, layer: 'mark' }, open + 5_000_000, { layer: 'mark', values: { mark: '5' } });
  t.same(putInto(index, read), [true, Number.NaN, open + 5_000_000], 'a reading without this member');
});

const waitForAll = (fillings: readonly Filling[]): Promise<unknown> => Promise.all(fillings.map(({ done }) => done));

t.test('columns of more listings than one statement reads are filled, each with its own figures', async (t) => {
  const reach = { first: 101, last: 1_100 };
  const asked: number[] = [];
  const query = async ({ values = [] }: QuestdbQuery) => {
    const [, , , , ...listings] = values.map(String);
    asked.push(listings.length);
    return listings.map((id) => {
      const i = id.slice(id.indexOf('S') + 1);
      return [id, '1100', '1', '1', 'present', null, 'base', null, i, `${i}.5`];
    });
  };
  const reader = new HistoryReader({ query, ping: async () => undefined, close: async () => undefined }, '');
  const targets = Array.from({ length: 140 }, (_, i) =>
    ['close', 'volume'].map((member): Target => {
      const spec: ColumnSpec = { kind: 'candles', priceType: 'trade', member, timeframe: '1h' };
      const column = new Column(reach.first, reach.last, { isQuantity: isQuantitySpec(spec), isOfPast: true });
      return { venue: 'binance', symbol: `S${i}`, spec, column };
    }),
  ).flat();
  await waitForAll(fillFromStore(reader, { spec: targets[0]?.spec as ColumnSpec, targets, reach }));
  t.same(asked, [66, 66, 8], 'at most 400,000 cells');
  t.same(
    targets.map(({ column }) => column.copy(reach.last, 1)[0]),
    targets.map(({ symbol, spec }) => Number(symbol.slice(1)) + (spec.member === 'volume' ? 0.5 : 0)),
  );
  t.same(new Set(targets.map(({ spec, column }) => `${spec.member} ${column.copyUnits(reach.last, 1)}`)).size, 2);
});

t.test('each column is looked at a few times, however many statements read them', async (t) => {
  const reach = { first: 1, last: 2_000 };
  const spec: ColumnSpec = { kind: 'candles', priceType: 'trade', member: 'close', timeframe: '1h' };
  const countLooks = async (listings: number): Promise<number> => {
    let looks = 0;
    const targets = Array.from({ length: listings }, (_, i): Target => {
      const column = new Column(reach.last, reach.last);
      const look = (): string => {
        looks += 1;
        return `S${i}`;
      };
      return Object.defineProperty({ venue: 'binance', symbol: '', spec, column }, 'symbol', { get: look });
    });
    let statements = 0;
    const query = async (): Promise<[]> => {
      statements += 1;
      return [];
    };
    const reader = new HistoryReader({ query, ping: async () => undefined, close: async () => undefined }, '');
    await waitForAll(fillFromStore(reader, { spec, targets, reach }));
    t.equal(statements, Math.ceil(listings / 40));
    return looks / listings;
  };
  t.equal(await countLooks(1_200), await countLooks(40));
});
