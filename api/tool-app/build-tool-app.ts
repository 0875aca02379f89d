// The tool server as an app of its own: one path that takes POST, the documents of sign-in, nothing else (T-01, T-07). `main.ts` listens.
import type { Duplex } from 'node:stream';
import cors from '@fastify/cors';
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { answerInTurn, awaitTurn } from '../../infra/runtime/network/answer-turns.ts';
import { finishAnswers, keepConnection, makeAppOptions } from '../../infra/runtime/network/http-app.ts';
import { endUnread, type ParseError, readUnknownMethod } from '../../infra/runtime/network/unread-request.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { readPath, readQuery } from '../contract/request-url.ts';
import { parseMessage } from './digits.ts';
import { createExchange, refuseRequest } from './exchange.ts';
import type { McpDeps } from './mcp-server.ts';
import { makeMetadataDocuments } from './metadata.ts';
import {
  admitRequest,
  isAdmitted,
  type RefusalDeps,
  type Refused,
  refuseHost,
  refuseUnauthorized,
  WRONG_METHOD,
} from './refusals.ts';

type ToolAppDeps = McpDeps &
  RefusalDeps & {
    /** Addresses of proxies whose X-Forwarded-For is believed: the client's address is passed on (T-11). */
    readonly trustedProxies?: readonly string[];
    readonly log: Logger;
  };

/** Twenty messages of a batch, each of 16 KiB: twice the longest query. A single one may be as large as a request of the API. */
const BODY_BYTES = 20 * 16_384;

const sendRefused = (reply: FastifyReply, { status, headers, body }: Refused): FastifyReply =>
  reply.code(status).headers(headers).send(body);

const NOTHING: Refused = {
  status: 404,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify({
    errors: [
      {
        code: 'NOT_FOUND',
        message: 'There is nothing at this address.',
        hint: 'Send POST to the path of the tool server.',
      },
    ],
  }),
};

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

/** Statuses of what the parser refuses, by its code; of anything else 400. */
const UNREADABLE: Readonly<Record<string, 408 | 431>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 };
const UNREAD = {
  400: 'The request cannot be read.',
  408: 'The request was not complete in time.',
  431: 'The headers are larger than 16 KiB.',
} as const;

type Documents = ReturnType<typeof makeMetadataDocuments>;

/** Step 1 of T-07. The documents of sign-in are for pages of any origin, whose browsers may send a preflight before they read. */
const addHostCheck = (app: FastifyInstance, deps: ToolAppDeps, documents: Documents): void => {
  app.addHook('onRequest', async (request, reply) => {
    const { headers, method, url } = request;
    const isPublic = documents.has(readPath(url));
    const refused = refuseHost(isPublic ? { headers: { host: headers.host } } : { headers }, deps);
    if (refused !== null) return sendRefused(reply, refused);
    return method === 'OPTIONS' && !isPreflight(request) ? sendRefused(reply, WRONG_METHOD) : undefined;
  });
};

/** What pages of allowed origins may send and read; a refusal of credentials must be readable for them too. */
const addCors = (app: FastifyInstance) =>
  app.register(cors, {
    origin: true,
    methods: ['POST'],
    allowedHeaders: ['authorization', 'content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'],
    exposedHeaders: ['www-authenticate'],
    maxAge: 86_400,
  });

const addRefusals = (app: FastifyInstance, deps: ToolAppDeps, path: string): void => {
  app.decorateRequest('apiKey', '');
  app.addHook('onRequest', async (request, reply) => {
    // The route that is taken, and for a wrong method the one that would be: every spelling of the address is one of them.
    // Elsewhere nothing reads a body.
    if (request.routeOptions.url !== path && readPath(request.url) !== path)
      return request.is404 ? sendRefused(reply, NOTHING) : undefined;
    const { method, headers, url } = request;
    const outcome = await admitRequest({ method, headers, query: readQuery(url), nowMs: deps.nowMs() }, deps);
    if (!isAdmitted(outcome)) return sendRefused(reply, outcome);
    request.apiKey = outcome.key;
    return undefined;
  });
};

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that a request counts on whose credentials were accepted. */
    apiKey: string;
  }
}

const addEndpoint = (app: FastifyInstance, deps: ToolAppDeps, path: string): void => {
  const exchange = createExchange(deps, deps.mcpUrl);
  app.post(path, async (request, reply) => {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    let isUnauthorized = false;
    const onUnauthorized = (): void => {
      isUnauthorized = true;
    };
    const caller = { key: request.apiKey, address: request.ip, signal: gone.signal, onUnauthorized };
    const { status, text } = await exchange({ headers: request.headers, body: request.body, caller });
    if (isUnauthorized) return sendRefused(reply, refuseUnauthorized('refused', deps));
    reply.code(status);
    return text === null ? reply.send() : reply.type('application/json').send(text);
  });
};

const describeFailure = (status: number): readonly [number, string] => {
  if (status >= 500) return [ProtocolErrorCode.InternalError, 'The tool server failed.'];
  if (status === 413) return [ProtocolErrorCode.InvalidRequest, `The body is larger than ${BODY_BYTES} bytes.`];
  return status === 415
    ? [ProtocolErrorCode.InvalidRequest, 'The Content-Type must be application/json.']
    : [ProtocolErrorCode.ParseError, 'The body is not JSON in UTF-8.'];
};

/** Bodies that are no message: the framework's refusals as errors of the protocol. */
const addFailures = (app: FastifyInstance, log: Logger): void => {
  app.setErrorHandler((error: { readonly statusCode?: number }, _request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode >= 500) log.error({ err: error }, 'request of the tool server failed');
    const [code, message] = describeFailure(statusCode);
    const { text } = refuseRequest({ status: statusCode, code, message });
    keepConnection(reply, statusCode);
    return reply.code(statusCode).type('application/json').send(text);
  });
  app.setNotFoundHandler((_request, reply) => sendRefused(reply, NOTHING));
};

/** Answers what Node's parser refuses: another method than POST as every one (T-07), anything else as an error of the protocol. */
const answerUnreadable =
  (path: string) =>
  (error: ParseError, socket: Duplex): void => {
    const line = readUnknownMethod(error);
    if (line !== null) return endUnread(error, socket, readPath(line.url) === path ? WRONG_METHOD : NOTHING);
    const status = UNREADABLE[error.code ?? ''] ?? 400;
    const { text } = refuseRequest({ status, code: ProtocolErrorCode.InvalidRequest, message: UNREAD[status] });
    return endUnread(error, socket, { status, headers: { 'content-type': 'application/json' }, body: text ?? '' });
  };

/** Builds the app; nothing listens yet. Close with `app.close()`. */
export const buildToolApp = async (deps: ToolAppDeps): Promise<FastifyInstance> => {
  const { pathname: path } = new URL(deps.mcpUrl);
  const options = makeAppOptions(deps.log, deps.trustedProxies);
  const app = fastify({
    ...options,
    // A head without a host is refused as one of another host is (T-07). Two keys joined are none; Node would keep the first.
    http: { ...options.http, requireHostHeader: false, joinDuplicateHeaders: true },
    bodyLimit: BODY_BYTES,
    clientErrorHandler: answerUnreadable(path),
    // A path that cannot be decoded: Fastify answers it before any hook runs.
    frameworkErrors: async (_error, request, reply) => {
      if (!(await awaitTurn(request, reply))) return;
      reply.header('cache-control', 'no-store');
      sendRefused(reply as unknown as FastifyReply, refuseHost(request, deps) ?? NOTHING);
    },
  }) as unknown as FastifyInstance;
  answerInTurn(app);
  finishAnswers(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => {
    try {
      return parseMessage(new TextDecoder('utf-8', { fatal: true }).decode(body));
    } catch {
      throw Object.assign(new Error('unreadable body'), { statusCode: 400 });
    }
  });
  // What may be kept says so itself (N-14).
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'));
  const documents = makeMetadataDocuments(deps);
  addHostCheck(app, deps, documents);
  await addCors(app);
  addRefusals(app, deps, path);
  addEndpoint(app, deps, path);
  for (const [document, text] of documents) {
    app.get(document, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=3600').type('application/json').send(text),
    );
  }
  addFailures(app, deps.log);
  await app.ready();
  return app;
};
