// Requests that Node would refuse or close without our answer: heads without a host, unknown expectations, data that is not HTTP.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import {
  endUnread,
  type ParseError,
  type RequestLine,
  readUnknownMethod,
} from '../../infra/runtime/network/unread-request.ts';
import { printErrors } from '../contract/errors-text.ts';
import { makeReceiptId } from '../contract/ids.ts';
import type { AddressRefusal } from './known-methods.ts';
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

/** Answers a request that is no HTTP, has too large a head, does not end, or has a method that Node does not know, as every failure is answered. */
export const answerUnreadable =
  (exposed: readonly string[], refuseAddress: (asked: RequestLine) => AddressRefusal) =>
  (fault: ParseError, socket: Duplex): void => {
    const line = readUnknownMethod(fault);
    const { error, allowed } =
      line === null ? { error: refuseUnreadable(fault.code), allowed: null } : refuseAddress(line);
    const headers = {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': exposed.join(', '),
      ...(allowed === null ? {} : { Allow: allowed }),
      'Content-Type': JSON_TYPE,
      'X-Service-Receipt': makeReceiptId(Date.now()),
    };
    endUnread(fault, socket, { status: error.status, headers, body: printErrors(error.errors) });
  };
