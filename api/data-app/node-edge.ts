// Requests that Node would refuse or close without our answer: heads without a host, unknown expectations, data that is not HTTP.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { printErrors } from '../contract/errors-text.ts';
import { makeReceiptId } from '../contract/ids.ts';
import { JSON_TYPE, refuseUnreadable, sendErrors } from './sent-errors.ts';

/** A name or an address, with or without a port, or nothing (RFC 9110, section 7.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** Whether the head names its host as RFC 9112 (section 3.2) demands: once, or not at all before HTTP/1.1, and by what can be one. */
const hasHost = ({ httpVersion, rawHeaders }: IncomingMessage): boolean => {
  const hosts = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.length === 4 && rawHeaders[i - 1]?.toLowerCase() === 'host',
  );
  const [host] = hosts;
  return host === undefined ? httpVersion === '1.0' : hosts.length === 1 && HOST.test(host);
};

/** Requests that Node would refuse without a body: a head without a host is refused with a body, an unknown expectation is ignored. */
export const addHeadCheck = (app: FastifyInstance): void => {
  app.addHook('onRequest', async ({ raw }, reply) =>
    hasHost(raw) ? undefined : sendErrors(reply, refuseUnreadable()),
  );
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
};

/** Answers a request that is no HTTP, has too large a head, or does not end, as every failure is answered; then ends the connection. */
export const answerUnreadable =
  (exposed: readonly string[]) =>
  (error: Error & { readonly code?: string }, socket: Duplex): void => {
    // The check of Node's own handler: an answer that has begun cannot take another.
    const { _httpMessage: begun } = socket as { readonly _httpMessage?: ServerResponse | null };
    if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent === true) {
      socket.destroy();
      return;
    }
    const body = printErrors(refuseUnreadable(error.code).errors);
    const head = [
      'HTTP/1.1 400 Bad Request',
      'Access-Control-Allow-Origin: *',
      `Access-Control-Expose-Headers: ${exposed.join(', ')}`,
      'Cache-Control: no-store',
      'Connection: close',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Content-Type: ${JSON_TYPE}`,
      `Date: ${new Date().toUTCString()}`,
      `X-Service-Receipt: ${makeReceiptId(Date.now())}`,
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };
