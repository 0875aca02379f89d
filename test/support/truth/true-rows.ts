// The stored rows of a run against the truth: causes of gaps, trades, liquidations and candles, each by value and none missing.
import type { TruthRow } from '../../../infra/dev/simulator/truth-rows.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { until } from '../services/pipeline.ts';
import { type FaultWindows, listCauses } from './fault-rules.ts';
import type { World } from './true-world.ts';
import { isCollected, type Subject, type TruthIndex } from './truth.ts';

/** Microseconds; the run with everything in it. */
type Run = { readonly from: number; readonly to: number };
export type Row = Readonly<Record<string, string | null>>;

/** Rows of a table under their columns' names; instants are microseconds as text. */
export type Rows = (table: string, columns: readonly string[], where: string) => Promise<Row[]>;

const INSTANTS: ReadonlySet<string> = new Set(['at', 'from_at', 'received_at', 'venue_ts', 'open_time', 'close_time']);

/** A reader of the run's own tables. */
export const openRows = ({ spec }: World): { readonly rows: Rows; readonly close: () => Promise<void> } => {
  const { questdb_pg, questdb_user, questdb_password } = spec.stores;
  const auth = { user: questdb_user, password: questdb_password };
  const log = createLog('true-rows', 'warn');
  const reader = openQuestdbReader(questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  const rows: Rows = async (table, columns, where) => {
    const list = columns.map((name) => (INSTANTS.has(name) ? `cast(${name} as long) ${name}` : name)).join(', ');
    const text = `SELECT ${list} FROM '${toTableName(spec.namespace, table)}' WHERE ${where}`;
    const found = await reader.query({ text });
    return found.map((cells) => Object.fromEntries(columns.map((name, i) => [name, cells[i] ?? null])));
  };
  return { rows, close: reader.close };
};

const readInstant = (row: Row, name: string): number => Number(row[name] ?? Number.NaN);

/** Resolves when every venue's windows that ended by `to` are sealed and visible. */
export const sealed = (rows: Rows, { venues }: World['market'], to: number, timeoutMs: number): Promise<true> => {
  const reached = async (table: string, windowMs: number, venue: string): Promise<boolean> => {
    const [row] = await rows(table, ['at'], `venue = '${venue}' LATEST ON at PARTITION BY venue`);
    return row !== undefined && readInstant(row, 'at') >= Math.floor(to / (windowMs * 1_000)) * windowMs * 1_000;
  };
  return until('the windows are sealed', timeoutMs, async () => {
    for (const venue of venues) {
      for (const layer of ['mark', 'book', 'funding'] as const) {
        if (!(await reached(LAYERS[layer].table, LAYERS[layer].windowMs, venue))) return null;
      }
    }
    return true;
  });
};

const GAP_TABLES = [
  ...READING_LAYERS.map((layer) => ({ layer: layer as string, table: LAYERS[layer].table, at: 'at' })),
  { layer: 'trades', table: 'trades', at: 'received_at' },
  { layer: 'liquidations', table: 'liquidations', at: 'received_at' },
];

const toSubject = (listing: string): { readonly venue: string; readonly symbol: string } => {
  const colon = listing.indexOf(':');
  return { venue: listing.slice(0, colon), symbol: listing.slice(colon + 1) };
};

/** A message stamped this shortly before a window's end may be received after it. */
const ON_THE_WAY = 1_000_000;

/** Whether the venue had nothing new about a layer in the span: then `no_update` is correct. */
const hadNothingNew = (truth: TruthIndex, listing: string, layer: string, { from, to }: Run): boolean => {
  const rows = truth.all(toSubject(listing), layer === 'venue_depth' ? 'book' : layer);
  const inside = rows.filter(({ venue_ts }) => venue_ts > from && venue_ts <= to - ON_THE_WAY);
  const before = rows.findLast(({ venue_ts }) => venue_ts <= from) ?? inside[0];
  return inside.every(({ values }) => JSON.stringify(values) === JSON.stringify(before?.values));
};

type Gaps = {
  readonly count: number;
  readonly unexplained: readonly string[];
  readonly causes: readonly string[];
};

/** Every gap row of the run: its cause is one that the faults in its span have, or the venue sent nothing. */
export const judgeGaps = async (rows: Rows, windows: FaultWindows, truth: TruthIndex, run: Run): Promise<Gaps> => {
  const unexplained: string[] = [];
  const causes: string[] = [];
  for (const { layer, table, at } of GAP_TABLES) {
    const found = await rows(table, ['listing', 'from_at', at, 'gap_cause'], `status = 'missing' AND NOT late`);
    for (const row of found) {
      const listing = row.listing ?? '';
      const span = { from: readInstant(row, 'from_at'), to: readInstant(row, at) };
      if (span.to <= run.from || span.to > run.to) continue;
      const place = { ...toSubject(listing), layer };
      const kinds = windows.touching(place, span.from, span.to);
      const cause = row.gap_cause ?? '';
      causes.push(`${kinds.join('+') || 'no fault'}: ${place.venue} ${layer} ${cause}`);
      const isFaults = listCauses(kinds).has(cause);
      // Nothing came, or it cannot be distinguished from unreadable frames: events are lost with any frame of their connection.
      const isSilent = hadNothingNew(truth, listing, layer, span) || windows.isSkewed(place, span.from, span.to);
      const isExpected = kinds.length > 0 || at !== 'at' || isSilent;
      const isOthers = cause === 'parse_error' && isExpected && windows.isUnreadable(place, span.from, span.to);
      const isQuiet = cause === 'no_update' && isSilent;
      if (!isFaults && !isOthers && !isQuiet) {
        unexplained.push(
          `${listing} ${layer} ${cause} in ${new Date(span.from / 1_000).toISOString()}+${(span.to - span.from) / 1e6}s (${kinds.join()})`,
        );
      }
    }
  }
  return { count: causes.length, unexplained, causes };
};

/** A double column with the same number, or its digits beside it. */
const isFigure = (row: Row, column: string, digits: string): boolean => {
  const exact = row.digits === null ? undefined : (JSON.parse(row.digits ?? '{}') as Row)[column];
  return exact === undefined ? Number(row[column]) === Number(digits) : exact === digits;
};

export type Events = {
  readonly rows: number;
  readonly expected: number;
  readonly missing: readonly string[];
  readonly wrong: readonly string[];
  /** Rows of a true event whose frame a fault sent twice, and which has no id to know it by. */
  readonly doubled: number;
  readonly twice: readonly string[];
};

const EVENT_TABLES = {
  trades: { policy: 'trades', columns: ['listing', 'venue_ts', 'id', 'side', 'price', 'quantity', 'digits'] },
  liquidations: {
    policy: 'liquidation',
    columns: ['listing', 'venue_ts', 'received_at', 'id', 'side', 'price', 'price_kind', 'quantity', 'digits'],
  },
} as const;
export type EventTable = keyof typeof EVENT_TABLES;

const isEvent = (row: Row, { values, venue_ts }: TruthRow, table: EventTable): boolean => {
  const price = row.price_kind === 'bankruptcy' ? values.bankruptcy_price : values.price;
  const isSame =
    row.side === values.side &&
    isFigure(row, 'price', String(price)) &&
    isFigure(row, 'quantity', String(values.quantity));
  return isSame && readInstant(row, 'venue_ts') === venue_ts && (table === 'liquidations' || row.id === values.id);
};

/** A venue stamps its trades a little before it sends them, and its clock may be off while a fault begins or ends. */
const STAMPS_APART = 5_000_000;

const keyOfEvent = (listing: string, ts: number): string => `${listing} ${ts}`;

/** A frame is received this soon after it was sent. */
const RECEIVED_WITHIN = 5_000_000;

/**
 * Remaining rows that repeat a true event because its frame was sent twice: each such frame explains one of them. Trades have ids, and a
 * venue that numbers liquidations by its trades has none of these rows.
 */
const doubledRows = (left: readonly Row[], windows: FaultWindows, truth: TruthIndex): ReadonlySet<Row> => {
  const used = new Set<unknown>();
  const isDoubled = (row: Row): boolean => {
    const subject = toSubject(row.listing ?? '');
    if (!truth.all(subject, 'liquidations').some((event) => isEvent(row, event, 'liquidations'))) return false;
    const received = readInstant(row, 'received_at');
    const frame = windows.doubled(subject, received - RECEIVED_WITHIN, received).find((hit) => !used.has(hit));
    used.add(frame);
    return frame !== undefined;
  };
  return new Set(left.filter(isDoubled));
};

/** Events by the end of the run, two ways: each row is a true event, once; each true event that no fault touched is a row. */
export const judgeEvents = async (
  table: EventTable,
  rows: Rows,
  { windows, truth, run, listed }: { windows: FaultWindows; truth: TruthIndex; run: Run; listed: Iterable<Subject> },
): Promise<Events> => {
  const { policy, columns } = EVENT_TABLES[table];
  const found = await rows(table, columns, `status = 'present' AND received_at <= cast(${run.to} as timestamp)`);
  const byStamp = new Map<string, Row[]>();
  for (const row of found) {
    const key = keyOfEvent(row.listing ?? '', readInstant(row, 'venue_ts'));
    byStamp.set(key, [...(byStamp.get(key) ?? []), row]);
  }
  const matched = new Set<Row>();
  const [missing, twice]: [string[], string[]] = [[], []];
  let expected = 0;
  for (const { venue, symbol } of listed) {
    if (!isCollected(venue, policy)) continue;
    for (const event of truth.all({ venue, symbol }, table)) {
      const same = (byStamp.get(keyOfEvent(`${venue}:${symbol}`, event.venue_ts)) ?? []).filter(
        (row) => !matched.has(row) && isEvent(row, event, table),
      );
      const [first] = same;
      if (first !== undefined) matched.add(first);
      if (table === 'trades' && same.length > 1) twice.push(`${venue}:${symbol} ${String(event.values.id)}`);
      const isInside = event.venue_ts >= run.from && event.venue_ts <= run.to;
      const place = { venue, symbol, layer: table };
      const [from, to] = [event.venue_ts - STAMPS_APART, event.venue_ts + STAMPS_APART];
      if (!isInside || windows.touching(place, from, to).length > 0) continue;
      expected += 1;
      if (first === undefined) missing.push(`${venue}:${symbol} ${JSON.stringify(event)}`);
    }
  }
  const left = found.filter((row) => !matched.has(row));
  const doubled = table === 'liquidations' ? doubledRows(left, windows, truth) : new Set<Row>();
  const wrong = left.filter((row) => !doubled.has(row)).map((row) => JSON.stringify(row));
  return { rows: found.length, expected, missing, wrong, twice, doubled: doubled.size };
};

type Candles = {
  readonly compared: number;
  readonly empty: number;
  readonly gaps: readonly string[];
  readonly different: readonly string[];
  readonly unexplained: readonly string[];
};

const FIGURES = ['open', 'high', 'low', 'close', 'volume', 'turnover', 'trades'] as const;
const CANDLE_COLUMNS = [
  'listing',
  'open_time',
  'close_time',
  'price_type',
  'status',
  'gap_cause',
  'digits',
  ...FIGURES,
];

const candleDifferences = (row: Row, { values }: TruthRow): string[] => {
  // A minute proved empty has no prices (H-12).
  if (row.open === null) return values.trades === 0 && Number(row.volume) === 0 ? [] : ['no prices of a traded minute'];
  return FIGURES.filter((name) => values[name] !== undefined && row[name] !== null)
    .filter((name) => !isFigure(row, name, String(values[name])))
    .map((name) => `${name} is ${row[name]}, true is ${String(values[name])}`);
};

/** Minutes sealed in the run against the minutes that were. */
export const judgeCandles = async (
  rows: Rows,
  { windows, truth, run }: { windows: FaultWindows; truth: TruthIndex; run: Run },
): Promise<Candles> => {
  const found = await rows('candles', CANDLE_COLUMNS, `timeframe = '1m' AND NOT late`);
  const [gaps, different, unexplained]: [string[], string[], string[]] = [[], [], []];
  let [compared, empty] = [0, 0];
  for (const row of found) {
    const [openTime, closeTime] = [readInstant(row, 'open_time'), readInstant(row, 'close_time')];
    if (openTime < run.from || closeTime > run.to) continue;
    const subject = toSubject(row.listing ?? '');
    const where = `${row.listing} ${row.price_type} ${new Date(openTime / 1_000).toISOString()}`;
    if (row.status === 'missing') {
      gaps.push(`${row.price_type} ${row.gap_cause}`);
      // Published after its end: a loss at that time explains it too.
      const kinds = windows.touching({ ...subject, layer: 'candles' }, openTime, closeTime + 100_000_000);
      const place = { ...subject, layer: 'candles' };
      const isUnread = row.gap_cause === 'parse_error' && windows.isUnreadable(place, openTime, closeTime);
      const isFaults = listCauses(kinds).has(row.gap_cause ?? '') || (kinds.length > 0 && isUnread);
      if (!isFaults) unexplained.push(`${where}: ${row.gap_cause} (${kinds.join()})`);
      continue;
    }
    const minute = truth
      .all(subject, 'candles')
      .find(({ values }) => values.price_type === row.price_type && values.open_time === openTime);
    compared += 1;
    if (row.open === null) empty += 1;
    const differences = minute === undefined ? ['no such minute'] : candleDifferences(row, minute);
    if (differences.length > 0) different.push(`${where}: ${differences.join('; ')}`);
  }
  return { compared, empty, gaps, different, unexplained };
};
