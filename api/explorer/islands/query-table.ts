// Answers of screens and snapshots as one kind of table: text of cells, their details, what is withheld and why. Touches no page.
import { formatUnit } from '../board/figure-text.ts';

export type Cell = {
  /** As it is drawn; digits of the API, long computed ones shortened and marked. */
  readonly text: string;
  /** Every digit; null: there is no value. */
  readonly full: string | null;
  readonly unit: string;
  /** Of a figure, as the API names it. */
  readonly code: string | null;
  readonly status: string;
  /** Stamps and source, or the reason why nothing is shown. */
  readonly tip: string;
};
type Row = {
  /** Leading cells that name the row. */
  readonly names: readonly string[];
  readonly cells: readonly (Cell | null)[];
};
export type Group = {
  readonly title: string;
  readonly result: string | null;
  readonly because: readonly string[];
  /** Values of the whole group. */
  readonly cells: readonly (Cell | null)[];
  readonly rows: readonly Row[];
};
export type Table = {
  readonly titleName: string;
  readonly groupColumns: readonly string[];
  readonly rowNames: readonly string[];
  readonly columns: readonly string[];
  readonly groups: readonly Group[];
};

type ValueObject = {
  readonly value?: string | number | boolean | null;
  readonly unit?: string;
  readonly status?: string;
  readonly reason?: string | null;
  readonly layer?: string;
  readonly age_ms?: number | null;
  readonly received_at?: string | null;
  readonly venue_ts?: string | null;
  readonly bound?: { readonly at_least?: string | number; readonly at_most?: string | number };
};
type Values = Readonly<Record<string, ValueObject>>;
export type ScreenAnswer = {
  readonly query: { readonly string: string };
  readonly evaluated_at: string;
  readonly as_of: string | null;
  readonly settled: boolean;
  readonly receipt_id: string;
  readonly instruments: readonly {
    readonly instrument: string;
    readonly result: string;
    readonly values: Values;
    readonly venues: readonly {
      readonly venue: string;
      readonly symbol: string;
      readonly quote: string;
      readonly values: Values;
    }[];
    readonly because?: readonly {
      readonly expr: string;
      readonly venue: string | null;
      readonly symbol: string | null;
      readonly status: string;
      readonly reason: string;
    }[];
  }[];
  readonly page: { readonly returned: number; readonly next_cursor: string | null };
};
type LayerObject = {
  readonly status: string;
  readonly reason?: string | null;
  readonly age_ms: number | null;
  readonly received_at: string | null;
  readonly venue_ts: string | null;
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
  readonly null_reasons?: Readonly<Record<string, string>>;
  readonly units?: Readonly<Record<string, string>>;
};
export type SnapshotsAnswer = {
  readonly evaluated_at: string;
  readonly receipt_id: string;
  readonly items: readonly {
    readonly venue: string;
    readonly venue_symbol: string;
    readonly instrument: string;
    readonly quote: string;
    readonly layers: Readonly<Record<string, LayerObject>>;
  }[];
};
export type HistoryAnswer = Omit<SnapshotsAnswer, 'items'> & {
  readonly settled: boolean;
  readonly items: readonly (Omit<SnapshotsAnswer['items'][number], 'layers'> & {
    readonly layers: Readonly<
      Record<string, { readonly units: Readonly<Record<string, string>>; readonly rows: readonly LayerObject[] }>
    >;
  })[];
};

const REASONS: Readonly<Record<string, string>> = {
  connection_lost: 'the connection that delivered it was lost',
  horizon_passed: 'it outlived the time for which the venue vouches',
  state_lag: 'the service itself was behind',
  horizon_unknown: 'nothing proves that it was current',
  freshness_bound: 'it is older than the requested bound',
  no_value: 'the venue stated no value',
  not_retained: 'the past is not kept that far back',
  gap: 'nobody reported in this period',
  insufficient_history: 'there are not enough past periods',
  venue_capability: 'the venue does not publish it',
  policy_off: 'the service does not collect it',
  unit_unknown: 'its unit cannot be converted',
};
const LONGEST = 12;
const SHOWN_DIGITS = 6;

const describeStatus = (status: string, reason: string | null | undefined): string => {
  const words = reason == null ? undefined : REASONS[reason];
  if (reason == null) return status;
  return words === undefined ? `${status}: ${reason}` : `${status}: ${words} (${reason})`;
};

const shorten = (full: string): string =>
  full.length <= LONGEST || !Number.isFinite(Number(full)) ? full : `≈ ${Number(full).toPrecision(SHOWN_DIGITS)}`;

const listAge = (ms: number | null | undefined): string[] =>
  ms == null ? [] : [ms < 1_000 ? `${ms} ms old` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s old`];

const formatStamps = ({ layer, age_ms, received_at, venue_ts }: ValueObject): string =>
  [
    ...(layer === undefined ? [] : [layer]),
    ...listAge(age_ms),
    ...(received_at == null ? [] : [`received ${received_at}`]),
    ...(venue_ts == null ? [] : [`stated by the venue ${venue_ts}`]),
  ].join(', ');

const formatBound = ({ at_least: low, at_most: high }: NonNullable<ValueObject['bound']>): string =>
  low !== undefined && high !== undefined ? `${low} to ${high}` : low !== undefined ? `≥ ${low}` : `≤ ${high}`;

/** What a value object of any answer shows. A number that is not current is not in the cell at all. */
export const toCell = (object: ValueObject | undefined, quote?: string): Cell | null => {
  if (object === undefined) return null;
  const { value = null, status = 'present', reason, bound } = object;
  const unit = formatUnit(object.unit, quote);
  if (value !== null && status === 'present') {
    const full = String(value);
    return {
      text: shorten(full),
      full,
      unit,
      code: object.unit === 'code' ? null : (object.unit ?? null),
      status,
      tip: [`${full} ${unit}`.trim(), formatStamps(object)].filter((text) => text !== '').join(': '),
    };
  }
  if (bound !== undefined)
    return {
      text: formatBound(bound),
      full: null,
      unit,
      code: null,
      status: 'unknown',
      tip: 'some inputs are unknown, so only a bound is',
    };
  const shown = status === 'present' ? 'unknown' : status;
  return {
    text: shown.replaceAll('_', ' '),
    full: null,
    unit: '',
    code: null,
    status: shown,
    tip: [describeStatus(shown, reason), formatStamps(object)].filter((text) => text !== '').join('; '),
  };
};

/** The status of a value whose member is null in a present layer, as a screen states it (DQL-33c). */
const STATUS_OF_NULL: Readonly<Record<string, string>> = { venue_capability: 'not_published', no_value: 'missing' };

const listNames = (all: readonly Values[]): string[] => [...new Set(all.flatMap((values) => Object.keys(values)))];

export const toScreenTable = ({ instruments }: ScreenAnswer): Table => {
  const groupColumns = listNames(instruments.map(({ values }) => values));
  const columns = listNames(instruments.flatMap(({ venues }) => venues.map(({ values }) => values)));
  return {
    ...{ titleName: 'Instrument', groupColumns, columns, rowNames: ['Venue', 'Symbol'] },
    groups: instruments.map(({ instrument, result, values, venues, because = [] }) => ({
      ...{ title: instrument, result },
      because: because.map(
        ({ expr, venue, symbol, status, reason }) =>
          `${expr}${venue === null ? '' : ` at ${venue} ${symbol ?? ''}`.trimEnd()} is ${describeStatus(status, reason)}`,
      ),
      cells: groupColumns.map((name) => toCell(values[name])),
      rows: venues.map(({ venue, symbol, quote, values: own }) => ({
        names: [venue, symbol],
        cells: columns.map((name) => toCell(own[name], quote)),
      })),
    })),
  };
};

/** Members of a layer in every item: a stale one names its units too, and of none of them a number. */
const listMembers = (items: SnapshotsAnswer['items'], layer: string): string[] => [
  ...new Set(
    items.flatMap(({ layers }) => [
      ...Object.keys(layers[layer]?.units ?? {}),
      ...Object.keys(layers[layer]?.values ?? {}),
    ]),
  ),
];

export const toSnapshotsTable = ({ items }: Pick<SnapshotsAnswer, 'items'>): Table => {
  const layers = listNames(items.map((item) => item.layers as unknown as Values));
  const members = layers.flatMap((layer) => listMembers(items, layer).map((member) => ({ layer, member })));
  const byInstrument = Map.groupBy(items, ({ instrument }) => instrument);
  return {
    ...{ titleName: 'Instrument', groupColumns: [], rowNames: ['Venue', 'Symbol'] },
    columns: members.map(({ layer, member }) => `${layer}.${member}`),
    groups: [...byInstrument].map(([title, listed]) => ({
      ...{ title, result: null, because: [], cells: [] },
      rows: listed.map(({ venue, venue_symbol, quote, layers: own }) => ({
        names: [venue, venue_symbol],
        cells: members.map(({ layer, member }) => {
          const object = own[layer];
          if (object === undefined) return null;
          const { values, units = {}, null_reasons = {}, ...rest } = object;
          const reason = null_reasons[member];
          return toCell(
            {
              ...rest,
              ...(reason === undefined ? {} : { status: STATUS_OF_NULL[reason] ?? rest.status, reason }),
              layer,
              value: values[member] ?? null,
              ...(units[member] === undefined ? {} : { unit: units[member] }),
            },
            quote,
          );
        }),
      })),
    })),
  };
};

/** An answer about one instant of the past, as snapshots are answered. */
export const toSnapshots = (answer: HistoryAnswer): SnapshotsAnswer => ({
  ...answer,
  items: answer.items.map((item) => ({
    ...item,
    layers: Object.fromEntries(
      Object.entries(item.layers).flatMap(([name, { units, rows }]) => {
        const [row] = rows;
        return row === undefined ? [] : [[name, { ...row, units: row.units ?? units }]];
      }),
    ),
  })),
});

/** The table row by row, each value with its unit and status beside it; what is withheld is an empty cell. */
export const flattenRows = (table: Table): { readonly columns: string[]; readonly rows: (string | null)[][] } => {
  const { titleName, rowNames, groupColumns, columns, groups } = table;
  const hasResult = groups.some(({ result }) => result !== null);
  const named = (names: readonly string[]): string[] =>
    names.flatMap((name) => [name, `${name} unit`, `${name} status`]);
  const shown = (cells: readonly (Cell | null)[]): (string | null)[] =>
    cells.flatMap((cell) => [cell?.full ?? null, cell?.code ?? null, cell?.status ?? null]);
  return {
    columns: [titleName, ...(hasResult ? ['result'] : []), ...rowNames, ...named(groupColumns), ...named(columns)].map(
      (name) => (name === titleName || rowNames.includes(name) ? name.toLowerCase() : name),
    ),
    rows: groups.flatMap(({ title, result, cells, rows }) =>
      rows.map((row) => [title, ...(hasResult ? [result] : []), ...row.names, ...shown(cells), ...shown(row.cells)]),
    ),
  };
};
