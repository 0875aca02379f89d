// A small venue for tests of the feed: its pure value, and its servers on loopback that a test drives by hand.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { createLog } from '../../../infra/runtime/process/log.ts';
import type { RawWriter } from '../../../ingest/outlet/raw-writer.ts';
import type { Slot } from '../../../ingest/venues/contract/feed.ts';
import type { VenueRequest } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import type { RawMessage } from '../../../schemas/topics.ts';

/** Frames: `{"ok":1}` answers a subscription, `hb` is a heartbeat, `{"err":…}` an error, `{"book":…}` a diff, all else data. */
export type PaperSlot = Extract<Slot, { kind: 'socket' }>;

const toListing = (symbol: string): ListingRecord =>
  ({
    layer: 'listing',
    venue: 'paper',
    venue_symbol: symbol,
    venue_ts: null,
    received_at: 0,
    values: { venue_symbol: symbol, status: 'tradeable' },
  }) as unknown as ListingRecord;

type Book = { readonly book: string; readonly first: number; readonly last: number };

export const paper: Venue = {
  id: 'paper',
  name: 'Paper',
  docs: 'http://localhost/',
  endpoints: { rest: 'http://localhost', ws: 'ws://localhost' },
  limits: { streamsPerConnection: 10, subscribePerSecond: 50, restWeightPerMinute: 6_000, connectionsPerMinute: 6_000 },
  layers: { book: { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' } },
  reference: (endpoints) => [{ method: 'GET', url: `${endpoints.rest}/listings`, weight: 1 }],
  referenceEveryMs: 50,
  mapReference: (_state, { payload }) => {
    const symbols = JSON.parse(Buffer.from(payload).toString()) as string[];
    return { scope: 'all', listings: symbols.map(toListing), elements: () => new Map() };
  },
  plan: (listings, { shards, shardOf, endpoints }) =>
    Array.from({ length: shards }, (_, shard) => shard).flatMap((shard) => {
      const symbols = listings.map(({ venue_symbol }) => venue_symbol).filter((symbol) => shardOf(symbol) === shard);
      return symbols.length === 0
        ? []
        : [makeSlot(`${endpoints.ws}/`, { id: `book.${shard}`, shards: [shard], symbols })];
    }),
  classify: (text) => {
    if (text.startsWith('{"ok"')) return 'ack';
    if (text === 'hb') return 'heartbeat';
    return text.startsWith('{"err"') ? 'error' : 'data';
  },
  sequence: (text) => {
    const frame = text.startsWith('{') ? (JSON.parse(text) as Partial<Book> & { snapshot?: number }) : {};
    if (frame.snapshot !== undefined) {
      return { symbol: '', kind: 'snapshot', first: null, last: BigInt(frame.snapshot), previous: null };
    }
    if (frame.book === undefined || frame.first === undefined || frame.last === undefined) return null;
    return { symbol: frame.book, kind: 'update', first: BigInt(frame.first), last: BigInt(frame.last), previous: null };
  },
  bookRule: {
    style: 'snapshot',
    bufferLimit: 100,
    continues: ({ last }, { first, last: newest }) => {
      if ((newest ?? 0n) <= last) return 'skip';
      return (first ?? 0n) <= last + 1n ? 'apply' : 'break';
    },
  },
  bookSnapshot: ({ venue_symbol }, endpoints) => toRequest(`${endpoints.rest}/book?symbol=${venue_symbol}`),
  map: () => [],
};

export const toRequest = (url: string): VenueRequest => ({ method: 'GET', url, weight: 20 });

export const makeSlot = (
  url: string,
  {
    id = 'book.0',
    shards = [0],
    symbols = [],
  }: { id?: string; shards?: readonly number[]; symbols?: readonly string[] } = {},
): PaperSlot => ({
  kind: 'socket',
  id,
  shards,
  url,
  subscribe: ['one', 'two', 'three'],
  covers: [{ layers: ['book'], symbols }],
  silenceMs: 60_000,
  renewAfterMs: 86_400_000,
});

export type PaperServer = {
  readonly rest: string;
  readonly ws: string;
  /** Sockets now connected, oldest first. */
  readonly sockets: () => readonly WebSocket[];
  /** Messages that the n-th connection sent, with their receipt (milliseconds, monotonic). */
  readonly received: (connection: number) => readonly { readonly text: string; readonly atMs: number }[];
  /** When the n-th connection was accepted (milliseconds, monotonic). */
  readonly acceptedMs: (connection: number) => number;
  /** Handshakes, refused ones included. */
  readonly handshakes: () => number;
  readonly requests: () => readonly { readonly path: string; readonly atMs: number }[];
  readonly sendAll: (text: string) => void;
  readonly close: () => Promise<void>;
};

export type PaperOptions = {
  /** Status of the n-th handshake (from 0); 101 accepts it. */
  readonly handshake?: (n: number) => number;
  readonly answer?: (path: string, response: ServerResponse) => void;
  readonly acks?: boolean;
};

/** Opens the servers on a free port. */
export const startPaper = async ({
  handshake = () => 101,
  answer,
  acks = true,
}: PaperOptions = {}): Promise<PaperServer> => {
  const received: { text: string; atMs: number }[][] = [];
  const acceptedAtMs: number[] = [];
  const requests: { path: string; atMs: number }[] = [];
  let handshakes = 0;
  const sockets = new WebSocketServer({ noServer: true });
  const http = createServer((request: IncomingMessage, response) => {
    requests.push({ path: request.url ?? '', atMs: performance.now() });
    if (answer) answer(request.url ?? '', response);
    else response.writeHead(404).end();
  });
  http.on('upgrade', (request, socket, head) => {
    const status = handshake(handshakes);
    handshakes += 1;
    if (status !== 101) {
      socket.end(`HTTP/1.1 ${status} No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const mine: { text: string; atMs: number }[] = [];
      received.push(mine);
      acceptedAtMs.push(performance.now());
      accepted.on('message', (data) => {
        mine.push({ text: String(data), atMs: performance.now() });
        if (acks) accepted.send(`{"ok":${mine.length}}`);
      });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    rest: `http://127.0.0.1:${port}`,
    ws: `ws://127.0.0.1:${port}`,
    sockets: () => [...sockets.clients],
    received: (connection) => received[connection] ?? [],
    acceptedMs: (connection) => acceptedAtMs[connection] ?? Number.NaN,
    handshakes: () => handshakes,
    requests: () => requests,
    sendAll: (text) => {
      for (const socket of sockets.clients) socket.send(text);
    },
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
};

export type Written = RawMessage & { readonly shards: readonly number[] };
export type Memory = RawWriter & {
  readonly written: Written[];
  readonly of: (kind: RawMessage['kind']) => readonly Written[];
  /** While set the log takes no more. */
  readonly block: () => () => void;
  /** While the log is away what is written comes later, and ticks never. */
  readonly setAway: (isAway: boolean) => void;
};

/** A raw log in memory, in place of Kafka's. */
export const openMemory = (): Memory => {
  const written: Written[] = [];
  let gate: PromiseWithResolvers<void> | null = null;
  let isAway = false;
  return {
    written,
    of: (kind) => written.filter((message) => message.kind === kind),
    write: (shards, message) => {
      if (isAway && message.kind === 'tick') return false;
      written.push({ ...message, shards });
      return !isAway;
    },
    setAway: (away) => {
      isAway = away;
    },
    isFull: () => gate !== null,
    ready: () => gate?.promise ?? Promise.resolve(),
    block: () => {
      gate = Promise.withResolvers<void>();
      return () => {
        gate?.resolve();
        gate = null;
      };
    },
  };
};

export const silentLog = createLog('test', 'silent');

export const toText = ({ payload }: RawMessage): string => Buffer.from(payload).toString();
export const readBody = (message: RawMessage): Record<string, unknown> =>
  JSON.parse(toText(message)) as Record<string, unknown>;
