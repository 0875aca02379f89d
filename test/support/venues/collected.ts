// One venue collected from its simulator without engines: its log, and a task that reads it as it grows.
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { startSimulator } from '../../../infra/dev/simulator/simulator.ts';
import type { VenueHost } from '../../../infra/dev/simulator/venue-host.ts';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { type Collector, startCollector } from '../../../ingest/feed/collector.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { Task } from '../../../processors/task/task.ts';
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading, Row } from '../../../schemas/topics.ts';
import { waitFor } from '../wait.ts';
import { type Memory, openMemory, silentLog, toText } from './paper-venue.ts';

/** Resolves when nothing is missing any more. */
export const nothingMissing = async (what: string, missing: () => readonly string[]): Promise<void> => {
  let left: readonly string[] = [];
  const look = (): boolean => {
    left = missing();
    return left.length === 0;
  };
  await waitFor(what, look, { everyMs: 20, seen: () => left.slice(0, 20) });
};

export type OfSymbol<T> = T & { readonly symbol: string };

export class Collected {
  readonly venue: Venue;
  readonly host: VenueHost;
  readonly memory: Memory = openMemory();
  readonly readings: OfSymbol<Reading>[] = [];
  readonly rows: OfSymbol<Row>[] = [];
  readonly dead: unknown[] = [];
  readonly #task: Task;
  readonly #layers: readonly string[];
  #next = 0;

  constructor(venue: Venue, host: VenueHost) {
    this.venue = venue;
    this.host = host;
    this.#task = new Task({ venue, partition: 0, shards: 1 });
    this.#layers = READING_LAYERS.filter((layer) => venue.layers[layer]?.policy === 'on');
  }

  start(endpoints: Readonly<Record<string, string>>, nowMicros: () => Micros): Collector {
    return startCollector({
      venue: this.venue,
      endpoints,
      shards: 1,
      collector: 'c1',
      writer: this.memory,
      nowMicros,
      meters: createMeters(new Registry()).venue(this.venue.id),
      random: () => 0,
      log: silentLog,
    });
  }

  get symbols(): readonly string[] {
    return this.host.market.instruments.map(({ listing }) => listing.symbol);
  }

  read(): void {
    const { written } = this.memory;
    for (; this.#next < written.length; this.#next += 1) {
      const message = written[this.#next];
      if (!message) return;
      const timestampMs = Math.ceil(message.received_at / 1_000);
      const out = this.#task.process({ offset: this.#next, timestampMs, message });
      this.dead.push(...out.deadLetters);
      for (const { symbol, reading, row } of out.live) {
        if (reading) this.readings.push({ ...reading, symbol: symbol ?? '' });
        if (row) this.rows.push({ ...row, symbol: symbol ?? '' });
      }
    }
  }

  /** Listings and layers that have no value now. */
  absent(): readonly string[] {
    this.read();
    const newest = new Map(this.readings.map((reading) => [`${reading.symbol} ${reading.layer}`, reading.valid]));
    return this.symbols
      .flatMap((symbol) => this.#layers.map((layer) => `${symbol} ${layer}`))
      .filter((key) => newest.get(key) !== true);
  }

  /** Listings whose candle of trades of the minute that ended is not known. */
  withoutMinute(endMs: number): readonly string[] {
    this.read();
    const known = this.minute(endMs).map(({ symbol }) => symbol);
    return this.symbols.filter((symbol) => !known.includes(symbol));
  }

  minute(endMs: number): readonly OfSymbol<Row>[] {
    const openTime = (endMs - MS_PER_MINUTE) * 1_000;
    return this.rows.filter(
      ({ table, texts, at }) =>
        table === 'candles' && texts.timeframe === '1m' && texts.price_type === 'trade' && at === openTime,
    );
  }
}

type Assertions = Pick<Test, 'ok' | 'equal' | 'same'>;
const PRICES_AND_VOLUME = ['open', 'high', 'low', 'close', 'volume'];

/** The candle of trades of every listing is that of the market. */
export const checkMinute = (t: Assertions, collected: Collected, endMs: number): void => {
  const { venue, host, symbols } = collected;
  const openTime = (endMs - MS_PER_MINUTE) * 1_000;
  const minute = collected.minute(endMs);
  for (const symbol of symbols) {
    const row = minute.findLast((one) => one.symbol === symbol);
    const made = [...host.truth.rows({ symbol, layer: 'candles' })].find(
      ({ values }) => values.open_time === openTime && values.price_type === 'trade',
    );
    for (const name of PRICES_AND_VOLUME)
      t.equal(row?.figures[name], made?.values[name], `${venue.id} ${symbol} ${name}`);
  }
};

/** More than `more` trades, each once and as the market made it. */
export const checkTrades = (t: Assertions, { venue, host, rows, symbols }: Collected, more: number): void => {
  const trades = rows.filter(({ table }) => table === 'trades');
  t.ok(trades.length > more, `${venue.id}: ${trades.length} trades`);
  t.equal(new Set(trades.map(({ symbol, texts }) => `${symbol} ${texts.id}`)).size, trades.length);
  for (const symbol of symbols) {
    const made = new Map([...host.truth.rows({ symbol, layer: 'trades' })].map(({ values }) => [values.id, values]));
    const wrong = trades
      .filter((row) => row.symbol === symbol)
      .filter(({ texts, figures }) => {
        const one = made.get(texts.id ?? '');
        return one?.price !== figures.price || one?.quantity !== figures.quantity || one?.side !== texts.side;
      });
    t.same(wrong, [], `${venue.id} ${symbol}`);
  }
};

/** No dead letter, and nothing that the venue refused. */
export const checkReadable = (t: Assertions, { venue, dead, memory }: Collected): void => {
  t.same(dead, [], venue.id);
  const refused = memory.of('frame').filter((frame) => venue.classify(toText(frame)) === 'error');
  t.same(refused.map(toText), [], `${venue.id} refuses nothing`);
};

type MarketOptions = { readonly listings: number; readonly levels: number; readonly firstMinuteMs: number };

/** Simulated venues with a collector each; all clocks move forward alike, so that the first minute ends `firstMinuteMs` after the start. */
export const collectAll = async (t: Test, venues: readonly Venue[], options: MarketOptions) => {
  const startedMs = Date.now();
  const aheadMs = MS_PER_MINUTE - ((startedMs + options.firstMinuteMs) % MS_PER_MINUTE);
  const nowMs = (): number => Date.now() + aheadMs;
  const { listings, levels } = options;
  const simulator = await startSimulator({
    venues: venues.map(({ id }) => id),
    listings,
    rate: 300,
    levels,
    seed: 5,
    nowMs,
  });
  const clock = createClock();
  const collectors: Collector[] = [];
  t.teardown(async () => {
    for (const collector of collectors) collector.stop();
    await simulator.stop();
  });
  const all = venues.map((venue): Collected => {
    const host = simulator.hosts.find((one) => one.venue.id === venue.id);
    if (!host) throw new Error(`no simulated ${venue.id}`);
    const collected = new Collected(venue, host);
    const nowMicros = () => clock.nowMicros() + aheadMs * 1_000;
    collectors.push(collected.start(simulator.endpoints[venue.id] ?? {}, nowMicros));
    return collected;
  });
  const nameAll = (missing: (collected: Collected) => readonly string[], of: readonly Collected[] = all) =>
    of.flatMap((collected) => missing(collected).map((what) => `${collected.venue.id} ${what}`));
  /** Reads as it waits: 25 s of messages read in one go are a standstill of the collectors, which share this process (D-796). */
  const reachInstant = (what: string, atMs: number) =>
    nothingMissing(what, () => {
      for (const collected of all) collected.read();
      return nowMs() < atMs ? ['time'] : [];
    });
  return { simulator, all, nameAll, reachInstant, minuteEndMs: startedMs + aheadMs + options.firstMinuteMs };
};
