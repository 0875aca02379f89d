// Faults on request: which frames are dropped, truncated, duplicated, held or late, for which listings and how long, and the log of each.
import type { FundingHours } from './listings.ts';

export const FAULT_KINDS = [
  'disconnect',
  'sequence_hole',
  'drop',
  'duplicate',
  'reorder',
  'silence',
  'malformed',
  'slow',
  'crossed_book',
  'rate_limit',
  'rest_down',
  'clock_skew',
  'restart',
  'listing_added',
  'listing_delisted',
  'listing_renamed',
  'funding_interval_changed',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type FaultRequest = {
  readonly kind: FaultKind;
  readonly venue: string;
  /** Venue symbols; absent: every listing. */
  readonly symbols?: readonly string[];
  /** A layer (`book`, `mark`, …), the venue's kind of stream (`depth`, `markPrice`, …) or one stream's whole name; absent: every stream. */
  readonly stream?: string;
  /** Duration in milliseconds. For `disconnect` and `restart`: how long new connections are refused. */
  readonly durationMs?: number;
  /** Frames per listing (for `disconnect`: connections); default 1. */
  readonly count?: number;
  /** `slow` only. */
  readonly delayMs?: number;
  /** `funding_interval_changed` only. */
  readonly hours?: FundingHours;
  /** For `rate_limit` (default: the venue's own) and `rest_down` (default: 503). */
  readonly status?: number;
  /** `clock_skew` only: added to every stamp of the venue, negative when its clock is behind. */
  readonly skewMs?: number;
  /** `restart` only: sockets stay open, and the new sequence begins on them. */
  readonly keepSockets?: boolean;
  /** In a plan: milliseconds after the simulator's start. */
  readonly afterMs?: number;
};

export type FaultEntry = {
  readonly id: number;
  readonly kind: FaultKind;
  readonly venue: string;
  /** Microseconds by the venue's clock; `to` is null while it lasts. */
  readonly from: number;
  to: number | null;
  readonly symbols: readonly string[];
  readonly streams: readonly string[];
  /** Layers of those streams. */
  readonly layers: readonly string[];
  readonly connections: readonly number[];
  /** Further settings of the request: only those that its kind reads. */
  readonly settings: FaultSettings;
  /** Frames it affected, in order: stream and instant (at most 1,000 are kept, all are counted). */
  readonly hits: { readonly stream: string; readonly at: number }[];
  hit_count: number;
};

type FaultSettings = Pick<FaultRequest, 'count' | 'delayMs' | 'hours' | 'status' | 'skewMs' | 'keepSockets'>;

/** One stream of frames: `symbol` is its listing, null when it carries several; `kind` is the venue's name for this type of stream. */
export type StreamRef = {
  readonly scope: string;
  readonly kind: string;
  readonly name: string;
  readonly symbol: string | null;
  readonly layers: readonly string[];
};
type FrameAction = 'send' | 'drop' | 'duplicate' | 'reorder' | 'malformed' | { readonly delayMs: number };

export type Faults = {
  /** Starts a fault that acts on frames or on time; the log records `affects`. */
  readonly start: (request: FaultRequest, affects: Affects, nowMs: number) => FaultEntry;
  readonly actionOn: (ref: StreamRef, nowMs: number) => FrameAction;
  /** Whether a `silence` hides this listing inside a frame of several listings. */
  readonly silences: (ref: StreamRef, nowMs: number) => boolean;
  readonly isActive: (kind: FaultKind, nowMs: number, symbol?: string) => boolean;
  /** The response to every request now, and until when; null when no fault affects REST. */
  readonly refusal: (nowMs: number) => Refusal | null;
  /** Offset of the venue's clock. */
  readonly skewMs: (nowMs: number) => number;
  /** Ends faults whose duration is over. */
  readonly expire: (nowMs: number) => void;
};
type Refusal = {
  readonly kind: 'rate_limit' | 'rest_down';
  readonly status: number | null;
  readonly untilMs: number;
};
type Affects = {
  readonly symbols: readonly string[];
  readonly streams: readonly StreamRef[];
  readonly connections?: readonly number[];
};

/** Faults that affect a number of frames; others last a time, or are instantaneous. */
const COUNTED: ReadonlySet<FaultKind> = new Set(['sequence_hole', 'drop', 'duplicate', 'reorder', 'malformed']);
const ON_FRAMES: Partial<Record<FaultKind, 'drop' | 'duplicate' | 'reorder' | 'malformed' | 'slow'>> = {
  sequence_hole: 'drop',
  drop: 'drop',
  silence: 'drop',
  duplicate: 'duplicate',
  reorder: 'reorder',
  malformed: 'malformed',
  slow: 'slow',
};
const TIMED_DEFAULT_MS: Partial<Record<FaultKind, number>> = {
  silence: 10_000,
  slow: 10_000,
  crossed_book: 5_000,
  rate_limit: 10_000,
  rest_down: 10_000,
  clock_skew: 10_000,
};
/** The setting that each kind reads. */
const SETTINGS: Partial<Record<FaultKind, keyof FaultSettings>> = {
  disconnect: 'count',
  slow: 'delayMs',
  rate_limit: 'status',
  rest_down: 'status',
  clock_skew: 'skewMs',
  restart: 'keepSockets',
  funding_interval_changed: 'hours',
};
const KEPT_HITS = 1_000;
const LONGEST_DELAY_MS = 60_000;

type Active = {
  readonly entry: FaultEntry;
  readonly request: FaultRequest;
  readonly untilMs: number;
  readonly left: Map<string, number> | null;
};

/** Faults of books, whatever stream their request names. */
const ON_BOOKS: ReadonlySet<FaultKind> = new Set(['sequence_hole', 'crossed_book']);

/** Whether a request selects this stream, regardless of listings. */
export function isAbout(request: FaultRequest, { kind, name, layers }: StreamRef): boolean {
  const stream = ON_BOOKS.has(request.kind) ? 'book' : request.stream;
  return stream === undefined || stream === kind || stream === name || layers.includes(stream);
}

function isMatching({ request, left }: Active, ref: StreamRef): boolean {
  if (!isAbout(request, ref)) return false;
  if (request.symbols !== undefined && (ref.symbol === null || !request.symbols.includes(ref.symbol))) return false;
  return left === null || (left.get(ref.symbol ?? ref.name) ?? request.count ?? 1) > 0;
}

const pickSettings = (request: FaultRequest): FaultSettings => {
  const name = COUNTED.has(request.kind) ? 'count' : SETTINGS[request.kind];
  return name === undefined || request[name] === undefined ? {} : { [name]: request[name] };
};

const sortNames = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

type Started = { readonly request: FaultRequest; readonly affects: Affects; readonly nowMs: number };
const openEntry = (id: number, { request, affects, nowMs }: Started): FaultEntry => ({
  id,
  kind: request.kind,
  venue: request.venue,
  from: nowMs * 1_000,
  to: null,
  symbols: affects.symbols,
  streams: sortNames(affects.streams.map(({ name }) => name)),
  layers: sortNames(affects.streams.flatMap(({ layers }) => layers)),
  connections: affects.connections ?? [],
  settings: pickSettings(request),
  hits: [],
  hit_count: 0,
});

/** Milliseconds: infinite for a fault that lasts until its frames are counted, 0 for an instantaneous one. */
const findDuration = ({ kind, durationMs }: FaultRequest): number =>
  durationMs ?? TIMED_DEFAULT_MS[kind] ?? (COUNTED.has(kind) ? Number.POSITIVE_INFINITY : 0);

/** Faults of one venue; all venues share `log`. */
export const createFaults = (log: FaultEntry[], onChange: (entry: FaultEntry) => void): Faults =>
  new VenueFaults(log, onChange);

class VenueFaults implements Faults {
  readonly #log: FaultEntry[];
  readonly #onChange: (entry: FaultEntry) => void;
  #active: Active[] = [];

  constructor(log: FaultEntry[], onChange: (entry: FaultEntry) => void) {
    this.#log = log;
    this.#onChange = onChange;
  }

  start(request: FaultRequest, affects: Affects, nowMs: number): FaultEntry {
    const entry = openEntry(this.#log.length + 1, { request, affects, nowMs });
    this.#log.push(entry);
    const lastsMs = findDuration(request);
    const left = COUNTED.has(request.kind) ? new Map<string, number>() : null;
    if (lastsMs > 0) this.#active.push({ entry, request, untilMs: nowMs + lastsMs, left });
    else entry.to = entry.from;
    this.#onChange(entry);
    return entry;
  }

  actionOn(ref: StreamRef, nowMs: number): FrameAction {
    if (this.#active.length === 0) return 'send';
    const fault = this.#active.find(
      (active) => ON_FRAMES[active.request.kind] !== undefined && nowMs < active.untilMs && isMatching(active, ref),
    );
    if (fault === undefined) return 'send';
    const action = ON_FRAMES[fault.request.kind];
    this.#hit(fault, ref, nowMs);
    return action === undefined ? 'send' : action === 'slow' ? { delayMs: fault.request.delayMs ?? 1_000 } : action;
  }

  silences(ref: StreamRef, nowMs: number): boolean {
    return this.#active.some(
      (fault) => fault.request.kind === 'silence' && nowMs < fault.untilMs && isMatching(fault, ref),
    );
  }

  isActive(kind: FaultKind, nowMs: number, symbol?: string): boolean {
    return this.#active.some(
      ({ request, untilMs }) =>
        request.kind === kind &&
        nowMs < untilMs &&
        (symbol === undefined || request.symbols === undefined || request.symbols.includes(symbol)),
    );
  }

  refusal(nowMs: number): Refusal | null {
    for (const { request, untilMs } of this.#active) {
      const { kind } = request;
      if ((kind === 'rate_limit' || kind === 'rest_down') && nowMs < untilMs)
        return { kind, status: request.status ?? null, untilMs };
    }
    return null;
  }

  skewMs(nowMs: number): number {
    return this.#active.reduce((sum, { request, untilMs }) => sum + (nowMs < untilMs ? (request.skewMs ?? 0) : 0), 0);
  }

  expire(nowMs: number): void {
    for (const fault of this.#active) if (nowMs >= fault.untilMs) this.#end(fault, nowMs);
  }

  #hit(fault: Active, ref: StreamRef, nowMs: number): void {
    const { entry, left, request } = fault;
    entry.hit_count += 1;
    if (entry.hits.length < KEPT_HITS) entry.hits.push({ stream: ref.name, at: nowMs * 1_000 });
    if (left === null) return;
    const subject = ref.symbol ?? ref.name;
    left.set(subject, (left.get(subject) ?? request.count ?? 1) - 1);
    const wanted = request.symbols ?? [subject];
    if (wanted.every((symbol) => left.get(symbol) === 0)) this.#end(fault, nowMs);
  }

  #end(fault: Active, nowMs: number): void {
    fault.entry.to = nowMs * 1_000;
    this.#active = this.#active.filter((other) => other !== fault);
    this.#onChange(fault.entry);
  }
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

const NUMBERS = ['durationMs', 'count', 'delayMs', 'hours', 'status', 'afterMs'] as const;

/** Reads a fault from JSON; throws a `TypeError` that names the error. The default venue is the first one. */
export function parseFault(value: unknown, venues: readonly string[]): FaultRequest {
  if (typeof value !== 'object' || value === null) throw new TypeError('found no object, send {"kind": …}');
  const given = value as Readonly<Record<string, unknown>>;
  const kind = FAULT_KINDS.find((known) => known === given.kind);
  if (kind === undefined)
    throw new TypeError(`found kind ${JSON.stringify(given.kind)}, use one of ${FAULT_KINDS.join(', ')}`);
  const venue = venues.find((known) => known === (given.venue ?? venues[0]));
  if (venue === undefined)
    throw new TypeError(`found venue ${JSON.stringify(given.venue)}, simulated are ${venues.join(', ')}`);
  if (given.symbols !== undefined && !isStrings(given.symbols))
    throw new TypeError('symbols is a list of venue symbols');
  for (const name of NUMBERS) {
    const number = given[name];
    if (number !== undefined && !(typeof number === 'number' && number >= 0))
      throw new TypeError(`${name} is a number, 0 or more`);
  }
  if (kind === 'clock_skew' && !(typeof given.skewMs === 'number' && Number.isInteger(given.skewMs)))
    throw new TypeError('clock_skew needs skewMs, a whole number of milliseconds, negative for a clock behind');
  if (Number(given.delayMs ?? 0) > LONGEST_DELAY_MS)
    throw new TypeError(`delayMs is at most ${LONGEST_DELAY_MS}: held frames wait in memory`);
  if (given.stream !== undefined && typeof given.stream !== 'string') throw new TypeError('stream is text');
  return { ...given, kind, venue } as FaultRequest;
}
