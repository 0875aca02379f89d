// The calls of the explorer's pages, passed on to the data API with a key that stays here: named calls, named headers, bytes as they are.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Agent, type Dispatcher } from 'undici';
import { isFromElsewhere, requireSession } from '../account-app/guards.ts';
import { type Exchange, sendProblem } from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import { readQuery, readQueryText } from '../contract/request-url.ts';
import { type FindExplorerKey, openExplorerKeys } from './explorer-key.ts';
import { requireExplorer } from './guard.ts';
import { fillPath, RELAYED, type RelayedCall } from './relayed-calls.ts';

const RELAY_PREFIX = '/api/explore';

/** Headers of the browser's request to send on. None identifies the user: no cookie, no origin, no address. */
const SENT = ['accept', 'accept-encoding', 'content-type', 'last-event-id', 'x-service-max-bytes'] as const;
/** Headers of the answer to return. None is meant for the holder of the key alone. */
const GIVEN = [
  ...['content-type', 'content-encoding', 'content-length', 'content-disposition', 'vary', 'location', 'retry-after'],
  ...['ratelimit', 'ratelimit-policy', 'x-accel-buffering', 'deprecation', 'sunset'],
];
const isGiven = (name: string): boolean => GIVEN.includes(name) || name.startsWith('x-service-');

const HEADERS_TIMEOUT_MS = 30_000;
/** Between two parts of an answer: a stream has a heartbeat every 15 s. */
const BODY_TIMEOUT_MS = 60_000;

type Params = Readonly<Record<string, string>>;

const writeQuery = ({ url }: FastifyRequest): string => {
  const text = readQueryText(url);
  return text === '' ? '' : `?${text}`;
};

/** Whether a visitor requests data of the account whose key the explorer uses. */
const wantsOwn = (request: FastifyRequest, { own = [] }: RelayedCall): boolean => {
  const query = readQuery(request.url);
  return request.session === null && own.some((name) => query.has(name));
};

const pickHeaders = ({ headers }: FastifyRequest, key: string | null): Record<string, string> => {
  const sent = SENT.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : []));
  return { ...Object.fromEntries(sent), ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
};

/** The bytes unchanged, read no faster than the browser reads them; a stream ends soon after its session. */
async function* relayWhileAllowed(
  body: Readable,
  { isAllowed, everyMs }: { readonly isAllowed: () => Promise<boolean>; readonly everyMs: number },
): AsyncGenerator<Buffer> {
  let checkedMs = performance.now();
  for await (const chunk of body) {
    if (performance.now() - checkedMs > everyMs) {
      checkedMs = performance.now();
      if (!(await isAllowed())) return;
    }
    yield chunk as Buffer;
  }
}

const giveHeaders = (reply: FastifyReply, headers: Dispatcher.ResponseData['headers']): void => {
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && isGiven(name)) reply.header(name, value);
  // The browser must not cache the answer of an account.
  reply.header('cache-control', 'no-store');
};

const AWAY = { status: 503, code: 'UNAVAILABLE', text: 'The data API does not respond. Try again in a few seconds.' };
const NOT_FOUND = { status: 404, code: 'NOT_FOUND', text: 'There is nothing at this address.' };
const ELSEWHERE = { status: 403, code: 'FORBIDDEN', text: 'This request came from another site.' };

type RelayDeps = {
  readonly site: Site;
  readonly checkSessionMs: number;
};

type Relay = RelayDeps & {
  readonly dispatcher: Dispatcher;
  /** Aborts when the process ends: answers without an end are cut then. */
  readonly ending: AbortSignal;
  readonly findKey: FindExplorerKey;
};

const passOn = async (relayed: RelayedCall, relay: Relay, exchange: Exchange) => {
  const { site, dispatcher, findKey, checkSessionMs, ending } = relay;
  const { request, reply } = exchange;
  const path = fillPath(relayed.path, request.params as Params);
  if (path === null) return sendProblem(site, exchange, NOT_FOUND);
  if (wantsOwn(request, relayed)) return requireSession(request, reply);
  const gone = new AbortController();
  // The browser has gone, or everything was sent: either way nothing more is read.
  reply.raw.once('close', () => gone.abort());
  const { origin, pathname } = new URL(site.urls.api);
  const key = relayed.needsKey ? await findKey(request.session) : null;
  let answer: Dispatcher.ResponseData;
  try {
    answer = await dispatcher.request({
      ...{ origin, path: `${pathname.replace(/\/$/, '')}/v2${path}${writeQuery(request)}`, method: relayed.method },
      ...{
        headers: pickHeaders(request, key),
        body: (request.body as Buffer | undefined) ?? null,
        signal: relayed.isEndless === true ? AbortSignal.any([gone.signal, ending]) : gone.signal,
      },
    });
  } catch {
    if (!reply.raw.destroyed) reply.header('retry-after', '5');
    return sendProblem(site, exchange, AWAY);
  }
  reply.code(answer.statusCode);
  giveHeaders(reply, answer.headers);
  const isAllowed = async (): Promise<boolean> =>
    request.session === null || (await site.sessions.isLive(request.session.sessionId));
  return reply.send(
    Readable.from(relayWhileAllowed(answer.body, { isAllowed, everyMs: checkSessionMs }), { objectMode: false }),
  );
};

/** Adds the calls below `/api/explore` to the site. */
export const addRelay = (app: FastifyInstance, deps: RelayDeps): void => {
  const { site } = deps;
  const dispatcher = new Agent({ headersTimeout: HEADERS_TIMEOUT_MS, bodyTimeout: BODY_TIMEOUT_MS });
  app.addHook('onClose', () => dispatcher.destroy());
  const ending = new AbortController();
  app.addHook('preClose', async () => ending.abort());
  const relay = { ...deps, dispatcher, ending: ending.signal, findKey: openExplorerKeys(site) };
  // Bytes are passed on, not read.
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', async (request, reply) =>
    isFromElsewhere(request, site) ? sendProblem(site, { request, reply }, ELSEWHERE) : undefined,
  );
  app.addHook('onRequest', requireExplorer(site));
  for (const relayed of RELAYED)
    app.route({
      method: relayed.method,
      url: `${RELAY_PREFIX}${relayed.path}`,
      exposeHeadRoute: false,
      handler: (request, reply) => passOn(relayed, relay, { request, reply }),
    });
};
