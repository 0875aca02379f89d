// Faults on request: which frames are lost, cut, doubled, held or late, for which listings and how long, and the log of each.

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
  'listing_added',
  'listing_delisted',
  'funding_interval_changed',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type FaultRequest = {
  readonly kind: FaultKind;
  readonly venue: 'binance';
  /** Venue symbols; absent: every listing. */
  readonly symbols?: readonly string[];
  /** Kind of stream (`depth`, `markPrice`, …) or one stream's whole name; absent: every stream. */
  readonly stream?: string;
  /** How long it lasts. For `disconnect`: how long new connections are refused. */
  readonly durationMs?: number;
  /** Frames a listing (or, for `disconnect`, connections); 1 unless told. */
  readonly count?: number;
  /** `slow` only. */
  readonly delayMs?: number;
  /** `funding_interval_changed` only. */
  readonly hours?: 1 | 4 | 8;
  /** In a plan: after the simulator's start. */
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
  readonly connections: readonly number[];
  /** Frames it touched, in order: stream and instant (at most 1,000 are kept, all are counted). */
  readonly hits: { readonly stream: string; readonly at: number }[];
  hit_count: number;
};

/** One stream of frames: `symbol` is the listing it is about, null when about many. */
export type StreamRef = { readonly kind: string; readonly name: string; readonly symbol: string | null };
export type FrameAction = 'send' | 'drop' | 'duplicate' | 'reorder' | 'malformed' | { readonly delayMs: number };

export type Faults = {
  /** Starts a fault that acts on frames or on time; `affects` is what the log says it touches. */
  readonly start: (request: FaultRequest, affects: Affects, nowMs: number) => FaultEntry;
  readonly actionOn: (ref: StreamRef, nowMs: number) => FrameAction;
  /** Whether a `silence` hides this listing inside a frame about many. */
  readonly silences: (ref: StreamRef, nowMs: number) => boolean;
  readonly isActive: (kind: FaultKind, nowMs: number, symbol?: string) => boolean;
  /** Ends what has run its time. */
  readonly expire: (nowMs: number) => void;
  readonly log: readonly FaultEntry[];
};
export type Affects = {
  readonly symbols: readonly string[];
  readonly streams: readonly string[];
  readonly connections?: readonly number[];
};

/** Faults that touch a number of frames; the others last a time, or happen at once. */
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
};
const KEPT_HITS = 1_000;
const LONGEST_DELAY_MS = 60_000;

type Active = {
  readonly entry: FaultEntry;
  readonly request: FaultRequest;
  readonly untilMs: number;
  readonly left: Map<string, number> | null;
};

function matches({ request, left }: Active, ref: StreamRef): boolean {
  const stream = request.kind === 'sequence_hole' ? 'depth' : request.stream;
  if (stream !== undefined && stream !== ref.kind && stream !== ref.name) return false;
  if (request.symbols !== undefined && (ref.symbol === null || !request.symbols.includes(ref.symbol))) return false;
  return left === null || (left.get(ref.symbol ?? ref.name) ?? request.count ?? 1) > 0;
}

export function createFaults(onChange: (entry: FaultEntry) => void): Faults {
  const log: FaultEntry[] = [];
  let active: Active[] = [];

  function end(fault: Active, nowMs: number): void {
    fault.entry.to = nowMs * 1_000;
    active = active.filter((other) => other !== fault);
    onChange(fault.entry);
  }

  function hit(fault: Active, ref: StreamRef, nowMs: number): void {
    const { entry, left, request } = fault;
    entry.hit_count += 1;
    if (entry.hits.length < KEPT_HITS) entry.hits.push({ stream: ref.name, at: nowMs * 1_000 });
    if (left === null) return;
    const subject = ref.symbol ?? ref.name;
    left.set(subject, (left.get(subject) ?? request.count ?? 1) - 1);
    const wanted = request.symbols ?? [subject];
    if (wanted.every((symbol) => left.get(symbol) === 0)) end(fault, nowMs);
  }

  return {
    log,
    start: (request, affects, nowMs) => {
      const entry: FaultEntry = {
        id: log.length + 1,
        kind: request.kind,
        venue: request.venue,
        from: nowMs * 1_000,
        to: null,
        symbols: affects.symbols,
        streams: affects.streams,
        connections: affects.connections ?? [],
        hits: [],
        hit_count: 0,
      };
      log.push(entry);
      const lastsMs =
        request.durationMs ??
        TIMED_DEFAULT_MS[request.kind] ??
        (COUNTED.has(request.kind) ? Number.POSITIVE_INFINITY : 0);
      const left = COUNTED.has(request.kind) ? new Map<string, number>() : null;
      const fault = { entry, request, untilMs: nowMs + lastsMs, left };
      if (lastsMs > 0) active.push(fault);
      else entry.to = entry.from;
      onChange(entry);
      return entry;
    },
    actionOn: (ref, nowMs) => {
      if (active.length === 0) return 'send';
      const fault = active.find((f) => ON_FRAMES[f.request.kind] !== undefined && nowMs < f.untilMs && matches(f, ref));
      if (fault === undefined) return 'send';
      const action = ON_FRAMES[fault.request.kind];
      hit(fault, ref, nowMs);
      return action === undefined ? 'send' : action === 'slow' ? { delayMs: fault.request.delayMs ?? 1_000 } : action;
    },
    silences: (ref, nowMs) => active.some((f) => f.request.kind === 'silence' && nowMs < f.untilMs && matches(f, ref)),
    isActive: (kind, nowMs, symbol) =>
      active.some(
        (f) =>
          f.request.kind === kind &&
          nowMs < f.untilMs &&
          (symbol === undefined || f.request.symbols === undefined || f.request.symbols.includes(symbol)),
      ),
    expire: (nowMs) => {
      for (const fault of active) if (nowMs >= fault.untilMs) end(fault, nowMs);
    },
  };
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Reads a fault from JSON; throws a `TypeError` that names what is wrong. */
export function parseFault(value: unknown): FaultRequest {
  if (typeof value !== 'object' || value === null) throw new TypeError('found no object, send {"kind": …}');
  const given = value as Readonly<Record<string, unknown>>;
  const kind = FAULT_KINDS.find((known) => known === given.kind);
  if (kind === undefined)
    throw new TypeError(`found kind ${JSON.stringify(given.kind)}, use one of ${FAULT_KINDS.join(', ')}`);
  if (given.venue !== undefined && given.venue !== 'binance') throw new TypeError('only venue "binance" is simulated');
  if (given.symbols !== undefined && !isStrings(given.symbols))
    throw new TypeError('symbols is a list of venue symbols');
  for (const name of ['durationMs', 'count', 'delayMs', 'hours', 'afterMs']) {
    const number = given[name];
    if (number !== undefined && !(typeof number === 'number' && number >= 0))
      throw new TypeError(`${name} is a number, 0 or more`);
  }
  if (Number(given.delayMs ?? 0) > LONGEST_DELAY_MS)
    throw new TypeError(`delayMs is at most ${LONGEST_DELAY_MS}: held frames wait in memory`);
  if (given.stream !== undefined && typeof given.stream !== 'string') throw new TypeError('stream is text');
  return { ...given, kind, venue: 'binance' } as FaultRequest;
}
