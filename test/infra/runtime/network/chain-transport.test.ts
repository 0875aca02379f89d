// A node of a chain is asked at its whole address; what is logged of its failures names no key of that address.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import t from 'tap';
import { createPublicClient } from 'viem';
import { openChainTransport } from '../../../../infra/runtime/network/chain-transport.ts';
import type { Teardown } from '../../../support/engines/engines.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
type Answer = (reply: ServerResponse, request: IncomingMessage) => void;

const answerWith =
  (status: number, body: string, headers: Readonly<Record<string, string>> = JSON_TYPE): Answer =>
  (reply) =>
    void reply.writeHead(status, headers).end(body);
const UNKNOWN_METHOD = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method does not exist"}}';

const FAILURES: Readonly<Record<string, Answer>> = {
  'a status of failure': answerWith(500, 'no'),
  'a refusal of the key': answerWith(401, '{"error":"no such key"}'),
  'an error of the protocol': answerWith(200, UNKNOWN_METHOD),
  'an error of the protocol with a status': answerWith(429, UNKNOWN_METHOD),
  'no JSON': answerWith(200, '<html>'),
  'a redirect without an address': answerWith(302, ''),
  'a connection that breaks': (reply) => void reply.destroy(),
  'a body that breaks': (reply) => {
    reply.writeHead(200, { ...JSON_TYPE, 'content-length': '100' }).write('{', () => reply.destroy());
  },
  'no answer': () => undefined,
  'a body without an end': (reply) => void reply.writeHead(200, JSON_TYPE).write('{'),
};

/** These end by the deadline alone. */
const ENDLESS: readonly string[] = ['no answer', 'a body without an end'];

/** A node; the address of it has a key in each of its parts. */
const startNode = async (t: Teardown, answer: Answer) => {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, reply) => {
    asked.push(request);
    answer(reply, request);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, url: `http://user:secret%2F1@${host}/v2/secret2?key=secret3` };
};

const open = (url: string, withinMs = 60_000) => createPublicClient({ transport: openChainTransport(url, withinMs) });

/** The line that a process logs of an error. */
const logLine = (err: unknown): string => {
  const lines: string[] = [];
  const sink = new Writable({ write: (line: Buffer, _encoding, done) => done(void lines.push(line.toString())) });
  pino(sink).warn({ err }, 'the node does not answer');
  return lines.join('');
};

t.test('the node is asked at the path and the query of its address, with its user and password', async (t) => {
  const { asked, url } = await startNode(t, answerWith(200, '{"jsonrpc":"2.0","id":1,"result":"0x2105"}'));
  t.equal(await open(url).getChainId(), 8_453);
  t.match(asked, [{ method: 'POST', url: '/v2/secret2?key=secret3', headers: JSON_TYPE }]);
  t.equal(asked[0]?.headers.authorization, `Basic ${Buffer.from('user:secret/1').toString('base64')}`);
  t.equal(await open(url.replace(/user.*@/, '')).getChainId(), 8_453);
  t.equal(asked[1]?.headers.authorization, undefined);
});

t.test('a request whose first answer fails is repeated once, or as often as a caller says', async (t) => {
  const refuse = answerWith(429, 'too many requests', { 'retry-after': '0' });
  for (const [retries, asks] of [
    [undefined, 2],
    [3, 4],
  ] as const) {
    const { asked, url } = await startNode(t, refuse);
    const client = createPublicClient({ transport: openChainTransport(url, 60_000, retries) });
    await t.rejects(client.getBlockNumber());
    t.equal(asked.length, asks);
  }
});

t.test('a user or password with a percent sign of its own is sent as it is', async (t) => {
  const { asked, url } = await startNode(t, answerWith(200, '{"jsonrpc":"2.0","id":1,"result":"0x2105"}'));
  t.equal(await open(url.replace('secret%2F1', '100%')).getChainId(), 8_453);
  t.equal(asked[0]?.headers.authorization, `Basic ${Buffer.from('user:100%').toString('base64')}`);
});

for (const [name, answer] of Object.entries(FAILURES)) {
  t.test(`what is logged of ${name} names no key`, async (t) => {
    const { url } = await startNode(t, answer);
    const error: unknown = await open(url, ENDLESS.includes(name) ? 200 : 60_000)
      .getBlockNumber()
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    t.ok(error instanceof Error);
    t.match(logLine(error), '"level":40');
    t.notMatch(logLine(error), /secret/);
    t.notMatch(String(error), /secret/);
  });
}

t.test('a node that is not there is named by its origin alone', async (t) => {
  const { url } = await startNode(t, () => undefined);
  const nowhere = url.replace(/:\d+\//, ':1/');
  const error: unknown = await open(nowhere)
    .getBlockNumber()
    .catch((thrown: unknown) => thrown);
  t.match(logLine(error), '127.0.0.1:1');
  t.notMatch(logLine(error), /secret/);
});
