// A call whose body comes in two parts: what happens to the app between them is up to the test.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Sends the head and the beginning of `body`; the function that it answers sends the rest, and answers the status: null where the connection was cut. */
export const beginCall = async (
  app: FastifyInstance,
  {
    path,
    headers = {},
    body,
  }: { readonly path: string; readonly headers?: Record<string, string>; readonly body: string },
): Promise<() => Promise<number | null>> => {
  const { hostname, port, host } = new URL(app.listeningOrigin);
  const seen = once(app.server, 'request');
  const socket = connect({ host: hostname, port: Number(port) });
  const lines = Object.entries({ host, 'content-type': 'application/json', ...headers, 'content-length': body.length });
  const head = [`POST ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
  let text = '';
  socket.on('data', (bytes) => {
    text += String(bytes);
  });
  socket.on('error', () => undefined);
  socket.write(`${head}\r\n\r\n${body.slice(0, 1)}`);
  await seen;
  return async () => {
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(body.slice(1));
    await closed;
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
    return status === undefined ? null : Number(status);
  };
};
