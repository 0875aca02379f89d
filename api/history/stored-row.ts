// Rows of stored history as answers read them: from QuestDB's cells and from rows still in memory, digit for digit the same.
import type { Cell } from '../../infra/runtime/questdb/reader.ts';
import { joinFigure } from '../../schemas/decimals.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import { hasQuantity, LAYERS, READING_LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
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

type Column = { readonly name: string; readonly kind: 'text' | 'instant' };
const makeTextColumn = (name: string): Column => ({ name, kind: 'text' });
const makeInstantColumn = (name: string): Column => ({ name, kind: 'instant' });

const COMMON: readonly Column[] = [
  ...[
    makeTextColumn('listing'),
    makeInstantColumn('at'),
    makeInstantColumn('from_at'),
    makeTextColumn('status'),
    makeTextColumn('gap_cause'),
    makeTextColumn('late'),
  ],
  ...[
    makeInstantColumn('venue_ts'),
    makeInstantColumn('received_at'),
    makeInstantColumn('recorded_at'),
    makeTextColumn('horizon_source'),
    makeTextColumn('anchor'),
  ],
  ...[
    makeInstantColumn('valid_until'),
    makeTextColumn('conn'),
    makeTextColumn('digits'),
    makeTextColumn('null_reasons'),
    makeTextColumn('src_offset'),
  ],
];
/** Places of the common columns in a line: an answer reads a hundred thousand lines. */
const AT = Object.fromEntries(COMMON.map(({ name }, i) => [name, i])) as Readonly<Record<string, number>>;
const readPlace = (name: string): number => AT[name] as number;
const [LISTING, WINDOW_END, FROM_AT, STATUS] = [
  readPlace('listing'),
  readPlace('at'),
  readPlace('from_at'),
  readPlace('status'),
];
const [GAP_CAUSE, LATE, SRC_OFFSET] = [readPlace('gap_cause'), readPlace('late'), readPlace('src_offset')];
const [VENUE_TS, RECEIVED_AT, RECORDED_AT] = [
  readPlace('venue_ts'),
  readPlace('received_at'),
  readPlace('recorded_at'),
];
const [HORIZON_SOURCE, ANCHOR, VALID_UNTIL] = [
  readPlace('horizon_source'),
  readPlace('anchor'),
  readPlace('valid_until'),
];
const [CONN, DIGITS, NULL_REASONS] = [readPlace('conn'), readPlace('digits'), readPlace('null_reasons')];

const listMembers = (layer: ReadingLayer): readonly string[] => Object.keys(LAYERS[layer].members);

const listColumns = (layer: ReadingLayer): readonly Column[] => [
  ...COMMON,
  ...(hasQuantity(layer) ? [makeTextColumn('quantity_unit')] : []),
  ...LAYERS[layer].instants.map(makeInstantColumn),
  ...listMembers(layer).map((member) => makeTextColumn(toColumnName(member))),
];

/** The SELECT list of a layer's table, alias `r`; instants as microseconds. */
export const selectList = (layer: ReadingLayer): string =>
  listColumns(layer)
    .map(({ name, kind }) => (kind === 'instant' ? `r.${name}::long ${name}` : `r.${name} ${name}`))
    .join(', ');

/** Where a line of a layer has what not every layer has; -1 when it has none. */
type Places = {
  readonly quantityUnit: number;
  readonly instants: readonly { readonly name: string; readonly place: number }[];
  readonly members: readonly { readonly member: string; readonly column: string; readonly place: number }[];
};
const findPlaces = (layer: ReadingLayer): Places => {
  const names = listColumns(layer).map(({ name }) => name);
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
const parseTexts = (json: Cell | undefined): Readonly<Record<string, string>> =>
  json === null || json === undefined ? NO_TEXTS : (JSON.parse(json) as Record<string, string>);

type Line = readonly Cell[];
const readCell = (line: Line, at: number): Cell => line[at] ?? null;
const readCause = (line: Line): GapCause | null => readCell(line, GAP_CAUSE) as GapCause | null;
const readMicros = (line: Line, at: number): Micros | null => {
  const found = line[at] ?? null;
  return found === null ? null : Number(found);
};

const readValues = ({ members }: Places, line: Line): Record<string, Digits> => {
  const exact = parseTexts(line[DIGITS]);
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
    valid: line[STATUS] === 'present',
    gap_cause: readCause(line),
    venue_ts: readMicros(line, VENUE_TS),
    received_at: receivedAt,
    recorded_at: readMicros(line, RECORDED_AT) ?? receivedAt,
    conn_id: readCell(line, CONN) ?? '',
    horizon_source: readCell(line, HORIZON_SOURCE),
    anchor: line[ANCHOR] === 'venue' ? 'venue' : 'receipt',
    valid_until: readMicros(line, VALID_UNTIL),
    values: readValues(places, line),
    null_reasons: parseTexts(line[NULL_REASONS]),
    instants: pickDefined(places.instants.map(({ name, place }) => [name, readMicros(line, place)])),
    quantity_unit: readCell(line, places.quantityUnit),
  };
};

/** A line of an answer to `selectList`, with the listing it is about. */
export const fromCells = (layer: ReadingLayer, line: Line): { readonly listing: string; readonly row: StoredRow } => {
  const receivedAt = readMicros(line, RECEIVED_AT);
  const row: StoredRow = {
    fromAt: readMicros(line, FROM_AT) ?? 0,
    at: readMicros(line, WINDOW_END) ?? 0,
    late: line[LATE] === 't',
    srcOffset: readMicros(line, SRC_OFFSET) ?? -1,
    reading: receivedAt === null ? null : toReading(layer, line, receivedAt),
    gapCause: readCause(line),
  };
  return { listing: readCell(line, LISTING) ?? '', row };
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
