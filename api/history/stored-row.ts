// Rows of stored history as answers read them: from QuestDB's cells and from rows still in memory, digit for digit the same.
import type { Cell } from '../../infra/runtime/questdb.ts';
import { canonicalDigits, plainDouble } from '../../schemas/decimals.ts';
import { LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import { columnOf } from '../../schemas/tables.ts';
import type { Reading, Row } from '../../schemas/topics.ts';

/** What a row keeps of the reading, or invalidation, that stands for its window. */
export type StoredReading = Pick<
  Reading,
  | 'layer'
  | 'valid'
  | 'gap_cause'
  | 'venue_ts'
  | 'received_at'
  | 'recorded_at'
  | 'conn_id'
  | 'horizon_source'
  | 'anchor'
  | 'valid_until'
  | 'values'
  | 'null_reasons'
  | 'instants'
  | 'quantity_unit'
>;

/** A sampling window `(fromAt, at]`, or for a gap all windows that were sealed together. */
export type StoredRow = {
  readonly fromAt: Micros;
  readonly at: Micros;
  readonly late: boolean;
  readonly srcOffset: number;
  /** Null: nothing came in the window; `gapCause` says why. */
  readonly reading: StoredReading | null;
  readonly gapCause: string | null;
};

type Column = { readonly name: string; readonly kind: 'text' | 'instant' };
const text = (name: string): Column => ({ name, kind: 'text' });
const instant = (name: string): Column => ({ name, kind: 'instant' });

const COMMON: readonly Column[] = [
  ...[text('listing'), instant('at'), instant('from_at'), text('status'), text('gap_cause'), text('late')],
  ...[instant('venue_ts'), instant('received_at'), instant('recorded_at'), text('horizon_source'), text('anchor')],
  ...[instant('valid_until'), text('conn'), text('digits'), text('null_reasons'), text('src_offset')],
];

const hasQuantity = (layer: ReadingLayer): boolean => Object.values(LAYERS[layer].members).includes('quantity');
const membersOf = (layer: ReadingLayer): readonly string[] => Object.keys(LAYERS[layer].members);

const columnsOf = (layer: ReadingLayer): readonly Column[] => [
  ...COMMON,
  ...(hasQuantity(layer) ? [text('quantity_unit')] : []),
  ...(layer === 'funding' ? [instant('next_funding_at')] : []),
  ...membersOf(layer).map((member) => text(columnOf(member))),
];

/** The SELECT list of a layer's table, alias `r`; instants as microseconds. */
export const selectList = (layer: ReadingLayer): string =>
  columnsOf(layer)
    .map(({ name, kind }) => (kind === 'instant' ? `r.${name}::long ${name}` : `r.${name} ${name}`))
    .join(', ');

const PLACES: ReadonlyMap<ReadingLayer, ReadonlyMap<string, number>> = new Map(
  READING_LAYERS.map((layer) => [layer, new Map(columnsOf(layer).map(({ name }, i) => [name, i] as const))] as const),
);

const parseTexts = (json: Cell | undefined): Record<string, string> =>
  json === null || json === undefined ? {} : (JSON.parse(json) as Record<string, string>);

/** The one place where a DOUBLE and the sparse `digits` become the venue's digits again (N-05 rule 1). */
export const joinFigure = (double: Cell, exact: string | undefined): Digits | null => {
  if (exact !== undefined) return canonicalDigits(exact);
  return double === null || double === 'NaN' ? null : plainDouble(Number(double) || 0);
};

/** A line of cells, read by column name. */
type Cells = { readonly get: (column: string) => Cell };

const micros = (cells: Cells, name: string): Micros | null => {
  const cell = cells.get(name);
  return cell === null ? null : Number(cell);
};

const valuesOf = (layer: ReadingLayer, cells: Cells): Record<string, Digits> => {
  const exact = parseTexts(cells.get('digits'));
  const values: Record<string, Digits> = {};
  for (const member of membersOf(layer)) {
    const column = columnOf(member);
    const digits = joinFigure(cells.get(column), exact[column]);
    if (digits !== null) values[member] = digits;
  }
  return values;
};

const readingOf = (layer: ReadingLayer, cells: Cells, receivedAt: Micros): StoredReading => {
  const nextFunding = micros(cells, 'next_funding_at');
  return {
    layer,
    valid: cells.get('status') === 'present',
    gap_cause: cells.get('gap_cause'),
    venue_ts: micros(cells, 'venue_ts'),
    received_at: receivedAt,
    recorded_at: micros(cells, 'recorded_at') ?? receivedAt,
    conn_id: cells.get('conn') ?? '',
    horizon_source: cells.get('horizon_source'),
    anchor: cells.get('anchor') === 'venue' ? 'venue' : 'receipt',
    valid_until: micros(cells, 'valid_until'),
    values: valuesOf(layer, cells),
    null_reasons: parseTexts(cells.get('null_reasons')),
    instants: nextFunding === null ? {} : { next_funding_at: nextFunding },
    quantity_unit: cells.get('quantity_unit'),
  };
};

/** A line of an answer to `selectList`, with the listing it is about. */
export const fromCells = (
  layer: ReadingLayer,
  line: readonly Cell[],
): { readonly listing: string; readonly row: StoredRow } => {
  const places = PLACES.get(layer);
  const cells: Cells = { get: (column) => line[places?.get(column) ?? -1] ?? null };
  const receivedAt = micros(cells, 'received_at');
  const row: StoredRow = {
    fromAt: micros(cells, 'from_at') ?? 0,
    at: micros(cells, 'at') ?? 0,
    late: cells.get('late') === 't',
    srcOffset: micros(cells, 'src_offset') ?? -1,
    reading: receivedAt === null ? null : readingOf(layer, cells, receivedAt),
    gapCause: cells.get('gap_cause'),
  };
  return { listing: cells.get('listing') ?? '', row };
};

const memberValues = (layer: ReadingLayer, figures: Row['figures']): Record<string, Digits> => {
  const values: Record<string, Digits> = {};
  for (const member of membersOf(layer)) {
    const digits = figures[columnOf(member)];
    if (digits !== undefined) values[member] = digits;
  }
  return values;
};

/** A row as a task published it. */
export const fromRow = (layer: ReadingLayer, row: Row): StoredRow => {
  const { texts, instants, integers, flags } = row;
  const receivedAt = instants.received_at;
  const nextFunding = instants.next_funding_at;
  const reading: StoredReading | null =
    receivedAt === undefined
      ? null
      : {
          layer,
          valid: texts.status === 'present',
          gap_cause: texts.gap_cause ?? null,
          venue_ts: instants.venue_ts ?? null,
          received_at: receivedAt,
          recorded_at: instants.recorded_at ?? receivedAt,
          conn_id: texts.conn ?? '',
          horizon_source: texts.horizon_source ?? null,
          anchor: texts.anchor === 'venue' ? 'venue' : 'receipt',
          valid_until: instants.valid_until ?? null,
          values: memberValues(layer, row.figures),
          null_reasons: parseTexts(texts.null_reasons),
          instants: nextFunding === undefined ? {} : { next_funding_at: nextFunding },
          quantity_unit: texts.quantity_unit ?? null,
        };
  return {
    fromAt: instants.from_at ?? row.at,
    at: row.at,
    late: flags.late === true,
    srcOffset: integers.src_offset ?? -1,
    reading,
    gapCause: texts.gap_cause ?? null,
  };
};
