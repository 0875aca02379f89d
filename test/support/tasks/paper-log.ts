// A raw log of an invented venue, made faster than real time, with every kind of failure: losses, a dead collector, silence, bad frames, ends.
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import type { Mapped } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { splitElements } from '../../../ingest/venues/shared/elements.ts';
import { bindMapped } from '../../../ingest/venues/shared/mapped.ts';
import type { ListingRecord, NormalisedRecord } from '../../../schemas/records.ts';
import type { RawMessage } from '../../../schemas/topics.ts';
import { listingValues } from '../apps/live-fixture.ts';
import {
  type OracleRecord,
  PAPER_HORIZONS,
  PAPER_LAYERS,
  type PaperFrame,
  type PaperListing,
  type PaperReference,
} from './oracle.ts';
import { listLevels } from './oracle-books.ts';
import { type Appended, SECOND, START, TestLog } from './task-driver.ts';

const MINUTE = 60 * SECOND;
const ON = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' } as const;
const HORIZONS = PAPER_LAYERS.map((layer) => {
  const { ms, source } = PAPER_HORIZONS[layer];
  return [layer, { ...ON, horizonMs: ms, horizonSource: source as 'connection' }] as const;
});

const makeRecord = bindMapped('paper');
const UNITS: Readonly<Record<string, string>> = { stats: 'volume_unit', oi: 'oi_unit', liquidation: 'quantity_unit' };

const toValues = ({ l, v }: PaperFrame, unit: string): Record<string, unknown> => {
  if (l === 'book') {
    const { kind, id, bids, asks } = v;
    return { kind, bids: listLevels(String(bids)), asks: listLevels(String(asks)), sequence: String(id) };
  }
  if (l === 'funding') return { ...v, funding_interval_ms: null };
  if (l === 'candle') {
    const { open, o, h, lo, c, q, m, n } = v;
    const figures = { open: o, high: h, low: lo, close: c, volume: q, turnover: m, trades: n };
    return { open_time: open, price_type: 'trade', timeframe: '1m', ...figures, volume_unit: unit, closed: true };
  }
  const member = UNITS[l];
  return {
    ...v,
    ...(member === undefined ? {} : { [member]: unit }),
    ...(l === 'liquidation' ? { price_kind: 'bankruptcy' } : {}),
  };
};

/** Ids that each name the one before. */
const toChain = ({ l, s, v }: PaperFrame): Chain | null => {
  if (l !== 'book') return null;
  const previous = v.previous === null ? null : BigInt(Number(v.previous));
  const full = { bids: v.full === 1, asks: v.full === 1 };
  const kind = v.kind === 'snapshot' ? 'snapshot' : 'update';
  return { symbol: s, kind, first: null, last: BigInt(Number(v.id)), previous, ...(v.full === 1 ? { full } : {}) };
};

const toListing = (listing: PaperListing, receivedAt: number): ListingRecord => ({
  layer: 'listing',
  venue: 'paper',
  venue_symbol: listing.symbol,
  venue_ts: null,
  received_at: receivedAt,
  values: listingValues({
    venue_symbol: listing.symbol,
    instrument: `${listing.base}-PERP`,
    base: listing.base,
    venue_kind: listing.kind,
    quantity_unit: listing.unit,
    contract_size: listing.size,
    multiplier: listing.multiplier,
    funding_interval: '4h',
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] },
  }),
});

const parse = <T>(payload: Uint8Array): T => JSON.parse(Buffer.from(payload).toString()) as T;

export const paperVenue: Venue = {
  id: 'paper',
  name: 'Paper',
  docs: '',
  endpoints: {},
  limits: { streamsPerConnection: 1, subscribePerSecond: 1, restWeightPerMinute: 1, connectionsPerMinute: 1 },
  layers: { ...Object.fromEntries(HORIZONS), candles: ON, liquidation: { ...ON, completeness: 'full' } },
  reference: () => [],
  referenceEveryMs: 60_000,
  mapReference: (_state, { payload, received_at }) => ({
    scope: 'paper',
    listings: parse<PaperReference>(payload).listings.map((one) => toListing(one, received_at)),
    elements: () => splitElements(payload, 'symbol'),
  }),
  plan: () => [],
  classify: () => 'data',
  sequence: () => null,
  sendsMarksApart: true,
  bookRule: {
    style: 'stream',
    continues: ({ last }, next) => (next.previous === last ? 'apply' : (next.last ?? 0n) <= last ? 'skip' : 'break'),
    bufferLimit: 1,
  },
  map: (_state, { payload, received_at: receivedAt }, { listings }): readonly Mapped[] => {
    const frame = parse<PaperFrame>(payload);
    if (frame.l === 'bad') throw new VenueError('VENUE_BAD_FRAME', 'nonsense');
    const unit = listings.get(frame.s)?.values.quantity_unit ?? 'base';
    const venueTs = frame.t === null ? null : frame.t * 1_000;
    const subject = { symbol: frame.s, venueTs, receivedAt, element: frame };
    const chain = toChain(frame);
    const mapped = makeRecord(subject, frame.l as NormalisedRecord['layer'], toValues(frame, unit) as never);
    return [chain === null ? mapped : { ...mapped, chain }];
  },
};

const LIN: PaperListing = { symbol: 'LIN', base: 'LIN', kind: 'linear', unit: 'base', multiplier: '1', size: '1' };
const KILO: PaperListing = {
  symbol: 'KILO',
  base: 'KIL',
  kind: 'linear',
  unit: 'contracts',
  multiplier: '1000',
  size: '0.1',
};
const INV: PaperListing = {
  symbol: 'INV',
  base: 'INV',
  kind: 'inverse',
  unit: 'contracts',
  multiplier: '1',
  size: '100',
};
const GONE: PaperListing = { ...LIN, symbol: 'GONE', base: 'GON' };
const NEW: PaperListing = { ...KILO, symbol: 'NEW', base: 'NEW', size: '3' };
export const SYMBOLS = ['GONE', 'INV', 'KILO', 'LIN', 'NEW'];

const SOCKETS = { a: ['mark', 'ticker', 'funding', 'book'], b: ['oi', 'stats', 'candles', 'liquidation'] } as const;
type Socket = keyof typeof SOCKETS;
/** A book as the venue has it: its id, the connection that received it whole, its fault. */
type VenueBook = { id: number; sentTo: string | null; isBroken: boolean; crossed: string | null };
type Held = { readonly at: number; readonly write: (recordedAt?: number) => void };

/** Seconds since the start in which something is wrong. */
const FAULTS = {
  /** Socket a is lost and returns. */
  lost: [240, 255],
  /** Nothing runs but the owner of the task. */
  dead: [420, 460],
  /** A listing sends nothing. */
  quiet: [600, 660],
  /** The collector continues, and what it receives is recorded at the end: in time, and too late. */
  stalled: [700, 770],
  stalledLong: [900, 1_045],
} as const;
const isIn = (second: number, [from, to]: readonly [number, number]): boolean => second >= from && second < to;

/** The input of the oracle. */
export const toOracleRecords = (records: readonly Appended[]): OracleRecord[] => {
  let last = 0;
  return records.map(({ timestampMs, message }) => {
    last = Math.max(last, timestampMs * 1_000);
    const { kind, slot, conn_id: connId, seq, received_at: receivedAt, payload } = message;
    return { recordedAt: last, receivedAt, kind, slot, connId, seq, body: parse(payload) };
  });
};

/** The log under construction; `run` advances it second by second. */
export class PaperLog {
  readonly log = new TestLog();
  readonly #draw: () => number;
  readonly #open = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  readonly #prices = new Map(SYMBOLS.map((symbol, i) => [symbol, 100 * 10 ** i] as const));
  readonly #books = new Map<string, VenueBook>();
  #held: Held[] | null = null;
  #listings: readonly PaperListing[] = [GONE, INV, KILO, LIN];
  #second = 0;
  #events = 0;

  constructor(seed: number) {
    this.#draw = createRandom(seed).next;
    this.log.capability(paperVenue);
    this.#reference();
    for (const socket of ['a', 'b'] as const) this.#connect(socket);
  }

  run(seconds: number): void {
    for (let i = 0; i < seconds; i++) this.#step();
  }

  #step(): void {
    const second = ++this.#second;
    this.log.now = START + second * SECOND;
    if (second === FAULTS.lost[0]) this.#lose('a');
    if (second === FAULTS.lost[1]) this.#connect('a');
    if (second === 360) this.#change([GONE, INV, KILO, LIN, NEW]);
    if (second === 480) this.#change([GONE, { ...INV, size: '50' }, KILO, LIN, NEW]);
    if (second === 1_200) this.#change([{ ...INV, size: '50' }, KILO, LIN, NEW]);
    if (second === FAULTS.dead[0]) this.#open.clear();
    if (second === FAULTS.dead[1]) for (const socket of ['a', 'b'] as const) this.#connect(socket);
    const isStalled = isIn(second, FAULTS.stalled) || isIn(second, FAULTS.stalledLong);
    if (isStalled) this.#held ??= [];
    else this.#release();
    if (isStalled || isIn(second, FAULTS.dead)) this.log.tick([], null);
    if (isIn(second, FAULTS.dead)) return;
    const received = this.log.now;
    const connections = [...this.#open.values()];
    this.#put(received, (recordedAt) => this.#tick(connections, received, recordedAt));
    const frames = this.#frames(second);
    const times = frames.map(() => received + 1 + Math.floor(this.#draw() * 900_000)).sort((a, b) => a - b);
    for (const [i, { socket, frame }] of frames.entries()) this.#append(socket, frame, times[i] ?? received);
  }

  /** Written now, or when the log takes records again. */
  #put(at: number, write: (recordedAt?: number) => void): void {
    if (this.#held === null) write();
    else this.#held.push({ at, write });
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const { write } of held) write(this.log.now + 500);
  }

  #tick(connections: readonly string[], received: number, recordedAt?: number): void {
    const body = { collector: 'c1', connections: connections.map((conn_id) => ({ conn_id, opened_at: START })) };
    const payload = Buffer.from(JSON.stringify(body));
    const message = {
      kind: 'tick',
      slot: 'collector',
      conn_id: 'c1',
      request: null,
      payload,
      received_at: received,
    } as const;
    this.log.append(message, recordedAt);
  }

  #connect(socket: Socket): void {
    const count = (this.#counts.get(socket) ?? 0) + 1;
    this.#counts.set(socket, count);
    this.#open.set(socket, `${socket}${count}`);
    this.log.open(`${socket}${count}`, socket, [{ layers: [...SOCKETS[socket]], symbols: null }]);
  }

  #lose(socket: Socket): void {
    const connId = this.#open.get(socket) ?? '';
    this.#open.delete(socket);
    this.log.json('lost', socket, connId, { lost_at: this.log.now - 123_456, cause: 'connection_lost', detail: '' });
  }

  #change(listings: readonly PaperListing[]): void {
    this.#listings = listings;
    this.#reference();
  }

  #reference(): void {
    const body: PaperReference = { listings: this.#listings };
    this.log.json('response', 'reference', 'reference', body, { request: 'GET https://paper/listings' });
  }

  #append(socket: Socket, frame: PaperFrame, received: number): void {
    const connId = this.#open.get(socket);
    if (connId === undefined) return;
    const kind: RawMessage['kind'] = frame.l === 'oi' ? 'response' : 'frame';
    const payload = Buffer.from(JSON.stringify(frame));
    const message = {
      kind,
      slot: socket,
      conn_id: connId,
      request: kind === 'response' ? 'GET https://paper/oi' : null,
      payload,
    };
    const isRepeated = this.#draw() < 0.02;
    this.#put(received, (recordedAt) => {
      const { message: written } = this.log.append({ ...message, received_at: received }, recordedAt);
      if (isRepeated) this.log.append({ ...message, received_at: received, seq: written.seq }, recordedAt);
    });
  }

  #figure(scale: number, decimals: number): string {
    return String(Number((scale * (0.9 + this.#draw() * 0.2)).toFixed(decimals)));
  }

  #chance(share: number): boolean {
    return this.#draw() < share;
  }

  #frames(second: number): { socket: Socket; frame: PaperFrame }[] {
    const frames: { socket: Socket; frame: PaperFrame }[] = [];
    const ms = this.log.now / 1_000;
    const put = (socket: Socket, l: string, s: string, v: PaperFrame['v']): void => {
      const t = this.#chance(0.1) ? null : ms + Math.floor(this.#draw() * 1_200) - 300;
      frames.push({ socket, frame: { l, s, t, v } });
    };
    for (const { symbol } of this.#listings) {
      if (symbol === 'LIN' && isIn(second, FAULTS.quiet)) continue;
      const price = this.#prices.get(symbol) ?? 1;
      if (this.#chance(0.4)) put('a', 'mark', symbol, { mark: this.#figure(price, 4), index: this.#figure(price, 3) });
      if (this.#chance(0.06)) put('a', 'ticker', symbol, { last: this.#figure(price, 12) });
      if (this.#chance(0.03)) {
        put('a', 'funding', symbol, { funding: this.#figure(0.0001, 9), next_funding_at: START + 3_600 * SECOND });
      }
      if (this.#chance(0.45)) put('a', 'book', symbol, this.#book(symbol, price));
      if (this.#chance(0.15)) put('a', 'book', symbol, this.#book(symbol, price));
      if (this.#chance(0.05)) put('b', 'oi', symbol, { oi: this.#figure(123_456, 3) });
      if (this.#chance(0.03)) put('b', 'stats', symbol, this.#stats());
      if (this.#chance(0.03)) put('b', 'liquidation', symbol, this.#liquidation(price));
      if (second > 60 && second % 60 === 1 && this.#chance(0.85)) put('b', 'candle', symbol, this.#candle(price));
      if (second > 60 && second % 60 === 7 && this.#chance(0.05)) put('b', 'candle', symbol, this.#candle(price));
    }
    if (this.#chance(0.004)) put('b', 'bad', 'LIN', {});
    return frames;
  }

  /** A change of a few levels; whole on a connection that has not received it yet, or a while after it broke. */
  #book(symbol: string, price: number): PaperFrame['v'] {
    const book = this.#books.get(symbol) ?? { id: 1, sentTo: null, isBroken: false, crossed: null };
    this.#books.set(symbol, book);
    const connection = this.#open.get('a') ?? null;
    const previous = book.id;
    book.id += 1;
    const isWhole = book.sentTo !== connection || (book.isBroken && this.#chance(0.05));
    if (isWhole) {
      Object.assign(book, { sentTo: connection, isBroken: false, crossed: null });
      const full = this.#chance(0.2) ? 1 : 0;
      const depth = full === 1 ? 12 : 30;
      const side = (sign: number): string =>
        Array.from({ length: depth }, (_, k) => this.#level(price, sign * (k + 1))).join(' ');
      return { kind: 'snapshot', id: book.id, previous: null, bids: side(-1), asks: side(1), full };
    }
    if (this.#chance(0.02)) {
      book.id += 1;
      book.isBroken = true;
      return { kind: 'update', id: book.id, previous: previous + 1, bids: this.#level(price, -1), asks: '', full: 0 };
    }
    return { kind: 'update', id: book.id, previous, ...this.#changes(book, price), full: 0 };
  }

  #changes(book: VenueBook, price: number): { bids: string; asks: string } {
    const some = (sign: number): string[] => {
      const count = Math.floor(this.#draw() * 3);
      const places = Array.from({ length: count }, () => 1 + Math.floor(this.#draw() * 30));
      return [...new Set(places)].map((k) => this.#level(price, sign * k, this.#chance(0.2)));
    };
    const [bids, asks] = [some(-1), some(1)];
    if (book.crossed !== null && this.#chance(0.1)) {
      bids.push(`${book.crossed}:0`);
      book.crossed = null;
    } else if (book.crossed === null && this.#chance(0.02)) {
      const [at = '', size = ''] = this.#level(price, 31).split(':');
      book.crossed = at;
      bids.push(`${at}:${size}`);
    }
    return { bids: bids.join(' '), asks: asks.join(' ') };
  }

  /** A level the given number of steps of four basis points away. */
  #level(price: number, steps: number, isGone = false): string {
    const at = String(Number((price * (1 + steps * 0.0004)).toFixed(4)));
    return `${at}:${isGone ? '0' : this.#figure(3, 6)}`;
  }

  #stats(): PaperFrame['v'] {
    const turnover = this.#chance(0.3) ? null : this.#figure(9e9, 2);
    return { volume_24h: this.#figure(5_000, 5), turnover_24h: turnover, change_24h: this.#figure(0.01, 6) };
  }

  #liquidation(price: number): PaperFrame['v'] {
    // A venue may send the same event twice.
    const id = this.#chance(0.1) ? this.#events : ++this.#events;
    const side = this.#chance(0.5) ? 'long' : 'short';
    return { id: `e${id}`, side, price: this.#figure(price, 4), quantity: this.#figure(2, 6) };
  }

  #candle(price: number): PaperFrame['v'] {
    const open = Math.floor(this.log.now / MINUTE) * MINUTE - MINUTE;
    const [o, c] = [this.#figure(price, 4), this.#figure(price, 4)];
    const [h, lo] = [this.#figure(price * 1.2, 4), this.#figure(price * 0.8, 4)];
    return {
      open,
      o,
      h,
      lo,
      c,
      q: this.#figure(40, 8),
      m: this.#figure(90_000, 3),
      n: 1 + Math.floor(this.#draw() * 90),
    };
  }
}
