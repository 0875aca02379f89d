// The window that the refusal of a table names fits and is the largest, wherever in time and in the answer the long lines are (H-08, N-15).
import t from 'tap';
import { measureLines, type RowFormat, writeRows } from '../../../api/data-app/row-formats.ts';
import { collectItems, countLineBytes, type FittedItem } from '../../../api/history/fitting.ts';
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

const makeRow = (step: number, isReading: boolean): Row => ({
  at: new Date(Date.UTC(2026, 0, 15) + step * 10_000).toISOString(),
  status: isReading ? 'present' : 'missing',
  ...(isReading
    ? {
        received_at: '2026-01-15T00:00:00.123Z',
        horizon_source: 'documented',
        anchor: 'venue',
        values: { mark: 'm'.repeat(80) },
      }
    : { received_at: null, horizon_source: null, anchor: null, null_reasons: { mark: 'gap' }, valid_until: null }),
});

const makeItem = (layout: Layout, name: number, steps: number): FittedItem => {
  const head = { venue: 'v', venue_symbol: LISTINGS[name] ?? '' };
  const rows = Array.from({ length: steps }, (_, step) => makeRow(step, layout(name, step)));
  const texts = rows.map((row) => writeJson(row, NUMBERS));
  return {
    text: writeJson({ ...head, rows }, NUMBERS),
    sizes: texts.map((text, step) => ({ steps: step + 1, bytes: text.length + 1 })),
    groups: [{ head, rows }],
  };
};

const collect = (layout: Layout, steps: number) =>
  collectItems(LISTINGS as unknown as readonly Selected[], {
    asked: steps,
    limit: { stopsAt: Number.POSITIVE_INFINITY, named: Number.POSITIVE_INFINITY },
    countGroup: () => LISTINGS.length,
    makeItems: async (group) => group.map((_, i) => makeItem(layout, i, steps)),
    shorten: (fits) => Math.min(steps, fits),
    describeFit: String,
  });

const makeTable = async (format: RowFormat, layout: Layout, steps: number) => {
  const items = await collect(layout, steps);
  return {
    items,
    table: { format, metadata: {}, columns: ['venue', 'at'], ...items, ...NUMBERS, onBytes: () => undefined },
  };
};

for (const format of ['csv', 'ndjson'] as const)
  for (const [name, layout] of Object.entries(LAYOUTS))
    t.test(`${format}: ${name}`, async (t) => {
      const { items, table } = await makeTable(format, layout, STEPS);
      const lines = await measureLines(table);
      const whole = (await writeRows(table)).length;
      t.equal(countLineBytes(lines), whole, 'the lines are all of the table');
      for (const share of [0.15, 0.4, 0.6, 0.9]) {
        const limit = Math.floor(whole * share);
        const steps = Number(items.fits({ bytes: whole, limit, lines }));
        const measure = async (fits: number) => (await writeRows((await makeTable(format, layout, fits)).table)).length;
        t.ok((await measure(steps)) <= limit, `${share}: ${steps} steps fit`);
        // Without the columns of readings, a table of gaps is shorter than its lines in the whole one.
        t.ok((await measure(steps + 1)) > 0.85 * limit, `${share}: little is left`);
      }
    });
