// A receiver of webhooks on this machine, which keeps what it gets.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from '../engines/engines.ts';

export type Received = { readonly headers: IncomingHttpHeaders; readonly body: string; readonly path: string };
type Receiver = { readonly url: string; readonly received: readonly Received[] };

/** `answer` decides its response. */
export const startReceiver = async (t: Teardown, answer: (reply: ServerResponse) => void): Promise<Receiver> => {
  const received: Received[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? '' });
      answer(reply);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
};
