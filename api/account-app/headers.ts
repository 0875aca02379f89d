// Headers of every page: nothing inline, nothing from elsewhere, never in a frame (AC-05).
import type { FastifyInstance } from 'fastify';

/** `formAction`: further origins to which a form's answer may redirect, as on the consent page. */
export const makeContentSecurityPolicy = ({
  formAction = [],
}: {
  readonly formAction?: readonly string[];
} = {}): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    // Scripts may still set the styles of elements, as editors and charts do.
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formAction].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');

const DEFAULT_CSP = makeContentSecurityPolicy();
const TWO_YEARS_S = 63_072_000;

/** Not `no-referrer`: Chromium sends `Origin: null` with the forms of such a page. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': DEFAULT_CSP,
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

export const listHeaders = (siteUrl: string): Readonly<Record<string, string>> => ({
  ...HEADERS,
  ...(siteUrl.startsWith('https:') ? { 'strict-transport-security': `max-age=${TWO_YEARS_S}` } : {}),
});

export const addHeaders = (app: FastifyInstance, siteUrl: string): void => {
  const headers = listHeaders(siteUrl);
  app.addHook('onRequest', async (_request, reply) => void reply.headers(headers));
};
