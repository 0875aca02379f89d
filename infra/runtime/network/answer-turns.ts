// Answers pipelined requests, which a client sends ahead on one connection, one after another.
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of a connection that may wait: a client that sends more ahead loses the connection. */
const MOST_WAITING = 100;

/** A connection: whether an answer is in progress, the requests that wait for its end in order, and whether reading is paused meanwhile. */
type Line = { isBusy: boolean; isPaused: boolean; readonly waiting: (() => void)[] };

/** The part of a Fastify app that is used here. */
type HookedApp = {
  readonly server: Server;
  readonly addHook: (name: 'onRequest', hook: (request: Request, reply: HookedReply) => Promise<void>) => unknown;
};
type Request = { readonly raw: IncomingMessage };
type Reply = { readonly raw: ServerResponse };
type HookedReply = Reply & { readonly hijack: () => unknown };

const openLine = (socket: Socket): Line => {
  const line: Line = { isBusy: false, isPaused: false, waiting: [] };
  socket.once('close', () => {
    for (const go of line.waiting.splice(0)) go();
  });
  // Node resumes a connection when the body of a request is read, though all of it has arrived.
  socket.on('resume', () => {
    if (line.isPaused) socket.pause();
  });
  return line;
};

const lines = new WeakMap<Socket, Line>();

const findLine = (socket: Socket): Line => {
  const held = lines.get(socket);
  if (held !== undefined) return held;
  const line = openLine(socket);
  lines.set(socket, line);
  return line;
};

/** Node resumes a connection itself at the end of each request that it reads, so the pause begins when all that has arrived is read. */
const pauseReading = (socket: Socket, line: Line): void => {
  if (line.isPaused) return;
  line.isPaused = true;
  queueMicrotask(() => {
    if (line.isPaused) socket.pause();
  });
};

/** Takes the turn at once, or when all answers before it have ended. A connection that has ended has no turns: nothing waits for one. */
const takeTurn = (socket: Socket, line: Line): Promise<void> | undefined => {
  if (line.waiting.length >= MOST_WAITING) socket.destroy();
  if (socket.destroyed) return undefined;
  if (line.isBusy) {
    pauseReading(socket, line);
    return new Promise((resolve) => void line.waiting.push(resolve));
  }
  line.isBusy = true;
  return undefined;
};

const readOn = (socket: Socket, line: Line): void => {
  if (!line.isPaused) return;
  line.isPaused = false;
  socket.resume();
};

/** The one who waits longest is next, after a turn of the event loop: a hundred answers in one would delay those to all others. */
const endTurn = (socket: Socket, line: Line): void => {
  const next = line.waiting.shift();
  line.isBusy = next !== undefined;
  if (next !== undefined) setImmediate(next);
  if (line.waiting.length === 0) readOn(socket, line);
};

/**
 * Resolves when the answers before this one on its connection have ended: to false if the connection has, and nothing is to be answered. The turn
 * ends with the answer. Requests that the framework refuses before any hook runs call it themselves.
 */
export const awaitTurn = async ({ raw: { socket } }: Request, { raw }: Reply): Promise<boolean> => {
  const line = findLine(socket);
  const waits = takeTurn(socket, line);
  if (waits !== undefined) await waits;
  // The client has reset a connection whose end is still to be read.
  if (socket.remoteAddress === undefined) socket.destroy();
  if (!socket.destroyed) {
    raw.once('close', () => endTurn(socket, line));
    return true;
  }
  // Behind CONNECT and what is no HTTP, Node tells only the answer in progress that its connection has ended.
  if (!raw.closed) raw.emit('close');
  return false;
};

/**
 * Node reads the requests that a client sends ahead on a connection and would have all of them answered at once; the answers would be held until the
 * client takes those before. Here the work on a request begins when the answers before it have ended, so a client that reads nothing costs one
 * answer. A request whose connection ends before its turn is given up. Call it before other hooks are added.
 *
 * CONNECT, which no path supports, is answered as every other request is answered; the connection ends with the answer. Node passes it on as a bare
 * socket, and closes it without an answer if nothing handles it.
 */
export const answerInTurn = (app: HookedApp): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (!(await awaitTurn(request, reply))) reply.hijack();
  });
  const { server } = app;
  // Nothing behind what is no HTTP is a request, so reading is paused for none: the end of the connection is to be seen.
  server.on('clientError', (_error, stream) => {
    const line = lines.get(stream as Socket);
    if (line !== undefined) readOn(stream as Socket, line);
  });
  server.on('connect', async (request, stream) => {
    const socket = stream as Socket;
    socket.on('error', () => socket.destroy());
    const line = findLine(socket);
    await takeTurn(socket, line);
    // The request itself takes the turn below.
    line.isBusy = false;
    if (socket.destroyed) return;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    server.emit('request', request, response);
  });
};
