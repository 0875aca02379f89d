// A market of candles and marks in memory and in a store whose statements are executed, answered and refused when they are told; callers of one cache of series.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HistoryReader } from '../../../api/history/store.ts';
import type { Selected } from '../../../api/live/listing-book.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { type Need, SeriesCache } from '../../../api/series/cache.ts';
import { type ColumnSpec, findLength, toPeriod, toWindowPeriod } from '../../../api/series/column-spec.ts';
import type { Cell, QuestdbQuery } from '../../../infra/runtime/questdb/reader.ts';
import { formatListingId, toColumnName } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { Feed, listing, listingValues, micros } from '../../support/apps/live-fixture.ts';
import { type Bar, candle, MINUTE, sampled, withCandles } from '../../support/screen/market.ts';

const START = micros('2026-01-15T12:00:00.000Z');
const SYMBOLS = ['BTCUSDT', 'ETHUSDT', 'SOLUSDT'] as const;
const WINDOW = 10_000_000;
/** Minutes in the store before the first one that memory sees. */
const STORED = 300;
const candles = (member: string): ColumnSpec => ({ kind: 'candles', priceType: 'trade', member, timeframe: '1m' });
export const SPECS: readonly ColumnSpec[] = [
  candles('close'),
  candles('volume'),
  candles('present'),
  { kind: 'layer', layer: 'mark', member: 'mark', timeframe: '1m' },
];
/** The cache has room for all columns of two listings, which is the most that a caller needs, and not for those of three. */
const MOST_LISTINGS = 2;
const MOST_BYTES = 66_000;

const toKey = ({ table, at, texts }: Row): string => `${table}|${texts['listing']}|${at}`;

/** A statement under way; `lines`: the store executed it and has not answered. */
type Statement = {
  readonly query: QuestdbQuery;
  readonly caller: Caller;
  lines: Cell[][] | null;
  readonly answer: PromiseWithResolvers<Cell[][]>;
};
export type Caller = {
  readonly needs: readonly Need[];
  readonly listings: readonly Selected[];
  isRefused: boolean;
  end: 'waits' | 'answered' | 'refused' | 'left';
  leave: () => void;
  faults: readonly string[];
};

export class World {
  readonly #random: () => number;
  readonly #feed = new Feed(['binance']);
  readonly #cache: SeriesCache;
  readonly #selected: readonly Selected[];
  /** The newest row of each candle and window, as the log has it. */
  readonly #log = new Map<string, Row>();
  /** What the store shows. */
  readonly #stored = new Map<string, Row>();
  #unstored: Row[] = [];
  readonly #statements: Statement[] = [];
  readonly callers: Caller[] = [];
  #now = START;
  #figures = 0;

  constructor(random: () => number) {
    this.#random = random;
    this.#feed.venue('binance', withCandles('binance'));
    for (const symbol of SYMBOLS) {
      const base = symbol.slice(0, 3);
      const values = listingValues({ instrument: `${base}-PERP`, venue_symbol: symbol, base });
      this.#feed.list({ ...listing('binance', values), first_seen_at: START - 400 * MINUTE });
    }
    this.#cache = new SeriesCache(this.#feed.memory, MOST_BYTES);
    this.#selected = findDirectory(this.#feed.memory).listings.map((one) => ({
      listing: one,
      version: one.versions[0] as never,
    }));
    for (let minute = STORED; minute > 0; minute--)
      for (const symbol of SYMBOLS) for (const row of this.#makeRows(symbol, START - minute * MINUTE)) this.#keep(row);
    this.#feed.watermark('binance', START);
    this.store();
  }

  choose<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T;
  }

  /** One of several bars; a figure comes once. */
  #makeBar(): Bar | 'empty' | null {
    this.#figures += 1;
    const long = this.#random() < 0.2 ? `${this.#figures}.00000000000000000001` : String(this.#figures);
    const draw = this.#random();
    if (draw < 0.1) return null;
    return draw < 0.2 ? 'empty' : { close: long, volume: long, unit: this.choose(['base', 'contracts']) };
  }

  #makeRows(symbol: string, open: number): Row[] {
    const of = { venue: 'binance', symbol, timeframe: '1m', length: MINUTE, open } as const;
    const rows = [candle(of, this.#makeBar())];
    for (let end = open + WINDOW; end <= open + MINUTE; end += WINDOW)
      if (this.#random() < 0.3) rows.push(this.#makeMark(symbol, end));
    return rows;
  }

  /** A reading of a window; each is received after the one before it. */
  #makeMark(symbol: string, end: number): Row {
    this.#figures += 1;
    const received = end - WINDOW + 1 + (this.#figures % (WINDOW - 1));
    return sampled({ venue: 'binance', symbol, layer: 'mark' }, received, { values: { mark: String(this.#figures) } });
  }

  #keep(row: Row): void {
    const held = this.#log.get(toKey(row));
    // Of two readings of a window the one received last counts.
    if (row.table === 'mark' && (held?.instants['received_at'] ?? 0) > (row.instants['received_at'] ?? 0)) return;
    this.#log.set(toKey(row), row);
  }

  #publish(kind: 'provisional' | 'sealed', row: Row): void {
    const symbol = (row.texts['listing'] ?? '').slice('binance:'.length);
    this.#feed.entry('binance', { kind, symbol, row, recorded_at: this.#now });
  }

  /** Time passes to the end of the minute, with its rows, and those of earlier ones that change or are sealed. */
  pass(): void {
    const open = this.#now;
    // A store that is behind for longer than memory keeps rows makes a hole, which is another test's.
    if (this.#unstored.length > 60) this.store();
    this.#now += MINUTE;
    for (const symbol of SYMBOLS)
      for (const row of this.#makeRows(symbol, open)) {
        if (row.table === 'candles' && this.#random() < 0.3) continue;
        this.#keep(row);
        this.#publish('provisional', row);
      }
    this.#seal(open - 2 * MINUTE);
    this.#feed.watermark('binance', this.#now);
  }

  /** Rows of the newest minute come again: a candle with other figures, a window with a later reading, or with its first. */
  correct(): void {
    if (this.#now <= START) return;
    const symbol = this.choose(SYMBOLS);
    const open = this.#now - MINUTE;
    const row = this.choose([...this.#makeRows(symbol, open), this.#makeMark(symbol, open + WINDOW)]);
    this.#keep(row);
    if (this.#log.get(toKey(row)) === row) this.#publish('provisional', row);
  }

  /** Every candle of the minute has a row now. */
  #seal(open: number): void {
    if (open < START) return;
    for (const symbol of SYMBOLS) {
      const gap = candle({ venue: 'binance', symbol, timeframe: '1m', length: MINUTE, open }, null);
      if (!this.#log.has(toKey(gap))) this.#keep(gap);
    }
    for (const row of this.#log.values()) {
      const end = row.instants['close_time'] ?? row.at;
      if (end <= open || end > open + MINUTE) continue;
      this.#unstored.push(row);
      this.#publish('sealed', row);
    }
  }

  /** The store shows what has been sealed. */
  store(): void {
    this.#store();
    this.#feed.memory.applyHistoryWatermark('binance', 0, this.#now - 2 * MINUTE + SEALS_AFTER);
  }

  #store(): void {
    const rows = this.#stored.size === 0 ? [...this.#log.values()] : this.#unstored;
    for (const row of rows) this.#stored.set(toKey(row), row);
    this.#unstored = [];
  }

  /** Somebody asks for series. */
  ask(): void {
    const specs = SPECS.filter(() => this.#random() < 0.4);
    const needs = (specs.length === 0 ? SPECS.slice(0, 1) : specs).map(
      (spec): Need => ({ spec, bars: this.choose([1, 5, 90, 200]) }),
    );
    const listings = this.#selected.filter(() => this.#random() < 0.6).slice(0, MOST_LISTINGS);
    const caller: Caller = { needs, listings, isRefused: false, end: 'waits', leave: () => undefined, faults: [] };
    this.callers.push(caller);
    const awaited = this.#cache.ensure(listings, needs, { at: this.#now, begin: () => this.#begin(caller) });
    if (awaited === null) return this.#check(caller);
    caller.leave = awaited.release;
    awaited.done
      .then(
        () => this.#check(caller),
        () => {
          if (caller.end === 'waits') caller.end = 'refused';
        },
      )
      .finally(awaited.release);
  }

  /** A caller goes at the end of its time; what it has begun goes on. */
  leave(): void {
    const caller = this.choose(this.callers.filter(({ end }) => end === 'waits'));
    if (caller === undefined) return;
    caller.end = 'left';
    caller.leave();
  }

  #begin(caller: Caller): HistoryReader {
    if (caller.end === 'left') caller.faults = ['it has left, and begins to read'];
    const query = (asked: QuestdbQuery): Promise<Cell[][]> => {
      const answer = Promise.withResolvers<Cell[][]>();
      this.#statements.push({ query: asked, caller, lines: null, answer });
      return answer.promise;
    };
    return new HistoryReader({ query, ping: async () => undefined, close: async () => undefined }, '');
  }

  /** Whether the cache keeps to its bytes, which it may pass while callers wait. */
  get isBounded(): boolean {
    return this.#cache.bytes <= MOST_BYTES || this.callers.some(({ end }) => end === 'waits');
  }

  get waiting(): number {
    return this.#statements.length;
  }

  /** The store executes a statement. */
  execute(): void {
    const statement = this.choose(this.#statements);
    if (statement !== undefined) statement.lines ??= this.#select(statement.query);
  }

  /** The answer of a statement arrives. */
  answer(): void {
    const [statement] = this.#statements.splice(Math.floor(this.#random() * this.#statements.length), 1);
    statement?.answer.resolve(statement.lines ?? this.#select(statement.query));
  }

  /** A statement is refused, as at the end of its caller's time. */
  refuse(): void {
    const [statement] = this.#statements.splice(Math.floor(this.#random() * this.#statements.length), 1);
    if (statement === undefined) return;
    statement.caller.isRefused = true;
    statement.answer.reject(new Error('too late'));
  }

  /** What follows of it is done. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  }

  #select({ text, values = [] }: QuestdbQuery): Cell[][] {
    const [from = '', to = ''] = values.map(String);
    const [after, until] = [micros(`${from.slice(0, 23)}Z`), micros(`${to.slice(0, 23)}Z`)];
    const members = [...(/null_reasons(.*) FROM/.exec(text)?.[1] ?? '').matchAll(/, (?:last\((\w+)\) )?(\w+)/g)].map(
      ([, , name]) => name as string,
    );
    const table = text.includes('price_type') ? 'candles' : 'mark';
    const asked = new Set(values.map(String));
    const lines = new Map<string, Cell[]>();
    for (const row of [...this.#stored.values()].sort((a, b) => a.at - b.at)) {
      const id = row.texts['listing'] ?? '';
      const isIn = table === 'candles' ? row.at >= after && row.at < until : row.at > after && row.at <= until;
      if (row.table !== table || !isIn || !asked.has(id)) continue;
      if (table === 'candles' && row.texts['status'] !== 'present') continue;
      const period = toWindowPeriod(row.instants['close_time'] ?? row.at, MINUTE);
      lines.set(`${id} ${period}`, toLine(row, period, members));
    }
    return [...lines.values()];
  }

  /** What is wrong with the columns of a caller that has been answered. */
  #check(caller: Caller): void {
    if (caller.end === 'left') return;
    caller.end = 'answered';
    caller.faults = caller.needs.flatMap(({ spec, bars }) =>
      caller.listings.flatMap(({ listing: one }) => {
        const column = this.#cache.columnOf(one, spec);
        const name = `${spec.member} of ${one.venueSymbol}`;
        if (column === undefined) return [`${name} is not held`];
        const last = toPeriod(this.#now, findLength(spec));
        const expected = this.#list(formatListingId(one.venue, one.venueSymbol), spec, { last, bars });
        const found = [...column.copy(last, bars)];
        return found.every((value, i) => Object.is(value, expected[i]))
          ? []
          : [`${name}: ${found} instead of ${expected}`];
      }),
    );
  }

  #list(id: string, spec: ColumnSpec, { last, bars }: { last: number; bars: number }): number[] {
    return Array.from({ length: bars }, (_, i) => {
      const end = (last - bars + 1 + i) * MINUTE;
      if (spec.kind === 'candles') return readValue(this.#log.get(`candles|${id}|${end - MINUTE}`), spec.member);
      for (let at = end; at > end - MINUTE; at -= WINDOW) {
        const row = this.#log.get(`mark|${id}|${at}`);
        if (row !== undefined) return readValue(row, spec.member);
      }
      return Number.NaN;
    });
  }
}

const readValue = (row: Row | undefined, member: string): number => {
  if (row?.texts['status'] !== 'present') return Number.NaN;
  return member === 'present' ? 1 : Number(row.figures[toColumnName(member)] ?? Number.NaN);
};

const toLine = ({ texts, instants, figures }: Row, period: number, members: readonly string[]): Cell[] => {
  const stamps = [instants['received_at'], instants['recorded_at']].map((at) => (at === undefined ? null : String(at)));
  const cells = members.map((name) => figures[name] ?? null);
  const head = [texts['listing'] ?? '', String(period), ...stamps, texts['status'] ?? null];
  return [...head, null, texts['quantity_unit'] ?? null, null, ...cells];
};
