// Quantities of series in base or quote units: each element by the listing's version when it was recorded, with the mark at its own period's end (DQL-33h, N-07).
import { formatDouble } from '../../schemas/decimals.ts';
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import { convertQuantity, needsMark } from '../../schemas/units.ts';
import { gatherLosses, gatherSeries } from '../history/gather.ts';
import { findMarkAt } from '../history/marks.ts';
import { listReadings } from '../history/series.ts';
import type { HistoryReader } from '../history/store.ts';
import { findVersionAt, toListingId } from '../live/listing-book.ts';
import { findCountedUnit, mayNeedMark } from '../live/members.ts';
import type { LiveMemory } from '../live/memory.ts';
import { type ColumnSpec, findLength, toSpecId } from '../series/column-spec.ts';
import type { Captured, CapturedColumn } from './capture.ts';
import type { Facts } from './facts.ts';
import { type Elements, UNIT_UNKNOWN_AT } from './series.ts';

type ConvertDeps = { readonly live: LiveMemory; readonly begin: () => HistoryReader };
/** The mark at the end of a period, when it was present there. */
type Marks = (end: Micros) => Digits | null;

/** The unit of an element: that of its row, else that of its listing. */
const findUnitAt = ({ units }: CapturedColumn, i: number, version: ListingVersion): QuantityUnit =>
  findCountedUnit({ quantity_unit: units?.[i] ?? null }, version);

const findColumn = ({ windows }: Facts, spec: ColumnSpec): CapturedColumn | null => {
  const captured: Captured | undefined = windows.get(toSpecId(spec));
  return captured === undefined || 'kind' in captured ? null : captured;
};

/** Marks of listings at the period ends of a column. */
const readMarks = async (facts: readonly Facts[], spec: ColumnSpec, deps: ConvertDeps): Promise<Map<string, Marks>> => {
  const length = findLength(spec);
  const columns = facts.map((one) => findColumn(one, spec)).filter((column) => column !== null);
  const to = Math.max(...columns.map(({ end }) => end));
  const from = Math.min(...columns.map(({ end, elements }) => end - elements.values.length * length));
  const { live } = deps;
  const reader = deps.begin();
  const asked = { mode: 'interval', length, from, to } as const;
  const series = await gatherSeries({ reader, live, listings: facts, asked }, 'mark', { withBefore: true });
  const listRows = (one: Facts) => listReadings(series.get(toListingId(one)) ?? []);
  const received = facts.flatMap((one) => listRows(one).map((row) => [one.listing, row] as const));
  const losses = await gatherLosses({ reader, live }, received, to);
  return new Map(
    facts.map((one) => {
      const { listing } = one;
      const capabilities = live.venue(listing.venue)?.capabilities ?? [];
      const marks = { listing, capabilities, losses, rows: listRows(one), boundMs: one.terms.bounds.mark };
      return [toListingId(one), (end: Micros) => findMarkAt(marks, end)?.digits ?? null];
    }),
  );
};

/** The column's elements in the requested unit, and the digits of the newest. */
const convert = (
  facts: Facts,
  column: CapturedColumn,
  of: { length: Micros; marks: Marks },
): { readonly elements: Elements; readonly digits: Digits | null } => {
  const { elements, end, recorded, exact } = column;
  const { values } = elements;
  const converted = new Float64Array(values.length).fill(Number.NaN);
  let reasons = elements.reasons?.slice() ?? null;
  let shown: Digits | null = null;
  for (let i = 0; i < values.length; i++) {
    if ((reasons?.[i] ?? 0) !== 0) continue;
    const at = end - (values.length - 1 - i) * of.length;
    const stamp = recorded?.[i] ?? Number.NaN;
    const version = findVersionAt(facts.listing.versions, Number.isNaN(stamp) ? at : stamp) ?? facts.version;
    const listing = version.record.values;
    const unit = findUnitAt(column, i, version);
    const mode = facts.terms.units;
    const mark = needsMark(unit, mode, listing) ? of.marks(at) : null;
    const published = exact?.[i] ?? formatDouble(values[i] as number);
    const digits = convertQuantity({ digits: published, unit, mode, listing, mark });
    if (i === values.length - 1) shown = digits;
    if (digits !== null) converted[i] = Number(digits);
    else {
      reasons ??= new Uint8Array(values.length);
      reasons[i] = UNIT_UNKNOWN_AT;
    }
  }
  return { elements: { values: converted, reasons }, digits: shown };
};

/** The facts with the columns named converted. Marks are read from the store only where a conversion needs them; rejects as it does. */
export const convertFacts = async (
  facts: readonly Facts[],
  specs: readonly ColumnSpec[],
  deps: ConvertDeps,
): Promise<Facts[]> => {
  const windows = facts.map((one) => new Map(one.windows));
  for (const spec of specs) {
    const marked = facts.filter((one) => mayNeedMark(one.listing, findColumn(one, spec)?.units ?? [], one.terms.units));
    const marks = marked.length === 0 ? new Map<string, Marks>() : await readMarks(marked, spec, deps);
    for (const [i, one] of facts.entries()) {
      const column = findColumn(one, spec);
      if (column === null) continue;
      const of = {
        length: findLength(spec),
        marks: marks.get(toListingId(one)) ?? (() => null),
      };
      windows[i]?.set(toSpecId(spec), { ...column, ...convert(one, column, of) });
    }
  }
  return facts.map((one, i) => ({ ...one, windows: windows[i] ?? one.windows }));
};
