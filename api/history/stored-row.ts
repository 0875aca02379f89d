// Rows of stored history as answers read them: from QuestDB's cells and from rows still in memory, digit for digit the same.
import type { Cell } from '../../infra/runtime/questdb/reader.ts';
import { joinFigure } from '../../schemas/decimals.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { hasQuantity, LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import { toColumnName } from '../../schemas/tables.ts';
import type { Reading, Row } from '../../schemas/topics.ts';

/** What a row keeps of the reading, or invalidation, of its window. */
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
  /** Null: nothing arrived in the window; `gapCause` gives the reason. */
  readonly reading: StoredReading | null;
  readonly gapCause: GapCause | null;
};

/** Columns of every layer's table and their places in a line, in the order in which they are selected. */
const AT = {
  ...{ listing: 0, at: 1, from_at: 2, status: 3, gap_cause: 4, late: 5 },
  ...{ venue_ts: 6, received_at: 7, recorded_at: 8, horizon_source: 9, anchor: 10 },
  ...{ valid_until: 11, conn: 12, digits: 13, null_reasons: 14, src_offset: 15 },
} as const;
const INSTANTS: ReadonlySet<string> = new Set([
  'at',
  'from_at',
  'venue_ts',
  'received_at',
  'recorded_at',
  'valid_until',
]);

const listMembers = (layer: ReadingLayer): readonly string[] => Object.keys(LAYERS[layer].members);

const listColumns = (layer: ReadingLayer): readonly string[] => [
  ...Object.keys(AT),
  ...(hasQuantity(layer) ? ['quantity_unit'] : []),
  ...LAYERS[layer].instants,
  ...listMembers(layer).map(toColumnName),
];

/** The SELECT list of a layer's table, alias `r`; instants as microseconds. */
export const selectList = (layer: ReadingLayer): string =>
  listColumns(layer)
    .map((name) =>
      INSTANTS.has(name) || LAYERS[layer].instants.includes(name) ? `r.${name}::long ${name}` : `r.${name} ${name}`,
    )
    .join(', ');

/** Where a line of a layer has what not every layer has; -1 when it has none. */
type Places = {
  readonly quantityUnit: number;
  readonly instants: readonly { readonly name: string; readonly place: number }[];
  readonly members: readonly { readonly member: string; readonly column: string; readonly place: number }[];
};
const findPlaces = (layer: ReadingLayer): Places => {
  const names = listColumns(layer);
  const members = listMembers(layer).map((member) => {
    const column = toColumnName(member);
    return { member, column, place: names.indexOf(column) };
  });
  const instants = LAYERS[layer].instants.map((name) => ({ name, place: names.indexOf(name) }));
  return { quantityUnit: names.indexOf('quantity_unit'), instants, members };
};
const PLACES = Object.fromEntries(READING_LAYERS.map((layer) => [layer, findPlaces(layer)])) as Readonly<
  Record<ReadingLayer, Places>
>;

const NO_TEXTS: Readonly<Record<string, string>> = {};
/** Texts by name, as a column holds them. */
export const parseTexts = (json: Cell | undefined): Readonly<Record<string, string>> =>
  json === null || json === undefined ? NO_TEXTS : (JSON.parse(json) as Record<string, string>);

export const toNumberOrNull = (cell: Cell | undefined): number | null =>
  cell === null || cell === undefined ? null : Number(cell);

type Line = readonly Cell[];
const readCell = (line: Line, at: number): Cell => line[at] ?? null;
const readCause = (line: Line): GapCause | null => readCell(line, AT.gap_cause) as GapCause | null;
const readMicros = (line: Line, at: number): Micros | null => toNumberOrNull(line[at]);

const readValues = ({ members }: Places, line: Line): Record<string, Digits> => {
  const exact = parseTexts(line[AT.digits]);
  const values: Record<string, Digits> = {};
  for (const { member, column, place } of members) {
    const digits = joinFigure(readCell(line, place), exact[column]);
    if (digits !== null) values[member] = digits;
  }
  return values;
};

const pickDefined = (named: readonly (readonly [string, Micros | null])[]): Record<string, Micros> => {
  const kept: Record<string, Micros> = {};
  for (const [name, at] of named) if (at !== null) kept[name] = at;
  return kept;
};

const toReading = (layer: ReadingLayer, line: Line, receivedAt: Micros): StoredReading => {
  const places = PLACES[layer];
  return {
    layer,
    valid: line[AT.status] === 'present',
    gap_cause: readCause(line),
    venue_ts: readMicros(line, AT.venue_ts),
    received_at: receivedAt,
    recorded_at: readMicros(line, AT.recorded_at) ?? receivedAt,
    conn_id: readCell(line, AT.conn) ?? '',
    horizon_source: readCell(line, AT.horizon_source),
    anchor: line[AT.anchor] === 'venue' ? 'venue' : 'receipt',
    valid_until: readMicros(line, AT.valid_until),
    values: readValues(places, line),
    null_reasons: parseTexts(line[AT.null_reasons]),
    instants: pickDefined(places.instants.map(({ name, place }) => [name, readMicros(line, place)])),
    quantity_unit: readCell(line, places.quantityUnit),
  };
};

/** A line of an answer to `selectList`, with the listing it is about. */
export const fromCells = (layer: ReadingLayer, line: Line): { readonly listing: string; readonly row: StoredRow } => {
  const receivedAt = readMicros(line, AT.received_at);
  const row: StoredRow = {
    fromAt: readMicros(line, AT.from_at) ?? 0,
    at: readMicros(line, AT.at) ?? 0,
    late: line[AT.late] === 't',
    srcOffset: readMicros(line, AT.src_offset) ?? -1,
    reading: receivedAt === null ? null : toReading(layer, line, receivedAt),
    gapCause: readCause(line),
  };
  return { listing: readCell(line, AT.listing) ?? '', row };
};

const pickValues = (layer: ReadingLayer, figures: Row['figures']): Record<string, Digits> => {
  const values: Record<string, Digits> = {};
  for (const member of listMembers(layer)) {
    const digits = figures[toColumnName(member)];
    if (digits !== undefined) values[member] = digits;
  }
  return values;
};

/** A row as a task published it. */
export const fromRow = (layer: ReadingLayer, row: Row): StoredRow => {
  const { texts, instants, integers, flags } = row;
  const receivedAt = instants.received_at;
  const gapCause = (texts.gap_cause ?? null) as GapCause | null;
  const reading: StoredReading | null =
    receivedAt === undefined
      ? null
      : {
          layer,
          valid: texts.status === 'present',
          gap_cause: gapCause,
          venue_ts: instants.venue_ts ?? null,
          received_at: receivedAt,
          recorded_at: instants.recorded_at ?? receivedAt,
          conn_id: texts.conn ?? '',
          horizon_source: texts.horizon_source ?? null,
          anchor: texts.anchor === 'venue' ? 'venue' : 'receipt',
          valid_until: instants.valid_until ?? null,
          values: pickValues(layer, row.figures),
          null_reasons: parseTexts(texts.null_reasons),
          instants: pickDefined(LAYERS[layer].instants.map((name) => [name, instants[name] ?? null])),
          quantity_unit: texts.quantity_unit ?? null,
        };
  return {
    fromAt: instants.from_at ?? row.at,
    at: row.at,
    late: flags.late === true,
    srcOffset: integers.src_offset ?? -1,
    reading,
    gapCause,
  };
};
