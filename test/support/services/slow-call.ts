// A call whose body comes in two parts: what happens to the app between them is up to the test.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

type SlowCall = {
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body: string;
  /** A connection that is open already. */
  readonly socket?: Socket;
};

/** A connection that the app has accepted, on which nothing was sent. */
export const openSocket = async (app: FastifyInstance): Promise<Socket> => {
  const { hostname: host, port } = new URL(app.listeningOrigin);
  const accepted = once(app.server, 'connection');
  const socket = connect({ host, port: Number(port) });
  await Promise.all([accepted, once(socket, 'connect')]);
  return socket;
};

/** Sends the head and the beginning of `body`; the function that it answers sends the rest, and answers the status: null where the connection was cut. */
export const beginCall = async (
  app: FastifyInstance,
  { path, headers = {}, body, socket: given }: SlowCall,
): Promise<() => Promise<number | null>> => {
  const socket = given ?? (await openSocket(app));
  const host = `${socket.remoteAddress}:${socket.remotePort}`;
  const seen = once(app.server, 'request');
  const closed = new Promise((resolve) => socket.once('close', resolve));
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
    socket.write(body.slice(1));
    await closed;
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
    return status === undefined ? null : Number(status);
  };
};
