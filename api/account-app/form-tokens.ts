// Form tokens: a form is accepted only from the browser to which it was sent, for the address for which it was made (AC-05).
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The field of every form that holds its token. */
export const FORM_FIELD = '_form';
const BROWSER_HOURS = 12;
const BROWSER_ID = /^[\w-]{22}$/;

export type FormTokens = {
  /** The token of a form that is sent to `path`; a browser without a session is given an id in a cookie, which each form renews. */
  readonly make: (request: FastifyRequest, reply: FastifyReply, path: string) => string;
  readonly isGood: (request: FastifyRequest, path: string, token: unknown) => boolean;
  /** The session, or the browser before it has one; null: it has neither. */
  readonly bindingOf: (request: FastifyRequest) => string | null;
};

type FormSettings = { readonly secret: Buffer; readonly isSecure: boolean };

export const createFormTokens = ({ secret, isSecure }: FormSettings): FormTokens => {
  const cookie = isSecure ? '__Host-browser' : 'browser';
  const sign = (binding: string, path: string): Buffer =>
    createHmac('sha256', secret).update(`form\n${binding}\n${path}`).digest();

  const readBrowser = ({ cookies }: FastifyRequest): string | null => {
    const id = cookies[cookie];
    return id !== undefined && BROWSER_ID.test(id) ? id : null;
  };
  const findBinding = (request: FastifyRequest): string | null => request.session?.sessionId ?? readBrowser(request);

  /** Counted from its newest form: a form that was sent shortly before the cookie of an earlier one ended would end with that. */
  const keepBrowser = (request: FastifyRequest, reply: FastifyReply): string => {
    const id = readBrowser(request) ?? randomBytes(16).toString('base64url');
    reply.setCookie(cookie, id, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure: isSecure,
      maxAge: BROWSER_HOURS * 3_600,
    });
    // Further forms of the same answer are for the same browser.
    request.cookies[cookie] = id;
    return id;
  };

  return {
    bindingOf: findBinding,
    make: (request, reply, path) => {
      const binding = request.session?.sessionId ?? keepBrowser(request, reply);
      return sign(binding, path).toString('base64url');
    },
    isGood: (request, path, token) => {
      const binding = findBinding(request);
      if (binding === null || typeof token !== 'string') return false;
      const given = Buffer.from(token, 'base64url');
      const wanted = sign(binding, path);
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
};
