// One HTTP request of the protocol in any of its revisions: always one JSON answer, whatever the client would accept (T-01).
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { ToolCaller } from './call-tool.ts';
import { clearFaults } from './clear-faults.ts';
import { createMcpServer, type McpDeps } from './mcp-server.ts';

/** A batch has at most so many messages (T-01). */
const MOST_OF_A_BATCH = 20;
/** The one revision that has batches, and that a client without the header has. */
const BATCH_REVISION = '2025-03-26';
/** Change streams are the one thing that the protocol library answers as events only; nothing here changes by itself. */
const STREAMED = 'subscriptions/listen';
/** Headers that repeat members of the body, and are checked against it. */
const PROTOCOL_HEADERS = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

type Posted = {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly caller: ToolCaller;
};
/** Null text: there is nothing to answer. */
type Answered = { readonly status: number; readonly text: string | null };

type Fault = { readonly status: number; readonly code: number; readonly message: string; readonly id?: unknown };

const NESTED: Fault = {
  status: 400,
  code: ProtocolErrorCode.InvalidRequest,
  message: 'A batch has messages, and no batch in it.',
};

/** A request that the protocol layer refuses. */
export const refuseRequest = ({ status, code, message, id = null }: Fault): Answered => ({
  status,
  text: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }),
});

const readText = async (response: Response): Promise<Answered> => ({
  status: response.status,
  text: response.body === null ? null : clearFaults(await response.text()),
});

const readMembers = (body: unknown): Readonly<Record<string, unknown>> =>
  typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {};

/** Answers requests; `url` is where clients reach the server. */
export const createExchange = (deps: McpDeps, url: string): ((posted: Posted) => Promise<Answered>) => {
  const modern = createMcpHandler(({ authInfo }) => createMcpServer(deps, authInfo?.extra?.caller as ToolCaller), {
    legacy: 'reject',
  });

  const answerLegacy = async (request: Request, { body, caller }: Posted): Promise<Answered> => {
    const server = createMcpServer(deps, caller);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      return await readText(await transport.handleRequest(request, { parsedBody: body }));
    } finally {
      await server.close();
    }
  };

  const answerOne = async (headers: Headers, posted: Posted): Promise<Answered> => {
    const { body, caller } = posted;
    // The library would read it as a batch of its own.
    if (Array.isArray(body)) return refuseRequest(NESTED);
    const request = new Request(url, { method: 'POST', headers });
    if (await isLegacyRequest(request, body)) return answerLegacy(request, posted);
    const { method, id } = readMembers(body);
    if (method === STREAMED) {
      return refuseRequest({
        status: 404,
        code: ProtocolErrorCode.MethodNotFound,
        message: 'Nothing here changes by itself.',
        id,
      });
    }
    const authInfo = { token: '', clientId: '', scopes: [], extra: { caller } };
    return readText(await modern.fetch(request, { authInfo, parsedBody: body }));
  };

  const answerBatch = async (headers: Headers, posted: Posted, batch: readonly unknown[]): Promise<Answered> => {
    const answers = await Promise.all(batch.map((body) => answerOne(headers, { ...posted, body })));
    const texts = answers.flatMap(({ text }) => (text === null ? [] : [text]));
    return texts.length === 0 ? { status: 202, text: null } : { status: 200, text: `[${texts.join(',')}]` };
  };

  return (posted) => {
    const headers = new Headers({ accept: 'application/json, text/event-stream' });
    for (const name of PROTOCOL_HEADERS) {
      const value = posted.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const { body } = posted;
    if (!Array.isArray(body)) return answerOne(headers, posted);
    const revision = headers.get('mcp-protocol-version') ?? BATCH_REVISION;
    const isBatch = body.length > 0 && body.length <= MOST_OF_A_BATCH && revision === BATCH_REVISION;
    if (isBatch && !body.some((one) => readMembers(one).method === 'initialize')) {
      return answerBatch(headers, posted, body);
    }
    const message = `A batch has 1 to ${MOST_OF_A_BATCH} messages of revision ${BATCH_REVISION}, none of them initialize.`;
    return Promise.resolve(refuseRequest({ status: 400, code: ProtocolErrorCode.InvalidRequest, message }));
  };
};
