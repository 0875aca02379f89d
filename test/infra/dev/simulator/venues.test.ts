// Our own venue file finds, subscribes to and maps what each simulated venue sends: every figure is the truth at its stamp.
import t, { type Test } from 'tap';
import { hashElement } from '../../../../infra/dev/simulator/book-model.ts';
import { FAULT_KINDS, type FaultRequest } from '../../../../infra/dev/simulator/faults.ts';
import type { Simulator } from '../../../../infra/dev/simulator/simulator.ts';
import type { TruthRow } from '../../../../infra/dev/simulator/truth-rows.ts';
import { simulatedVenues } from '../../../../infra/dev/simulator/venues/index.ts';
import type { Slot } from '../../../../ingest/venues/contract/feed.ts';
import type { VenueMessage, VenueRequest } from '../../../../ingest/venues/contract/listings.ts';
import type { MapState } from '../../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import type { ListingRecord, NormalisedRecord } from '../../../../schemas/records.ts';
import {
  type Client,
  connect,
  exchange,
  type Fake,
  fakeSimulator,
  START_MS,
  settle,
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

/** Enough that quiet, inverse and multiplied listings are among them. */
const LISTINGS = 12;

/** Where the streams of `symbols` are that a plan may leave out (its layers are off), and the frames that subscribe to them. */
type Extra = { readonly path: string; readonly frames: readonly string[] };
const EXTRAS: Readonly<Record<string, (symbols: readonly string[]) => readonly Extra[]>> = {
  binance: (symbols) => {
    const params = (of: readonly string[]): string[] =>
      of.flatMap((s) => ['aggTrade', 'kline_1m', 'forceOrder', 'ticker'].map((kind) => `${s.toLowerCase()}@${kind}`));
    const coin = symbols.filter((s) => s.endsWith('_PERP'));
    const usd = symbols.filter((s) => !s.endsWith('_PERP'));
    return [
      { path: '/binance/market/ws', frames: [JSON.stringify({ method: 'SUBSCRIBE', params: params(usd), id: 1 })] },
      { path: '/binance/coinm/ws', frames: [JSON.stringify({ method: 'SUBSCRIBE', params: params(coin), id: 1 })] },
    ];
  },
  bybit: (symbols) =>
    (['linear', 'inverse'] as const).map((market) => {
      const own = symbols.filter((s) => s.endsWith('USD') === (market === 'inverse'));
      const args = own.flatMap((s) => [`publicTrade.${s}`, `allLiquidation.${s}`, `kline.1.${s}`]);
      return { path: `/bybit/v5/public/${market}`, frames: [JSON.stringify({ op: 'subscribe', args })] };
    }),
  okx: (symbols) => {
    const args = (channel: string, of: Iterable<string>) => [...of].map((instId) => ({ channel, instId }));
    const indexes = new Set(symbols.map((s) => s.replace('-SWAP', '').replace('-USDC', '-USD')));
    const rare = [...args('trades', symbols), { channel: 'liquidation-orders', instType: 'SWAP' }];
    const candles = ['candle1m', 'mark-price-candle1m'].flatMap((channel) => args(channel, symbols));
    return [
      { path: '/okx/ws/v5/public', frames: [JSON.stringify({ op: 'subscribe', args: rare })] },
      {
        path: '/okx/ws/v5/business',
        frames: [JSON.stringify({ op: 'subscribe', args: [...candles, ...args('index-candle1m', indexes)] })],
      },
    ];
  },
  hyperliquid: (symbols) => {
    const subscriptions = symbols.flatMap((coin) => [
      { type: 'trades', coin },
      { type: 'candle', coin, interval: '1m' },
    ]);
    const frames = subscriptions.map((subscription) => JSON.stringify({ method: 'subscribe', subscription }));
    return [{ path: '/hyperliquid/ws', frames }];
  },
  deribit: (symbols) => {
    const own = symbols.flatMap((s) => [`trades.${s}.100ms`, `chart.trades.${s}.1`, `perpetual.${s}.100ms`]);
    const indexes = symbols.map((s) =>
      s
        .replace('-PERPETUAL', '')
        .replace(/^[A-Z0-9]+$/, '$&_USD')
        .toLowerCase(),
    );
    const channels = [...own, ...indexes.map((index) => `deribit_price_index.${index}`)];
    const call = { jsonrpc: '2.0', id: 1, method: 'public/subscribe', params: { channels } };
    return [{ path: '/deribit/ws/api/v2', frames: [JSON.stringify(call)] }];
  },
};

/** Layers that frames and polls of each venue must show. */
const ALL_LAYERS = ['book', 'candle', 'funding', 'liquidation', 'mark', 'oi', 'stats', 'ticker', 'trade'];
const LAYERS_SEEN: Readonly<Record<string, readonly string[]>> = {
  binance: ALL_LAYERS,
  bybit: ALL_LAYERS,
  okx: ALL_LAYERS,
  hyperliquid: ALL_LAYERS.filter((layer) => layer !== 'ticker' && layer !== 'liquidation'),
  deribit: ALL_LAYERS,
};

const requestText = ({ method, url }: VenueRequest): string => `${method} ${url}`;

async function fetchAnswer(request: VenueRequest): Promise<VenueMessage> {
  const { method, url, body } = request;
  const answer = await fetch(url, body === undefined ? { method } : { method, body });
  const payload = new Uint8Array(await answer.arrayBuffer());
  return { kind: 'response', received_at: START_MS * 1_000, request: requestText(request), payload };
}

const makeFrame = (text: string, sentAt: number): VenueMessage => ({
  kind: 'frame',
  received_at: sentAt,
  request: null,
  payload: Buffer.from(text),
});

/** Names of a record's values in the rows of truth, where they differ. */
const TRUTH_LAYER: Readonly<Record<string, TruthRow['layer']>> = {
  trade: 'trades',
  liquidation: 'liquidations',
  candle: 'candles',
};
/** Values that describe the form of a message. */
const SAID: ReadonlySet<string> = new Set([
  'oi_unit',
  'volume_unit',
  'quantity_unit',
  'price_kind',
  'timeframe',
  'closed',
]);

type Compared = Exclude<NormalisedRecord, { layer: 'book' | 'listing' }>;
type Candle = Extract<NormalisedRecord, { layer: 'candle' }>;

/** Where a message has no stamp: truth precedes its sending by at most this time, by the venue's clock (a step of the simulator). */
const STEP_MICROS = 10_000;

class Comparison {
  readonly #newest = new Map<string, Compared>();
  /** Values compared, by layer and member. */
  readonly compared = new Map<string, number>();
  readonly wrong: string[] = [];
  /** Listings seen, by layer. */
  readonly seen = new Map<string, Set<string>>();
  readonly #rows = new Map<string, TruthRow[]>();
  /** The same, for any stamp. */
  readonly #series = new Map<string, TruthRow[]>();
  readonly #books = new Map<string, Record<'b' | 'a', Map<string, string>>>();
  /** The newest candle of each minute without a member for whether it is over. */
  readonly #minutes = new Map<string, Candle>();
  readonly #skewMicros: number;

  constructor(rows: Iterable<TruthRow>, skewMs: number) {
    this.#skewMicros = skewMs * 1_000;
    const add = (map: Map<string, TruthRow[]>, key: string, row: TruthRow): void => {
      const known = map.get(key);
      if (known === undefined) map.set(key, [row]);
      else known.push(row);
    };
    for (const row of rows) {
      add(this.#rows, keyOfRow(row), row);
      add(this.#series, `${row.layer} ${row.symbol}`, row);
    }
  }

  check(record: NormalisedRecord): void {
    const { layer, venue_symbol: symbol } = record;
    if (layer === 'listing' || symbol === null) return;
    this.seen.set(layer, (this.seen.get(layer) ?? new Set()).add(symbol));
    if (layer === 'book') this.#checkBook(record);
    else if (layer !== 'candle' || record.values.closed === true) this.#checkOne(record);
    else if (record.values.closed === null) this.#minutes.set(toKey(record), record);
  }

  /** Minutes that no message marks as over: truth has those that are. */
  checkMinutes(): void {
    for (const [key, record] of this.#minutes) if (this.#rows.has(key)) this.#checkOne(record);
  }

  #checkOne(record: Compared): void {
    this.#checkValues(record);
    this.#newest.set(record.layer, record);
  }

  /** True at the record's stamp, or when it was sent. */
  #rowsFor(record: Compared): readonly TruthRow[] {
    if (record.venue_ts !== null || record.layer === 'candle') return this.#rows.get(toKey(record)) ?? [];
    const at = record.received_at + this.#skewMicros;
    const rows = this.#series.get(`${TRUTH_LAYER[record.layer] ?? record.layer} ${record.venue_symbol}`) ?? [];
    return rows.filter(({ venue_ts }) => venue_ts > at - STEP_MICROS && venue_ts <= at);
  }

  /** Figures of the newest record of each layer that could have another last digit unnoticed. */
  unseenChanges(): readonly string[] {
    const { wrong } = this;
    return [...this.#newest.values()].flatMap((record) =>
      Object.entries(record.values)
        .filter(([, value]) => typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
        .filter(([name, value]) => {
          const digits = String(value);
          const changed = `${digits.slice(0, -1)}${digits.endsWith('1') ? '2' : '1'}`;
          const before = wrong.length;
          this.#checkValues({ ...record, values: { ...record.values, [name]: changed } } as Compared);
          return wrong.splice(before).length === 0;
        })
        .map(([name]) => `${record.layer}.${name}`),
    );
  }

  #checkValues(record: Compared): void {
    const rows = this.#rowsFor(record);
    const values = Object.entries(record.values).filter(([name, value]) => value !== null && !SAID.has(name));
    const isBankrupt = record.layer === 'liquidation' && record.values.price_kind === 'bankruptcy';
    const differs = (row: TruthRow): readonly string[] =>
      values
        .filter(([name, value]) => row.values[isBankrupt && name === 'price' ? 'bankruptcy_price' : name] !== value)
        .map(([name, value]) => `${name} ${String(value)}`);
    if (!rows.some((row) => differs(row).length === 0)) {
      const best = rows[0] === undefined ? 'no truth at its stamp' : differs(rows[0]).join(', ');
      this.wrong.push(`${record.venue_symbol} ${record.layer} at ${record.venue_ts}: ${best}`);
    }
    for (const [name] of values) this.#count(`${record.layer}.${name}`);
  }

  #checkBook(record: Extract<NormalisedRecord, { layer: 'book' }>): void {
    const { kind, bids, asks, sequence } = record.values;
    const held = this.#books.get(record.venue_symbol);
    const sides = kind === 'snapshot' ? { b: new Map<string, string>(), a: new Map<string, string>() } : held;
    if (sides === undefined) return;
    this.#books.set(record.venue_symbol, sides);
    for (const [side, levels] of [['b', bids] as const, ['a', asks] as const]) {
      for (const [price, size] of levels) {
        if (size === '0') sides[side].delete(price);
        else sides[side].set(price, size);
      }
    }
    const hash = (['b', 'a'] as const)
      .flatMap((side) => [...sides[side]].map(([price, size]) => hashElement(side, price, size)))
      .reduce((sum, one) => (sum ^ one) >>> 0, 0);
    const rows = this.#rows.get(`book ${record.venue_symbol} ${record.venue_ts}`) ?? [];
    const row = rows.find(({ values }) => sequence === null || String(values.update_id) === sequence);
    if (row?.values.book_hash !== hash) this.wrong.push(`${record.venue_symbol} book ${kind} ${sequence}`);
    this.#count(`book.${kind}`);
  }

  #count(name: string): void {
    this.compared.set(name, (this.compared.get(name) ?? 0) + 1);
  }
}

function keyOfRow({ layer, symbol, venue_ts, values }: TruthRow): string {
  if (layer === 'candles') return `candles ${symbol} ${values.open_time} ${values.price_type}`;
  return layer === 'trades' ? `trades ${symbol} ${values.id}` : `${layer} ${symbol} ${venue_ts}`;
}

function toKey({ layer, venue_symbol: symbol, venue_ts, values }: Compared): string {
  if (layer === 'candle') return `candles ${symbol} ${values.open_time} ${values.price_type}`;
  if (layer === 'trade') return `trades ${symbol} ${values.id}`;
  return `${TRUTH_LAYER[layer] ?? layer} ${symbol} ${venue_ts}`;
}

async function readListings(
  venue: Venue,
  endpoints: Readonly<Record<string, string>>,
): Promise<Map<string, ListingRecord>> {
  const found = new Map<string, ListingRecord>();
  const state = {};
  for (const request of venue.reference(endpoints)) {
    const answer = venue.mapReference(state, await fetchAnswer(request));
    for (const listing of answer?.listings ?? []) found.set(listing.venue_symbol, listing);
  }
  return found;
}

type Seen = { readonly listings: ReadonlyMap<string, ListingRecord>; readonly comparison: Comparison };

type Stay = { readonly ms: number; readonly skewMs?: number };

const isListed = ({ values }: ListingRecord): boolean => values.status !== 'delisted';

/** What a fresh reader of the venue receives in `ms`: opened as our venue file plans it, mapped, compared. */
async function observe(test: Test, fake: Fake, venue: Venue, { ms, skewMs = 0 }: Stay): Promise<Seen> {
  const { sim, run } = fake;
  const endpoints = sim.endpoints[venue.id] ?? {};
  const all = await readListings(venue, endpoints);
  const listings = new Map([...all].filter(([, listing]) => isListed(listing)));
  const slots = venue.plan([...listings.values()], { shards: 1, shardOf: () => 0, endpoints });
  const clients = await openSockets(test, sim, venue, { slots, symbols: [...listings.keys()] });
  run(400);
  const answers: VenueMessage[] = [];
  if (venue.bookSnapshot !== undefined && venue.bookRule.style === 'snapshot')
    for (const listing of listings.values()) answers.push(await fetchAnswer(venue.bookSnapshot(listing, endpoints)));
  await stay(fake, venue, clients, ms);
  for (const slot of slots)
    if (slot.kind === 'poll') for (const request of slot.requests) answers.push(await fetchAnswer(request));
  for (const client of clients) await settle(sim, client);
  const frames = clients.map((client) => listData(sim, venue, client));
  const comparison = new Comparison(sim.truth.rows({}), skewMs);
  mapAll(venue, [answers, ...frames], listings, comparison);
  comparison.checkMinutes();
  return { listings, comparison };
}

/** Sooner than a venue wants its questions answered. */
const SLICE_MS = 5_000;

/** Lets time pass, and answers the venue's requests meanwhile. */
async function stay({ sim, run }: Fake, venue: Venue, clients: readonly Client[], ms: number): Promise<void> {
  const read = new Map<Client, number>();
  for (let left = ms; left > 0; left -= SLICE_MS) {
    run(Math.min(SLICE_MS, left));
    for (const client of clients) {
      await settle(sim, client);
      const fresh = client.frames.slice(read.get(client) ?? 0);
      read.set(client, client.frames.length);
      for (const reply of fresh.flatMap((text) => venue.replyTo?.(text) ?? [])) await exchange(client, reply);
    }
  }
}

/** Frames of data, each with the instant at which it was sent. */
function listData({ sent }: Simulator, venue: Venue, client: Client): readonly VenueMessage[] {
  const instants = [...sent.frames(client.number, 0)].map(({ at }) => at);
  return client.frames.flatMap((text, i) =>
    venue.classify(text) === 'data' ? [makeFrame(text, instants[i] ?? Number.NaN)] : [],
  );
}

type Asked = { readonly slots: readonly Slot[]; readonly symbols: readonly string[] };

async function openSockets(
  test: Test,
  sim: Simulator,
  venue: Venue,
  { slots, symbols }: Asked,
): Promise<readonly Client[]> {
  const planned = slots.flatMap((slot) =>
    slot.kind === 'socket' ? [{ path: new URL(slot.url).pathname, frames: slot.subscribe }] : [],
  );
  const clients: Client[] = [];
  for (const { path, frames } of [...planned, ...(EXTRAS[venue.id]?.(symbols) ?? [])]) {
    const client = await connect(test, sim, path);
    for (const frame of frames) await exchange(client, frame);
    const isAnswer = (text: string): boolean => venue.classify(text) === 'ack';
    await waitFor('every answer', () => client.frames.filter(isAnswer).length >= frames.length);
    clients.push(client);
  }
  return clients;
}

/** Maps each connection's messages, the answers first; omits diffs older than a requested snapshot. */
function mapAll(
  venue: Venue,
  connections: readonly (readonly VenueMessage[])[],
  listings: ReadonlyMap<string, ListingRecord>,
  comparison: Comparison,
): void {
  const from = new Map<string, bigint>();
  for (const messages of connections) {
    const state: MapState = {};
    for (const message of messages) {
      const mapped = venue.map(state, message, { listings });
      for (const { record, chain } of mapped) {
        if (message.kind === 'response' && chain?.kind === 'snapshot') from.set(chain.symbol, chain.last ?? 0n);
        const isOld =
          message.kind === 'frame' && chain?.kind === 'update' && (chain.last ?? 0n) <= (from.get(chain.symbol) ?? -1n);
        if (!isOld) comparison.check(record);
      }
    }
  }
}

const checkTruth = (test: Test, { wrong }: Comparison, when: string): void => {
  test.same(wrong.slice(0, 5), [], `every value is true ${when} (${wrong.length} are not)`);
};

/** Each kind of fault in turn, on the listings given. */
const makeFaults = (symbols: readonly string[]): readonly Omit<FaultRequest, 'venue'>[] => [
  ...(['sequence_hole', 'drop', 'duplicate', 'reorder', 'malformed'] as const).map((kind) => ({
    kind,
    symbols,
    count: 2,
  })),
  { kind: 'silence', symbols, stream: 'book', durationMs: 2_000 },
  { kind: 'slow', durationMs: 1_000, delayMs: 700 },
  { kind: 'crossed_book', symbols, durationMs: 1_000 },
  { kind: 'rate_limit', status: 418, durationMs: 500 },
  { kind: 'rest_down', status: 500, durationMs: 500 },
  { kind: 'clock_skew', skewMs: -1_234, durationMs: 1_000 },
  { kind: 'listing_added' },
  { kind: 'listing_renamed', symbols: symbols.slice(0, 1) },
  { kind: 'listing_delisted', symbols: symbols.slice(1, 2) },
  { kind: 'funding_interval_changed', symbols: symbols.slice(2, 3), hours: 1 },
  { kind: 'restart', keepSockets: true },
  { kind: 'disconnect', durationMs: 500 },
  { kind: 'restart', durationMs: 500 },
];

for (const { id, listings: simulated } of simulatedVenues) {
  const venue = venues.get(id);
  if (venue === undefined) throw new Error(`no venue file for ${id}`);
  const options = { venues: [id], listings: LISTINGS, rate: 200, limits: { incomingPerSecond: 1_000 } };

  t.test(`${id}: our own venue file finds, gets and maps everything to the true figures`, async (t) => {
    const fake = await fakeSimulator(t, options);
    const endpoints = Object.keys(fake.sim.endpoints[id] ?? {});
    t.same(endpoints.sort(), Object.keys(venue.endpoints).sort(), 'the endpoints are those of the venue file');
    const { listings, comparison } = await observe(t, fake, venue, { ms: 65_000 });
    const symbols = simulated(LISTINGS).map(({ symbol }) => symbol);
    t.same([...listings.keys()].sort(), symbols.toSorted(), 'every listing is found');
    for (const { symbol, isInverse } of simulated(LISTINGS))
      t.equal(listings.get(symbol)?.values.venue_kind, isInverse ? 'inverse' : 'linear', symbol);
    checkTruth(t, comparison, 'through a minute');
    const counts = [...comparison.compared].toSorted(([a], [b]) => (a < b ? -1 : 1));
    t.comment(counts.map(([name, count]) => `${name} ${count}`).join(', '));
    for (const [layer, seen] of comparison.seen) {
      // Liquidations are rare: some listings have none.
      if (layer !== 'liquidation') t.equal(seen.size, LISTINGS, `${layer} of every listing`);
    }
    t.same(comparison.unseenChanges(), [], 'one changed digit anywhere would be a difference');
    t.same([...comparison.seen.keys()].sort(), LAYERS_SEEN[id], 'the layers seen');
  });

  t.test(`${id}: its values are true under a skewed clock, and again after every kind of fault`, async (t) => {
    const fake = await fakeSimulator(t, options);
    const { sim, run } = fake;
    for (const skewMs of [2_345, -1_678]) {
      sim.inject({ kind: 'clock_skew', venue: id, skewMs, durationMs: 4_000 });
      run(4);
      checkTruth(
        t,
        (await observe(t, fake, venue, { ms: 3_000, skewMs })).comparison,
        `with stamps off by ${skewMs} ms`,
      );
      run(1_000);
    }
    const symbols = simulated(LISTINGS).map(({ symbol }) => symbol);
    for (const [i, fault] of makeFaults(symbols.slice(1, 5)).entries()) {
      sim.inject({ ...fault, venue: id });
      run(1_500 + i);
    }
    run(3_000);
    const { listings, comparison } = await observe(t, fake, venue, { ms: 4_000 });
    checkTruth(t, comparison, 'after the faults');
    t.equal(listings.size, LISTINGS, 'one came, one went');
    const done = sim.faults.map(({ kind, venue: of, to, hit_count }) => ({ kind, of, isOver: to !== null, hit_count }));
    t.same([...new Set(done.map(({ kind }) => kind))].sort(), [...FAULT_KINDS].sort(), 'every kind');
    t.ok(done.every(({ of }) => of === id));
    t.same(
      done.filter(({ isOver }) => !isOver).map(({ kind }) => kind),
      [],
      'all are over',
    );
  });
}
