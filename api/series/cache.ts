// The series cache: columns by listing, member and timeframe, filled on demand from the store and then extended by `live`, so that a
// live screen reads no database once warm. Bounded by bytes; the columns that were not requested for longest are removed first, but none that a caller
// waits with.
import { MICROS_PER_DAY } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { RETENTION_DAYS } from '../../schemas/tables.ts';
import type { LiveEntry } from '../../schemas/topics.ts';
import { refuseHole } from '../history/past.ts';
import type { HistoryReader } from '../history/store.ts';
import type { Selected } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { Column } from './column.ts';
import {
  type ColumnSpec,
  findLength,
  isQuantitySpec,
  toGroupId,
  toPeriod,
  toSpecId,
  toWindowPeriod,
} from './column-spec.ts';
import {
  canBeElement,
  type Filling,
  fillFromMemory,
  fillFromStore,
  putRow,
  type Reach,
  type Target,
  toSpan,
} from './load.ts';

/** A requested column and the number of its newest elements. */
export type Need = { readonly spec: ColumnSpec; readonly bars: number };

/** Where evaluation gets its columns from; undefined: was not loaded. */
export type Columns = { readonly columnOf: (listing: Selected['listing'], spec: ColumnSpec) => Column | undefined };

/** Periods loaded beyond the requested ones: the newest may not be usable yet, and time moves on. */
const MARGIN = 64;
const MOST_BYTES = 256 * 1_048_576;

type Named = Pick<Selected['listing'], 'venue' | 'venueSymbol'>;
const toKey = ({ venue, venueSymbol }: Named, id: string): string => `${venue}|${venueSymbol}|${id}`;
const toTargetKey = ({ venue, symbol, spec }: Target): string => toKey({ venue, venueSymbol: symbol }, toSpecId(spec));

/** The first period anything can be stored of, by the listing's life and the floor of retention. */
const findFirstStored = ({ version }: Selected, spec: ColumnSpec, now: Micros): number => {
  const isCandles = spec.kind === 'candles';
  const kept = RETENTION_DAYS[isCandles ? 'candles' : 'readings'] * MICROS_PER_DAY;
  const from = Math.max(version.first_seen_at, now - kept - MICROS_PER_DAY);
  // A minute begins with its open time, a sampling window ends with its end (H-06).
  return isCandles ? toPeriod(from, findLength(spec)) + 1 : toWindowPeriod(from, findLength(spec));
};

type Missing = { readonly listing: Selected; readonly spec: ColumnSpec; readonly first: number };
type Loading = { readonly first: number; readonly target: Target; readonly done: Promise<void> };
/** Loads that a caller waits for: those that it began, and those of other callers. */
type Waits = { readonly own: ReadonlySet<Promise<void>>; readonly others: ReadonlySet<Promise<void>> };
/** What a caller asks for. `begin` gives a reader. */
type Ask = { readonly at: Micros; readonly begin: () => HistoryReader };
/** Columns are held once `done` resolves, and stay until `release`; it rejects as the store does with the caller's own statements. */
export type Awaiting = { readonly done: Promise<void>; readonly release: () => void };
type Load = {
  readonly reader: HistoryReader;
  readonly live: LiveMemory;
  readonly last: (spec: ColumnSpec) => number;
  /** For one answer about the past: memory holds rows of later periods too. */
  readonly isOfPast: boolean;
};

const groupMissing = (missing: readonly Missing[]): Missing[][] => [
  ...Map.groupBy(missing, ({ spec }) => toGroupId(spec)).values(),
];

/** Columns for what is missing, holding what memory has; `done` when the store has been read too. */
const beginLoad = (missing: readonly Missing[], { reader, live, last, isOfPast }: Load): Filling[] => {
  const groups = groupMissing(missing).flatMap((group) => {
    const [head] = group;
    if (head === undefined) return [];
    const first = group.reduce((least, one) => Math.min(least, one.first), head.first);
    return [{ group, spec: head.spec, reach: { first, last: last(head.spec) } satisfies Reach }];
  });
  for (const { group, spec, reach } of groups) {
    const listings = group.map(({ listing }) => listing);
    refuseHole(toSpan(spec, reach), listings, live);
  }
  return groups.flatMap(({ group, spec, reach }) => {
    const targets = group.map(({ listing: { listing }, spec, first }): Target => {
      const target = {
        venue: listing.venue,
        symbol: listing.venueSymbol,
        spec,
        column: new Column(first, reach.last, {
          isSampled: spec.kind === 'layer',
          isQuantity: isQuantitySpec(spec),
          isOfPast,
          keepsLastRow: spec.kind === 'candles',
        }),
      };
      fillFromMemory(live, target);
      return target;
    });
    return fillFromStore(reader, { spec, targets, reach });
  });
};

/** Reads columns that end at `at`, for one answer about the past. */
export const readColumns = async (
  listings: readonly Selected[],
  needs: readonly Need[],
  { reader, live, at, now }: { readonly reader: HistoryReader; readonly live: LiveMemory; at: Micros; now: Micros },
): Promise<Columns> => {
  const columns = new Map<string, Column>();
  const missing = listings.flatMap((listing) =>
    needs.map(({ spec, bars }): Missing => {
      const first = Math.max(toPeriod(at, findLength(spec)) - bars + 1, findFirstStored(listing, spec, now));
      return { listing, spec, first };
    }),
  );
  const last = (spec: ColumnSpec): number => toPeriod(at, findLength(spec));
  const fillings = beginLoad(missing, { reader, live, last, isOfPast: true });
  for (const target of fillings.flatMap(({ targets }) => targets)) columns.set(toTargetKey(target), target.column);
  await Promise.all(fillings.map(({ done }) => done));
  return { columnOf: (listing, spec) => columns.get(toKey(listing, toSpecId(spec))) };
};

/** Rejects with the caller's own loads; false: one of another caller has failed. */
const waitForAll = async ({ own, others }: Waits): Promise<boolean> => {
  let isWhole = true;
  const fail = (): void => {
    isWhole = false;
  };
  await Promise.all([...own, ...[...others].map((other) => other.catch(fail))]);
  return isWhole;
};

export class SeriesCache implements Columns {
  readonly #live: LiveMemory;
  readonly #mostBytes: number;
  /** In the order of their last use. */
  readonly #columns = new Map<string, Target>();
  readonly #loading = new Map<string, Loading>();
  /** Columns that rows of a listing may belong to, loaded or being loaded. */
  readonly #byListing = new Map<string, Set<Target>>();
  /** Of each held column when it was added: its digits come and go. */
  readonly #sizes = new Map<Target, number>();
  /** How many callers wait with each column. */
  readonly #kept = new Map<string, number>();
  #bytes = 0;

  constructor(live: LiveMemory, mostBytes = MOST_BYTES) {
    this.#live = live;
    this.#mostBytes = mostBytes;
    live.observe(({ venue, entry }) => {
      if (entry !== null) this.#apply(venue, entry);
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  columnOf(listing: Selected['listing'], spec: ColumnSpec): Column | undefined {
    return this.#columns.get(toKey(listing, toSpecId(spec)))?.column;
  }

  /** Null: everything requested is held, and may be read at once. */
  ensure(listings: readonly Selected[], needs: readonly Need[], ask: Ask): Awaiting | null {
    const waits = this.#begin(listings, needs, ask);
    if (waits === null) return null;
    const keys = listings.flatMap(({ listing }) => needs.map(({ spec }) => toKey(listing, toSpecId(spec))));
    this.#keep(keys);
    let isAwaited = true;
    const release = (): void => {
      if (isAwaited) this.#letGo(keys);
      isAwaited = false;
    };
    const wait = async (first: Waits): Promise<void> => {
      for (let next: Waits | null = first; next !== null; ) {
        const isWhole = await waitForAll(next);
        // What another caller began ended with that caller's time.
        next = isWhole || !isAwaited ? null : this.#begin(listings, needs, ask);
      }
      if (this.#sum(keys) > this.#mostBytes) release();
    };
    return { done: wait(waits), release };
  }

  /** Begins to load what is neither held nor being loaded; null when all is held. */
  #begin(listings: readonly Selected[], needs: readonly Need[], { at, begin }: Ask): Waits | null {
    const others = new Set<Promise<void>>();
    const missing: Missing[] = [];
    for (const { spec, bars } of needs) {
      const id = toSpecId(spec);
      const least = toPeriod(at, findLength(spec)) - bars + 1;
      for (const listing of listings) {
        const known = findFirstStored(listing, spec, at);
        const key = toKey(listing.listing, id);
        if (this.#holds(key, Math.max(least, known))) continue;
        const loading = this.#loading.get(key);
        if (loading !== undefined && loading.first <= Math.max(least, known)) others.add(loading.done);
        else missing.push({ listing, spec, first: Math.max(least - MARGIN, known) });
      }
    }
    const own = new Set(missing.length === 0 ? [] : this.#load(missing, at, begin()));
    return own.size + others.size === 0 ? null : { own, others };
  }

  /** Keeps columns that a caller waits for: what others load meanwhile does not remove them. */
  #keep(keys: readonly string[]): void {
    for (const key of keys) this.#kept.set(key, (this.#kept.get(key) ?? 0) + 1);
  }

  #letGo(keys: readonly string[]): void {
    for (const key of keys) {
      const left = (this.#kept.get(key) ?? 1) - 1;
      if (left > 0) this.#kept.set(key, left);
      else this.#kept.delete(key);
    }
    this.#evict();
  }

  #sum(keys: readonly string[]): number {
    return keys.reduce((sum, key) => {
      const held = this.#columns.get(key);
      return sum + (held === undefined ? 0 : (this.#sizes.get(held) ?? 0));
    }, 0);
  }

  #holds(key: string, first: number): boolean {
    const held = this.#columns.get(key);
    if (held === undefined || held.column.first > first) return false;
    this.#columns.delete(key);
    this.#columns.set(key, held);
    return true;
  }

  #load(missing: readonly Missing[], at: Micros, reader: HistoryReader): Promise<void>[] {
    // Up to now, even for a caller that has waited: of later periods memory has what the store does not show.
    const now = Math.max(at, this.#live.logTime);
    const last = (spec: ColumnSpec): number => toPeriod(now, findLength(spec)) + 1;
    return beginLoad(missing, { reader, live: this.#live, last, isOfPast: false }).map(({ targets, done: read }) => {
      const keys = targets.map(toTargetKey);
      const done = read.then(
        () => this.#finish(keys, targets),
        (error: unknown) => {
          this.#abandon(keys, targets);
          throw error;
        },
      );
      targets.forEach((target, i) => {
        this.#loading.set(keys[i] ?? '', { first: target.column.first, target, done });
        this.#follow(target);
      });
      return done;
    });
  }

  #finish(keys: readonly string[], targets: readonly Target[]): void {
    for (const [i, target] of targets.entries()) {
      const key = keys[i] ?? '';
      if (this.#loading.get(key)?.target === target) this.#loading.delete(key);
      const held = this.#columns.get(key);
      // Two loads of a column may end in either order: the one that reaches further back stays.
      if (held !== undefined && held.column.first <= target.column.first) {
        this.#unfollow(target);
        continue;
      }
      if (held !== undefined) this.#drop(key, held);
      this.#columns.set(key, target);
      const { bytes } = target.column;
      this.#sizes.set(target, bytes);
      this.#bytes += bytes;
    }
    this.#evict();
  }

  #evict(): void {
    for (const [key, oldest] of this.#columns) {
      if (this.#bytes <= this.#mostBytes) return;
      if (!this.#kept.has(key)) this.#drop(key, oldest);
    }
  }

  #abandon(keys: readonly string[], targets: readonly Target[]): void {
    targets.forEach((target, i) => {
      const key = keys[i] ?? '';
      if (this.#loading.get(key)?.target === target) this.#loading.delete(key);
      this.#unfollow(target);
    });
  }

  #drop(key: string, target: Target): void {
    this.#columns.delete(key);
    this.#bytes -= this.#sizes.get(target) ?? 0;
    this.#sizes.delete(target);
    this.#unfollow(target);
  }

  #follow(target: Target): void {
    const key = `${target.venue}|${target.symbol}`;
    const held = this.#byListing.get(key);
    if (held === undefined) this.#byListing.set(key, new Set([target]));
    else held.add(target);
  }

  #unfollow(target: Target): void {
    const key = `${target.venue}|${target.symbol}`;
    const held = this.#byListing.get(key);
    held?.delete(target);
    if (held?.size === 0) this.#byListing.delete(key);
  }

  #apply(venue: string, { kind, row, symbol, recorded_at: cameAt }: LiveEntry): void {
    if (row === null || symbol === null || (kind !== 'provisional' && kind !== 'sealed')) return;
    if (!canBeElement(row)) return;
    for (const target of this.#byListing.get(`${venue}|${symbol}`) ?? []) putRow(row, target, cameAt);
  }
}

const caches = new WeakMap<LiveMemory, SeriesCache>();

/** The one cache of a memory copy, made when it is first needed. */
export const openSeriesCache = (live: LiveMemory): SeriesCache => {
  const held = caches.get(live) ?? new SeriesCache(live);
  caches.set(live, held);
  return held;
};
