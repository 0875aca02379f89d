// Fills columns: with rows from memory, then with rows of the requested periods from the store.
import { isExactDouble } from '../../schemas/decimals.ts';
import { formatInstantMicros } from '../../schemas/instants.ts';
import { hasQuantity, LAYERS } from '../../schemas/layers/readings.ts';
import type { Digits, Micros, QuantityUnit } from '../../schemas/records.ts';
import { formatListingId, toColumnName } from '../../schemas/tables.ts';
import type { Row } from '../../schemas/topics.ts';
import { hasOtherUnits } from '../history/candle-rows.ts';
import { type HistoryReader, listPlaceholders } from '../history/store.ts';
import type { LiveMemory } from '../live/memory.ts';
import { type Column, NEWEST_PERIODS, NOTHING_RECEIVED, type PeriodValue } from './column.ts';
import { type ColumnGroup, type ColumnSpec, findLength, isQuantitySpec, toWindowPeriod } from './column-spec.ts';

/** Cells that one statement may answer. */
const CELLS_AT_A_TIME = 400_000;

/** A column being filled, with the listing it is of. */
export type Target = {
  readonly venue: string;
  readonly symbol: string;
  readonly spec: ColumnSpec;
  readonly column: Column;
};

const findTable = (group: ColumnGroup): string => (group.kind === 'candles' ? 'candles' : LAYERS[group.layer].table);

const NONE = Number.NaN;

/** The unit as the row states it: rows contain only the service's own units. */
const toUnit = (text: string | null | undefined): QuantityUnit | null => (text ?? null) as QuantityUnit | null;

/** Digits that a double does not give back, of figures that are printed as they are or converted (N-05, D-49, D-826). */
const toExact = (digits: Digits | undefined, spec: ColumnSpec): Digits | undefined => {
  const isComputed = spec.kind === 'layer' && !isQuantitySpec(spec);
  return digits === undefined || isComputed || isExactDouble(digits) ? undefined : digits;
};

/** Whether a candle without this figure lacks it because its minutes count in different units (H-13). */
const lacksUnit = (spec: ColumnSpec, value: number, nullReasons: string | null | undefined): boolean =>
  Number.isNaN(value) && spec.kind === 'candles' && isQuantitySpec(spec) && hasOtherUnits(nullReasons);

type Figure = Pick<PeriodValue, 'value' | 'digits' | 'unit' | 'unitsDiffer'>;

const readFigure = ({ texts, figures }: Row, spec: ColumnSpec): Figure => {
  if (texts.status !== 'present') return { value: NONE };
  if (spec.member === 'present') return { value: 1 };
  const digits = figures[toColumnName(spec.member)];
  const value = Number(digits ?? NONE);
  const unitsDiffer = lacksUnit(spec, value, texts.null_reasons);
  return { value, digits: toExact(digits, spec), unit: toUnit(texts.quantity_unit), unitsDiffer };
};

const isRowOf = ({ texts }: Row, spec: ColumnSpec): boolean =>
  spec.kind === 'layer' || (texts.price_type === spec.priceType && texts.timeframe === spec.timeframe);

/** Whether a row of `live` can be an element, sealed or not: rows of candles are of completed ones, never of a forming one (DQL-26). */
export const canBeElement = (row: Row): boolean => row.flags.late !== true;

/** Puts a row of the column's table where it belongs; gaps leave their period empty. `cameAt`: when it came in the log, where that is known. */
export const putRow = (row: Row, { spec, column }: Pick<Target, 'spec' | 'column'>, cameAt?: Micros): void => {
  if (row.table !== findTable(spec) || !isRowOf(row, spec)) return;
  const end = spec.kind === 'candles' ? (row.instants.close_time ?? row.at) : row.at;
  const silence = spec.kind === 'candles' && row.texts.status === 'present' ? NOTHING_RECEIVED : NONE;
  const received = row.instants.received_at ?? silence;
  const recorded = row.instants.recorded_at ?? NONE;
  // A reading's row without a reading is a gap; a proved empty minute is an element that nothing was received for.
  if (spec.kind === 'layer' && Number.isNaN(received)) return;
  column.put(toWindowPeriod(end, findLength(spec)), {
    ...readFigure(row, spec),
    received,
    recorded,
    ...(cameAt === undefined ? {} : { cameAt }),
  });
};

/** Copies rows that the store may not show yet. Must run before the store is queried: a row that leaves memory meanwhile is in the store. */
export const fillFromMemory = (live: LiveMemory, target: Target): void => {
  for (const { row, cameAt } of live.recentRows(target.venue, findTable(target.spec), target.symbol)) {
    if (canBeElement(row)) putRow(row, target, cameAt);
  }
};

/** Periods to read, for all columns of a group. */
export type Reach = { readonly first: number; readonly last: number };

/**
 * Cells of a candle that depend on what its columns keep. Of prices they keep when the newest were recorded, and no unit. Reading the lines is most of a load,
 * and a null is read almost for nothing.
 */
const listOwnCells = (members: readonly string[], { length, reach }: { length: Micros; reach: Reach }): string => {
  if (members.includes('volume'))
    return 'recorded_at::long recorded_at, NULL status, digits, quantity_unit, null_reasons';
  const newest = formatInstantMicros((reach.last - NEWEST_PERIODS) * length);
  const recordedAt = `CASE WHEN open_time >= '${newest}' THEN recorded_at::long END`;
  return `${recordedAt} recorded_at, NULL status, digits, NULL quantity_unit, NULL null_reasons`;
};

const makeStatement = (
  group: ColumnSpec,
  { members, listings, reach }: { members: readonly string[]; listings: readonly string[]; reach: Reach },
  table: string,
) => {
  const length = findLength(group);
  const columns = members.map(toColumnName);
  const from = formatInstantMicros((reach.first - 1) * length);
  const to = formatInstantMicros(reach.last * length);
  if (group.kind === 'candles') {
    const text =
      `SELECT listing, open_time::long / ${length} + 1 period, received_at::long received_at, ${listOwnCells(members, { length, reach })}` +
      columns.map((column) => `, ${column}`).join('') +
      ` FROM ${table} WHERE open_time >= $1 AND open_time < $2 AND price_type = $3 AND timeframe = $4` +
      ` AND status = 'present' AND NOT late AND listing IN (${listPlaceholders(listings, 4)})`;
    return { text, values: [from, to, group.priceType, group.timeframe, ...listings], among: listings };
  }
  const [digits, unit] = hasQuantity(group.layer) ? ['last(digits)', 'last(quantity_unit)'] : ['NULL', 'NULL'];
  const text =
    `SELECT listing, (at::long - 1) / ${length} + 1 period, last(received_at)::long received_at,` +
    ` last(recorded_at)::long recorded_at, last(status) status, ${digits} digits, ${unit} quantity_unit, NULL null_reasons${columns.map((c) => `, last(${c}) ${c}`).join('')} FROM ${table}` +
    ` WHERE at > $1 AND at <= $2 AND received_at IS NOT NULL AND NOT late AND listing IN (${listPlaceholders(listings, 2)})` +
    ' GROUP BY listing, period';
  return { text, values: [from, to, ...listings], among: listings };
};

const toNumber = (cell: string | null | undefined): number =>
  cell === null || cell === undefined ? NONE : Number(cell);

/** The sparse `digits` of a row (design section 7). */
const parseDigits = (cell: string | null | undefined): Readonly<Record<string, Digits>> | null =>
  cell === null || cell === undefined ? null : (JSON.parse(cell) as Record<string, Digits>);

type Group = { readonly spec: ColumnSpec; readonly targets: readonly Target[]; readonly reach: Reach };

/** Targets by listing id. */
type Targets = ReadonlyMap<string, readonly Target[]>;
type Chunk = Omit<Group, 'targets'> & { readonly byListing: Targets };

const groupByListing = (targets: readonly Target[]): Targets =>
  Map.groupBy(targets, ({ venue, symbol }) => formatListingId(venue, symbol));

const listMembers = (byListing: Targets): string[] => [
  ...new Set([...byListing.values()].flatMap((targets) => targets.map(({ spec }) => spec.member))),
];

const fillChunk = async (reader: HistoryReader, { spec, reach, byListing }: Chunk): Promise<void> => {
  const members = listMembers(byListing).filter((member) => member !== 'present');
  const listings = [...byListing.keys()];
  const query = makeStatement(spec, { members, listings, reach }, reader.table(findTable(spec)));
  for (const line of await reader.query(query)) {
    const [listing, period, receivedAt, recordedAt, status, digits, unit, nullReasons, ...cells] = line;
    const exact = parseDigits(digits);
    const received = receivedAt === null || receivedAt === undefined ? NOTHING_RECEIVED : Number(receivedAt);
    const recorded = toNumber(recordedAt);
    const isPresent = spec.kind === 'candles' || status === 'present';
    for (const target of byListing.get(listing ?? '') ?? []) {
      const { member } = target.spec;
      const value = member === 'present' ? 1 : toNumber(cells[members.indexOf(member)]);
      target.column.put(Number(period), {
        received,
        recorded,
        value: isPresent ? value : NONE,
        digits: isPresent ? exact?.[toColumnName(member)] : undefined,
        unit: isQuantitySpec(target.spec) ? toUnit(unit) : null,
        unitsDiffer: lacksUnit(target.spec, value, nullReasons),
      });
    }
  }
};

/** Columns that one statement fills. */
export type Filling = { readonly targets: readonly Target[]; readonly done: Promise<void> };

/**
 * Reads the columns of one group from the store; all of them are of one kind and timeframe. Each statement reads all columns of some listings, so
 * that a failure leaves what others have read. `done` rejects as the store does.
 */
export const fillFromStore = (reader: HistoryReader, group: Group): Filling[] => {
  const { spec, targets, reach } = group;
  const byListing = groupByListing(targets);
  const members = listMembers(byListing).length;
  const step = Math.max(1, Math.floor(CELLS_AT_A_TIME / ((reach.last - reach.first + 1) * (members + 4))));
  const listings = [...byListing];
  const fillings: Filling[] = [];
  for (let i = 0; i < listings.length; i += step) {
    const some = new Map(listings.slice(i, i + step));
    fillings.push({ targets: [...some.values()].flat(), done: fillChunk(reader, { spec, reach, byListing: some }) });
  }
  return fillings;
};

/** Instants `(from, to]` that a reach covers. */
export const toSpan = (spec: ColumnSpec, { first, last }: Reach): { readonly from: Micros; readonly to: Micros } => ({
  from: (first - 1) * findLength(spec),
  to: last * findLength(spec),
});
