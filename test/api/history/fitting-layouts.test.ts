// The window that a refusal names fits and is the longest: wherever in time and in the answer the long rows are, and from when on it has a listing (H-08, N-15).
import { createHash } from 'node:crypto';
import t from 'tap';
import { measureTable, type RowFormat, writeRows } from '../../../api/data-app/row-formats.ts';
import { collectItems, countLineBytes, type FittedItem, type FittedItems } from '../../../api/history/fitting.ts';
import type { Row } from '../../../api/history/row-groups.ts';
import type { Selected } from '../../../api/live/listing-book.ts';
import { writeJson } from '../../../schemas/json.ts';

const STEPS = 400;
const LISTINGS = ['A', 'B', 'C'];
const NUMBERS = { numberFormat: 'json' } as const;

type Layout = (listing: number, step: number) => boolean;
/** Whether a row has a reading; a gap is a short line, and in JSON almost as long as a reading. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  'readings, then gaps': (_, step) => step < STEPS / 2,
  'gaps, then readings': (_, step) => step >= STEPS / 2,
  'a listing of gaps, then of readings': (listing) => listing > 0,
  'a listing of readings, then of gaps': (listing) => listing < 1,
  'an end and a beginning': (listing, step) => (listing === 0 ? step < 100 : step >= 300),
  'readings alone': () => true,
};

/** Digits that no compression shortens by much. */
const makeDigits = (seed: string): string => createHash('sha512').update(seed).digest('hex').slice(0, 80);

const makeRow = (name: number, step: number, isReading: boolean): Row => ({
  at: new Date(Date.UTC(2026, 0, 15) + step * 10_000).toISOString(),
  status: isReading ? 'present' : 'missing',
  ...(isReading
    ? {
        received_at: '2026-01-15T00:00:00.123Z',
        horizon_source: 'documented',
        anchor: 'venue',
        values: { mark: makeDigits(`${name} ${step}`) },
      }
    : { received_at: null, horizon_source: null, anchor: null, null_reasons: { mark: 'gap' }, valid_until: null }),
});

const makeItem = (layout: Layout, name: number, steps: number): FittedItem => {
  const head = { venue: 'v', venue_symbol: LISTINGS[name] ?? '' };
  const rows = Array.from({ length: steps }, (_, step) => makeRow(name, step, layout(name, step)));
  const texts = rows.map((row) => writeJson(row, NUMBERS));
  return {
    text: writeJson({ ...head, rows }, NUMBERS),
    sizes: texts.map((text, step) => ({ steps: step + 1, bytes: text.length + 1 })),
    groups: [{ head, rows }],
  };
};

/** Of each listing, how many steps an answer needs to have it. */
type Least = readonly [number, number, number];

const collect = (layout: Layout, least: Least, steps: number) => {
  const listed = [0, 1, 2].filter((name) => (least[name] ?? 0) <= steps);
  return collectItems(listed as unknown as readonly Selected[], {
    asked: steps,
    limit: { stopsAt: Number.POSITIVE_INFINITY, named: Number.POSITIVE_INFINITY },
    countGroup: () => listed.length,
    countLeast: (name) => least[name as unknown as number] ?? 0,
    makeItems: async (group) => group.map((name) => makeItem(layout, name as unknown as number, steps)),
    shorten: (fits) => Math.min(steps, fits),
    describeFit: String,
  });
};

const ENVELOPE = 700;
const makeTable = ({ groups }: Pick<FittedItems, 'groups'>, format: RowFormat) => ({
  ...{ format, metadata: {}, columns: ['venue', 'at'], groups, ...NUMBERS },
  onBytes: () => undefined,
});
const measure = async (items: FittedItems, format: RowFormat | 'json'): Promise<number> =>
  format === 'json' ? ENVELOPE + items.text.length : (await writeRows(makeTable(items, format))).length;

const LEAST: Readonly<Record<string, Least>> = {
  'all listed': [0, 0, 0],
  'one listed halfway': [0, 0, STEPS / 2],
  'one after the other': [0, 100, 300],
};

for (const format of ['json', 'csv', 'ndjson', 'parquet'] as const)
  for (const [name, layout] of Object.entries(LAYOUTS))
    for (const [listed, least] of Object.entries(LEAST))
      t.test(`${format}: ${name}; ${listed}`, async (t) => {
        const items = await collect(layout, least, STEPS);
        const whole = await measure(items, format);
        const lines = format === 'json' ? undefined : await measureTable(makeTable(items, format), whole);
        if (lines !== undefined && format !== 'parquet')
          t.equal(countLineBytes(lines), whole, 'the lines are all of the table');
        // Parquet is compressed by columns of all rows: of a few kilobytes little is known beforehand.
        for (const share of [...(format === 'parquet' ? [] : [0.15]), 0.4, 0.6, 0.9]) {
          const limit = Math.floor(whole * share);
          const steps = Number(items.fits({ bytes: whole, limit, ...(lines === undefined ? {} : { lines }) }));
          const sizeOf = async (fits: number) => measure(await collect(layout, least, fits), format);
          t.ok((await sizeOf(steps)) <= limit, `${share}: ${steps} steps fit`);
          // Without the columns of readings, a table of gaps is shorter than its lines in the whole one.
          t.ok((await sizeOf(steps + 1)) > (format === 'parquet' ? 0.5 : 0.85) * limit, `${share}: little is left`);
        }
      });

t.test('of more than 20,000 rows some are measured, and stand for the others', async (t) => {
  const rows = Array.from({ length: 50_000 }, (_, step) => makeRow(0, step, step % 1_000 < 300));
  for (const format of ['csv', 'ndjson'] as const) {
    const table = makeTable({ groups: [{ head: { venue: 'v' }, rows }] }, format);
    const whole = (await writeRows(table)).length;
    const lines = await measureTable(table, whole);
    t.match(lines, { every: 3, lines: { length: 16_667 } });
    t.ok(Math.abs(countLineBytes(lines) / whole - 1) < 0.01, format);
  }
});
