// The control side of a simulator: faults, truth and what was sent, over plain HTTP for tests and demos.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FaultEntry, type FaultRequest, parseFault } from './faults.ts';
import type { Market } from './market.ts';
import type { SentLog } from './sent-log.ts';
import { TRUTH_LAYERS, type TruthLog, type TruthQuery } from './truth-log.ts';

export type ControlDeps = {
  readonly market: Market;
  readonly truth: TruthLog;
  readonly sent: SentLog;
  readonly faultLog: readonly FaultEntry[];
  readonly restCounts: Readonly<Record<string, number>>;
  readonly inject: (request: FaultRequest) => FaultEntry;
};

const BODY_LIMIT_BYTES = 65_536;

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_LIMIT_BYTES) throw new TypeError(`body above ${BODY_LIMIT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function answerLines(response: ServerResponse, rows: Iterable<unknown>): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  for (const row of rows) response.write(`${JSON.stringify(row)}\n`);
  response.end();
}

function truthQuery(query: URLSearchParams): TruthQuery {
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

function bookAnswer(deps: ControlDeps, query: URLSearchParams): { readonly status: number; readonly value: unknown } {
  const instrument = deps.market.instruments.find((i) => i.listing.symbol === query.get('symbol'));
  if (instrument === undefined) return { status: 404, value: { error: 'no such symbol' } };
  const book = deps.truth.bookAt(instrument, Number(query.get('u') ?? instrument.diffId));
  return book === null
    ? { status: 404, value: { error: 'no diff with this u is kept' } }
    : { status: 200, value: book };
}

/** `path` without the `/control` prefix. */
export async function handleControl(
  deps: ControlDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const query = url.searchParams;
  switch (`${request.method} ${url.pathname.replace(/^\/control/, '')}`) {
    case 'POST /faults':
      try {
        answer(response, 201, deps.inject(parseFault(await readJson(request))));
      } catch (error) {
        if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
        answer(response, 400, { error: error.message });
      }
      return;
    case 'GET /faults':
      answer(response, 200, deps.faultLog);
      return;
    case 'GET /truth':
      answer(response, 200, [...deps.truth.rows(truthQuery(query))]);
      return;
    case 'GET /truth/dump':
      answerLines(response, deps.truth.rows(truthQuery(query)));
      return;
    case 'GET /truth/book': {
      const { status, value } = bookAnswer(deps, query);
      answer(response, status, value);
      return;
    }
    case 'GET /sent':
      answer(response, 200, { connections: deps.sent.connections, rest: deps.restCounts });
      return;
    case 'GET /sent/frames':
      answerLines(response, deps.sent.frames(Number(query.get('connection') ?? 1), Number(query.get('from') ?? 0)));
      return;
    case 'GET /listings':
      answer(
        response,
        200,
        deps.market.instruments.map(({ listing, status, fundingHours }) => ({ ...listing, status, fundingHours })),
      );
      return;
    case 'POST /rate': {
      const rate = Number(query.get('rate'));
      if (!(rate > 0)) {
        answer(response, 400, { error: 'rate is frames a second, above 0' });
        return;
      }
      deps.market.setRate(rate);
      answer(response, 200, { rate });
      return;
    }
    default:
      answer(response, 404, { error: 'no such control path' });
  }
}
