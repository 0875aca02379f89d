// Serialises a task's state to the texts of a checkpoint, one an item. The text of immutable objects is cached.
import type { MapState, OwnJson } from '../../ingest/venues/contract/mapping.ts';
import type { EventLayer, ReadingLayer } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ListingVersion, Reading } from '../../schemas/topics.ts';
import type { BookState, WaitingDiff } from './books.ts';
import { formatSeenIds, type PlainSeenIds, parseSeenIds } from './seen-ids.ts';
import { formatSide, parseSide } from './side-text.ts';
import {
  type Candidate,
  type Connection,
  createState,
  type EventState,
  type LayerState,
  type ListingState,
  type ListingView,
  type TaskState,
  type TaskView,
} from './state.ts';
import type { View } from './view.ts';

/** The JSON of `plain`, a non-empty object, with further members given as JSON text. */
const withMembers = (plain: object, texts: Readonly<Record<string, string>>): string => {
  const members = Object.entries(texts).map(([name, text]) => `,"${name}":${text}`);
  return `${JSON.stringify(plain).slice(0, -1)}${members.join('')}}`;
};

const hasOwnJson = (value: unknown): value is OwnJson =>
  typeof value === 'object' && value !== null && 'formatJson' in value;

/** The JSON of what a mapper keeps. */
export const formatMapper = (state: View<MapState>): string => {
  const members = Object.entries(state).map(([name, value]) => {
    const text = hasOwnJson(value) ? value.formatJson() : JSON.stringify(value);
    return text === undefined ? [] : `${JSON.stringify(name)}:${text}`;
  });
  return `{${members.flat().join()}}`;
};

/** Everything but listings and books: the item `core` of a checkpoint. */
export const formatCore = (state: TaskView): string => {
  const mappers = Array.from(state.mappers, ([connId, kept]) => `[${JSON.stringify(connId)},${formatMapper(kept)}]`);
  const plain = {
    ...state,
    connections: [...state.connections.values()],
    collectorAlive: [...state.collectorAlive],
    unknown: [...state.unknown],
    mappers: undefined,
    order: [...state.listings.keys()],
    listings: undefined,
    books: undefined,
  };
  return withMembers(plain, { mappers: `[${mappers.join()}]` });
};

type CorePlain = Omit<TaskState, 'connections' | 'listings' | 'books' | 'collectorAlive' | 'unknown' | 'mappers'> & {
  readonly connections: Connection[];
  readonly collectorAlive: Micros[];
  readonly unknown: string[];
  readonly mappers: [string, MapState][];
  readonly order: string[];
};

/** The state of an item `core`, and the order of its listings, which determines the order of outputs. */
export const parseCore = (text: string): { readonly state: TaskState; readonly order: readonly string[] } => {
  const { order, ...plain } = JSON.parse(text) as CorePlain;
  const state: TaskState = {
    ...createState(),
    ...plain,
    connections: new Map(plain.connections.map((c) => [c.conn_id, c])),
    collectorAlive: new Set(plain.collectorAlive),
    unknown: new Set(plain.unknown),
    mappers: new Map(plain.mappers),
    listings: new Map(),
    books: new Map(),
  };
  return { state, order };
};

/** Caches the text of an immutable object. */
const rememberText = <T extends object>(make: (of: T) => string): ((of: T) => string) => {
  const made = new WeakMap<T, string>();
  return (of) => {
    const known = made.get(of) ?? make(of);
    made.set(of, known);
    return known;
  };
};

const formatVersion = rememberText<View<ListingVersion>>(JSON.stringify);

/** A window's reading as a tuple: a layer has eleven of them, in each of two dozen rounds. */
type PlainCandidate = readonly [
  offset: number,
  rev: number,
  valid: boolean,
  gapCause: Reading['gap_cause'],
  venueTs: Micros | null,
  receivedAt: Micros,
  recordedAt: Micros,
  connId: string,
  horizonMs: number | null,
  horizonSource: string | null,
  anchor: Reading['anchor'],
  validUntil: Micros | null,
  values: Reading['values'],
  nullReasons: Reading['null_reasons'],
  instants: Reading['instants'],
  quantityUnit: string | null,
];

const formatCandidate = rememberText<View<Candidate>>(({ offset, reading: r }) => {
  const plain: PlainCandidate = [
    offset,
    r.rev,
    r.valid,
    r.gap_cause,
    r.venue_ts,
    r.received_at,
    r.recorded_at,
    r.conn_id,
    r.horizon_ms,
    r.horizon_source,
    r.anchor,
    r.valid_until,
    r.values,
    r.null_reasons,
    r.instants,
    r.quantity_unit,
  ];
  return JSON.stringify(plain);
});

const fromPlainCandidate = (layer: ReadingLayer, plain: PlainCandidate): Candidate => {
  const [offset, rev, valid, gap_cause, venue_ts, received_at, recorded_at, conn_id, ...rest] = plain;
  const [horizon_ms, horizon_source, anchor, valid_until, values, null_reasons, instants, quantity_unit] = rest;
  const stamps = { venue_ts, received_at, recorded_at, conn_id };
  const horizon = { horizon_ms, horizon_source, anchor, valid_until };
  const members = { values, null_reasons, instants, quantity_unit, book: null, raw: null };
  return { reading: { layer, rev, valid, gap_cause, ...stamps, ...horizon, ...members }, offset };
};

type PlainLayer = Omit<LayerState, 'windows'> & { readonly windows: [Micros, PlainCandidate][] };
type PlainEvents = Omit<EventState, 'seen'> & { readonly seen: PlainSeenIds };
type PlainListing = Omit<ListingState, 'layers' | 'events'> & {
  readonly layers: [ReadingLayer, PlainLayer][];
  readonly events: [EventLayer, PlainEvents][];
};

const formatEvents = ({ seen, ...events }: View<EventState>): string =>
  withMembers(events, { seen: formatSeenIds(seen) });

const fromPlainEvents = ({ seen, delivered, since }: PlainEvents): EventState => ({
  seen: parseSeenIds(seen),
  delivered,
  since,
});

const formatLayer = ({ windows, ...layer }: View<LayerState>): string => {
  const texts = Array.from(windows, ([end, candidate]) => `[${end},${formatCandidate(candidate)}]`);
  return withMembers(layer, { windows: `[${texts.join()}]` });
};

/** One listing without its books: the item `listing:<symbol>`. */
export const formatListing = ({ version, layers, events, ...listing }: ListingView): string => {
  const namedLayers = Array.from(layers, ([name, layer]) => `["${name}",${formatLayer(layer)}]`);
  const namedEvents = Array.from(events, ([name, of]) => `["${name}",${formatEvents(of)}]`);
  return withMembers(listing, {
    version: formatVersion(version),
    layers: `[${namedLayers.join()}]`,
    events: `[${namedEvents.join()}]`,
  });
};

const fromPlainLayer = (name: ReadingLayer, plain: PlainLayer): LayerState => ({
  ...plain,
  windows: new Map(plain.windows.map(([end, candidate]) => [end, fromPlainCandidate(name, candidate)])),
});

export const parseListing = (text: string): ListingState => {
  const plain = JSON.parse(text) as PlainListing;
  return {
    ...plain,
    layers: new Map(plain.layers.map(([name, layer]) => [name, fromPlainLayer(name, layer)])),
    events: new Map(plain.events.map(([name, of]) => [name, fromPlainEvents(of)])),
    // A state of an earlier version does not have the published figures of sealed minutes.
    candles: Object.fromEntries(
      Object.entries(plain.candles).map(([price, of]) => [price, { ...of, told: of.told ?? {} }]),
    ),
  };
};

type Side = BookState['levels']['bids'];
type SidePlain = { readonly full: boolean; readonly levels: string };
type WaitingPlain = readonly [first: string | null, last: string | null, previous: string | null, payload: unknown];
type BookPlain = Omit<BookState, 'levels' | 'sync'> & {
  readonly sync: Omit<BookState['sync'], 'waiting'> & { readonly waiting: readonly WaitingPlain[] };
  readonly levels: Omit<BookState['levels'], 'bids' | 'asks'> & { readonly bids: SidePlain; readonly asks: SidePlain };
};

/** Text that is JSON or needs no escapes is inserted directly: JSON.stringify would scan all of it again. */
const formatBookSide = ({ full, ...side }: View<Side>): string => `{"full":${full},"levels":"${formatSide(side)}"}`;
const fromPlainSide = ({ full, levels }: SidePlain): Side => ({ ...parseSide(levels), full });

const formatId = (id: string | null): string => (id === null ? 'null' : `"${id}"`);
const formatWaiting = ({ first, last, previous, payload }: WaitingDiff): string =>
  `[${formatId(first)},${formatId(last)},${formatId(previous)},${payload}]`;
const fromPlainWaiting = ([first, last, previous, payload]: WaitingPlain): WaitingDiff => ({
  first,
  last,
  previous,
  payload: JSON.stringify(payload),
});

export const formatBook = ({ sync, levels, ...book }: View<BookState>): string => {
  const { waiting, ...synced } = sync;
  const { bids, asks, ...rest } = levels;
  return withMembers(book, {
    sync: withMembers(synced, { waiting: `[${waiting.map(formatWaiting).join()}]` }),
    levels: withMembers(rest, { bids: formatBookSide(bids), asks: formatBookSide(asks) }),
  });
};

/** Throws SyntaxError for a text that encodes no book. */
export const parseBook = (text: string): BookState => {
  const plain = JSON.parse(text) as BookPlain;
  const { bids, asks, ...rest } = plain.levels;
  return {
    ...plain,
    // Checkpoints from before 2026-11-27 do not say when a book changed.
    sync: { ...plain.sync, changedAt: plain.sync.changedAt ?? null, waiting: plain.sync.waiting.map(fromPlainWaiting) },
    levels: { ...rest, bids: fromPlainSide(bids), asks: fromPlainSide(asks) },
  };
};
