// The session of each request, and refused requests: origins of other sites, forms without their token (AC-05).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject } from '../../schemas/json-object.ts';
import { SESSION_DAYS, type Session } from '../accounts/sessions.ts';
import { FORM_FIELD } from './form-tokens.ts';
import { isJsonPath, sendProblem } from './shell.ts';
import type { Site } from './site.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

const isSecure = ({ urls }: Site): boolean => urls.account.startsWith('https:');
const toCookieName = (site: Site): string => (isSecure(site) ? '__Host-session' : 'session');

/** Puts the token of a session that has just begun into the browser. */
export const setSessionCookie = (site: Site, reply: FastifyReply, token: string): void => {
  reply.setCookie(toCookieName(site), token, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(site),
    maxAge: SESSION_DAYS * 86_400,
  });
};

export const clearSessionCookie = (site: Site, reply: FastifyReply): void => {
  reply.clearCookie(toCookieName(site), { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(site) });
};

/** From this age of a session on, each page renews its cookie, which expires after 30 days. */
const RENEWED_AFTER_MS = 86_400_000;

/** Reads the session of every request that may have one. The cookie of a session in use is renewed with it. */
export const addSessions = (app: FastifyInstance, site: Site): void => {
  app.decorateRequest('session', null);
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config?.isForeign === true) return;
    const token = request.cookies[toCookieName(site)];
    const session = token === undefined ? null : await site.sessions.find(token);
    request.session = session;
    if (token === undefined || session === null || request.method !== 'GET' || isJsonPath(request)) return;
    if (site.nowMs() - session.createdAt.getTime() >= RENEWED_AFTER_MS) setSessionCookie(site, reply, token);
  });
  // A body may take half a minute: a session that was valid before it may have ended since, and its request is then refused.
  app.addHook('preHandler', async (request, reply) => {
    if (SAFE.has(request.method) || request.session === null) return undefined;
    return (await site.sessions.isLive(request.session.sessionId)) ? undefined : refuseEnded(request, reply);
  });
};

/** A browser states the origin of a write; a program states none, and has no session that another site could use. */
export const isFromElsewhere = (
  { headers }: Pick<FastifyRequest, 'headers'>,
  { urls }: Pick<Site, 'urls'>,
): boolean => {
  const { origin, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin') return true;
  return origin !== undefined && origin !== new URL(urls.account).origin;
};

const readToken = (body: unknown): unknown => (isJsonObject(body) ? body[FORM_FIELD] : undefined);

/** Refuses writes of other sites; a form must bring its token, a JSON body cannot come from another site's form. */
export const addWriteChecks = (app: FastifyInstance, site: Site): void => {
  app.addHook('onRequest', async (request, reply) => {
    if (SAFE.has(request.method) || request.routeOptions.config?.isForeign === true) return undefined;
    if (isFromElsewhere(request, site))
      return sendProblem(site, { request, reply }, { status: 403, text: 'This request came from another site.' });
    return undefined;
  });
  app.addHook('onRequest', async (request, reply) => {
    if (SAFE.has(request.method) || !isJsonPath(request)) return undefined;
    const type = request.headers['content-type'];
    // A content type that a form of another site can send is not read here.
    if (type === undefined || /^application\/json\b/i.test(type)) return undefined;
    return sendProblem(site, { request, reply }, { status: 415, text: 'Send JSON.' });
  });
  app.addHook('preHandler', async (request, reply) => {
    if (SAFE.has(request.method) || request.routeOptions.config?.isForeign === true || request.is404) return undefined;
    const isForm = !isJsonPath(request);
    const path = request.url.split('?')[0] ?? '';
    if (isForm && !site.forms.isGood(request, path, readToken(request.body)))
      return sendProblem(
        site,
        { request, reply },
        {
          status: 403,
          text: 'This form has expired. Go back, load the page again and repeat what you did.',
        },
      );
    return undefined;
  });
};

/** The address after the sign-in: a path of this site, or `fallback`. `//host` and `/\host` lead elsewhere. */
export const toSafeNext = (next: unknown, fallback = '/keys'): string =>
  typeof next === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) && !next.includes('\\') && next.length <= 2_000
    ? next
    : fallback;

/** A hook for pages and JSON of members: leads to the sign-in, or answers 401. */
export const requireSession = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
  if (request.session !== null) return undefined;
  reply.header('cache-control', 'no-store');
  if (isJsonPath(request))
    return reply
      .code(401)
      .send({ errors: [{ code: 'AUTH_REQUIRED', message: 'There is no session.', hint: 'Sign in first.' }] });
  const next = request.method === 'GET' ? `?next=${encodeURIComponent(request.url)}` : '';
  return reply.redirect(`/sign-in${next}`, 303);
};

/** The session of a request behind `requireSession`. */
export const readSession = ({ session }: FastifyRequest): Session => {
  if (session === null) throw new Error('a route that needs a session has let a request without one pass');
  return session;
};

/** For a session that ended while its request came or was answered. */
export const refuseEnded = (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
  request.session = null;
  return requireSession(request, reply);
};

/** A page of another name that leads to this address (DNS rebinding) is not the site, so that it reads nothing without a session. */
const isOwnHost = (request: FastifyRequest, { urls }: Site): boolean => request.host === new URL(urls.account).host;

/** Whether the explorer needs no sign-in from this request: the operator has opened it (EXPLORER_KEY). */
export const isOpen = (request: FastifyRequest, site: Site): boolean =>
  site.explorerKey !== null && isOwnHost(request, site);
