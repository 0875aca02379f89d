// A tool server before a data app that both listen on loopback, as clients of the protocol find them.
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { FastifyInstance } from 'fastify';
import { openKeyStore } from '../../../api/access/key-store.ts';
import type { PlanCode } from '../../../api/contract/plans.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { createTools } from '../../../api/tool-app/start-tools.ts';
import type { SignInAddress } from '../../../api/tool-app/token-check.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import type { Teardown } from '../engines/engines.ts';
import { type Feed, type TestApp, testApp } from './live-fixture.ts';

export type ToolService = TestApp & {
  readonly toolApp: FastifyInstance;
  readonly mcpUrl: string;
  readonly apiUrl: string;
  /** A plain POST, without a client. */
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Response>;
};

type Over = NonNullable<Parameters<typeof testApp>[1]> & {
  readonly authUrl?: string | null;
  /** Address of the data API; the app's own address by default. */
  readonly apiUrl?: string;
  readonly signIn?: SignInAddress | null;
};

export const startToolService = async (t: Teardown, feed: Feed, over: Over = {}): Promise<ToolService> => {
  const { authUrl = 'http://localhost:8082', apiUrl: elsewhere, signIn = null, ...deps } = over;
  const data = await testApp(feed, deps);
  await data.app.listen({ host: '127.0.0.1', port: 0 });
  const { port: apiPort } = data.app.server.address() as AddressInfo;
  const apiUrl = elsewhere ?? `http://127.0.0.1:${apiPort}`;
  const port = await findFreePort();
  const mcpUrl = `http://localhost:${port}/mcp`;
  const tools = await createTools({
    mcpUrl,
    authUrl,
    apiUrl,
    signIn,
    keys: openKeyStore(data.table as unknown as Parameters<typeof openKeyStore>[0]),
    hosts: [`127.0.0.1:${port}`, 'Tools.Test:8443'],
    origins: ['http://site.test'],
    log: createLog('test', 'silent'),
  });
  await tools.app.listen({ host: '127.0.0.1', port });
  t.teardown(async () => {
    await tools.close();
    await data.app.close();
  });
  const post: ToolService['post'] = (body, headers = {}) =>
    fetch(mcpUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...data.as('pro_plus'), ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { ...data, toolApp: tools.app, mcpUrl, apiUrl, post };
};

/** In the order in which they are listed. */
export const TOOL_NAMES: readonly string[] = OPERATIONS.flatMap(({ name, tool }) => (tool === true ? [name] : []));

/** Eras of the protocol: with the handshake, and with a revision in each request. */
export const ERAS = ['legacy', 'modern'] as const;
export type Era = (typeof ERAS)[number];
const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const;

/** The stock client, connected with the key of a plan. */
export const connectClient = async (
  t: Teardown,
  { mcpUrl, as }: Pick<ToolService, 'mcpUrl' | 'as'>,
  { era, plan = 'pro_plus' }: { readonly era: Era; readonly plan?: PlanCode },
): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: MODES[era] } });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit: { headers: as(plan) } }));
  t.teardown(() => client.close());
  return client;
};

type RawReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
};

/** A request as no client of the platform would send it: any Host, any method, any body. */
export const requestRaw = ({
  body,
  host,
  ...rest
}: {
  readonly port: number;
  readonly path: string;
  /** Null: the head names none. */
  readonly host: string | null;
  readonly method: string;
  readonly headers?: OutgoingHttpHeaders | undefined;
  readonly body: string;
}): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    const headers = { ...rest.headers, ...(host === null ? {} : { host }) };
    const sent = request({ ...rest, host: '127.0.0.1', setHost: false, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    // The answer to CONNECT; a client takes what follows its head as another protocol.
    sent.on('connect', ({ statusCode = 0, headers: answered }, socket) => {
      socket.destroy();
      resolve({ status: statusCode, headers: answered, text: '' });
    });
    sent.on('error', reject);
    sent.end(rest.method === 'POST' ? body : undefined);
  });
