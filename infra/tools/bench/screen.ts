// What screens and parsing cost: `node infra/tools/bench/screen.ts [--listings 1000] [--bars 300]`. The operation itself, over a memory copy and a
// real QuestDB with that many hourly candles a listing; no HTTP. A measurement, never a test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PLANS } from '../../../api/access/plans.ts';
import { compile } from '../../../api/dql/compile.ts';
import { createHistoryStore } from '../../../api/history/store.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import type { Context } from '../../../api/operations/operation.ts';
import { screen } from '../../../api/operations/screen.ts';
import { directoryOf } from '../../../api/selection/directory.ts';
import { seriesCacheOf } from '../../../api/series/cache.ts';
import { ensureTables } from '../../../processors/sinks/ensure-tables.ts';
import { candleRow } from '../../../processors/task/rows.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { writeJson } from '../../../schemas/json.ts';
import { READING_LAYERS } from '../../../schemas/layers.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { ListingVersion, LiveEntry, Reading, Row } from '../../../schemas/topics.ts';
import { startEngines } from '../../engines/engines.ts';
import { createLog } from '../../runtime/log.ts';
import { createRowSender, openQuestdbReader } from '../../runtime/questdb.ts';
import { below, type Figure, figureOf, quantile, renderTable } from './figures.ts';

const { values: options } = parseArgs({
  options: { listings: { type: 'string', default: '1000' }, bars: { type: 'string', default: '300' } },
});
const LISTINGS = Number(options.listings);
const BARS = Number(options.bars);
const VENUES = ['binance', 'bybit', 'gate', 'okx'];
const HOUR: Micros = 3_600_000_000;
const NOON: Micros = Date.parse('2026-01-15T12:00:00Z') * 1_000;
const NOW = NOON + 200_000_000;
const WORST = 2_000;
const WARM_UPS = 10;

const FIELDS_ONLY =
  'any(venues where funding > 1bps and spread < 5bps and age(bid) < 30s) or max(venues, mark) > 2 * min(venues, mark)';
const WARM = 'any(venues where ema(close, 20) > ema(close, 50) and rsi(close, 14) < 70) timeframe 1h';
const HEAVY =
  'any(venues where sma(ema(close, 250), 500) > sma(ema(open, 250), 500) and percentile(sma(high, 500), 500, 95) > stdev(low, 500)) timeframe 1h';

const log = createLog('bench', 'silent');
const dir = mkdtempSync(join(tmpdir(), 'bench-screen-'));
const engines = await startEngines({ dir, kafka: false, postgres: false, anvil: false, ports: 'free', env: {} });
const { questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
const auth = { user: questdb_user ?? '', password: questdb_password ?? '' };
const reader = openQuestdbReader(questdb_pg ?? '', { max: 6, timeoutMs: 30_000, auth, log });
const sender = createRowSender(questdb_http ?? '', { auth, log });

// ---- the market ----

const symbols = Array.from({ length: LISTINGS }, (_, i) => {
  const base = `B${Math.floor(i / VENUES.length)}`;
  return { venue: VENUES[i % VENUES.length] ?? '', symbol: `${base}USDT`, base };
});

const versionOf = ({ venue, symbol, base }: (typeof symbols)[number]): ListingVersion => {
  const first = NOON - 5_000 * HOUR;
  const values = {
    ...{ instrument: `${base}-PERP`, venue_symbol: symbol, base, quote: 'USDT', base_venue_alias: null },
    ...{ kind: 'perpetual', venue_kind: 'linear', pair: null, post_only: null, status: 'tradeable' },
    ...{
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: '0.001',
      min_qty: '0.001',
      min_notional: '5',
    },
    ...{ price_decimals: 1, qty_decimals: 3, quantity_unit: 'base', funding_interval: '8h' },
    units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
    ...{ funding_interval_source: 'venue', funding_normalisation: { venue_field: 'r', transform: 'identity' } },
    ...{ rules_normalisation: {}, not_published: [], bands: [], oi_sides: 'one', listed_at: null, delisted_at: null },
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] },
  };
  const record = { layer: 'listing', venue, venue_symbol: symbol, venue_ts: null, received_at: first, values };
  return {
    venue,
    venue_symbol: symbol,
    written_at: first,
    first_seen_at: first,
    delisted_at: null,
    record,
  } as ListingVersion;
};

const VALUES: Readonly<Record<string, Record<string, string>>> = {
  mark: { mark: '60000.1', index: '60001.2', basis: '-0.00001833' },
  funding: { funding: '0.000125', funding_8h: '0.000125', funding_interval: '28800000' },
  book: { bid: '60000', ask: '60000.1', mid: '60000.05', spread: '0.0000016', bid_size: '1.2', ask_size: '2.5' },
};
const readingOf = (layer: string, i: number): Reading => ({
  ...{ layer: layer as Reading['layer'], rev: 1, valid: true, gap_cause: null, venue_ts: NOW - 900_000 },
  ...{ received_at: NOW - 800_000 - i, recorded_at: NOW - 700_000, conn_id: 'c1', horizon_ms: null, valid_until: null },
  ...{ horizon_source: 'connection', anchor: 'venue', values: VALUES[layer] ?? {}, null_reasons: {}, instants: {} },
  ...{ quantity_unit: 'base', book: null, raw: null },
});

const live = new LiveMemory(VENUES);
let offset = 0;
const tell = (venue: string, body: Partial<LiveEntry> & Pick<LiveEntry, 'kind'>): void => {
  const none = { symbol: null, reading: null, span: null, row: null, listing: null, capability: null, watermark: null };
  live.applyLive(venue, 0, { ...none, offset: ++offset, index: 0, recorded_at: NOW, ...body });
};
const on = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' } as const;
for (const venue of VENUES) {
  live.markReady(venue, 0);
  const layers = Object.fromEntries([...READING_LAYERS, 'candles'].map((layer) => [layer, on]));
  tell(venue, { kind: 'capability', capability: { venue, name: venue, written_at: NOON - 5_000 * HOUR, layers } });
  tell(venue, { kind: 'connection', span: { conn_id: 'c1', slot: 's', from: NOON - HOUR, to: null, cause: null } });
  tell(venue, { kind: 'watermark', watermark: NOW - 200_000 });
  live.applyHistoryWatermark(venue, 0, NOW);
}
for (const [i, one] of symbols.entries()) {
  live.applyListing(versionOf(one));
  for (const layer of Object.keys(VALUES))
    tell(one.venue, { kind: 'reading', symbol: one.symbol, reading: readingOf(layer, i) });
}

const candle = ({ venue, symbol }: (typeof symbols)[number], i: number): Row => {
  const openTime = NOON - (i + 1) * HOUR;
  const price = 100 + ((i * 7919) % 100) / 10;
  const figures = {
    open: String(price),
    high: String(price + 1),
    low: String(price - 1),
    close: String(price + 0.5),
    volume: '3',
  };
  const minute = {
    values: { volume_unit: 'base' },
    venue_ts: null,
    received_at: openTime + HOUR,
    final: true,
    connId: 'c1',
  };
  const stored = { ...minute, recordedAt: openTime + HOUR, srcOffset: i, late: false };
  return candleRow(
    { venue, symbol, priceType: 'trade' },
    {
      ...{ openTime, closeTime: openTime + HOUR, timeframe: '1h', minute: stored as never, figures, trades: null },
      ...{ gapCause: null, counted: { expected: 60, present: 60, noTrades: 0 } },
    },
    i,
  );
};

await ensureTables((text) => reader.query({ text }), { namespace: '' });
const BATCH = 50_000;
let batch: Row[] = [];
for (let i = 0; i < BARS; i++) {
  for (const one of symbols) batch.push(candle(one, i));
  if (batch.length >= BATCH || i === BARS - 1) {
    await sender.send('candles', batch);
    batch = [];
  }
}
await sender.waitVisible(['candles']);

// ---- the figures ----

const history = createHistoryStore(reader, '');
const context: Context = {
  ...{ live, history, evaluatedAt: NOW, receiptId: 'rcp_0', itemsLimit: Number.POSITIVE_INFINITY, caller: null },
  ...{ plan: PLANS.pro_plus, scopeOf: () => ({ venues: null, instruments: null }) },
} as Context;

const ask = async (query: string): Promise<{ ms: number; bytes: number }> => {
  const began = performance.now();
  const { body, numberFormat } = await screen.run({ query, include_unknown: true, limit: 500 }, context);
  const text = writeJson(body, { numberFormat });
  return { ms: performance.now() - began, bytes: text.length };
};

/** The first call loads the columns; when that takes longer than an evaluation may, the next ones find what it left. */
const warmUp = async (query: string): Promise<{ readonly ms: number; readonly refused: number }> => {
  const began = performance.now();
  for (let refused = 0; ; refused++) {
    try {
      await ask(query);
      return { ms: performance.now() - began, refused };
    } catch (error) {
      if (!(error instanceof ServiceError) || refused >= WARM_UPS) throw error;
    }
  }
};

const measure = async (
  name: string,
  query: string,
  of: { rounds: number; aimMs: number | null },
): Promise<Figure[]> => {
  const cold = await warmUp(query);
  const times: number[] = [];
  let bytes = 0;
  const before = process.cpuUsage();
  for (let i = 0; i < of.rounds; i++) {
    const { ms, bytes: sent } = await ask(query);
    times.push(ms);
    bytes = sent;
  }
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1_000 / of.rounds;
  const aim = of.aimMs === null ? {} : { aim: below(of.aimMs) };
  return [
    figureOf(`${name}, until warm`, 'ms', cold.ms, {
      note: cold.refused === 0 ? 'one call' : `${cold.refused} calls refused after 5 s`,
    }),
    figureOf(`${name} p50`, 'ms', quantile(times, 0.5), {
      note: `${Math.round(bytes / 1024)} kB, ${times.length} calls, ${cpuMs.toFixed(1)} ms of processor each`,
    }),
    figureOf(`${name} p99`, 'ms', quantile(times, 0.99), aim),
  ];
};

const parsing = (): Figure[] => {
  const { codes } = directoryOf(live);
  const text = JSON.stringify(compile({ text: WARM }, codes).json);
  const rate = (work: () => void): number => {
    const began = performance.now();
    let n = 0;
    while (performance.now() - began < 1_000) for (let i = 0; i < 20; i++, n++) work();
    return (n * 1_000) / (performance.now() - began);
  };
  rate(() => compile({ text: WARM }, codes));
  const limit = rate(() => JSON.parse(text));
  const measured = rate(() => compile({ text: WARM }, codes));
  return [
    figureOf('queries parsed, checked, costed and printed', '/s', measured, {
      limit,
      limitIs: 'JSON.parse of its machine form',
    }),
  ];
};

const megabytes = (bytes: number): number => bytes / 1_048_576;
try {
  const figures = [
    ...parsing(),
    ...(await measure(`screen of ${LISTINGS} listings, fields only`, FIELDS_ONLY, { rounds: 300, aimMs: 25 })),
    ...(await measure(`screen of ${LISTINGS} listings, ema and rsi`, WARM, { rounds: 100, aimMs: 100 })),
  ];
  if (BARS >= WORST) figures.push(...(await measure('worst legal query', HEAVY, { rounds: 5, aimMs: 5_000 })));
  figures.push(figureOf('series cache', 'MB', megabytes(seriesCacheOf(live).bytes)));
  figures.push(figureOf('memory of the process', 'MB', megabytes(process.memoryUsage().rss)));
  process.stdout.write(`${renderTable(figures)}\n`);
} finally {
  await sender.close();
  await reader.close();
  await engines.stop();
  rmSync(dir, { recursive: true, force: true });
}
