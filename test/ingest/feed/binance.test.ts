// Binance's slots over real sockets against its simulator: every layer by value, renewals that overlap, repeats that leave no trace.
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { type Simulator, startSimulator } from '../../../infra/dev/simulator/simulator.ts';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { startCollector } from '../../../ingest/feed/collector.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { Task } from '../../../processors/task/task.ts';
import type { Reading, Row } from '../../../schemas/topics.ts';
import { type Memory, openMemory, silentLog, toText } from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';

const LISTINGS = 6;
/** A renewal of every socket while the test runs. */
const RENEW_AFTER_MS = 5_000;

const SOCKETS = ['usdm', 'coinm'].flatMap((market) => ['book', 'mark', 'trade'].map((kind) => `${market}-${kind}.0.0`));

const renewing: Venue = {
  ...binance,
  plan: (listings, env) =>
    binance
      .plan(listings, env)
      .map((slot) => (slot.kind === 'socket' ? { ...slot, renewAfterMs: RENEW_AFTER_MS } : slot)),
};

type Collected = {
  readonly simulator: Simulator;
  readonly memory: Memory;
  readonly readings: readonly (Reading & { readonly symbol: string })[];
  readonly rows: readonly (Row & { readonly symbol: string })[];
};

/** Reads `written` as a task would that finds it in the log. */
const replay = (memory: Memory): Pick<Collected, 'readings' | 'rows'> => {
  const dead: unknown[] = [];
  const task = new Task({ venue: binance, partition: 0, shards: 1 });
  const readings: (Reading & { symbol: string })[] = [];
  const rows: (Row & { symbol: string })[] = [];
  for (const [offset, message] of memory.written.entries()) {
    const out = task.process({ offset, timestampMs: Math.ceil(message.received_at / 1_000), message });
    dead.push(...out.deadLetters);
    for (const { symbol, reading, kind, row } of out.live) {
      if (reading) readings.push({ ...reading, symbol: symbol ?? '' });
      if (kind === 'event' && row) rows.push({ ...row, symbol: symbol ?? '' });
    }
  }
  t.same(dead, [], 'every message is read');
  return { readings, rows };
};

const collect = async (t: Test): Promise<Collected> => {
  const simulator = await startSimulator({ listings: LISTINGS, rate: 100, levels: 20, seed: 5 });
  const memory = openMemory();
  const clock = createClock();
  const collector = startCollector({
    venue: renewing,
    endpoints: simulator.endpoints.binance ?? {},
    shards: 1,
    collector: 'c1',
    writer: memory,
    nowMicros: clock.nowMicros,
    meters: createMeters(new Registry()).venue('binance'),
    random: () => 0,
    log: silentLog,
  });
  t.teardown(async () => {
    collector.stop();
    await simulator.stop();
  });
  const renewed = (slot: string): boolean =>
    memory.of('lost').some((lost) => lost.slot === slot && toText(lost).includes('successor'));
  for (const slot of SOCKETS)
    await waitFor(`open: ${slot}`, () => memory.of('open').some((open) => open.slot === slot));
  for (const slot of SOCKETS) await waitFor(`renewed: ${slot}`, () => renewed(slot));
  return { simulator, memory, ...replay(memory) };
};

const collected = await collect(t);
const { simulator, memory, readings, rows } = collected;
const symbols = simulator.market.instruments.map(({ listing }) => listing.symbol);

t.test('every layer that the capability of Binance lists comes for every listing', (t) => {
  for (const [layer, { policy }] of Object.entries(binance.layers)) {
    t.equal(policy, 'on', layer);
    if (['trades', 'liquidation', 'candles'].includes(layer)) continue;
    const seen = new Set(readings.filter((reading) => reading.layer === layer).map(({ symbol }) => symbol));
    t.same([...seen].sort(), symbols.toSorted(), layer);
  }
  t.end();
});

t.test('figures are those of the market at their stamp', (t) => {
  for (const layer of ['ticker', 'mark', 'funding', 'oi', 'stats'] as const) {
    let compared = 0;
    for (const { symbol, venue_ts, values } of readings.filter((reading) => reading.layer === layer)) {
      // COIN-M sends mark and index apart: their stamps may differ.
      if (venue_ts === null || (layer === 'mark' && symbol.endsWith('_PERP'))) continue;
      const [truth] = [...simulator.truth.rows({ symbol, layer, venueTs: venue_ts })];
      for (const [member, digits] of Object.entries(values)) {
        if (!truth || !(member in truth.values)) continue;
        if (truth.values[member] !== digits) t.equal(digits, truth.values[member], `${symbol} ${layer} ${member}`);
        compared += 1;
      }
    }
    t.ok(compared >= LISTINGS, `${layer}: ${compared} compared`);
  }
  t.end();
});

t.test('a trade that two overlapping connections bring is one row, and none between is missing', (t) => {
  const isTrade = (text: string): boolean => text.startsWith('{"e":"aggTrade"');
  const toId = (text: string): string => /"a":(\d+)/.exec(text)?.[1] ?? '';
  const toName = (text: string): string => /"s":"([^"]+)"/.exec(text)?.[1] ?? '';
  const frames = memory.of('frame').map(toText).filter(isTrade);
  const brought = new Set(frames.map((text) => `${toName(text)} ${toId(text)}`));
  t.ok(frames.length > brought.size, `${frames.length - brought.size} of ${frames.length} frames came twice`);
  const trades = rows.filter(({ table }) => table === 'trades');
  t.equal(new Set(trades.map(({ symbol, texts }) => `${symbol} ${texts.id}`)).size, trades.length);
  for (const symbol of symbols) {
    const mine = trades.filter((row) => row.symbol === symbol);
    const ids = mine.map(({ texts }) => Number(texts.id)).sort((a, b) => a - b);
    const [first = 0] = ids;
    t.equal((ids.at(-1) ?? 0) - first + 1, ids.length, `${symbol}: ${ids.length} trades without a hole`);
    const truth = new Map(
      [...simulator.truth.rows({ symbol, layer: 'trades' })].map(({ values }) => [values.id, values]),
    );
    const wrong = mine.filter(({ texts, figures }) => {
      const made = truth.get(texts.id ?? '');
      return made?.price !== figures.price || made?.quantity !== figures.quantity || made?.side !== texts.side;
    });
    t.same(wrong, [], `${symbol}: price, quantity and side`);
  }
  t.end();
});

t.test('an overlap repeats no liquidation, though the venue gives them no id', (t) => {
  const stored = rows.filter(({ table }) => table === 'liquidations');
  const made = symbols.flatMap((symbol) => [...simulator.truth.rows({ symbol, layer: 'liquidations' })]);
  const toKey = (symbol: string, at: number | undefined, price: unknown): string => `${symbol} ${at} ${price}`;
  const known = new Set(made.map(({ symbol, venue_ts, values }) => toKey(symbol, venue_ts, values.price)));
  const keys = stored.map(({ symbol, instants, figures }) => toKey(symbol, instants.venue_ts, figures.price));
  t.equal(new Set(keys).size, keys.length);
  t.same(
    keys.filter((key) => !known.has(key)),
    [],
  );
  t.end();
});
