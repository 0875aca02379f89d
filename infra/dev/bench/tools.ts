// `node --expose-gc infra/dev/bench/tools.ts [--calls N]`: the cost of a tool call over the direct API call, and memory over many calls.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { Agent } from 'undici';
import { composeKey, makeRandomCharacters } from '../../../api/access/keys.ts';
import { PLANS } from '../../../api/contract/plans.ts';
import { snapshots } from '../../../api/operations/snapshots.ts';
import { createTools, type Tools } from '../../../api/tool-app/start-tools.ts';
import { createLog } from '../../runtime/process/log.ts';
import { findFreePort } from '../engines/ports.ts';
import { findQuantile } from './instruments/figures.ts';

const AT_ONCE = 8;
const TOLD_EVERY = 10_000;
const RANDOM_LENGTH = 32;
const MIB = 1_048_576;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const key = composeKey(makeRandomCharacters(RANDOM_LENGTH));

/** Replaces the API: returns the response of the example at once, so that only the path through the tool server is measured. */
const openStandIn = async (): Promise<{ server: Server; url: string; bytes: number }> => {
  const body = JSON.stringify(snapshots.example.output);
  const server = createServer((request, reply) => {
    request.resume();
    request.on('end', () => reply.setHeader('content-type', 'application/json').end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}`, bytes: Buffer.byteLength(body) };
};

const startToolServer = async (apiUrl: string): Promise<{ tools: Tools; url: string }> => {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const tools = await createTools({
    mcpUrl: url,
    authUrl: null,
    signIn: null,
    apiUrl,
    keys: {
      find: async () => ({ keyId: 'bench', plan: PLANS.pro_plus }),
      markCompromised: async () => undefined,
      forget: () => undefined,
      forgetAll: () => undefined,
    },
    hosts: [],
    origins: [],
    log: createLog('bench', 'silent'),
  });
  await tools.app.listen({ host: '127.0.0.1', port });
  return { tools, url };
};

type Sent = { readonly url: string; readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** Milliseconds of each of `count` requests, `AT_ONCE` in flight. */
const measureTimes = async (client: Agent, { url, body, headers }: Sent, count: number): Promise<number[]> => {
  const { origin, pathname: path } = new URL(url);
  const times: number[] = [];
  const send = async (): Promise<void> => {
    while (times.length < count) {
      const begun = performance.now();
      const answer = await client.request({ origin, path, method: 'POST', headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
      times.push(performance.now() - begun);
      if (count > TOLD_EVERY && times.length % TOLD_EVERY === 0) printMemory(times.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
  return times;
};

type Begun = { readonly begun: number; readonly cpu: NodeJS.CpuUsage };

const printMemory = (calls: number): void => {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  print(`${calls} calls: heap ${(heapUsed / MIB).toFixed(1)} MiB, resident ${(rss / MIB).toFixed(0)} MiB`);
};

/** `cpu`: of this process, which is client, tool server and the stand-in of the API at once. */
const printTimes = (name: string, times: readonly number[], { begun, cpu }: Begun): void => {
  const sorted = [...times].sort((a, b) => a - b);
  const [p50, p99] = [findQuantile(sorted, 0.5), findQuantile(sorted, 0.99)].map((ms) => (ms ?? 0).toFixed(2));
  const perSecond = (times.length / (performance.now() - begun)) * 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = ((user + system) / 1_000 / times.length).toFixed(2);
  print(
    `${name}: ${cpuMs} ms of a core, p50 ${p50} ms, p99 ${p99} ms, ${perSecond.toFixed(0)}/s with ${AT_ONCE} at once`,
  );
};

const { calls } = parseArgs({ options: { calls: { type: 'string', default: '100000' } } }).values;
const api = await openStandIn();
const { tools, url } = await startToolServer(api.url);
const client = new Agent({ connections: AT_ONCE });
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const args = snapshots.example.input;
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'snapshots', arguments: args } };
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'snapshots' };
const legacy: Sent = { url, body: JSON.stringify(call), headers };
const ways: readonly (readonly [string, Sent])[] = [
  ['direct', { url: `${api.url}/v2/snapshots`, body: JSON.stringify(args), headers }],
  ['tool, 2025-11-25', legacy],
  [
    'tool, 2026-07-28',
    {
      url,
      body: JSON.stringify({ ...call, params: { ...call.params, _meta: meta } }),
      headers: { ...headers, ...modern },
    },
  ],
];
print(`an answer of ${api.bytes} bytes`);
for (const [name, sent] of ways) {
  await measureTimes(client, sent, 200);
  const begun = { begun: performance.now(), cpu: process.cpuUsage() };
  printTimes(name, await measureTimes(client, sent, 2_000), begun);
}
printMemory(0);
await measureTimes(client, legacy, Number(calls));
await client.close();
await tools.close();
api.server.close();
