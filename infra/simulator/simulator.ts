// One simulator: the seeded market, the simulated venue on a loopback port, faults, truth and the control paths.
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Binance, createBinance } from './binance.ts';
import { createRestServer } from './binance-http.ts';
import { BINANCE_LIMITS, type Connection, type SocketLimits, streamKind } from './binance-sockets.ts';
import { handleControl } from './control.ts';
import { createCrossings } from './crossings.ts';
import { createFaults, type FaultEntry, type FaultRequest, type Faults } from './faults.ts';
import { createMarket, type Market } from './market.ts';
import { createSentLog, type SentLog } from './sent-log.ts';
import { createTruthLog, type TruthLog } from './truth-log.ts';

export type SimulatorOptions = {
  readonly port?: number;
  readonly seed?: number;
  readonly listings?: number;
  /** Frames a second over all streams: the second-by-second ones, and book diffs for the rest. */
  readonly rate?: number;
  readonly levels?: number;
  readonly limits?: Partial<SocketLimits & { readonly weightPerMinute: number }>;
  /** Injected in tests; with `manual` the caller drives `advance`. */
  readonly nowMs?: () => number;
  readonly manual?: boolean;
  /** Rows of truth kept a listing and kind; unless told, 150,000 shared by all listings (about 60 MB). */
  readonly truthPerListing?: number;
  /** File for every fault and row of truth, one JSON a line. */
  readonly logPath?: string | null;
  readonly plan?: readonly FaultRequest[];
};

export type Simulator = {
  /** As `VENUE_ENDPOINTS` wants it. */
  readonly endpoints: { readonly binance: Readonly<Record<string, string>> };
  readonly control: string;
  readonly market: Market;
  readonly truth: TruthLog;
  readonly sent: SentLog;
  readonly faults: readonly FaultEntry[];
  readonly inject: (request: FaultRequest) => FaultEntry;
  /** Lets everything due happen; only needed with `manual`. */
  readonly advance: () => void;
  readonly stop: () => Promise<void>;
};

/** How often the market is moved by its clock: frames are at most this late. */
const TICK_MS = 4;

const KEPT_ROWS = 150_000;

type Parts = {
  readonly binance: Binance;
  readonly market: Market;
  readonly faults: Faults;
  readonly nowMs: () => number;
};
type Line = (value: unknown) => void;

function openLog(path: string | null): { readonly line: Line | null; readonly close: () => void } {
  if (path === null) return { line: null, close: () => undefined };
  const file = createWriteStream(path, { flags: 'a' });
  return { line: (value) => void file.write(`${JSON.stringify(value)}\n`), close: () => file.end() };
}

/** What a fault request touches, in the words of the log. */
function affected(
  { binance, market }: Parts,
  request: FaultRequest,
): { readonly symbols: readonly string[]; readonly streams: readonly string[] } {
  const symbols = request.symbols ?? market.instruments.map((i) => i.listing.symbol);
  const streams = new Set<string>();
  for (const { streams: open } of binance.sockets.open) {
    for (const stream of open) {
      const kind = request.kind === 'sequence_hole' || request.kind === 'crossed_book' ? 'depth' : request.stream;
      if (kind !== undefined && kind !== stream && kind !== streamKind(stream)) continue;
      if (stream.startsWith('!') || symbols.some((symbol) => about(stream, symbol))) streams.add(stream);
    }
  }
  return { symbols, streams: [...streams].sort() };
}

/** True when a stream is about a listing; index streams are named by the pair. */
function about(stream: string, symbol: string): boolean {
  const subject = stream.split('@')[0] ?? '';
  const name = symbol.toLowerCase();
  return subject === name || `${subject}_perp` === name;
}

function cut({ binance, market, faults, nowMs }: Parts, request: FaultRequest): FaultEntry {
  const chosen: Connection[] = [...binance.sockets.open]
    .filter((connection) => {
      if (request.symbols === undefined && request.stream === undefined) return true;
      return [...connection.streams].some(
        (stream) =>
          (request.stream === undefined || request.stream === stream || request.stream === streamKind(stream)) &&
          (request.symbols === undefined || request.symbols.some((symbol) => about(stream, symbol))),
      );
    })
    .slice(0, request.count ?? Number.POSITIVE_INFINITY);
  const streams = [...new Set(chosen.flatMap((connection) => [...connection.streams]))].sort();
  const carried = (symbol: string): boolean =>
    streams.some((stream) => stream.startsWith('!') || about(stream, symbol));
  const symbols = market.instruments.map((i) => i.listing.symbol).filter(carried);
  const connections = chosen.map((connection) => connection.log.summary.connection);
  const entry = faults.start(request, { symbols, streams, connections }, nowMs());
  for (const connection of chosen) binance.sockets.disconnect(connection, 'fault');
  return entry;
}

function changeListings({ market, faults, nowMs }: Parts, request: FaultRequest): FaultEntry {
  const chosen = market.instruments.filter((i) => request.symbols?.includes(i.listing.symbol) ?? false);
  if (request.kind === 'listing_added') {
    const added = market.add(nowMs());
    return faults.start(request, { symbols: [added.listing.symbol], streams: [] }, nowMs());
  }
  for (const instrument of chosen) {
    if (request.kind === 'listing_delisted') instrument.status = 'CLOSE';
    else instrument.fundingHours = request.hours ?? 4;
  }
  return faults.start(request, { symbols: chosen.map((i) => i.listing.symbol), streams: [] }, nowMs());
}

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const nowMs = options.nowMs ?? Date.now;
  const log = openLog(options.logPath ?? null);
  const { seed = 1, listings = 50, levels = 300, rate = 300 } = options;
  const market = createMarket({ seed, listings, levels, rate, startMs: nowMs() });
  const faults = createFaults((entry) => log.line?.({ fault: entry }));
  const truth = createTruthLog({
    perListing: options.truthPerListing ?? Math.ceil(KEPT_ROWS / listings),
    onRow: log.line === null ? null : (row) => log.line?.({ truth: row }),
  });
  const sent = createSentLog();
  const limits = { ...BINANCE_LIMITS, weightPerMinute: 2_400, ...options.limits };
  const crossings = createCrossings(faults, nowMs);
  const binance = createBinance({ nowMs, market, faults, truth, sent, crossings, limits });
  const parts = { binance, market, faults, nowMs };
  const rest = createRestServer({ nowMs, market, faults, truth, crossings, weightPerMinute: limits.weightPerMinute });

  function inject(request: FaultRequest): FaultEntry {
    switch (request.kind) {
      case 'disconnect':
        return cut(parts, request);
      case 'listing_added':
      case 'listing_delisted':
      case 'funding_interval_changed':
        return changeListings(parts, request);
      default:
        return faults.start(request, affected(parts, request), nowMs());
    }
  }

  const planned = [...(options.plan ?? [])].sort((a, b) => (a.afterMs ?? 0) - (b.afterMs ?? 0));
  const startedMs = nowMs();
  function advance(): void {
    const now = nowMs();
    while (planned[0] !== undefined && now - startedMs >= (planned[0].afterMs ?? 0)) {
      const due = planned.shift();
      if (due !== undefined) inject(due);
    }
    faults.expire(now);
    binance.advance(now);
  }

  const control = { market, truth, sent, faultLog: faults.log, restCounts: rest.counts, inject };
  const server = createServer((request, response) => {
    if (rest.handle(request, response)) return;
    handleControl(control, request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  server.on('upgrade', (request, socket, head) => binance.sockets.upgrade(request, socket, head));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const timer = options.manual === true ? null : setInterval(advance, TICK_MS);
  const { port } = server.address() as AddressInfo;
  const http = `http://127.0.0.1:${port}`;
  const ws = `ws://127.0.0.1:${port}`;
  return {
    endpoints: {
      binance: {
        usdm_rest: http,
        usdm_public_ws: `${ws}/public/ws`,
        usdm_market_ws: `${ws}/market/ws`,
        coinm_rest: http,
        coinm_ws: `${ws}/coinm/ws`,
      },
    },
    control: `${http}/control`,
    market,
    truth,
    sent,
    faults: faults.log,
    inject,
    advance,
    stop: async () => {
      if (timer !== null) clearInterval(timer);
      binance.sockets.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      log.close();
    },
  };
}
