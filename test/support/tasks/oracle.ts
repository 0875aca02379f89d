// A slow and independent reading of a raw log: the expected history, computed for each question by scanning every record.
// It shares nothing with the product but the serialiser; arithmetic is decimal.js, rules follow the text of the decisions.
import { Decimal } from 'decimal.js';
import { type JsonValue, makeFigure, writeJson } from '../../../schemas/json.ts';
import { bookReadings, depthFigures, PAPER_BANDS, type PaperBook, type Standing, topFigures } from './oracle-books.ts';

/** Microseconds. */
type Micros = number;
const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const COUNTS_WITHIN = 100 * SECOND;
const SEALS_AFTER = COUNTS_WITHIN + 1_000;
const OUT_AFTER = 3 * SECOND;

/** A record of the raw topic as the oracle needs it. */
export type OracleRecord = {
  readonly recordedAt: Micros;
  readonly receivedAt: Micros;
  readonly kind: string;
  readonly slot: string;
  readonly connId: string;
  readonly seq: number;
  readonly body: unknown;
};

/** A frame of the paper venue. */
export type PaperFrame = {
  readonly l: string;
  readonly s: string;
  readonly t: number | null;
  readonly v: Readonly<Record<string, string | number | null>>;
};
type PaperRule = {
  readonly kind: 'linear' | 'inverse';
  readonly unit: 'base' | 'contracts';
  readonly multiplier: string;
  readonly size: string;
};
export type PaperListing = PaperRule & { readonly symbol: string; readonly base: string };
/** Listing answer of the paper venue: what is absent was delisted. */
export type PaperReference = { readonly listings: readonly PaperListing[] };

export const PAPER_LAYERS = ['book', 'funding', 'mark', 'oi', 'stats', 'ticker', 'venue_depth'] as const;
type PaperLayer = (typeof PAPER_LAYERS)[number];
type Horizon = { readonly ms: number | null; readonly source: string };
export const PAPER_HORIZONS: Readonly<Record<PaperLayer, Horizon>> = {
  book: { ms: null, source: 'connection' },
  venue_depth: { ms: null, source: 'connection' },
  mark: { ms: 2_000, source: 'documented' },
  ticker: { ms: null, source: 'connection' },
  funding: { ms: 60_000, source: 'assumed' },
  oi: { ms: 50_000, source: 'assumed' },
  stats: { ms: null, source: 'connection' },
};
const WINDOWS: Readonly<Record<PaperLayer, Micros>> = {
  book: 10 * SECOND,
  venue_depth: 10 * SECOND,
  mark: 10 * SECOND,
  ticker: 10 * SECOND,
  oi: 10 * SECOND,
  funding: MINUTE,
  stats: MINUTE,
};
const BOUNDS_MS: Readonly<Record<PaperLayer, number>> = {
  book: 30_000,
  venue_depth: 30_000,
  mark: 30_000,
  ticker: 30_000,
  funding: 300_000,
  oi: 30_000,
  stats: 120_000,
};
const DEPTH_MEMBERS: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['mid', 'quote'],
    ...PAPER_BANDS.flatMap((band) =>
      ['bid', 'ask'].flatMap((side) => [
        [`depth_${side}_${band}`, 'quantity'],
        [`depth_${side}_value_${band}`, 'quote'],
        [`levels_${side}_${band}`, 'count'],
      ]),
    ),
  ].sort(([a = ''], [b = '']) => (a < b ? -1 : 1)) as [string, string][],
);
const MEMBERS: Readonly<Record<PaperLayer, Readonly<Record<string, string>>>> = {
  book: { ask: 'quote', ask_size: 'quantity', bid: 'quote', bid_size: 'quantity', mid: 'quote', spread: 'fraction' },
  venue_depth: DEPTH_MEMBERS,
  mark: { basis: 'fraction', index: 'quote', mark: 'quote' },
  ticker: { last: 'quote' },
  funding: { funding: 'fraction', funding_8h: 'fraction', funding_interval: 'ms' },
  oi: { oi: 'quantity' },
  stats: { change_24h: 'fraction', turnover_24h: 'quote', volume_24h: 'quantity' },
};

const Exact = Decimal.clone({ precision: 400, rounding: Decimal.ROUND_HALF_EVEN });
const Divided = Decimal.clone({ precision: 18, rounding: Decimal.ROUND_HALF_EVEN });
const times = (...factors: readonly string[]): string =>
  factors.reduce((product, factor) => product.times(factor), new Exact(1)).toFixed();
const over = (dividend: string, divisor: string): string => Divided.div(dividend, divisor).toFixed();

const instant = (at: Micros): string => {
  const second = new Date(Math.floor(at / SECOND) * 1_000).toISOString().slice(0, 19);
  const micros = String(at % SECOND).padStart(6, '0');
  return `${second}.${micros.endsWith('000') ? micros.slice(0, 3) : micros}Z`;
};
const ceilTo = (at: Micros, length: Micros): Micros => Math.ceil(at / length) * length;
const floorTo = (at: Micros, length: Micros): Micros => Math.floor(at / length) * length;

type Version = {
  /** Index of its record. */
  readonly place: number;
  readonly writtenAt: Micros;
  readonly delistedAt: Micros | null;
  readonly listing: PaperListing;
};
type Span = {
  readonly connId: string;
  readonly from: Micros;
  readonly fromKnown: number;
  to: Micros | null;
  toKnown: number;
  cause: string;
  recordedAt: Micros;
};
type Received = {
  readonly place: number;
  readonly recordedAt: Micros;
  readonly receivedAt: Micros;
  readonly connId: string;
  readonly frame: PaperFrame;
};
/** `[from, to)`. */
type Stretch = { readonly from: Micros; readonly to: Micros };
/** `newest`: the newest receipt of the connection by then; null once it is lost. */
type Naming = Pick<Received, 'place' | 'recordedAt'> & { readonly newest: Micros | null };
type Untimely = Stretch & Pick<Received, 'place' | 'connId'>;
/** A book message that is a reading. */
type ReceivedBook = Received & { readonly book: PaperBook; readonly standing: Standing };
type Reading = Received & { readonly standing?: Standing } & { readonly late: boolean; readonly end: Micros };

export type Question = {
  readonly layers: readonly PaperLayer[];
  readonly symbols: readonly string[];
  readonly units: 'published' | 'base' | 'quote';
  readonly numberFormat: 'json' | 'string';
  readonly allowStale: boolean;
  readonly includeGaps: boolean;
  /** Milliseconds; null: the defaults. */
  readonly freshnessMs: number | null;
} & (
  | { readonly mode: 'interval'; readonly length: Micros; readonly from: Micros; readonly to: Micros }
  | { readonly mode: 'raw'; readonly from: Micros; readonly to: Micros }
  | { readonly mode: 'at'; readonly instants: readonly Micros[] }
);
export type CandleQuestion = {
  readonly symbols: readonly string[];
  readonly timeframe: string;
  readonly minutes: number;
  readonly from: Micros;
  readonly to: Micros;
  readonly includeGaps: boolean;
};
export type EventsQuestion = { readonly symbols: readonly string[]; readonly from: Micros; readonly to: Micros };

/** The expected answers about a log, as of its last record. */
export class Oracle {
  readonly #records: readonly OracleRecord[];
  readonly #venue: string;
  readonly #received: Received[] = [];
  readonly #spans: Span[] = [];
  readonly #covers = new Map<string, readonly string[]>();
  readonly #unreadable: { readonly connId: string; readonly receivedAt: Micros; readonly place: number }[] = [];
  /** Stretches of receipt of a connection of which nothing was recorded in time to count, with the record that shows it (D-705). */
  readonly #untimely: Untimely[] = [];
  /** Records that name a connection, by its name. */
  readonly #named = new Map<string, Naming[]>();
  readonly #versions = new Map<string, Version[]>();
  // Answers to many questions ask the same of one log.
  readonly #books = new Map<string, ReceivedBook[]>();
  readonly #storedRows = new Map<string, ReadonlyMap<Micros, Reading>>();
  readonly #passed = new Map<Micros, number>();

  constructor(venue: string, records: readonly OracleRecord[]) {
    this.#venue = venue;
    this.#records = records;
    this.#scan();
  }

  #scan(): void {
    const named = new Map<string, Micros>();
    const closed = new Set<string>();
    const seqs = new Map<string, number>();
    const alive = (connId: string): Span | undefined => this.#spans.find((s) => s.connId === connId && s.to === null);
    const end = (span: Span, to: Micros, place: number, cause: string): void => {
      Object.assign(span, { to, toKnown: place, cause, recordedAt: this.#records[Math.ceil(place)]?.recordedAt ?? 0 });
    };
    const name = (connId: string, from: Micros, place: number): void => {
      named.set(connId, this.#records[place]?.recordedAt ?? 0);
      if (closed.has(connId) || alive(connId) !== undefined) return;
      this.#spans.push({ connId, from, fromKnown: place, to: null, toKnown: 0, cause: '', recordedAt: 0 });
    };
    for (const [place, record] of this.#records.entries()) {
      const { recordedAt, receivedAt, kind, connId, body } = record;
      for (const one of this.#listNamed(record)) {
        const known = this.#named.get(one) ?? [];
        this.#named.set(one, known);
        const before = known.length === 0 ? 0 : (known.at(-1)?.newest ?? null);
        const newest = kind === 'lost' || before === null ? null : Math.max(before, receivedAt);
        known.push({ place, recordedAt, newest });
      }
      for (const span of this.#spans) {
        const last = named.get(span.connId) ?? 0;
        // A dead collector's connections end by the rule on the log, before the record that shows it (F-02).
        if (span.to === null && recordedAt > last + OUT_AFTER)
          end(span, last + OUT_AFTER, place - 0.5, 'collector_down');
      }
      if (kind === 'tick') {
        for (const one of (body as { connections: { conn_id: string; opened_at: Micros }[] }).connections) {
          name(one.conn_id, named.has(one.conn_id) ? receivedAt : one.opened_at, place);
        }
      } else if (kind === 'open') {
        const { opened_at, covers } = body as { opened_at: Micros; covers: { layers: string[] }[] };
        this.#covers.set(
          connId,
          covers.flatMap(({ layers }) => layers),
        );
        name(connId, opened_at, place);
      } else if (kind === 'lost') {
        name(connId, receivedAt, place);
        const { lost_at, cause } = body as { lost_at: Micros; cause: string };
        const span = alive(connId);
        if (span !== undefined) end(span, Math.max(lost_at, span.from), place, cause);
        closed.add(connId);
      } else if (record.slot === 'reference') this.#list(body as PaperReference, record, place);
      else if (kind === 'frame' || kind === 'response') {
        name(connId, receivedAt, place);
        if (record.seq <= (seqs.get(connId) ?? 0)) continue;
        seqs.set(connId, record.seq);
        const countsFrom = recordedAt - COUNTS_WITHIN;
        if (receivedAt < countsFrom) this.#untimely.push({ connId, place, from: receivedAt, to: countsFrom });
        if ((body as PaperFrame).l === 'bad') this.#unreadable.push({ connId, receivedAt, place });
        else this.#received.push({ place, recordedAt, receivedAt, connId, frame: body as PaperFrame });
      }
    }
  }

  #listNamed({ kind, slot, connId, body }: OracleRecord): readonly string[] {
    if (kind === 'tick') return (body as { connections: { conn_id: string }[] }).connections.map((one) => one.conn_id);
    return kind === 'capability' || slot === 'reference' ? [] : [connId];
  }

  #list({ listings }: PaperReference, { recordedAt, receivedAt }: OracleRecord, place: number): void {
    for (const listing of listings) {
      const held = this.#versions.get(listing.symbol) ?? [];
      this.#versions.set(listing.symbol, held);
      if (JSON.stringify(held.at(-1)?.listing) === JSON.stringify(listing)) continue;
      held.push({ place, writtenAt: recordedAt, delistedAt: null, listing });
    }
    for (const [symbol, held] of this.#versions) {
      const last = held.at(-1);
      if (last === undefined || last.delistedAt !== null || listings.some((one) => one.symbol === symbol)) continue;
      held.push({ ...last, place, writtenAt: recordedAt, delistedAt: receivedAt });
    }
  }

  get #now(): Micros {
    return this.#records.at(-1)?.recordedAt ?? 0;
  }

  /** Index of the record that seals what ended at `end`; infinite while nothing does (N-11). */
  #sealedBy(end: Micros): number {
    return this.#passedBy(end + SEALS_AFTER);
  }

  /** Index of the first record beyond an instant. */
  #passedBy(at: Micros): number {
    const held = this.#passed.get(at);
    if (held !== undefined) return held;
    const place = this.#records.findIndex(({ recordedAt }) => recordedAt - 1_000 >= at);
    const passed = place < 0 ? Number.POSITIVE_INFINITY : place;
    this.#passed.set(at, passed);
    return passed;
  }

  #version(symbol: string, at: Micros): Version {
    const versions = this.#versions.get(symbol) ?? [];
    return versions.findLast(({ writtenAt }) => writtenAt <= at) ?? (versions[0] as Version);
  }

  /** As a task knew it at a record: of versions and frames recorded at one instant, those before it. */
  #versionBefore(symbol: string, place: number): Version {
    const versions = this.#versions.get(symbol) ?? [];
    return versions.findLast((version) => version.place < place) ?? (versions[0] as Version);
  }

  /** Listings of the answer with their version, by the order of items (N-09). */
  #selected(symbols: readonly string[], from: Micros, to: Micros): Version[] {
    const first = Math.min(...[...this.#versions.values()].map((versions) => versions[0]?.writtenAt ?? 0));
    return [...symbols]
      .sort()
      .flatMap((symbol) => {
        const known = (this.#versions.get(symbol) ?? []).findLast((v) => v.writtenAt <= Math.max(to, first + MINUTE));
        return known ?? [];
      })
      .filter(({ delistedAt }) => delistedAt === null || delistedAt > from);
  }

  #firstSeen(symbol: string): Micros {
    return this.#versions.get(symbol)?.[0]?.writtenAt ?? 0;
  }

  #bookReadings(symbol: string): ReceivedBook[] {
    const held = this.#books.get(symbol);
    if (held !== undefined) return held;
    const messages = this.#received.filter(({ frame }) => frame.l === 'book' && frame.s === symbol);
    const read = bookReadings(
      messages.map((received) => ({ ...received, book: received.frame.v as unknown as PaperBook })),
    );
    this.#books.set(symbol, read);
    return read;
  }

  #readings(symbol: string, layer: PaperLayer): Reading[] {
    const isBook = layer === 'book' || layer === 'venue_depth';
    const all: readonly (Received & { standing?: Standing })[] = isBook
      ? this.#bookReadings(symbol)
      : this.#received.filter(({ frame }) => frame.l === layer && frame.s === symbol);
    return (
      all
        .map((received) => {
          const end = ceilTo(received.receivedAt, WINDOWS[layer]);
          return { ...received, end, late: received.recordedAt > end + COUNTS_WITHIN };
        })
        // A window is not visible before its end (N-11).
        .filter(({ late, end }) => late || end < this.#now)
    );
  }

  /** Of each window the last reading that counts, by end (H-06). */
  #stored(symbol: string, layer: PaperLayer): ReadonlyMap<Micros, Reading> {
    const key = `${symbol} ${layer}`;
    const held = this.#storedRows.get(key) ?? this.#readRows(symbol, layer);
    this.#storedRows.set(key, held);
    return held;
  }

  #readRows(symbol: string, layer: PaperLayer): ReadonlyMap<Micros, Reading> {
    const rows = new Map<Micros, Reading>();
    for (const reading of this.#readings(symbol, layer)) {
      const held = rows.get(reading.end);
      if (reading.late || (held !== undefined && held.receivedAt > reading.receivedAt)) continue;
      rows.set(reading.end, reading);
    }
    return new Map([...rows].sort(([a], [b]) => a - b));
  }

  #serves(connId: string, layer: string): boolean {
    return this.#covers.get(connId)?.includes(layer === 'venue_depth' ? 'book' : layer) ?? false;
  }

  /** Why nothing came in a window, as it was known at its seal (L-08, design section 5). */
  #cause(
    symbol: string,
    layer: string,
    { from, at }: { from: Micros; at: Micros },
    sealing = this.#sealedBy(at),
  ): string {
    if (sealing === Number.POSITIVE_INFINITY) return 'unknown';
    return this.#endBefore(symbol, sealing) <= at
      ? 'not_listed'
      : this.#missedCause(symbol, layer, { from, at, sealing });
  }

  /** When the listing ended, as known before a record; infinite while it had not. */
  #endBefore(symbol: string, place: number): Micros {
    const delisted = (this.#versions.get(symbol) ?? []).find(
      ({ delistedAt, writtenAt }) => delistedAt !== null && writtenAt <= (this.#records[place - 1]?.recordedAt ?? 0),
    );
    return delisted?.delistedAt ?? Number.POSITIVE_INFINITY;
  }

  /** As `#cause`, of a listing that had not ended. */
  #missedCause(
    symbol: string,
    layer: string,
    { from, at, sealing }: { from: Micros; at: Micros; sealing: number },
  ): string {
    const bucket = 10 * SECOND;
    const isCollected = this.#records.some(
      ({ slot, receivedAt, recordedAt }, place) =>
        place < sealing &&
        slot !== 'owner' &&
        ceilTo(receivedAt, bucket) > from &&
        ceilTo(receivedAt, bucket) <= at &&
        recordedAt <= ceilTo(receivedAt, bucket) + COUNTS_WITHIN,
    );
    if (!isCollected) return 'collector_down';
    const spans = this.#spans
      .filter(({ connId, fromKnown }) => this.#serves(connId, layer) && fromKnown < sealing)
      .map((span) => (span.toKnown < sealing ? span : { ...span, to: null }))
      .sort((a, b) => a.from - b.from);
    let reached = from;
    for (const span of spans)
      if (span.from <= reached) reached = Math.max(reached, span.to ?? Number.POSITIVE_INFINITY);
    if (reached <= at) {
      const losses = spans.filter(({ to }) => to !== null && to <= at);
      const last = losses.reduce<Span | null>((held, s) => ((s.to ?? 0) >= (held?.to ?? 0) ? s : held), null);
      if (last !== null) return last.cause;
    }
    if (layer === 'book' || layer === 'venue_depth') {
      const isInTime = ({ recordedAt, receivedAt }: Received): boolean =>
        recordedAt <= ceilTo(receivedAt, bucket) + COUNTS_WITHIN;
      const last = this.#bookReadings(symbol).findLast(
        (one) => one.place < sealing && one.receivedAt <= at && isInTime(one),
      );
      // A book that broke is broken until it is whole again.
      if (last !== undefined && last.standing.broken !== null) return last.standing.broken;
    }
    const isUnreadable = this.#unreadable.some(
      ({ connId, receivedAt }) => this.#serves(connId, layer) && receivedAt > from && receivedAt <= at,
    );
    return isUnreadable ? 'parse_error' : 'no_update';
  }

  /** When the connection that brought a reading was lost, as far as that counts at `at` (F-01, N-11): the end of the newest span that began by its receipt. */
  #lostAt({ connId, receivedAt }: Reading, at: Micros): Micros | null {
    const own = this.#spans.findLast((span) => span.connId === connId && span.from <= receivedAt);
    if (own === undefined || own.to === null) return null;
    // After a silence another span may have begun; a lost connection is closed for good.
    if (own.cause === 'collector_down' && own.to < receivedAt) return null;
    return own.cause === 'collector_down' || own.recordedAt <= at + COUNTS_WITHIN ? own.to : null;
  }

  #status(reading: Reading, layer: PaperLayer, at: Micros, boundMs: number) {
    const { ms, source } = PAPER_HORIZONS[layer];
    const venueTs = reading.frame.t === null ? null : reading.frame.t * 1_000;
    const lost = source === 'connection' ? this.#lostAt(reading, at) : null;
    const counted = venueTs === null ? reading.receivedAt : Math.min(venueTs, reading.receivedAt);
    const validUntil =
      source === 'connection' ? (lost !== null && lost <= at ? lost : null) : counted + (ms ?? 0) * 1_000;
    const ageMs = Math.floor((at - reading.receivedAt) / 1_000);
    let reason: string | undefined;
    if (reading.standing?.broken) reason = 'gap';
    else if (source === 'connection' && validUntil !== null) reason = 'connection_lost';
    else if (validUntil !== null && validUntil < at) reason = 'horizon_passed';
    else if (ageMs > boundMs) reason = 'freshness_bound';
    return {
      reason,
      venueTs,
      validUntil,
      ageMs,
      venueAgeMs: venueTs === null ? null : Math.floor((at - venueTs) / 1_000),
    };
  }

  #newest(symbol: string, layer: PaperLayer, at: Micros): Reading | null {
    return [...this.#stored(symbol, layer).values()].findLast(({ end }) => end <= at) ?? null;
  }

  #mark(symbol: string, at: Micros, boundMs: number): Reading | null {
    const reading = this.#newest(symbol, 'mark', at);
    return reading !== null && this.#status(reading, 'mark', at, boundMs).reason === undefined ? reading : null;
  }

  /** Digits by member; null where there are none (L-02). */
  #figures(layer: PaperLayer, { frame, standing, place }: Reading): Record<string, string | null> {
    const { v, s } = frame;
    if (standing?.broken === null) {
      const figures =
        layer === 'book' ? topFigures(standing) : depthFigures(standing, this.#versionBefore(s, place).listing);
      return Object.fromEntries(Object.keys(MEMBERS[layer]).map((name) => [name, figures[name] ?? null]));
    }
    const text = (name: string): string | null => (v[name] === null || v[name] === undefined ? null : String(v[name]));
    if (layer === 'mark') {
      const [mark, index] = [text('mark') ?? '', text('index') ?? ''];
      return { basis: over(new Exact(mark).minus(index).toFixed(), index), index, mark };
    }
    if (layer === 'funding') {
      const funding = text('funding') ?? '';
      return { funding, funding_8h: over(times(funding, '28800000'), '14400000'), funding_interval: '14400000' };
    }
    return Object.fromEntries(Object.keys(MEMBERS[layer]).map((name) => [name, text(name)]));
  }

  #values(layer: PaperLayer, reading: Reading, at: Micros, question: Question) {
    const { listing } = this.#version(reading.frame.s, reading.recordedAt);
    const { units } = question;
    const isConverted = units !== 'published' && Object.values(MEMBERS[layer]).includes('quantity');
    const isInverse = listing.kind === 'inverse';
    const needsMark = isConverted && (units === 'base') === isInverse;
    const mark = needsMark ? this.#mark(listing.symbol, at, question.freshnessMs ?? BOUNDS_MS.mark) : null;
    const price = mark === null ? null : String(mark.frame.v.mark);
    const values: Record<string, JsonValue> = {};
    const reasons: Record<string, string> = {};
    for (const [name, digits] of Object.entries(this.#figures(layer, reading))) {
      let shown = digits;
      if (digits === null) reasons[name] = 'no_value';
      else if (isConverted && MEMBERS[layer][name] === 'quantity') {
        shown = converted(digits, listing, units, price);
        if (shown === null) reasons[name] = 'unit_unknown';
      }
      const isCount = MEMBERS[layer][name] === 'count';
      values[name] = shown === null ? null : isCount ? Number(shown) : makeFigure(shown);
    }
    const conversion = isConverted
      ? {
          multiplier: makeFigure(listing.multiplier),
          contract_size: makeFigure(listing.size),
          mark: price === null ? undefined : makeFigure(price),
          mark_received_at: mark === null ? undefined : instant(mark.receivedAt),
        }
      : undefined;
    return { values, conversion, null_reasons: Object.keys(reasons).length === 0 ? undefined : reasons };
  }

  #row(
    layer: PaperLayer,
    at: Micros,
    reading: Reading | null,
    question: Question,
    over: Record<string, JsonValue> = {},
  ) {
    const none = { venue_ts: null, received_at: null, age_ms: null, venue_age_ms: null, valid_until: null };
    if (reading === null) {
      if (!question.includeGaps) return null;
      return { at: instant(at), status: 'missing', ...over, ...none, horizon_source: null, anchor: null, values: {} };
    }
    const boundMs = question.freshnessMs ?? BOUNDS_MS[layer];
    const { reason, venueTs, validUntil, ageMs, venueAgeMs } = this.#status(reading, layer, at, boundMs);
    const isPresent = reason === undefined;
    const broken = reading.standing?.broken ?? null;
    if (broken !== null && !question.includeGaps) return null;
    const { values, conversion, null_reasons } =
      broken === null ? this.#values(layer, reading, at, question) : { values: {}, null_reasons: undefined };
    const isShown = broken === null && (isPresent || question.allowStale);
    const next = reading.frame.v.next_funding_at;
    return {
      at: instant(at),
      status: isPresent ? 'present' : broken === null ? 'stale' : 'missing',
      reason,
      gap_cause: broken ?? undefined,
      venue_ts: venueTs === null ? null : instant(venueTs),
      received_at: instant(reading.receivedAt),
      age_ms: ageMs,
      venue_age_ms: venueAgeMs,
      valid_until: validUntil === null ? null : instant(validUntil),
      horizon_source: PAPER_HORIZONS[layer].source,
      anchor: venueTs === null ? 'receipt' : 'venue',
      values: isPresent ? values : {},
      instants: isShown && typeof next === 'number' ? { next_funding_at: instant(next) } : undefined,
      conversion: isShown ? conversion : undefined,
      withheld: isShown && !isPresent ? { values, null_reasons } : undefined,
      null_reasons: isPresent ? null_reasons : undefined,
      late: reading.late ? true : undefined,
    };
  }

  #rows(version: Version, layer: PaperLayer, question: Question): JsonValue[] {
    const { symbol } = version.listing;
    const keptFrom = this.#firstSeen(symbol);
    const delisted = version.delistedAt ?? Number.POSITIVE_INFINITY;
    const stored = this.#stored(symbol, layer);
    const length = WINDOWS[layer];
    const toRow = (at: Micros, reading: Reading | null, cause: () => string): JsonValue => {
      if (at < keptFrom) return this.#row(layer, at, null, question, { reason: 'not_retained' });
      if (at >= delisted && (reading === null || question.mode === 'at')) {
        return this.#row(layer, at, null, question, { reason: 'gap', gap_cause: 'not_listed' });
      }
      if (reading !== null) return this.#row(layer, at, reading, question);
      const over = question.mode === 'at' ? { reason: 'no_value' } : { reason: 'gap', gap_cause: cause() };
      return this.#row(layer, at, null, question, over);
    };
    const window = (end: Micros) => () => this.#cause(symbol, layer, { from: end - length, at: end });
    if (question.mode === 'at')
      return question.instants.map((at) => toRow(at, this.#newest(symbol, layer, at), () => ''));
    if (question.mode === 'interval') {
      const rows: JsonValue[] = [];
      const from = ceilTo(question.from, question.length);
      for (let at = from + question.length; at <= question.to; at += question.length) {
        const last = [...stored.values()].findLast(({ end }) => end <= at && end > at - question.length) ?? null;
        rows.push(toRow(at, last, window(floorTo(at, length))));
      }
      return rows;
    }
    const all: { at: Micros; rank: number; row: JsonValue }[] = [];
    for (const reading of this.#readings(symbol, layer)) {
      const at = reading.receivedAt;
      const isStored = reading.late || stored.get(reading.end)?.place === reading.place;
      if (!isStored || at < question.from || at >= question.to) continue;
      all.push({ at, rank: reading.late ? 1 : 0, row: toRow(at, reading, () => '') });
    }
    for (let end = ceilTo(question.from, length); end < question.to; end += length) {
      if (!stored.has(end)) all.push({ at: end, rank: 2, row: toRow(end, null, window(end)) });
    }
    return all.sort((a, b) => a.at - b.at || a.rank - b.rank).map(({ row }) => row);
  }

  /** The bytes of `items` of a history answer. */
  history(question: Question): string {
    const [from, to] =
      question.mode === 'at'
        ? [question.instants[0] ?? 0, question.instants.at(-1) ?? 0]
        : question.mode === 'interval'
          ? movedIn(question)
          : [question.from, question.to];
    const items = this.#selected(question.symbols, from, to).map((version): JsonValue => {
      const { listing } = version;
      const unit = question.units === 'published' ? listing.unit : question.units;
      const layers = [...question.layers].sort().map((layer) => {
        const units = Object.entries(MEMBERS[layer]).map(([name, of]) => [name, of === 'quantity' ? unit : of]);
        const rows = this.#rows(version, layer, question).filter((row) => row !== null);
        const body = {
          units: Object.fromEntries(units) as JsonValue,
          retention_from: instant(this.#firstSeen(listing.symbol)),
          rows,
          history_cadence: WINDOWS[layer] === MINUTE ? '1m' : '10s',
        };
        return [layer, body] as const;
      });
      return { ...this.#name(listing), layers: Object.fromEntries(layers) };
    });
    return writeJson(items, { numberFormat: question.numberFormat });
  }

  #name({ symbol, base }: PaperListing) {
    return { venue: this.#venue, venue_symbol: symbol, instrument: `${base}-PERP`, quote: 'USDT' };
  }

  /** Candle records of a listing that count, and those that prove minutes empty. */
  #candles(symbol: string): Received[] {
    return this.#received.filter(({ frame }) => frame.l === 'candle' && frame.s === symbol);
  }

  #spanOf({ connId, place }: Received): Span | undefined {
    return this.#spans.findLast((span) => span.connId === connId && span.fromKnown <= place);
  }

  #minute(symbol: string, open: Micros): { record: Received | null; cause: string | null } {
    const candles = this.#candles(symbol);
    const sealing = this.#sealedBy(open + MINUTE);
    const known = candles.filter(({ place }) => place < sealing);
    const readOpen = ({ frame }: Received): Micros => Number(frame.v.open);
    const record = known.findLast((one) => readOpen(one) === open) ?? null;
    if (record !== null) return { record, cause: null };
    const isProved = known.some((after) => {
      if (readOpen(after) <= open) return false;
      // What could not be read may have been this minute.
      const isUnread = this.#unreadable.some(
        ({ connId, receivedAt, place }) => connId === after.connId && receivedAt > open && place < after.place,
      );
      if (isUnread) return false;
      const before = known.findLast((one) => one.place < after.place && this.#spanOf(one) === this.#spanOf(after));
      return before !== undefined && readOpen(before) < open;
    });
    if (isProved) return { record: null, cause: null };
    const at = open + MINUTE;
    if (sealing === Number.POSITIVE_INFINITY) return { record: null, cause: 'unknown' };
    // The instant of its end is no part of a minute, and that a listing ended later does not explain it.
    if (this.#endBefore(symbol, sealing) < at) return { record: null, cause: 'not_listed' };
    const cause = this.#missedCause(symbol, 'candles', { from: open, at, sealing });
    if (cause !== 'no_update') return { record: null, cause };
    // A minute is published after its end: a loss while it could still be published explains it too.
    const after = { from: at, at: at + COUNTS_WITHIN, sealing };
    return { record: null, cause: this.#missedCause(symbol, 'candles', after) };
  }

  #candleRow({ listing, delistedAt }: Version, open: Micros, question: CandleQuestion): JsonValue {
    const length = question.minutes * MINUTE;
    const { symbol } = listing;
    const keptFrom = this.#firstSeen(symbol);
    const head = { open_time: instant(open), close_time: instant(open + length) };
    const none = { received_at: null, open: null, high: null, low: null, close: null, volume: null };
    const missing = (counted: JsonValue, over: Record<string, JsonValue>): JsonValue =>
      question.includeGaps ? { ...head, status: 'missing', ...over, ...none, base_candles: counted } : null;
    const expected = question.minutes;
    const lifeEnd = delistedAt === null ? Number.POSITIVE_INFINITY : ceilTo(delistedAt, MINUTE);
    const opens = Array.from({ length: expected }, (_, i) => open + i * MINUTE);
    const within = opens.filter((at) => at >= floorTo(keptFrom, MINUTE) && at + MINUTE <= lifeEnd);
    const minutes = within.map((at) => this.#minute(symbol, at));
    const records = minutes.flatMap(({ record }) => (record === null ? [] : [record]));
    const noTrades = minutes.filter(({ record, cause }) => record === null && cause === null).length;
    // Of a period that holds the first sight of the listing, minutes that were published before it are counted (H-16c).
    const before = opens.filter((at) => !within.includes(at) && this.#minute(symbol, at).record !== null);
    const counted = { expected, present: records.length + before.length, no_trades: noTrades };
    if (open + length <= keptFrom) return missing({ ...counted, present: 0, no_trades: 0 }, { reason: 'not_retained' });
    const isSealed = this.#sealedBy(open + length) !== Number.POSITIVE_INFINITY;
    const isWhole = records.length + noTrades === expected;
    if (!isWhole) {
      const gapCause = minutes.find(({ cause }) => cause !== null)?.cause ?? 'not_listed';
      const cause = open + length > lifeEnd ? 'not_listed' : isSealed ? gapCause : 'unknown';
      // Before its seal a period counts the minutes that are known so far.
      return missing(counted, { reason: 'gap', gap_cause: cause });
    }
    const figures = (name: string): string[] => records.map(({ frame }) => String(frame.v[name]));
    const sum = (name: string): string =>
      figures(name).reduce((so, digits) => new Exact(so).plus(digits).toFixed(), '0');
    const last = records.at(-1);
    const price = (digits: string | undefined): JsonValue => (digits === undefined ? null : makeFigure(digits));
    const prices = {
      open: price(figures('o')[0]),
      high: price(records.length === 0 ? undefined : Exact.max(...figures('h')).toFixed()),
      low: price(records.length === 0 ? undefined : Exact.min(...figures('lo')).toFixed()),
      close: price(figures('c').at(-1)),
    };
    const reasons = { close: 'no_value', high: 'no_value', low: 'no_value', open: 'no_value' };
    return {
      ...head,
      status: 'present',
      received_at: last === undefined ? null : instant(last.receivedAt),
      ...prices,
      volume: makeFigure(sum('q')),
      turnover: last === undefined ? undefined : makeFigure(sum('m')),
      trades: last === undefined ? undefined : records.reduce((n, { frame }) => n + Number(frame.v.n), 0),
      base_candles: counted,
      null_reasons: last === undefined ? reasons : undefined,
    };
  }

  /** The bytes of `items` of a candle answer of price type `trade`. */
  candles(question: CandleQuestion): string {
    const length = question.minutes * MINUTE;
    const [from, to] = movedIn({ ...question, length });
    const items = this.#selected(question.symbols, from, to).map((version) => {
      const rows: JsonValue[] = [];
      for (let at = from; at < to; at += length) rows.push(this.#candleRow(version, at, question));
      const shown = rows.filter((row) => row !== null) as Record<string, JsonValue>[];
      const units: Record<string, string> = { close: 'quote', high: 'quote', low: 'quote', open: 'quote' };
      if (shown.some((row) => row.trades !== undefined)) units.trades = 'count';
      if (shown.some((row) => row.turnover !== undefined)) units.turnover = 'quote';
      units.volume = version.listing.unit;
      const kept = instant(this.#firstSeen(version.listing.symbol));
      return { ...this.#name(version.listing), units, retention_from: kept, rows: shown };
    });
    return writeJson(items as JsonValue);
  }

  #events(symbol: string): Received[] {
    const seen = new Map<string, Micros>();
    return this.#received.filter(({ frame, recordedAt }) => {
      if (frame.l !== 'liquidation' || frame.s !== symbol) return false;
      const before = seen.get(String(frame.v.id));
      if (before !== undefined && before >= recordedAt - 600 * SECOND) return false;
      seen.set(String(frame.v.id), recordedAt);
      return true;
    });
  }

  /**
   * What of a connection was recorded too late to count, as far as known before a record. The newest record of one that is behind shows that what it
   * received since comes after it.
   */
  #lateOf(connId: string, known: number): readonly Stretch[] {
    const late = this.#untimely.filter((one) => one.connId === connId && one.place < known);
    const last = this.#named.get(connId)?.findLast(({ place }) => place < known);
    const from = (last?.newest ?? Number.POSITIVE_INFINITY) + 1;
    const to = (this.#records[known]?.recordedAt ?? this.#now) - COUNTS_WITHIN;
    return last !== undefined && last.recordedAt - from >= OUT_AFTER && from < to ? [...late, { from, to }] : late;
  }

  /** Parts of a connection's life in which what it brought was recorded in time. */
  #timely({ connId, from, to }: Stretch & { readonly connId: string }, known: number): Stretch[] {
    const parts: Stretch[] = [];
    let start = from;
    for (const one of this.#lateOf(connId, known).toSorted((a, b) => a.from - b.from)) {
      if (one.from > start) parts.push({ from: start, to: Math.min(one.from, to) });
      start = Math.max(start, one.to);
    }
    return [...parts, { from: start, to }].filter((part) => part.from < part.to);
  }

  /** Stretches without a connection that was in time: as known at the seal of their window, before it as known when the newest window ended (H-16k). */
  #eventGaps({ listing, delistedAt }: Version, from: Micros, to: Micros): JsonValue[] {
    const { symbol } = listing;
    const gaps: { from: Micros; to: Micros; cause: string }[] = [];
    const put = (gap: { from: Micros; to: Micros; cause: string }): void => {
      const last = gaps.at(-1);
      if (last !== undefined && last.to === gap.from && last.cause === gap.cause) last.to = gap.to;
      else gaps.push(gap);
    };
    const [kept, end] = [this.#firstSeen(symbol), delistedAt ?? Number.POSITIVE_INFINITY];
    const newest = floorTo(this.#now - 1_000, 10 * SECOND);
    for (let at = ceilTo(kept, 10 * SECOND); at < to + 10 * SECOND && at <= newest; at += 10 * SECOND) {
      const isSealed = this.#sealedBy(at) !== Number.POSITIVE_INFINITY;
      const known = isSealed ? this.#sealedBy(at) : this.#passedBy(newest);
      const seen = this.#cause(symbol, 'liquidation', { from: at - 10 * SECOND, at }, known);
      const cause = isSealed ? seen : 'unknown';
      const spans = this.#spans
        .filter(({ connId, fromKnown }) => this.#serves(connId, 'liquidation') && fromKnown < known)
        .map((span) => ({ ...span, to: (span.toKnown < known ? span.to : null) ?? Number.POSITIVE_INFINITY }))
        .flatMap((span) => this.#timely(span, known))
        .sort((a, b) => a.from - b.from);
      const isUntimely = (part: Stretch): boolean =>
        [...this.#covers.keys()].some(
          (connId) =>
            this.#serves(connId, 'liquidation') &&
            this.#lateOf(connId, known).some(({ from, to }) => from < part.to && to > part.from),
        );
      let reached = at - 10 * SECOND;
      if (seen === 'parse_error') put({ from: reached, to: at, cause });
      else {
        for (const span of [...spans, { from: at, to: at }]) {
          if (span.from > reached && reached < at) {
            const part = { from: reached, to: Math.min(span.from, at) };
            const unexplained = isUntimely(part) ? 'collector_down' : 'unknown';
            put({ ...part, cause: cause === 'no_update' ? unexplained : cause });
          }
          reached = Math.max(reached, span.to);
        }
      }
    }
    const outside = [
      ...(from < kept ? [{ from, to: Math.min(to, kept), cause: 'not_retained' }] : []),
      ...(end < to ? [{ from: Math.max(from, end, kept), to, cause: 'not_listed' }] : []),
    ];
    return [
      ...gaps
        .map((gap) => ({ ...gap, from: Math.max(gap.from, from, kept), to: Math.min(gap.to, to, end) }))
        .filter((gap) => gap.from < gap.to),
      ...outside,
    ]
      .sort((a, b) => a.from - b.from || a.to - b.to)
      .map((gap) => ({ from: instant(gap.from), to: instant(gap.to), gap_cause: gap.cause }));
  }

  /** The bytes of `items` of a liquidations answer that is one page. */
  liquidations({ symbols, from, to }: EventsQuestion): string {
    const items = this.#selected(symbols, from, to).map((version): JsonValue => {
      const { listing } = version;
      const rows = this.#events(listing.symbol)
        .filter(({ receivedAt, recordedAt }) => recordedAt <= receivedAt + COUNTS_WITHIN)
        .filter(({ receivedAt }) => receivedAt >= Math.max(from, this.#firstSeen(listing.symbol)) && receivedAt < to)
        .sort((a, b) => a.receivedAt - b.receivedAt || (String(a.frame.v.id) < String(b.frame.v.id) ? -1 : 1))
        .map(({ frame, receivedAt, recordedAt }) => {
          const rule = this.#version(listing.symbol, recordedAt).listing;
          const [price, quantity] = [String(frame.v.price), String(frame.v.quantity)];
          return {
            venue_ts: frame.t === null ? null : instant(frame.t * 1_000),
            received_at: instant(receivedAt),
            side: String(frame.v.side),
            price: makeFigure(price),
            price_kind: 'bankruptcy',
            quantity: makeFigure(quantity),
            value: makeFigure(converted(quantity, rule, 'quote', price) ?? ''),
            id: String(frame.v.id),
          };
        });
      return {
        ...this.#name(listing),
        completeness: 'full',
        retention_from: instant(this.#firstSeen(listing.symbol)),
        units: { price: 'quote', quantity: listing.unit, value: 'quote' },
        rows,
        gaps: this.#eventGaps(version, from, to),
      };
    });
    return writeJson(items);
  }

  /** Whether everything about instants up to `at` is final by the log alone. */
  isFinal(at: Micros): boolean {
    return this.#now >= at + SEALS_AFTER;
  }
}

/** Bounds are moved in to boundaries; what is left may be nothing (H-04). */
const movedIn = ({ from, to, length }: { from: Micros; to: Micros; length: Micros }): [Micros, Micros] => {
  const begins = ceilTo(from, length);
  return [begins, Math.max(begins, floorTo(to, length))];
};

/** N-07 and H-16e; null: a mark is needed and there is none. */
const converted = (digits: string, rule: PaperRule, units: string, price: string | null): string | null => {
  if (rule.kind === 'inverse') {
    if (units === 'quote') return times(digits, rule.size);
    return price === null ? null : over(times(digits, rule.size, rule.multiplier), price);
  }
  const listed = rule.unit === 'contracts' ? times(digits, rule.size) : digits;
  if (units === 'base') return times(listed, rule.multiplier);
  return price === null ? null : times(listed, price);
};
