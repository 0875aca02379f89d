// What the tasks of two venues publish in a random script, each into its own log: readings, rows, listings, connections, policies.
import fc from 'fast-check';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { Micros } from '../../../schemas/records.ts';
import { type LiveEntry, makeLiveEntry, type Reading } from '../../../schemas/topics.ts';
import {
  capability,
  LISTED,
  listing,
  listingValues,
  markReading,
  NOW,
  reading,
} from '../../support/apps/live-fixture.ts';

const SECOND: Micros = 1_000_000;
export const LAYERS = ['funding', 'mark'] as const;
/** Tasks of two venues with their listings; a venue of two tasks is known by what both brought. */
export const TASKS = [
  { venue: 'binance', partition: 0, symbols: ['BTCUSDT', 'XRPUSDT'] },
  { venue: 'binance', partition: 1, symbols: ['SOLUSDT'] },
  { venue: 'okx', partition: 0, symbols: ['BTC-USDT-SWAP'] },
] as const;
export const VENUES = ['binance', 'okx'] as const;
export const LISTINGS = TASKS.flatMap(({ venue, symbols }, task) => symbols.map((symbol) => ({ venue, symbol, task })));

/** One of two. */
const node = fc.nat(1);
const of = fc.nat(LISTINGS.length - 1);
const venue = fc.nat(VENUES.length - 1);
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      of,
      layer: fc.constantFrom(...LAYERS),
      skips: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 2),
      isValid: fc.constantFrom(true, true, true, true, false),
      horizonS: fc.constantFrom(null, null, 2, 4),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('trade' as const), of }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('list' as const), of, endsIn: fc.constantFrom(null, null, 0, 3) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('lose' as const, 'connect' as const), venue }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('policy' as const), venue, on: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(4_000), laggard: fc.nat(8) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      node,
      task: fc.nat(TASKS.length - 1),
      most: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deliver all' as const), node }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('leave' as const), keeps: fc.constantFrom(1, 1, 0.9, 0.7, 0.2) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('return' as const), node, waits: fc.boolean() }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
export type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>;
export const script = fc.record({
  skewsMs: fc.tuple(fc.integer({ min: -300, max: 300 }), fc.integer({ min: -300, max: 300 })),
  steps: fc.array(step, { maxLength: 60, size: 'max' }),
});

type Logged = { readonly bytes: Buffer; readonly recordedAt: Micros };

/** What the tasks publish, each into its own log. */
export class Log {
  readonly tasks: Logged[][] = TASKS.map(() => []);
  readonly #revs = new Map<string, number>();
  readonly #connections = new Map<string, number>(VENUES.map((each) => [each, 1]));
  #trades = 0;
  #recordedAt: Micros = NOW - 10 * SECOND;

  append(task: number, at: Micros, body: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void {
    const log = this.tasks[task] ?? [];
    this.#recordedAt = Math.max(at, this.#recordedAt);
    const entry = makeLiveEntry({ offset: log.length + 1, index: 0, recorded_at: this.#recordedAt, ...body });
    log.push({ bytes: codecs.live.encode(entry), recordedAt: entry.recorded_at });
  }

  /** What concerns a venue is in the log of each of its tasks. */
  publish(of: string, at: Micros, body: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void {
    for (const [task, each] of TASKS.entries()) if (each.venue === of) this.append(task, at, body);
  }

  begin(): void {
    for (const each of VENUES) {
      this.publish(each, LISTED, { kind: 'capability', capability: capability(each) });
      this.connect(each, NOW - 5 * SECOND);
      this.publish(each, NOW, { kind: 'watermark', watermark: NOW - SECOND });
    }
    for (const i of LISTINGS.keys()) if (i !== 1) this.list({ kind: 'list', of: i, endsIn: null }, NOW - SECOND);
    for (const i of LISTINGS.keys())
      for (const layer of LAYERS)
        this.read({ kind: 'read', of: i, layer, skips: 0, isValid: true, horizonS: null }, NOW);
  }

  connect(of: string, at: Micros): void {
    const span = {
      conn_id: `${of} ${(this.#connections.get(of) ?? 0) + 1}`,
      slot: 'market',
      from: at,
      to: null,
      cause: null,
    };
    this.#connections.set(of, (this.#connections.get(of) ?? 0) + 1);
    this.publish(of, at, { kind: 'connection', span });
    this.#begun.set(span.conn_id, at);
  }

  readonly #begun = new Map<string, Micros>();
  readonly #lost = new Set<string>();

  lose(of: string, at: Micros): void {
    const connId = this.#connectionOf(of);
    if (this.#lost.has(connId)) return;
    this.#lost.add(connId);
    const span = {
      conn_id: connId,
      slot: 'market',
      from: this.#begun.get(connId) ?? 0,
      to: at,
      cause: 'connection_lost' as const,
    };
    this.publish(of, at, { kind: 'connection', span });
  }

  #connectionOf(of: string): string {
    return `${of} ${this.#connections.get(of)}`;
  }

  read({ of, layer, skips, isValid, horizonS }: StepOf<'read'>, at: Micros): void {
    const { venue: from, symbol, task } = LISTINGS[of] as (typeof LISTINGS)[number];
    // Nothing comes over a connection that is lost.
    if (this.#lost.has(this.#connectionOf(from))) this.connect(from, at);
    const key = `${from} ${symbol} ${layer}`;
    const before = this.#revs.get(key) ?? 0;
    const rev = before === 0 ? 1 : before + 1 + skips;
    this.#revs.set(key, rev);
    const over: Partial<Reading> = {
      ...{
        rev,
        received_at: at,
        recorded_at: at,
        venue_ts: at - 1_000,
        conn_id: this.#connectionOf(from),
        valid: isValid,
      },
      gap_cause: isValid ? null : 'sequence_break',
      ...(horizonS === null
        ? {}
        : {
            horizon_source: 'documented' as const,
            horizon_ms: horizonS * 1_000,
            valid_until: at - 1_000 + horizonS * SECOND,
          }),
    };
    const value = layer === 'mark' ? markReading(String(60_000 + rev), over) : reading(over);
    this.append(task, at, { kind: 'reading', symbol, reading: value });
  }

  trade({ of }: StepOf<'trade'>, at: Micros): void {
    const { venue: from, symbol, task } = LISTINGS[of] as (typeof LISTINGS)[number];
    this.#trades++;
    const row: LiveEntry['row'] = {
      table: 'trades',
      at,
      texts: { venue: from, side: 'buy', id: String(this.#trades), quantity_unit: 'base' },
      figures: { price: '60000', quantity: '1' },
      instants: { recorded_at: at },
      integers: { src_offset: this.#trades },
      flags: {},
    };
    this.append(task, at, { kind: 'event', symbol, row });
  }

  list({ of, endsIn }: StepOf<'list'>, at: Micros): void {
    const { venue: from, symbol, task } = LISTINGS[of] as (typeof LISTINGS)[number];
    const base = symbol.slice(0, 3);
    const values = listingValues({ instrument: `${base}-PERP`, venue_symbol: symbol, base });
    const version = listing(from, values, { writtenAt: at, delistedAt: endsIn === null ? null : at + endsIn * SECOND });
    this.append(task, at, { kind: 'listing', symbol, listing: version });
  }
}
