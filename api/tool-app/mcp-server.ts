// The tool server in any revision of the protocol and over any transport: tools, calls, resources, instructions.
import {
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server';
import { clip } from '../contract/sent-text.ts';
import type { CallApi } from './call-api.ts';
import { callTool, type ToolCaller } from './call-tool.ts';
import type { Page } from './pages.ts';
import { INSTRUCTIONS } from './tool-words.ts';
import type { Tool } from './tools.ts';

export type McpDeps = {
  readonly tools: readonly Tool[];
  readonly pages: readonly Page[];
  readonly callApi: CallApi;
  readonly nowMs: () => number;
};

const IDENTITY = { name: 'perp-market-data', title: 'Perpetual-futures market data', version: '2.0.0' };
/** The `initialize` revisions that are served (T-01); the library adds the one without a handshake. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** Lists and pages change with a release, examples with the hour. */
const KEPT = { ttlMs: 600_000, cacheScope: 'public' } as const;

const MARKDOWN = 'text/markdown';
const toResource = ({ uri, name, title, description, text, lastModified }: Page) => ({
  uri,
  name,
  title,
  description,
  mimeType: MARKDOWN,
  size: Buffer.byteLength(text),
  annotations: { audience: ['assistant' as const], lastModified },
});

/** Each list is one page, so no cursor was ever given out; an empty one is none. */
const refuseCursor = (cursor = ''): void => {
  if (cursor === '') return;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The list has one page: leave "cursor" out.');
};

/** A server of its own for one exchange, or for one connection over stdio: nothing is kept between requests. */
export const createMcpServer = ({ tools, pages, callApi, nowMs }: McpDeps, caller: ToolCaller): Server => {
  const server = new Server(IDENTITY, {
    capabilities: { tools: {}, resources: {} },
    instructions: INSTRUCTIONS,
    supportedProtocolVersions: REVISIONS,
    cacheHints: { 'server/discover': KEPT, 'tools/list': KEPT, 'resources/list': KEPT, 'resources/read': KEPT },
  });
  server.setRequestHandler('tools/list', async ({ params }) => {
    refuseCursor(params?.cursor);
    // The library's types of JSON Schema are mutable.
    return { tools: tools.map(({ describe }) => describe(nowMs())) as unknown as ListToolsResult['tools'] };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) {
      const known = tools.map(({ name }) => name).join(', ');
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool "${clip(params.name)}"; the tools are ${known}.`,
      );
    }
    const signal = AbortSignal.any([caller.signal, mcpReq.signal]);
    return callTool(tool, { args: params.arguments ?? {}, caller: { ...caller, signal } }, callApi);
  });
  server.setRequestHandler('resources/list', async ({ params }) => {
    refuseCursor(params?.cursor);
    return { resources: pages.map(toResource) };
  });
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    refuseCursor(params?.cursor);
    return { resourceTemplates: [] };
  });
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const page = pages.find((one) => one.uri === uri);
    if (page === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: MARKDOWN, text: page.text }] };
  });
  return server;
};
