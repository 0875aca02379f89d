// Reads what an answer needs for a few listings: series of each layer, marks for conversions, losses of connections.
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import { type Span as AliveSpan, formatTask, type TaskId } from '../../schemas/topics.ts';
import { COUNTS_WITHIN, isCounted, SEALS_AFTER, toSealInstant } from '../../schemas/windows.ts';
import { type LiveListing, type Selected, toListingId } from '../live/listing-book.ts';
import { type LiveMemory, NO_PARTITIONS } from '../live/memory.ts';
import { findPartition, findSpan } from '../live/partition.ts';
import type { Span } from './past.ts';
import { joinSeries, type ReadingRow, type RecentSeries } from './series.ts';
import type { HistoryReader, Range, RowQuestion, Rows, Sources, StoredSpan } from './store.ts';
import { fromRow, type StoredReading, type StoredRow } from './stored-row.ts';

/** The requested instants. `from` and `to` of periods lie on boundaries. */
export type RequestedTimes =
  | (Span & { readonly mode: 'interval'; readonly length: Micros })
  | (Span & { readonly mode: 'raw' })
  | { readonly mode: 'at'; readonly instants: readonly Micros[] };

export const toWindowMicros = (layer: ReadingLayer): Micros => LAYERS[layer].windowMs * 1_000;

/** Instants closer than this are read as one range. */
const NEAR: Micros = 120_000_000;
/** Rows that QuestDB reads in the time that one more statement takes. */
const ROWS_PER_STATEMENT = 2_000;
const SPANS_PER_STATEMENT = 200;

/** Copies a listing's layer from memory. Must run before the store is queried: a row that leaves memory meanwhile is in the store. */
export const readRecent = (live: LiveMemory, { listing }: Selected, layer: ReadingLayer): RecentSeries => {
  const history = live.partitionOf(listing)?.history ?? 0;
  const sealed: StoredRow[] = [];
  const provisional: StoredRow[] = [];
  for (const recent of live.recentRows(listing.venue, LAYERS[layer].table, listing.venueSymbol)) {
    const row = fromRow(layer, recent.row);
    if (recent.sealed) sealed.push(row);
    // The store already shows what its window was sealed as.
    else if (toSealInstant(row.at) > history) provisional.push(row);
  }
  return { sealed, provisional };
};

const merge = (parts: readonly Rows[]): Rows => {
  const merged: Rows = new Map();
  for (const part of parts) {
    for (const [listing, rows] of part) {
      const held = merged.get(listing);
      if (held === undefined) merged.set(listing, [...rows]);
      else for (const row of rows) held.push(row);
    }
  }
  return merged;
};

const readPeriods = (reader: HistoryReader, question: RowQuestion, asked: RequestedTimes & { mode: 'interval' }) => {
  const range: Range = { after: asked.from, to: asked.to };
  // Those that end within the range are among its windows.
  if (asked.length === toWindowMicros(question.layer))
    return [reader.windows(question, range), reader.longGaps(question, { after: asked.to, to: asked.to })];
  const last = (kind: 'reading' | 'gap') => reader.lastOfPeriods(question, range, { length: asked.length, kind });
  return [last('reading'), last('gap'), reader.longGaps(question, range)];
};

/** Instants that are read together: near each other, or at equal steps. */
type Run = { readonly instants: Micros[]; step: Micros | null };

const isNext = ({ instants, step }: Run, gap: Micros, longest: Micros): boolean => {
  if (instants.length === 1) return gap <= longest;
  return step === null ? gap <= NEAR : gap === step;
};

/** Runs of instants: near each other, or at equal steps of at most `longest`. */
export const listRuns = (instants: readonly Micros[], longest = NEAR): Run[] => {
  const runs: Run[] = [];
  for (const at of instants) {
    const run = runs.at(-1);
    const gap = at - (run?.instants.at(-1) ?? at);
    if (run === undefined || !isNext(run, gap, longest)) {
      runs.push({ instants: [at], step: null });
      continue;
    }
    if (run.instants.length === 1 && gap > NEAR) run.step = gap;
    run.instants.push(at);
  }
  return runs;
};

/** A statement for each instant is cheaper than the rows between instants that are further apart. */
const findLongestStep = ({ layer, listings }: RowQuestion): Micros =>
  Math.max(NEAR, Math.floor(ROWS_PER_STATEMENT / Math.max(1, listings.length)) * toWindowMicros(layer));

const readInstants = (reader: HistoryReader, question: RowQuestion, instants: readonly Micros[]) =>
  listRuns(instants, findLongestStep(question)).flatMap(({ instants: run, step }) => {
    const [first = 0, last = first] = [run[0], run.at(-1)];
    const before = reader.asOf(question, first);
    if (last === first) return [before];
    const range: Range = { after: first, to: last };
    if (step === null) return [before, reader.windows(question, range)];
    return [before, reader.lastOfPeriods(question, range, { length: step, kind: 'reading' })];
  });

const readRaw = (reader: HistoryReader, question: RowQuestion, { from, to }: Span) => {
  // The window of a reading received before `to` may end after it.
  const end = to + toWindowMicros(question.layer);
  return [reader.windows(question, { after: from - 1, to: end }), reader.longGaps(question, { after: end, to })];
};

const readStored = (reader: HistoryReader, question: RowQuestion, asked: RequestedTimes): Promise<Rows>[] => {
  switch (asked.mode) {
    case 'interval':
      return readPeriods(reader, question, asked);
    case 'at':
      return readInstants(reader, question, asked.instants);
    case 'raw':
      return readRaw(reader, question, asked);
    default:
      return asked satisfies never;
  }
};

type Gathering = Sources & {
  readonly listings: readonly Selected[];
  readonly asked: RequestedTimes;
};

/** Series of a layer by listing id. `withBefore` adds the newest reading before the range, for values carried into it. */
export const gatherSeries = async (
  { reader, live, listings, asked }: Gathering,
  layer: ReadingLayer,
  { withBefore = false }: { readonly withBefore?: boolean } = {},
): Promise<ReadonlyMap<string, readonly StoredRow[]>> => {
  const question: RowQuestion = { layer, listings: listings.map(toListingId) };
  const recent = listings.map((listing) => readRecent(live, listing, layer));
  const reads = readStored(reader, question, asked);
  if (withBefore && asked.mode !== 'at') reads.push(reader.asOf(question, asked.from));
  const stored = merge(await Promise.all(reads));
  return new Map(
    listings.map((listing, i) => [
      toListingId(listing),
      joinSeries(stored.get(toListingId(listing)) ?? [], recent[i] as RecentSeries),
    ]),
  );
};

type Named = Pick<LiveListing, 'venue' | 'venueSymbol'>;
/** A row of a listing that an answer needs. */
type HeardRow = readonly [listing: Named, row: ReadingRow];
/** Losses of connections as they counted for a listing at an instant. */
export type Losses = (listing: Named, reading: StoredReading, at: Micros) => Micros | null;

/** `isWhole`: the store shows every loss that can count at `at`. */
type AskedLoss = { readonly receivedAt: Micros; readonly at: Micros; readonly isWhole: boolean };

/** A loss counts at `at` as a reading does: recorded in time. Silence of a collector is a rule on the log and needs no record (F-02). */
const isLossCounted = ({ recordedAt, cause }: StoredSpan, at: Micros): boolean =>
  cause === 'collector_down' || isCounted(recordedAt, at);

/** Whether a message received then may have been received on a span that began before. Only a span that is finally closed has no successor (F-02). */
const isOn = ({ to, cause }: StoredSpan, receivedAt: Micros): boolean =>
  to >= receivedAt || (cause !== 'collector_down' && to >= receivedAt - COUNTS_WITHIN);

/**
 * When the span on which something came was lost, as far as that counts at `at`: the newest span that began by its receipt, as live answers have it
 * (F-05). Messages that a stall held back begin a span before the end of the one that nothing named meanwhile. `held`: of memory, which alone has
 * spans that go on; it does not know when a loss was recorded, so its losses are for what the store cannot show yet.
 */
const findLossOf = (stored: readonly StoredSpan[], held: AliveSpan | null, asked: AskedLoss): Micros | null => {
  const own = stored.findLast(({ from }) => from <= asked.receivedAt);
  if (own === undefined || (held !== null && held.from <= asked.receivedAt && held.from > own.from))
    return asked.isWhole ? null : (held?.to ?? null);
  return isOn(own, asked.receivedAt) && isLossCounted(own, asked.at) ? own.to : null;
};

/** Finds the task of a listing: a connection may have ended for one shard and not for another. */
const createTaskFinder = (live: LiveMemory): ((listing: Named) => TaskId) => {
  const names = new Map<Named, TaskId>();
  return (listing) => {
    const held = names.get(listing);
    if (held !== undefined) return held;
    const { venue, venueSymbol } = listing;
    const name = formatTask(venue, findPartition(live.venue(venue)?.partitions ?? NO_PARTITIONS, venueSymbol));
    names.set(listing, name);
    return name;
  };
};

const groupByTask = (heard: readonly HeardRow[], findTask: (listing: Named) => TaskId): Map<TaskId, HeardRow[]> =>
  Map.groupBy(
    heard.filter(([, { reading }]) => reading.horizon_source === 'connection'),
    ([listing]) => findTask(listing),
  );

/** Reads the ends of the connections that delivered `heard`. `latest` is the last instant of the answer. */
export const gatherLosses = async (
  { reader, live }: Sources,
  heard: readonly HeardRow[],
  latest: Micros,
): Promise<Losses> => {
  const spans = new Map<string, readonly StoredSpan[]>();
  // Taken before the store is queried: up to these watermarks the store's answer is complete.
  const visible = new Map(
    [...live.venues()].flatMap(({ venue, partitions }) =>
      [...partitions].map(([partition, { history }]) => [formatTask(venue, partition), history ?? 0] as const),
    ),
  );
  const findTask = createTaskFinder(live);
  for (const [task, heardOfTask] of groupByTask(heard, findTask)) {
    const rows = heardOfTask.map(([, row]) => row);
    const connections = [...new Set(rows.map(({ reading }) => reading.conn_id))].sort();
    const from = rows.reduce((least, { reading }) => Math.min(least, reading.received_at), latest);
    for (let i = 0; i < connections.length; i += SPANS_PER_STATEMENT) {
      const asked = connections.slice(i, i + SPANS_PER_STATEMENT);
      const found = await reader.spans(asked, { task, from: from - COUNTS_WITHIN, to: latest });
      for (const [conn, ended] of found) spans.set(`${task}|${conn}`, ended);
    }
  }
  return (listing, reading, at) => {
    const { venue, venueSymbol } = listing;
    const task = findTask(listing);
    const held = findSpan(live.venue(venue)?.partitions ?? NO_PARTITIONS, venueSymbol, reading);
    return findLossOf(spans.get(`${task}|${reading.conn_id}`) ?? [], held, {
      receivedAt: reading.received_at,
      at,
      isWhole: at + SEALS_AFTER <= (visible.get(task) ?? 0),
    });
  };
};
