// `perp-mcp`: the same tools over standard input and output, for clients that only start programs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t, { type Test } from 'tap';
import { ERAS, startToolService, TOOL_NAMES } from '../../support/apps/tool-fixture.ts';
import { askedMarket } from '../../support/apps/tool-market.ts';
import { answerJson, openEdgeServer } from '../../support/services/edge-server.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'api', 'perp-mcp.ts');

t.setTimeout(900_000);

t.test('a client that starts a program has the same tools, pages and failures', async (t) => {
  const { apiUrl, keys } = await startToolService(t, askedMarket());
  for (const era of ERAS) {
    const mode = era === 'legacy' ? era : { pin: '2026-07-28' };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const env = { BASE_URL: apiUrl, API_KEY: keys.pro };
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env }));
    t.teardown(() => client.close());
    t.equal((await client.listTools()).tools.length, TOOL_NAMES.length);
    t.equal((await client.listResources()).resources.length, 2);
    const { structuredContent } = await client.callTool({ name: 'instruments', arguments: { where: 'base = BTC' } });
    t.match(structuredContent, { items: [{ base: 'BTC' }, { base: 'BTC' }] });
    const { isError, content } = await client.callTool({ name: 'screen', arguments: { query: 'mark > 0' } });
    t.match([isError, content], [true, [{ type: 'text', text: /"DQL_SCOPE".*"retry":false/ }]]);
    await client.close();
  }
  const refused = new Client({ name: 'test', version: '1' });
  const env = { BASE_URL: apiUrl, API_KEY: 'sk_wrong' };
  await refused.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env }));
  t.teardown(() => refused.close());
  const { isError, content } = await refused.callTool({ name: 'venues', arguments: {} });
  t.match([isError, content], [true, [{ text: /"AUTH_INVALID".*"next":"Sign in again\."/ }]]);
  await refused.close();
});

/** A program whose input takes lines as they are, and whose answers are lines. */
const startLines = (t: Test, baseUrl: string) => {
  const child = spawn(process.execPath, [PROGRAM], { env: { BASE_URL: baseUrl, API_KEY: 'sk' }, stdio: 'pipe' });
  t.teardown(() => child.kill());
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (line: string): Promise<unknown> => {
    child.stdin.write(`${line}\n`);
    const { value } = await answers.next();
    return JSON.parse(String(value));
  };
};

const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';

t.test('arguments have the digits and the order of what the client sent, in a body and in a URL', async (t) => {
  const bodies: Promise<string>[] = [];
  const edge = await openEdgeServer(t, [
    (response, request) => {
      bodies.push(readAll(request));
      answerJson(200, { items: [] })(response, request);
    },
  ]);
  const ask = startLines(t, edge.url);
  await ask(INITIALIZE);
  const call = (id: string, name: string, args: string) =>
    ask(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`);
  const value = '0.12345678901234567890123';
  const query = `{"10":1,"dql":"1","condition":{"type":"number","value":${value}},"limit":12345678901234567890}`;
  t.match(await call('1.0', 'screen', `{"query_object":${query}}`), { id: 1, result: {} });
  t.ok((await bodies[0])?.includes(query));
  t.match(await call('2', 'instruments', `{"limit":${value}}`), { id: 2, result: {} });
  t.match(edge.requests[1]?.url, `limit=${value}`);
});

t.test('a line that is no message is refused, and the next one is answered', async (t) => {
  const ask = startLines(t, 'http://127.0.0.1:1');
  await ask(INITIALIZE);
  t.match(await ask('{"jsonrpc":'), { id: null, error: { code: -32700 } });
  t.match(await ask('{"id":1,"method":"tools/list"}'), { id: null, error: { code: -32600 } });
  t.match(await ask('[]'), { id: null, error: { code: -32600 } });
  t.match(await ask('\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}\r'), { id: 2, result: {} });
});

t.test('parameters that are none are refused with the member in a sentence', async (t) => {
  const { apiUrl, keys } = await startToolService(t, askedMarket());
  const env = { BASE_URL: apiUrl, API_KEY: keys.pro };
  const transport = new StdioClientTransport({ command: process.execPath, args: [PROGRAM], env });
  const waiting = new Map<unknown, (answer: unknown) => void>();
  transport.onmessage = (message) => waiting.get('id' in message ? message.id : null)?.(message);
  await transport.start();
  t.teardown(() => transport.close());
  const ask = (id: number, method: string, params: Record<string, unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      waiting.set(id, resolve);
      transport.send({ jsonrpc: '2.0', id, method, params }).catch(reject);
    });
  const clientInfo = { name: 'test', version: '1' };
  await ask(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  const cases: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['tools/call', { name: 5 }, /^"params\.name" is not valid: expected string, received number\.$/],
    ['tools/call', { name: 'venues', arguments: [] }, /^"params\.arguments" is not valid: expected object/],
    ['tools/list', { cursor: 5 }, /^"params\.cursor" is not valid/],
    ['resources/read', { uri: 5 }, /^"params\.uri" is not valid/],
    ['initialize', {}, /^"params\.protocolVersion" is not valid/],
    ['tools/call', { name: 'nope' }, /^There is no tool "nope"/],
  ];
  for (const [at, [method, params, message]] of cases.entries())
    t.match(await ask(at + 1, method, params), { id: at + 1, error: { code: -32602, message } }, method);
});
