// The checks of access as a hook before the body is read, and the release of what they granted to a request (E-01 steps 2 to 5, AC-03).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { Call } from '../access/call.ts';
import { type AccessDeps, checkAccess } from '../access/steps.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { readQuery, readSentPath } from '../contract/request-url.ts';
import { watchEnd } from './answering.ts';
import { buyPlan, sendRefused } from './paid-calls.ts';
import { isJsonType } from './read-input.ts';

declare module 'fastify' {
  interface FastifyRequest {
    receiptId: string;
    call: Call | null;
    /** Ends the request's place among those in flight; a stream gives it up when it starts. */
    release: () => void;
  }
  interface FastifyContextConfig {
    operation?: Endpoint;
  }
}

type AccessHookDeps = Omit<AccessDeps, 'onFault'> & { readonly log: Pick<Logger, 'warn'> };

const toCall = (request: FastifyRequest, operation: Endpoint): Call => ({
  operation,
  method: request.method,
  headers: request.headers,
  query: readQuery(request.url),
  params: request.params as Readonly<Record<string, string>>,
  path: readSentPath(request.url),
  address: request.ip,
  receiptId: request.receiptId,
  nowMs: Date.now(),
  account: null,
  price: null,
  payment: null,
  leases: { request: null, stream: null, quota: null },
});

const endLeases = ({ leases }: Call, status: number): void => {
  for (const lease of Object.values(leases)) lease?.(status);
};

/** E-01, steps 2 to 5, of every route that is an operation; the others have no checks. */
export const addAccess = (app: FastifyInstance, deps: AccessHookDeps): void => {
  app.decorateRequest('call', null);
  app.decorateRequest('release', () => undefined);
  const access: AccessDeps = {
    ...deps,
    onFault: (err) => deps.log.warn({ err }, 'a key seen in a URL could not be marked'),
  };
  app.addHook('onRequest', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    if (operation === undefined) return;
    const call = toCall(request, operation);
    request.call = call;
    // The framework refuses a malformed media type before it reads the body; the size must be checked first (E-01 step 5).
    if (operation.method === 'POST' && !isJsonType(request))
      request.headers = { 'content-type': 'application/octet-stream' };
    const refused = await checkAccess(call, access);
    const { account } = call;
    if (account !== null) {
      const { policy, state } = deps.meter.headers(account.keyId, account.plan.limits, call.nowMs);
      reply.header('ratelimit-policy', policy).header('ratelimit', state);
    }
    if (Object.values(call.leases).some((lease) => lease !== null)) {
      request.release = watchEnd(reply, () => endLeases(call, reply.statusCode));
    }
    if (refused !== null) return sendRefused(reply, refused);
    return call.payment?.buys === 'plan' ? buyPlan(reply, call.payment) : undefined;
  });
};
