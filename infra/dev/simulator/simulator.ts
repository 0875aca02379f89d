// One simulator: venues with their own seeded markets on one loopback port, faults, truth and the control paths.
import { createWriteStream } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TRUTH_ROWS } from './config.ts';
import { answerControl, type ControlDeps } from './control.ts';
import type { FaultEntry, FaultRequest } from './faults.ts';
import type { Market } from './market.ts';
import { createSentLog, type SentLog } from './sent-log.ts';
import type { TruthLog } from './truth-log.ts';
import type { SimulatedVenue, VenueLimits } from './venue.ts';
import { openVenue, type VenueHost } from './venue-host.ts';
import { simulatedVenues } from './venues/index.ts';

export type SimulatorOptions = {
  readonly port?: number;
  /** Ids; default: only Binance. */
  readonly venues?: readonly string[];
  readonly seed?: number;
  /** Per venue. */
  readonly listings?: number;
  /** Frames a second over all streams, shared by the venues (default 400 each): steady ones, frames of trades, and book diffs for the rest. */
  readonly rate?: number;
  /** Seconds between steady frames of a listing (default 1); a minute is a multiple of it. */
  readonly stepS?: number;
  readonly levels?: number;
  readonly limits?: Partial<VenueLimits>;
  /** Injected in tests; with `manual` the caller drives `advance`. */
  readonly nowMs?: () => number;
  readonly manual?: boolean;
  /** Rows of truth kept of each kind, shared by all listings. */
  readonly truthRows?: number;
  /** File for every fault and row of truth, one JSON a line. */
  readonly logPath?: string | null;
  readonly plan?: readonly FaultRequest[];
};

export type Simulator = {
  /** In the format of `VENUE_ENDPOINTS`. */
  readonly endpoints: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly control: string;
  readonly hosts: readonly VenueHost[];
  /** Of the first venue. */
  readonly market: Market;
  readonly truth: TruthLog;
  readonly sent: SentLog;
  readonly faults: readonly FaultEntry[];
  readonly inject: (request: FaultRequest) => FaultEntry;
  /** Runs everything that is due; only needed with `manual`. */
  readonly advance: () => void;
  readonly stop: () => Promise<void>;
};

/** How often the markets advance: frames are at most this late. */
const TICK_MS = 4;
/** Frames a second per venue. */
const RATE = 400;
const DEFAULT_VENUES = ['binance'];

type Line = (value: unknown) => void;

function openLog(path: string | null): { readonly line: Line | null; readonly close: () => void } {
  if (path === null) return { line: null, close: () => undefined };
  const file = createWriteStream(path, { flags: 'a' });
  return { line: (value) => void file.write(`${JSON.stringify(value)}\n`), close: () => file.end() };
}

function findVenue(id: string): SimulatedVenue {
  const venue = simulatedVenues.find((known) => known.id === id);
  if (venue !== undefined) return venue;
  const known = simulatedVenues.map((one) => one.id).join(', ');
  throw new TypeError(`found venue ${JSON.stringify(id)}, simulated are ${known}`);
}

function openHosts(
  options: SimulatorOptions,
  common: Pick<Parameters<typeof openVenue>[1], 'nowMs' | 'sent' | 'faultLog' | 'onFault' | 'onTruth'>,
): readonly VenueHost[] {
  const { seed = 1, listings = 50, levels = 300, stepS = 1, limits = {}, truthRows = TRUTH_ROWS } = options;
  if (60 % stepS !== 0) throw new TypeError(`found stepS ${stepS}, expected a divisor of 60`);
  const venues = (options.venues ?? DEFAULT_VENUES).map(findVenue);
  const truthPerListing = Math.ceil(truthRows / listings / venues.length);
  const rate = options.rate === undefined ? RATE : options.rate / venues.length;
  const given = { seed, listings, levels, rate, stepMs: stepS * 1_000, limits, truthPerListing };
  return venues.map((venue) => openVenue(venue, { ...common, ...given }));
}

/** The host of a path's prefix, and the URL after it. */
function findHost(hosts: readonly VenueHost[], url: URL): { readonly host: VenueHost; readonly url: URL } | null {
  const [, id = ''] = url.pathname.split('/', 2);
  const host = hosts.find(({ venue }) => venue.id === id);
  return host === undefined ? null : { host, url: new URL(url.href.replace(`/${id}`, '')) };
}

const listEndpoints = ({ venue }: VenueHost, port: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(venue.endpoints).map(([name, { protocol, path }]) => [
      name,
      `${protocol}://127.0.0.1:${port}/${venue.id}${path}`,
    ]),
  );

/** Injects each fault of the plan once it is due, counted from this call. */
function createPlan(plan: readonly FaultRequest[], inject: (request: FaultRequest) => unknown, nowMs: () => number) {
  const planned = [...plan].sort((a, b) => (a.afterMs ?? 0) - (b.afterMs ?? 0));
  const startedMs = nowMs();
  return (): void => {
    while (planned[0] !== undefined && nowMs() - startedMs >= (planned[0].afterMs ?? 0)) {
      const due = planned.shift();
      if (due !== undefined) inject(due);
    }
  };
}

async function listen(control: ControlDeps, port: number): Promise<Server> {
  const { hosts } = control;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const found = findHost(hosts, url);
    const handled =
      found === null ? answerControl(control, request, response) : found.host.handle(request, response, found.url);
    handled.catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.on('upgrade', (request, tcp, head) => {
    const found = findHost(hosts, new URL(request.url ?? '/', 'http://localhost'));
    if (found === null) tcp.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    else found.host.upgrade({ request, tcp, head }, found.url);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const nowMs = options.nowMs ?? Date.now;
  const log = openLog(options.logPath ?? null);
  const sent = createSentLog();
  const faultLog: FaultEntry[] = [];
  const hosts = openHosts(options, {
    nowMs,
    sent,
    faultLog,
    onFault: (fault) => log.line?.({ fault }),
    onTruth: log.line === null ? null : (truth) => log.line?.({ truth, written_at: nowMs() * 1_000 }),
  });
  const [first] = hosts;
  if (first === undefined) throw new TypeError('found no venue, name at least one');

  const inject = (request: FaultRequest): FaultEntry =>
    (hosts.find(({ venue }) => venue.id === request.venue) ?? first).inject(request);
  const injectDue = createPlan(options.plan ?? [], inject, nowMs);
  const advance = (): void => {
    injectDue();
    for (const host of hosts) host.advance();
  };
  const server = await listen({ hosts, sent, faultLog, inject }, options.port ?? 0);
  const timer = options.manual === true ? null : setInterval(advance, TICK_MS);
  const { port } = server.address() as AddressInfo;
  return {
    endpoints: Object.fromEntries(hosts.map((host) => [host.venue.id, listEndpoints(host, port)])),
    control: `http://127.0.0.1:${port}/control`,
    hosts,
    market: first.market,
    truth: first.truth,
    sent,
    faults: faultLog,
    inject,
    advance,
    stop: async () => {
      if (timer !== null) clearInterval(timer);
      for (const host of hosts) host.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      log.close();
    },
  };
}
