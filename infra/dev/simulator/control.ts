// The control API of a simulator: faults, truth and sent frames, over plain HTTP for tests and demos. `?venue=` selects one venue.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FaultEntry, type FaultRequest, parseFault } from './faults.ts';
import { readBody } from './request-body.ts';
import type { SentLog } from './sent-log.ts';
import type { TruthQuery } from './truth-log.ts';
import { TRUTH_LAYERS, type TruthRow } from './truth-rows.ts';
import type { VenueHost } from './venue-host.ts';

export type ControlDeps = {
  readonly hosts: readonly VenueHost[];
  readonly sent: SentLog;
  readonly faultLog: readonly FaultEntry[];
  readonly inject: (request: FaultRequest) => FaultEntry;
};

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function answerLines(response: ServerResponse, rows: Iterable<unknown>): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  for (const row of rows) response.write(`${JSON.stringify(row)}\n`);
  response.end();
}

function parseTruthQuery(query: URLSearchParams): TruthQuery {
  const layer = TRUTH_LAYERS.find((known) => known === query.get('layer'));
  const symbol = query.get('symbol');
  const ts = query.get('ts');
  const since = query.get('since');
  return {
    ...(symbol === null ? {} : { symbol }),
    ...(layer === undefined ? {} : { layer }),
    ...(ts === null ? {} : { venueTs: Number(ts) }),
    ...(since === null ? {} : { sinceTs: Number(since) }),
  };
}

function* listTruthRows(hosts: readonly VenueHost[], query: URLSearchParams): Iterable<TruthRow> {
  for (const { truth } of hosts) yield* truth.rows(parseTruthQuery(query));
}

function makeBookAnswer(
  hosts: readonly VenueHost[],
  query: URLSearchParams,
): readonly [status: number, value: unknown] {
  for (const { market, truth, venue } of hosts) {
    const instrument = market.instruments.find((i) => i.listing.symbol === query.get('symbol'));
    if (instrument === undefined) continue;
    const newest = venue.bookIds === 'changes' ? instrument.diffId : instrument.ordinal;
    const { venueTs } = parseTruthQuery(query);
    const book = truth.bookAt(instrument, { sequence: Number(query.get('u') ?? newest), venueTs });
    return book === null ? [404, { error: 'no diff with this sequence is kept' }] : [200, book];
  }
  return [404, { error: 'no such symbol' }];
}

const toListings = ({ venue, market }: VenueHost): readonly object[] =>
  market.instruments.map(({ listing, status, fundingHours }) => ({
    venue: venue.id,
    ...listing,
    status,
    fundingHours,
  }));

async function startFault(deps: ControlDeps, request: IncomingMessage): Promise<readonly [number, unknown]> {
  try {
    const ids = deps.hosts.map(({ venue }) => venue.id);
    return [201, deps.inject(parseFault(JSON.parse(await readBody(request)), ids))];
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError) return [400, { error: error.message }];
    throw error;
  }
}

function setRate(hosts: readonly VenueHost[], query: URLSearchParams): readonly [number, unknown] {
  const rate = Number(query.get('rate'));
  if (!(rate > 0)) return [400, { error: 'rate is frames a second, above 0' }];
  for (const { market } of hosts) market.setRate(rate / hosts.length);
  return [200, { rate }];
}

/** `path` without the `/control` prefix. */
export async function answerControl(
  deps: ControlDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const query = url.searchParams;
  const venue = query.get('venue');
  const isAsked = (id: string): boolean => venue === null || venue === id;
  const hosts = deps.hosts.filter((host) => isAsked(host.venue.id));
  if (hosts.length === 0) {
    answer(response, 404, { error: `venue ${venue} is not simulated` });
    return;
  }
  switch (`${request.method} ${url.pathname.replace(/^\/control/, '')}`) {
    case 'POST /faults':
      answer(response, ...(await startFault(deps, request)));
      return;
    case 'GET /faults':
      answer(
        response,
        200,
        deps.faultLog.filter((entry) => isAsked(entry.venue)),
      );
      return;
    case 'GET /truth':
      answer(response, 200, [...listTruthRows(hosts, query)]);
      return;
    case 'GET /truth/dump':
      answerLines(response, listTruthRows(hosts, query));
      return;
    case 'GET /truth/book':
      answer(response, ...makeBookAnswer(hosts, query));
      return;
    case 'GET /sent':
      answer(response, 200, {
        connections: deps.sent.connections.filter((connection) => isAsked(connection.venue)),
        rest: Object.fromEntries(hosts.map((host) => [host.venue.id, host.restCounts])),
      });
      return;
    case 'GET /sent/frames':
      answerLines(response, deps.sent.frames(Number(query.get('connection') ?? 1), Number(query.get('from') ?? 0)));
      return;
    case 'GET /listings':
      answer(response, 200, hosts.flatMap(toListings));
      return;
    case 'POST /rate':
      answer(response, ...setRate(hosts, query));
      return;
    default:
      answer(response, 404, { error: 'no such control path' });
  }
}
