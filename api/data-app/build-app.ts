// Assembles the data app: plugins, checks, one route an operation, operational routes (design section 8). `main.ts` listens.
import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { answerInTurn, awaitTurn } from '../../infra/runtime/network/answer-turns.ts';
import { finishAnswers, keepConnection, makeAppOptions } from '../../infra/runtime/network/http-app.ts';
import type { ServiceError } from '../../schemas/errors.ts';
import type { Call } from '../access/call.ts';
import type { Account } from '../access/key-store.ts';
import { spendQuota } from '../access/quotas.ts';
import { type ChooseScope, createScopeChooser, holdScopes } from '../access/scope.ts';
import { toStreamsName } from '../access/steps.ts';
import { makeDeprecationHeaders } from '../contract/deprecation.ts';
import { makeReceiptId } from '../contract/ids.ts';
import { PLANS } from '../contract/plans.ts';
import { readPath } from '../contract/request-url.ts';
import { addFiles, FILE_ALLOWED, FILE_EXPOSED, isFileUrl, refuseNoFile } from '../files/files-route.ts';
import { OPERATIONS } from '../operations/index.ts';
import type { Caller, Context, Operation } from '../operations/operation.ts';
import { startServiceLevels } from '../status/service-levels.ts';
import { addAccess } from './access-hook.ts';
import { addAnswering, answerWith } from './answering.ts';
import { canReachCaller, findItemsLimit, sendAnswer, wantsTable } from './answers.ts';
import type { AppDeps } from './app-deps.ts';
import { checkInput } from './check-input.ts';
import { listEnvelopeHeaders } from './envelope-headers.ts';
import {
  addOptions,
  addRouteCheck,
  collectMethods,
  type Methods,
  refuseAddress,
  sendNotFound,
} from './known-methods.ts';
import { addHeadCheck, answerUnreadable } from './node-edge.ts';
import { addOperational } from './operational.ts';
import { addPaymentRelease, sendRefused, takePayment } from './paid-calls.ts';
import { readInput } from './read-input.ts';
import { INTERNAL, sendErrors, toServiceError } from './sent-errors.ts';
import { prepareValidator } from './shape-faults.ts';
import { addStatus } from './status-routes.ts';
import { addStream } from './stream-route.ts';
import { addVerifyDocs } from './verify-docs.ts';

const BODY_BYTES = 65_536;
const EXPOSED = [
  ...['X-Service-Receipt', 'X-Service-Limit'],
  ...new Set(OPERATIONS.flatMap((operation) => [...listEnvelopeHeaders(operation).keys()])),
  ...['Retry-After', 'ETag', 'PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'RateLimit', 'RateLimit-Policy'],
];
/** The stock payment client sends the last one as a header of its request. */
const ALLOWED = [
  ...['Authorization', 'PAYMENT-SIGNATURE', 'Content-Type', 'Last-Event-ID', 'If-None-Match'],
  ...['X-PAYMENT', 'X-Service-Max-Bytes', 'Access-Control-Expose-Headers'],
];

/** Types of answers that are compressed. The plugin does not know NDJSON rows; Parquet and the files of the archive are compressed already. */
const COMPRESSED = /^text\/(?!event-stream)|json(?:;|$)/;

const CODINGS = ['br', 'zstd', 'gzip'] as const;
const GZIP_REFUSED = /\bgzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)/i;

/** The plugin reads `*` as gzip, although `gzip;q=0, *` refuses gzip (RFC 9110 section 12.5.3). */
const nameAnyCoding = async ({ headers }: FastifyRequest): Promise<void> => {
  const accepted = headers['accept-encoding'];
  if (typeof accepted !== 'string' || !GZIP_REFUSED.test(accepted)) return;
  const other = CODINGS.find((coding) => !accepted.toLowerCase().includes(coding)) ?? 'identity';
  headers['accept-encoding'] = accepted.replaceAll('*', other);
};

/** The length of a body that GET would compress is not known without doing so, and HEAD and 304 may name no other (RFC 9110 section 8.6). */
const hideUnknownLength = async (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> => {
  const isCoded =
    /\b(?:br|zstd|gzip)\b|\*/.test(String(headers['accept-encoding'] ?? '')) &&
    COMPRESSED.test(String(reply.getHeader('content-type') ?? ''));
  if (isCoded || reply.statusCode === 304) reply.removeHeader('content-length');
  return payload;
};

const addPlugins = async (app: FastifyInstance, baseUrl: string): Promise<void> => {
  const data = {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: ALLOWED,
    exposedHeaders: EXPOSED,
    maxAge: 86_400,
    strictPreflight: false,
  };
  const files = {
    ...data,
    allowedHeaders: [...ALLOWED, ...FILE_ALLOWED],
    exposedHeaders: [...EXPOSED, ...FILE_EXPOSED],
  };
  await app.register(cors, { delegator: (request, done) => done(null, isFileUrl(request.url) ? files : data) });
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // RFC 6797 section 7.2: not over plain HTTP.
    strictTransportSecurity: baseUrl.startsWith('https:'),
  });
  app.addHook('onRequest', nameAnyCoding);
  await app.register(compress, {
    encodings: [...CODINGS],
    threshold: 1_024,
    customTypes: COMPRESSED,
    globalDecompression: false,
    // Answers repeat themselves: higher levels take several times longer for a few per cent.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } },
    zlibOptions: { level: 3 },
  });
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], hideUnknownLength].flat();
  });
};

const toCaller = (account: Account, call: Call, { accounts, meter }: AppDeps): Caller => {
  const { keyId, plan } = account;
  const { places } = meter;
  return {
    keyId,
    plan,
    read: (day) => accounts.read(keyId, day),
    streams: () => places.busyEverywhere(toStreamsName(keyId), plan.limits.streams),
    inFlight: () => places.busyEverywhere(keyId, plan.limits.concurrent_requests),
    spend: async (quota, count) => {
      const { quota: before } = call.leases;
      const lease = await spendQuota(meter, account, { quota, count, nowMs: Date.now() });
      call.leases.quota = (status) => {
        before?.(status);
        lease(status);
      };
    },
  };
};

/** A paid call is answered as the top plan would, and counts nowhere. */
const PAID_PLAN = PLANS.pro_plus;

const makeContext = (
  request: FastifyRequest,
  call: Call,
  { deps, choose }: { deps: AppDeps; choose: ChooseScope },
): Context => {
  const evaluatedAt = deps.nowMicros();
  return {
    live: deps.live,
    history: deps.history ?? null,
    archive:
      deps.files === undefined || deps.manifest === undefined ? null : { manifest: deps.manifest, links: deps.files },
    anchors: deps.anchors ?? null,
    receipts: deps.receipts,
    rules: deps.rules ?? null,
    evaluatedAt,
    receiptId: request.receiptId,
    itemsLimit: findItemsLimit(request),
    reaches: (body) => canReachCaller(request, body),
    keepsRows: wantsTable(request),
    plan: call.payment === null ? (call.account?.plan ?? null) : PAID_PLAN,
    caller: call.account === null ? null : toCaller(call.account, call, deps),
    payer: call.payment?.buys === 'call' ? call.payment.payer : null,
    scopeOf: holdScopes(choose, evaluatedAt),
  };
};

const addOperations = (app: FastifyInstance, deps: AppDeps, choose: ChooseScope): void => {
  /** Steps 6 and 7, at a separate T. */
  const check = (operation: Operation, request: FastifyRequest, call: Call) => {
    const context = makeContext(request, call, { deps, choose });
    return { context, ...checkInput(operation, readInput(request, call), context) };
  };
  const answer = async (operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { call } = request;
    if (call === null) throw INTERNAL;
    let checked = check(operation, request, call);
    if (call.payment?.buys === 'call') {
      await operation.judge(checked.input, checked.context, checked.understood);
      const refused = await takePayment(reply, call.payment);
      if (refused !== null) return sendRefused(reply, refused);
      // Memory has moved on: the answer has a T of after the payment.
      checked = check(operation, request, call);
    }
    const { input, context, understood } = checked;
    const made = await operation.run(input, context, understood);
    if (made.settledItems !== undefined) {
      deps.settledSample?.note({ path: operation.path, input, items: made.settledItems, plan: context.plan });
    }
    return sendAnswer(made, operation, { request, reply });
  };
  for (const operation of OPERATIONS) {
    prepareValidator(operation);
    const { deprecated } = operation;
    const ending = deprecated === undefined ? null : makeDeprecationHeaders(deprecated, deps.baseUrl);
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operation },
      // Refusals have the headers too.
      onRequest: async (_request, reply) => {
        if (ending !== null) reply.headers(ending);
      },
      handler: (request, reply) => answerWith({ request, reply }, () => answer(operation, request, reply)),
    });
  }
};

const addFailures = (app: FastifyInstance, methods: Methods): void => {
  // Never called: with this handler fastify runs the hooks for requests without a route.
  app.setNotFoundHandler((request, reply) => sendNotFound(methods, request, reply));
  app.setErrorHandler((error, request, reply) => {
    const known: ServiceError | null = toServiceError(error);
    keepConnection(reply, known?.status);
    if (known === null) request.log.error({ err: error, receipt_id: request.receiptId }, 'request failed');
    return sendErrors(reply, known ?? INTERNAL);
  });
};

const setReceipt = (request: FastifyRequest, reply: FastifyReply): void => {
  request.receiptId = makeReceiptId(Date.now());
  if (readPath(request.url).startsWith('/v2')) reply.header('x-service-receipt', request.receiptId);
};

/** Builds the app; nothing listens yet. Close with `app.close()`. */
export const buildApp = async (deps: AppDeps): Promise<FastifyInstance> => {
  const levels = startServiceLevels(deps.live, deps.nowMicros);
  const { hub } = deps;
  hub.watchDelivery((age) => levels.observeDelivery(age / 1_000));
  deps.metrics.watchStreams(() => hub.sizes());
  const options = makeAppOptions(deps.log, deps.trustedProxies);
  const app = fastify({
    ...options,
    // For a header with a single value, such as Authorization, Node keeps the first; two values joined would not be valid (RFC 9110 section 5.3).
    http: { ...options.http, requireHostHeader: false, joinDuplicateHeaders: true },
    bodyLimit: BODY_BYTES,
    // The endpoint checks the parts of its path, regardless of their length: the head of a request has at most 16 KiB.
    routerOptions: { maxParamLength: 16_384 },
    // Fastify answers these before any hook runs, so the receipt is set here too.
    frameworkErrors: async (error, request, reply) => {
      if (!(await awaitTurn(request, reply))) return;
      setReceipt(request as unknown as FastifyRequest, reply as unknown as FastifyReply);
      reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED.join(', '));
      const answered = isFileUrl(request.url) ? refuseNoFile() : (toServiceError(error) ?? INTERNAL);
      sendErrors(reply as unknown as FastifyReply, answered);
    },
    clientErrorHandler: answerUnreadable(EXPOSED, (asked) => refuseAddress(methods, asked)),
  }) as unknown as FastifyInstance;
  answerInTurn(app);
  app.decorateRequest('receiptId', '');
  app.addHook('onRequest', async (request, reply) => {
    setReceipt(request, reply);
    // Answers that may be cached set their own header (N-14).
    reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const { statusCode: status, elapsedTime: ms } = reply;
    deps.metrics.observe({ route, status, seconds: ms / 1_000 });
    levels.observeAnswer({ route, status, ms });
  });
  const methods = collectMethods(app);
  const choose = createScopeChooser(deps.live, deps.turnover);
  addOptions(app, methods);
  await addPlugins(app, deps.baseUrl);
  addHeadCheck(app);
  addRouteCheck(app, methods);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  addAnswering(app);
  addAccess(app, deps);
  addPaymentRelease(app);
  addOperations(app, deps, choose);
  addStream(app, { ...deps, choose }, hub);
  finishAnswers(app);
  if (deps.files !== undefined) addFiles(app, deps.files, () => deps.nowMicros() / 1_000);
  addOperational(app, deps);
  addStatus(app, { ...deps, levels });
  addVerifyDocs(app, deps.baseUrl);
  addFailures(app, methods);
  await app.ready();
  return app;
};
