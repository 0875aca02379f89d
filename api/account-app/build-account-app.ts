// The account site as a separate app: guards and frame are here, pages are modules with a line each in `api/web-modules.ts`. `web.ts` listens.
import { timingSafeEqual } from 'node:crypto';
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { answerInTurn, awaitTurn } from '../../infra/runtime/network/answer-turns.ts';
import { finishAnswers, keepConnection, makeAppOptions } from '../../infra/runtime/network/http-app.ts';
import { isOutOfService } from '../../infra/runtime/postgres/away.ts';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { PasswordsBusy } from '../accounts/passwords.ts';
import { openSessions } from '../accounts/sessions.ts';
import { formatCount } from '../contract/counts.ts';
import type { MessageChain } from '../payments/recover-key.ts';
import { buildAssets } from './assets.ts';
import { createFormTokens } from './form-tokens.ts';
import { addSessions, addWriteChecks } from './guards.ts';
import { addHeaders, listHeaders } from './headers.ts';
import { isJsonPath, type Problem, sendProblem } from './shell.ts';
import type { Site, SiteModule, SiteUrls } from './site.ts';

type AccountAppDeps = {
  readonly pool: Pool;
  readonly urls: SiteUrls;
  readonly modules: readonly SiteModule[];
  readonly formSecret: Buffer;
  readonly connectionSecret: Buffer;
  /** Without it the explorer is open only to signed-in users. */
  readonly explorerKey?: string | null;
  /** Without it proofs are checked up to the root of the day. */
  readonly chainUrl?: string | null;
  /** Without it only plain wallets link keys. */
  readonly wallets?: MessageChain;
  readonly simulated: boolean;
  readonly sendsMail: boolean;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** Addresses of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[];
  /** Counts the requests. */
  readonly watch?: (app: FastifyInstance) => void;
};

const BODY_BYTES = 65_536;
/** Requests a minute from one address, over all pages; forms that check a secret have separate limits. */
const REQUESTS_A_MINUTE = 600;

const OWN_SCRIPTS = { site: new URL('./islands/site.ts', import.meta.url) };
const OWN_STYLES = { site: new URL('./styles/site.css', import.meta.url) };

const NOTHING: Problem = { status: 404, text: 'There is nothing at this address.' };

/** For a path that cannot be decoded: Fastify answers it before any hook runs, so nobody is signed in and no page is around the text. */
const sendNothing = (request: Pick<FastifyRequest, 'url'>, reply: FastifyReply, urls: SiteUrls): FastifyReply => {
  reply.headers(listHeaders(urls.account)).header('cache-control', 'no-store').code(NOTHING.status);
  if (isJsonPath(request)) return reply.send({ errors: [{ code: 'NOT_FOUND', message: NOTHING.text }] });
  return reply.type('text/plain; charset=utf-8').send(NOTHING.text);
};

type Refuse = (request: Pick<FastifyRequest, 'url'>, reply: FastifyReply) => unknown;

/** `refuse` answers a path that cannot be decoded. */
const createApp = (
  { log, trustedProxies }: Pick<AccountAppDeps, 'log' | 'trustedProxies'>,
  refuse: Refuse,
): FastifyInstance =>
  fastify({
    ...makeAppOptions(log, trustedProxies),
    bodyLimit: BODY_BYTES,
    frameworkErrors: async (_error, request, reply) => {
      if (await awaitTurn(request, reply)) refuse(request, reply as unknown as FastifyReply);
    },
  }) as unknown as FastifyInstance;

const openSite = (deps: AccountAppDeps): Site => {
  const { pool, urls, modules, formSecret, connectionSecret, simulated, sendsMail, nowMs, log } = deps;
  const scripts = Object.assign({}, OWN_SCRIPTS, ...modules.map(({ islands }) => islands ?? {}));
  const styles = Object.assign({}, OWN_STYLES, ...modules.map((module) => module.styles ?? {}));
  return {
    ...{ pool, urls, connectionSecret, simulated, sendsMail, nowMs, log },
    explorerKey: deps.explorerKey ?? null,
    chainUrl: deps.chainUrl ?? null,
    wallets: deps.wallets ?? { isMessageOf: async () => false },
    sessions: openSessions(pool),
    forms: createFormTokens({ secret: formSecret, isSecure: urls.account.startsWith('https:') }),
    assets: buildAssets(scripts, styles),
    onClose: modules.flatMap(({ onClose }) => onClose ?? []),
    exportParts: modules.flatMap(({ exportPart }) => exportPart ?? []),
    nav: {
      member: modules.flatMap(({ nav }) => nav?.member ?? []),
      open: modules.flatMap(({ nav }) => nav?.open ?? []),
    },
  };
};

type Failure = { readonly statusCode?: number };
type Refusal = Problem & { readonly retryAfterS?: number };

const BUSY: Refusal = {
  ...{ status: 503, retryAfterS: 1 },
  text: 'Too many users are signing in. Try again in a second.',
};
const AWAY: Refusal = {
  ...{ status: 503, retryAfterS: 5 },
  text: 'A service that this page needs does not respond. Try again in a few seconds.',
};

/** The text for the person behind a failed request; only the log has the cause. `waitS`: what `Retry-After` says already. */
const toProblem = (error: Failure, waitS: number): Refusal => {
  const { statusCode: status = 500 } = error;
  if (error instanceof PasswordsBusy) return BUSY;
  // A body whose client has left ends in an error of the network, too.
  if (status >= 500 && isOutOfService(error)) return AWAY;
  if (status === 429)
    return { status, text: `Too many requests. Wait ${formatCount(waitS, 'second')}, then try again.` };
  if (status === 413) return { status, text: 'What was sent is too large.' };
  if (status === 415) return { status, text: 'Send a form, or JSON below /api/.' };
  if (status < 500) return { status, code: 'BAD_REQUEST', text: 'This request could not be read.' };
  return { status: 500, text: 'Something failed on our side. Nothing was changed; try again.' };
};

const addFailures = (app: FastifyInstance, site: Site): void => {
  app.setErrorHandler((error: Failure, request, reply) => {
    const problem = toProblem(error, Number(reply.getHeader('retry-after') ?? 60));
    const about = { err: error, route: request.routeOptions.url };
    if (problem.status === 500) site.log.error(about, 'request of the account site failed');
    if (problem === AWAY) site.log.warn(about, 'what a request of the account site needs does not answer');
    if (problem.retryAfterS !== undefined) reply.header('retry-after', String(problem.retryAfterS));
    keepConnection(reply, problem.status);
    return sendProblem(site, { request, reply }, problem);
  });
  app.setNotFoundHandler((request, reply) => sendProblem(site, { request, reply }, NOTHING));
};

/** Builds the app; nothing listens yet. Close with `app.close()`. */
export const buildAccountApp = async (deps: AccountAppDeps): Promise<{ app: FastifyInstance; site: Site }> => {
  const site = openSite(deps);
  const app = createApp(deps, (request, reply) => sendNothing(request, reply, deps.urls));
  answerInTurn(app);
  deps.watch?.(app);
  addHeaders(app, site.urls.account);
  await app.register(cookie);
  await app.register(formbody, { bodyLimit: BODY_BYTES });
  await app.register(rateLimit, { max: REQUESTS_A_MINUTE, timeWindow: '1 minute' });
  addSessions(app, site);
  addWriteChecks(app, site);
  addFailures(app, site);
  site.assets.serve(app);
  app.get('/healthz', { config: { isForeign: true, rateLimit: false } }, (_request, reply) =>
    reply.send({ status: 'ok' }),
  );
  for (const module of deps.modules) await app.register(async (scope) => module.register(scope, site));
  // In the last scope: hooks of modules run before.
  await app.register(async (scope) => finishAnswers(scope));
  await app.ready();
  return { app, site };
};

const BEARER = /^Bearer ([\w-]{1,100})$/;

/** The private listener: what modules offer to other processes of ours, each request with the secret as its bearer. */
export const buildInternalApp = async (
  { modules, log }: Pick<AccountAppDeps, 'modules' | 'log'>,
  { site, secret }: { readonly site: Site; readonly secret: Buffer },
): Promise<FastifyInstance> => {
  const refuse = (reply: FastifyReply): FastifyReply => reply.code(401).send();
  const app = createApp({ log }, (_request, reply) => refuse(reply));
  app.addHook('onRequest', async (request, reply) => {
    const given = Buffer.from(BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '', 'base64url');
    if (given.length !== secret.length || !timingSafeEqual(given, secret)) return refuse(reply);
    return undefined;
  });
  for (const { registerInternal } of modules)
    if (registerInternal !== undefined) await app.register(async (scope) => registerInternal(scope, site));
  finishAnswers(app);
  await app.ready();
  return app;
};
