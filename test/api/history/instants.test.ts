// Instants of a history answer: how many statements read them, and that the rows they read give each instant its newest reading (H-06).
import fc from 'fast-check';
import t from 'tap';
import { gatherSeries } from '../../../api/history/gather.ts';
import { findNewestAt, listReadings } from '../../../api/history/series.ts';
import { HistoryReader } from '../../../api/history/store.ts';
import type { Selected } from '../../../api/live/listing-book.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import type { Cell, QuestdbQuery } from '../../../infra/runtime/questdb/reader.ts';
import { parseInstant } from '../../../schemas/instants.ts';

const WINDOW = 10_000_000;
const START = Date.UTC(2026, 0, 1) * 1_000;
const MINUTE = 60_000_000;

const BTC = 'binance:BTCUSDT';
const selectListings = (count: number): Selected[] =>
  Array.from({ length: count }, (_, i) => {
    const venueSymbol = i === 0 ? 'BTCUSDT' : `C${i}USDT`;
    return { listing: { venue: 'binance', venueSymbol } as Selected['listing'], version: {} as never };
  });

const makeCells = (at: number): Cell[] => {
  const cells: Cell[] = Array.from({ length: 18 }, () => null);
  const known = { 0: BTC, 1: at, 2: at - WINDOW, 3: 'present', 5: 'f', 7: at - 1, 8: at, 15: 1 };
  for (const [place, cell] of Object.entries(known)) cells[Number(place)] = String(cell);
  return cells;
};

/** The last window of each period that has one, by the statement's own arithmetic. */
const pickLast = (text: string, windows: readonly number[]): number[] => {
  const [, shift, length] = /\(at::long - (\d+)\) \/ (\d+) period/.exec(text) ?? [];
  if (length === undefined) return [...windows];
  const last = new Map(windows.map((at) => [Math.floor((at - Number(shift)) / Number(length)), at]));
  return [...last.values()];
};

/** A store of one listing: the windows that end at these instants have a reading. Keeps the statements. */
const openStore = (windows: readonly number[]) => {
  const statements: string[] = [];
  const query = async ({ text, values = [] }: QuestdbQuery): Promise<Cell[][]> => {
    statements.push(text);
    const [first = 0, second = 0] = values.map((value) => parseInstant(value ?? '') ?? undefined);
    if (text.includes('LATEST ON'))
      return windows
        .filter((at) => at <= first)
        .slice(-1)
        .map(makeCells);
    return pickLast(
      text,
      windows.filter((at) => at > first && at <= second),
    ).map(makeCells);
  };
  const reader = new HistoryReader({ query, ping: async () => undefined, close: async () => undefined } as never, '');
  return { reader, statements };
};

type Read = { readonly windows?: readonly number[]; readonly listings?: number };

const readInstants = async (instants: readonly number[], { windows = [], listings = 1 }: Read = {}) => {
  const { reader, statements } = openStore(windows);
  const live = new LiveMemory(['binance']);
  const asked = { mode: 'at', instants } as const;
  const series = await gatherSeries({ reader, live, listings: selectListings(listings), asked }, 'mark');
  const readings = listReadings(series.get(BTC) ?? []);
  return { statements, newest: instants.map((at) => findNewestAt(readings, at)?.at ?? null) };
};

const listSteps = (count: number, step: number): number[] => Array.from({ length: count }, (_, i) => START + i * step);
const countStatements = async (instants: readonly number[], listings = 1): Promise<number> =>
  (await readInstants(instants, { listings })).statements.length;

t.test('instants at equal steps are two statements, however many there are', async (t) => {
  t.equal(await countStatements(listSteps(2_000, MINUTE)), 2, 'minutes');
  t.equal(await countStatements(listSteps(2_000, 15 * MINUTE)), 2, 'quarters of an hour');
  t.equal(await countStatements(listSteps(2_000, 60 * MINUTE)), 2, 'hours');
  t.equal(await countStatements([...listSteps(500, 15 * MINUTE), START + 900 * 15 * MINUTE]), 3, 'and one of its own');
});

t.test('a statement for each instant where the rows between would be more', async (t) => {
  t.equal(await countStatements(listSteps(300, 1_440 * MINUTE)), 300, 'days');
  t.equal(await countStatements(listSteps(100, 60 * MINUTE), 100), 100, 'hours of a hundred listings');
  t.equal(await countStatements(listSteps(100, 3 * MINUTE), 100), 2, 'their minutes');
});

t.test('each instant gets its newest reading, at whatever steps it is requested', async (t) => {
  const gaps = fc.array(fc.constantFrom(1, 7, 12, 12.3, 18, 18, 18, 18, 30, 30, 30, 60.1, 360, 5_000), {
    minLength: 1,
    maxLength: 40,
  });
  const silences = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(gaps, silences, fc.integer({ min: 0, max: WINDOW }), async (steps, pauses, shift) => {
      let [at, end] = [START + shift, START - 100 * WINDOW];
      const instants = [at, ...steps.map((step) => (at += Math.round(step * WINDOW)))];
      const windows = pauses.map((pause) => (end += pause * WINDOW));
      const { newest } = await readInstants(instants, { windows });
      t.strictSame(
        newest,
        instants.map((instant) => windows.findLast((window) => window <= instant) ?? null),
      );
    }),
    { numRuns: 300 },
  );
});

t.test('the last rows of periods are read of the named listings alone, on both sides of the join', async (t) => {
  const { statements } = await readInstants(listSteps(3, 60 * MINUTE));
  const [periods = ''] = statements.filter((text) => text.includes('GROUP BY'));
  t.equal(periods.match(/listing IN \(\$3\)/g)?.length, periods.match(/FROM 'mark'/g)?.length);
});
