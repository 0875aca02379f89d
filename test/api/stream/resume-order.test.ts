// A client that breaks off and resumes again and again, while listings come, end and come back: each listing and layer of its life only
// moves forward, nothing is skipped without a gap, and in the end it has what one that stayed has (ST-03, ST-04, ST-05, D-37).
import fc from 'fast-check';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { readRequest } from '../../../api/stream/request.ts';
import type { Stream } from '../../../api/stream/stream.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { LiveEntry, Reading, Row } from '../../../schemas/topics.ts';
import {
  capability,
  type Feed,
  LISTED,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
} from '../../support/apps/live-fixture.ts';
import { collectEvents, type StreamEvent } from '../../support/services/stream-client.ts';

const SECOND: Micros = 1_000_000;
const SYMBOLS = ['BTCUSDT', 'SOLUSDT', 'XRPUSDT'] as const;
const LAYERS = ['mark', 'funding'] as const;

const symbol = fc.nat(SYMBOLS.length - 1);
/** Whether the pipeline does; while it does not for five seconds, every status is `state_lag`. */
const keepsUp = fc.constantFrom(true, true, false);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('read'),
      symbol,
      layer: fc.nat(1),
      skips: fc.constantFrom(0, 0, 0, 0, 0, 2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('trade'), symbol }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('list'), symbol, endsIn: fc.constantFrom(null, null, null, 0, 5) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('lose', 'open') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass'), seconds: fc.nat(6), keepsUp }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('policy'), on: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
/** What happens until the client breaks off, and after how many parts of what it has received since it came. */
const stretch = fc.record({
  steps: fc.array(step, { maxLength: 12 }),
  keeps: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** A market of one venue whose listings come and go, with a clock that only it moves. */
class World {
  readonly feed: Feed = market();
  now: Micros = NOW;
  readonly hub = new StreamHub({ live: this.feed.memory, nowMicros: () => this.now });
  readonly #revs = new Map<string, number>([
    ['BTCUSDT mark', 1],
    ['BTCUSDT funding', 1],
  ]);
  readonly #request = this.#readRequest();
  #trades = 0;

  #readRequest() {
    const input = { where: 'venue = binance', layers: 'mark,funding,trade', freshness: '5s' };
    const choice = { venues: null, instruments: null };
    return readRequest(
      { input, names: readNames(input.where, this.feed.memory) },
      { live: this.feed.memory, plan: PLANS.pro_plus, choice, at: NOW },
    );
  }

  open(lastEventId: string | null, use: (stream: Stream) => void = () => undefined): StreamEvent[] {
    const { out, events } = collectEvents();
    const findKey = async () => 'unreachable' as const;
    const account = { keyId: 'key', plan: PLANS.pro_plus };
    use(this.hub.open({ account, request: this.#request, lastEventId, out, findKey, isInScope: () => true }));
    return events;
  }

  #look(): void {
    this.open(null, (stream) => stream.drop());
  }

  /** What is on its way to clients has come to them, everything up to now. */
  async settle(): Promise<void> {
    this.#look();
    await new Promise((resume) => setImmediate(resume));
  }

  perform(steps: readonly Step[]): void {
    for (const each of steps) {
      this.now += 1_000;
      // The hub looks at the clock four times a second: an end that is due is sent before what comes after it.
      if (each.kind === 'list') this.#look();
      this.#perform(each as never);
    }
  }

  #perform(each: {
    kind: string;
    symbol: number;
    layer: number;
    skips: number;
    endsIn: number | null;
    seconds: number;
    keepsUp: boolean;
    on: boolean;
  }): void {
    const venueSymbol = SYMBOLS[each.symbol] ?? '';
    const span = {
      conn_id: 'c1',
      slot: 'market',
      from: LISTED,
      to: each.kind === 'lose' ? this.now : null,
      cause: null,
    };
    switch (each.kind) {
      case 'read':
        return this.#read(venueSymbol, LAYERS[each.layer] ?? 'mark', each.skips);
      case 'trade':
        return this.#trade(venueSymbol);
      case 'list':
        return this.#list(venueSymbol, each.endsIn);
      case 'pass':
        this.now += each.seconds * SECOND;
        return each.keepsUp ? this.#publish({ kind: 'watermark', watermark: this.now }) : undefined;
      case 'policy':
        return this.#publish({
          kind: 'capability',
          capability: capability('binance', { mark: { policy: each.on ? 'on' : 'off' } }, this.now),
        });
      default:
        return this.#publish({ kind: 'connection', span });
    }
  }

  #publish(body: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void {
    this.feed.entry('binance', { recorded_at: this.now, ...body });
  }

  #read(venueSymbol: string, layer: 'mark' | 'funding', skips: number): void {
    const key = `${venueSymbol} ${layer}`;
    const before = this.#revs.get(key) ?? 0;
    // The first reading has the number 1.
    const rev = before === 0 ? 1 : before + 1 + skips;
    this.#revs.set(key, rev);
    const over: Partial<Reading> = { rev, received_at: this.now, recorded_at: this.now };
    const value = layer === 'mark' ? markReading(String(rev), over) : reading(over);
    this.#publish({ kind: 'reading', symbol: venueSymbol, reading: value });
  }

  #trade(venueSymbol: string): void {
    this.#trades++;
    const row: Row = {
      table: 'trades',
      at: this.now,
      texts: { venue: 'binance', side: 'buy', id: String(this.#trades), quantity_unit: 'base' },
      figures: { price: '60000', quantity: '1' },
      instants: { recorded_at: this.now },
      integers: { src_offset: this.#trades },
      flags: {},
    };
    this.#publish({ kind: 'event', symbol: venueSymbol, row });
  }

  #list(venueSymbol: string, endsIn: number | null): void {
    const base = venueSymbol.slice(0, -4);
    const values = listingValues({ instrument: `${base}-PERP`, venue_symbol: venueSymbol, base });
    const delistedAt = endsIn === null ? null : this.now + endsIn * SECOND;
    const version = listing('binance', values, { writtenAt: this.now, delistedAt });
    this.#publish({ kind: 'listing', symbol: venueSymbol, listing: version });
  }
}

const trackOf = ({ data }: StreamEvent): string => `${data.venue_symbol} ${data.layer}`;

/** What is wrong with the life of a client: its events in the order in which it received them. */
const faultsOf = (life: readonly StreamEvent[]): string[] => {
  const faults: string[] = [];
  const revs = new Map<string, number>();
  /** Tracks whose next snapshot may pass over readings. */
  const open = new Set<string>();
  for (const event of life) {
    const { data } = event;
    if (event.event === 'listing' && data.change === 'added')
      for (const layer of LAYERS) open.add(`${data.venue_symbol} ${layer}`);
    if (event.event === 'gap') {
      const { venue_symbol, layer } = data.scope as { venue_symbol: string; layer: string };
      open.add(`${venue_symbol} ${layer}`);
    }
    if (event.event !== 'snapshot' && event.event !== 'update') continue;
    const key = trackOf(event);
    const [before, rev] = [revs.get(key), data.rev as number];
    revs.set(key, rev);
    if (before !== undefined && rev < before) faults.push(`${key} goes back from ${before} to ${rev}`);
    if (event.event === 'snapshot') {
      if (before !== undefined && rev > before && !open.has(key))
        faults.push(`${key} has a snapshot past ${before}: ${rev}`);
      open.delete(key);
    } else if (before === undefined) faults.push(`${key} has an update without a snapshot`);
    else if (data.change !== 'status' && rev !== before + 1) faults.push(`${key} comes from ${before} to ${rev}`);
    else if (data.change === 'status' && rev !== before) faults.push(`${key} has a status of ${rev} at ${before}`);
  }
  const trades = life
    .filter(({ event }) => event === 'event')
    .flatMap(({ data }) => (data.rows as { id: string }[]).map(({ id }) => id));
  if (new Set(trades).size < trades.length) faults.push(`trades ${trades.join()} are not each given once`);
  return faults;
};

/** What a client has in the end: the listings, the newest of each listing and layer, and every reading and trade it was given. */
const outcomeOf = (life: readonly StreamEvent[]) => {
  const listings = new Set(['BTCUSDT', 'ETHUSDT']);
  const newest = new Map<string, unknown>();
  const given = new Set<string>();
  for (const { event, data } of life) {
    const symbolOf = data.venue_symbol as string;
    if (event === 'listing' && data.change === 'added') listings.add(symbolOf);
    if (event === 'listing' && data.change === 'delisted') {
      listings.delete(symbolOf);
      for (const layer of LAYERS) newest.delete(`${symbolOf} ${layer}`);
    }
    if (event === 'event') for (const { id } of data.rows as { id: string }[]) given.add(`trade ${id}`);
    if (event !== 'snapshot' && event !== 'update') continue;
    const { status, reason, gap_cause } = data.state as Record<string, unknown>;
    newest.set(`${symbolOf} ${data.layer}`, [data.rev, status, reason, gap_cause]);
    given.add(`${symbolOf} ${data.layer} ${data.rev}`);
  }
  return { listings: [...listings].sort(), newest: [...newest].sort(), given: [...given].sort() };
};

/** By listing: there is no order across them. */
const changesOf = (life: readonly StreamEvent[]): string[] => {
  const changes = life
    .filter(({ event }) => event === 'listing')
    .map(({ data }) => `${data.venue_symbol} ${data.change} ${(data.record as { received_at: string }).received_at}`);
  const byListing = changes.sort((a, b) =>
    a.slice(0, 7) < b.slice(0, 7) ? -1 : a.slice(0, 7) > b.slice(0, 7) ? 1 : 0,
  );
  // A step that was cut is given again.
  return byListing.filter((change, i) => change !== byListing[i - 1]);
};

t.test(
  'an added listing is replayed with snapshots as of its place, then each of its readings once (ST-05)',
  async (t) => {
    const world = new World();
    const before = world.open(null);
    const read = { kind: 'read', symbol: 1, layer: 0, skips: 0 } as const;
    world.perform([read, { kind: 'list', symbol: 1, endsIn: null }, read, read]);
    const tell = (events: readonly StreamEvent[]): unknown[] =>
      events.slice(1, -1).map(({ event, data }) => [event, data.layer ?? data.change, data.rev ?? null]);
    const again = world.open(before.at(-1)?.id ?? '');
    const updates = [
      ['update', 'mark', 2],
      ['update', 'mark', 3],
    ];
    t.same(tell(again), [['listing', 'added', null], ['snapshot', 'funding', 0], ['snapshot', 'mark', 1], ...updates]);
    t.same(tell(world.open(again[3]?.id ?? '')), updates, 'from its last snapshot');
    t.same(tell(world.open(again[4]?.id ?? '')), updates.slice(1));
    world.perform([{ kind: 'list', symbol: 1, endsIn: 0 }, read]);
    const left = [['listing', 'delisted', null]];
    t.same(
      tell(world.open(again[4]?.id ?? '')),
      [...updates.slice(1), ...left],
      'its last readings come before its end',
    );
    world.hub.close();
  },
);

t.test(
  'each listing and layer of the life of a client only moves forward, whatever it resumes with (ST-04, D-37)',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(stretch, { minLength: 1, maxLength: 4 }), async (stretches) => {
        const world = new World();
        const stayed = world.open(null);
        const life: StreamEvent[] = [];
        let client = world.open(null);
        for (const { steps, keeps } of stretches) {
          world.perform(steps);
          await world.settle();
          const first = client.findIndex(({ event }) => event === 'ready' || event === 'listing' || event === 'update');
          const least = life.length === 0 ? first : 0;
          const kept = client.slice(0, least + 1 + Math.floor(keeps * (client.length - least - 1)));
          life.push(...kept);
          client = world.open(kept.at(-1)?.id ?? null);
          t.equal(client[0]?.data.resumed, true);
        }
        life.push(...client);
        world.hub.close();
        t.same(faultsOf(stayed), []);
        const faults = faultsOf(life);
        t.same(faults, [], JSON.stringify(stretches));
        t.same(outcomeOf(life), outcomeOf(stayed), JSON.stringify(stretches));
        t.same(changesOf(life), changesOf(stayed), JSON.stringify(stretches));
      }),
      { numRuns: Number(process.env.RESUME_RUNS ?? 150), seed: Number(process.env.RESUME_SEED ?? 11) },
    );
  },
);
