// The methods of an address: to distinguish a wrong method from a wrong path, and for `Allow` (E-01 step 1, RFC 9110 section 9.3.7).
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { makeServiceError, type ServiceError } from '../../schemas/errors.ts';
import { readPath, readSentPath } from '../contract/request-url.ts';
import { CLIPPED_PATH, clip } from '../contract/sent-text.ts';
import { sendErrors } from './sent-errors.ts';

export type Methods = Map<string, { readonly shape: RegExp; readonly known: Set<string> }>;

/** Methods of every path, to distinguish a wrong method from a wrong path; `*` alone is the preflights' and no path. */
export const collectMethods = (app: FastifyInstance): Methods => {
  const methods: Methods = new Map<string, { readonly shape: RegExp; readonly known: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url === '*') return;
    const escaped = url.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
    const shape = new RegExp(`^${escaped.replaceAll(/:\w+/g, '[^/]+').replace(/\*$/, '.+')}$`);
    const { known } = methods.get(url) ?? { known: new Set<string>() };
    methods.set(url, { shape, known });
    for (const m of [method].flat()) known.add(m);
  });
  return methods;
};

/** The methods of an address, as `Allow` names them; null: there is nothing at it. */
const listAllowed = (methods: Methods, url: string): string | null => {
  const asked = readPath(url);
  const known = [...methods.values()].find(({ shape }) => shape.test(asked))?.known;
  return known === undefined ? null : [...known].sort().join(', ');
};

/** What OPTIONS is sent for outside of preflights (RFC 9110 section 9.3.7); it is answered by `cors`. */
export const addOptions = (app: FastifyInstance, methods: Methods): void => {
  app.addHook('onRequest', async ({ method, url }, reply) => {
    const allowed = method === 'OPTIONS' ? listAllowed(methods, url) : null;
    if (allowed !== null) reply.header('allow', allowed);
  });
};

export type AddressRefusal = { readonly error: ServiceError; readonly allowed: string | null };

/** The refusal of a request without a route: nothing is at its address, or nothing for its method. */
export const refuseAddress = (
  methods: Methods,
  { method, url }: { readonly method: string; readonly url: string },
): AddressRefusal => {
  const path = readSentPath(url);
  const allowed = listAllowed(methods, url);
  const error =
    allowed === null
      ? makeServiceError('NOT_FOUND', `There is nothing at "${clip(path, CLIPPED_PATH)}".`, {
          hint: 'See /openapi.json.',
        })
      : makeServiceError('METHOD_NOT_ALLOWED', `"${clip(method)}" is not a method of ${path}.`, {
          hint: `Use ${allowed}.`,
        });
  return { error, allowed };
};

export const sendNotFound = (methods: Methods, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { error, allowed } = refuseAddress(methods, request);
  if (allowed !== null) reply.header('allow', allowed);
  return sendErrors(reply, error);
};

/** Step 1 of E-01: a request without a route is refused before its body is read. */
export const addRouteCheck = (app: FastifyInstance, methods: Methods): void => {
  app.addHook('onRequest', async (request, reply) =>
    request.is404 ? sendNotFound(methods, request, reply) : undefined,
  );
};
