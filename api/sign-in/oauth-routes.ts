// The addresses of the provider in an app of Fastify, with their limits; the documents by which clients find them.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import { keepConnection } from '../../infra/runtime/network/http-app.ts';
import { isOutOfService } from '../../infra/runtime/postgres/away.ts';
import { isJsonObject, parseJson } from '../../schemas/json-object.ts';
import type { Problem } from '../account-app/shell.ts';
import { formatCount } from '../contract/counts.ts';
import { makeMetadataDocuments } from '../tool-app/metadata.ts';
import type { AddressMeter } from './address-meter.ts';
import { DESCRIBED } from './client-metadata.ts';
import { type Exchange, type Exchanges, rewriteForm } from './exchanges.ts';

export type OauthDeps = {
  readonly provider: Provider;
  readonly exchanges: Exchanges;
  readonly issuer: string;
  readonly mcpUrl: string;
  /** Successful registrations, and refusals of the token endpoint, of an address (T-08). */
  readonly registrations: AddressMeter;
  readonly failures: AddressMeter;
  /** Answers a browser that cannot be sent back to its client. */
  readonly sendProblem: (request: FastifyRequest, reply: FastifyReply, problem: Problem) => FastifyReply;
  readonly nowMs: () => number;
};

const BODY_BYTES = 16_384;
/** Called by programs and by pages of other sites: no session of ours is looked at. */
const FOREIGN = { config: { isForeign: true } };
/** The limits of these routes are in this file. */
const OWN_LIMITS = { config: { isForeign: true, rateLimit: false as const } };
const FORM = 'application/x-www-form-urlencoded';
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const NO_STORE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/**
 * What the provider receives: no secret, whatever was requested. A body that is no JSON object passes unchanged, to be refused. One that is nested too
 * deeply to be printed passes as an empty one: the provider would fail to print it, too.
 */
const rewriteRegistration = (body: Buffer): Buffer => {
  const asked = parseJson(body.toString());
  if (!isJsonObject(asked)) return body;
  const kept = Object.entries(asked).filter(([name, value]) => DESCRIBED.includes(name) && value !== null);
  try {
    return Buffer.from(JSON.stringify({ ...Object.fromEntries(kept), token_endpoint_auth_method: 'none' }));
  } catch {
    return Buffer.alloc(0);
  }
};

/** The request with a body that was read before; the provider reads it as if it came over the line. */
const withBody = (raw: IncomingMessage, body: Buffer): IncomingMessage => {
  const { 'transfer-encoding': _chunked, ...headers } = raw.headers;
  return Object.create(raw, {
    headers: { value: { ...headers, 'content-length': String(body.length) } },
    readable: { value: true },
    readableEncoding: { value: null },
    iterator: {
      value: async function* () {
        yield body;
      },
    },
  }) as IncomingMessage;
};

/** The provider makes addresses and cookies from these headers, so they are never what a client sent. */
const setOrigin = (raw: IncomingMessage, issuer: string): void => {
  const { protocol, host } = new URL(issuer);
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  raw.headers['x-forwarded-host'] = host;
  delete raw.headers['x-forwarded-for'];
};

const refuseTooMany = (reply: FastifyReply, waitS: number): FastifyReply =>
  reply
    .code(429)
    .headers({ ...NO_STORE, ...ANY_ORIGIN, 'retry-after': String(waitS) })
    .send({ error: 'temporarily_unavailable', error_description: `try again in ${formatCount(waitS, 'second')}` });

/** Allowed for pages of any origin; stock clients send the protocol's version with every request. */
const sendPreflight = (reply: FastifyReply, method: 'GET' | 'POST'): FastifyReply =>
  reply
    .code(204)
    .headers({
      ...ANY_ORIGIN,
      'access-control-allow-methods': method,
      'access-control-allow-headers': 'content-type, authorization, mcp-protocol-version',
      'access-control-max-age': '3600',
    })
    .send();

type Passed = Pick<Exchange, 'kind'> & { readonly body?: Buffer; readonly form?: URLSearchParams | null };

const createPass = ({ provider, exchanges, issuer, sendProblem }: OauthDeps) => {
  const answer = provider.callback();
  /** Hands a request to the provider, which answers it; gives the status of the answer. */
  return async (request: FastifyRequest, reply: FastifyReply, { kind, body, form = null }: Passed): Promise<number> => {
    setOrigin(request.raw, issuer);
    const raw = body === undefined ? request.raw : withBody(request.raw, body);
    for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...NO_STORE })) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    const exchange: Exchange = { kind, address: request.ip, form, problem: null, failure: null };
    await exchanges.run(exchange, () => answer(raw, reply.raw));
    // Answered as every page of the site whose store is away.
    if (exchange.problem !== null && isOutOfService(exchange.failure)) throw exchange.failure;
    if (exchange.problem === null) reply.hijack();
    else sendProblem(request, reply, exchange.problem);
    return reply.raw.statusCode;
  };
};
type Pass = ReturnType<typeof createPass>;

const readBody = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

const addRegistration = (app: FastifyInstance, pass: Pass, { registrations, nowMs }: OauthDeps): void => {
  app.options('/oauth/register', FOREIGN, (_request, reply) => sendPreflight(reply, 'POST'));
  app.post('/oauth/register', OWN_LIMITS, async (request, reply) => {
    const waitS = registrations.waitS(request.ip, nowMs());
    if (waitS !== null) return refuseTooMany(reply, waitS);
    // Noted before it is done, so that many at once are not more than one after the other.
    registrations.note(request.ip, nowMs());
    reply.raw.setHeader('access-control-allow-origin', '*');
    const status = await pass(request, reply, { kind: 'register', body: rewriteRegistration(readBody(request)) });
    if (status !== 201) registrations.takeBack(request.ip);
    return reply;
  });
};

const addToken = (app: FastifyInstance, pass: Pass, { mcpUrl, failures, nowMs }: OauthDeps): void => {
  app.post('/oauth/token', OWN_LIMITS, async (request, reply) => {
    const waitS = failures.waitS(request.ip, nowMs());
    if (waitS !== null) return refuseTooMany(reply, waitS);
    const isForm = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() === FORM;
    const form = isForm ? rewriteForm(new URLSearchParams(readBody(request).toString()), mcpUrl) : null;
    const body = form === null ? readBody(request) : Buffer.from(form.toString());
    const status = await pass(request, reply, { kind: 'token', body, form });
    if (status === 400 || status === 401) failures.note(request.ip, nowMs());
    return reply;
  });
};

/** What is wrong with a request of a program before the provider reads it, in the form of the protocol (RFC 6749 section 5.2). */
const addFailures = (app: FastifyInstance): void => {
  app.setErrorHandler((error: { readonly statusCode?: number }, request, reply) => {
    const { statusCode = 500 } = error;
    // A browser, or a failure of ours: answered as everywhere on the site.
    if (request.method === 'GET' || statusCode >= 500) throw error;
    keepConnection(reply, statusCode);
    const description = statusCode === 413 ? `the body is larger than ${BODY_BYTES} bytes` : 'the body cannot be read';
    return reply
      .code(statusCode)
      .headers({ ...NO_STORE, ...ANY_ORIGIN })
      .send({ error: 'invalid_request', error_description: description });
  });
};

/** A plugin of its own, because bodies are read as bytes here. */
export const createOauthRoutes =
  (deps: OauthDeps) =>
  async (app: FastifyInstance): Promise<void> => {
    const pass = createPass(deps);
    addFailures(app);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    for (const [path, kind] of [
      ['/oauth/authorize', 'authorize'],
      ['/oauth/authorize/:uid', 'resume'],
    ] as const) {
      app.get(path, { ...FOREIGN, exposeHeadRoute: false }, async (request, reply) => {
        await pass(request, reply, { kind });
        return reply;
      });
    }
    for (const path of ['/oauth/token', '/oauth/revoke']) {
      app.options(path, FOREIGN, async (request, reply) => {
        await pass(request, reply, { kind: 'preflight' });
        return reply;
      });
    }
    addRegistration(app, pass, deps);
    addToken(app, pass, deps);
    app.post('/oauth/revoke', OWN_LIMITS, async (request, reply) => {
      await pass(request, reply, { kind: 'revoke', body: readBody(request) });
      return reply;
    });
    for (const [path, text] of makeMetadataDocuments({ mcpUrl: deps.mcpUrl, authUrl: deps.issuer })) {
      app.options(path, FOREIGN, (_request, reply) => sendPreflight(reply, 'GET'));
      app.get(path, FOREIGN, (_request, reply) =>
        reply
          .headers({ ...ANY_ORIGIN, 'cache-control': 'public, max-age=3600' })
          .type('application/json')
          .send(text),
      );
    }
  };
