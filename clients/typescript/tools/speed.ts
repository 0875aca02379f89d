// Measures by hand what the client takes: events of a stream and rows of history a processor second. The service is another process.
// usage: node clients/typescript/tools/speed.ts [EVENTS]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createClient } from '../src/index.ts';

const ROWS = 100_000;
const PIECE_EVENTS = 200;
const AT = '2026-01-15T12:00:00.123456Z';
const LISTING = { venue: 'venue', venue_symbol: 'SYMBOL', instrument: 'BTC-PERP' };
const STAMPS = { venue_ts: AT, received_at: AT, age_ms: 12, venue_age_ms: 12, valid_until: null };
const makeValues = (n: number) => ({ basis: -0.0000099648401893, index: 97007.55271853, mark: 97006.58605377 + n });
const makeState = (n: number) => ({ status: 'present', ...STAMPS, values: makeValues(n), units: { mark: 'quote' } });

const formatFrame = (id: number, event: string, data: unknown): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Sends so many updates as fast as they are read. */
const sendEvents = async (response: ServerResponse, count: number): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(formatFrame(0, 'hello', { resumed: false, heartbeat_ms: 15_000, evaluated_at: AT }));
  for (let first = 1; first <= count; first += PIECE_EVENTS) {
    const piece = Array.from({ length: Math.min(PIECE_EVENTS, count - first + 1) }, (_, n) =>
      formatFrame(first + n, 'update', {
        ...LISTING,
        layer: 'mark',
        rev: first + n,
        change: 'value',
        state: makeState(n),
      }),
    );
    if (!response.write(piece.join(''))) await once(response, 'drain');
  }
  response.end(formatFrame(count + 1, 'bye', { reason: 'rotate', reconnect: false }));
};

const formatHistory = (): string => {
  const rows = Array.from({ length: ROWS }, (_, n) => ({
    at: AT,
    status: 'present',
    ...STAMPS,
    values: makeValues(n),
  }));
  return JSON.stringify({ settled: true, items: [{ ...LISTING, layers: { mark: { rows } } }] });
};

const serve = (count: number): void => {
  const history = formatHistory();
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.startsWith('/v2/stream')) void sendEvents(response, count);
    else response.end(history);
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
};

/** Processor seconds of this process while the work is done. */
const measureSeconds = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000_000;
};

const measure = async (count: number): Promise<void> => {
  const service = fork(fileURLToPath(import.meta.url), ['serve', String(count)]);
  try {
    const [port] = (await once(service, 'message')) as [number];
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, key: 'k' });
    const readStream = async (): Promise<void> => {
      let seen = 0;
      for await (const { event } of client.live()) if (event === 'update') seen += 1;
      if (seen !== count) throw new Error(`${seen} of ${count} events came`);
    };
    await readStream();
    const events = count / (await measureSeconds(readStream));
    const rows = ROWS / (await measureSeconds(() => client.history({ interval: '1m' })));
    console.log(`${Math.round(events)} events a processor second of a stream, as live() gives them`);
    console.log(`${Math.round(rows)} rows a processor second of history, as history() gives them`);
  } finally {
    service.kill();
  }
};

const [first = '100000', count = first] = process.argv.slice(2);
await (first === 'serve' ? serve(Number(count)) : measure(Number(first)));
