// Refusals of the tool server before it reads the body, in the order of T-07: Host and Origin, method, key in the URL, credentials.
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyStore } from '../access/key-store.ts';
import { checkKey, readBearer, refuseKeyInUrl } from '../access/steps.ts';
import { type Addresses, makeChallengeHeader, type Unaccepted } from './metadata.ts';
import { isToken, type Tokens } from './token-check.ts';

export type RefusalDeps = Addresses & {
  readonly keys: KeyStore;
  /** Access tokens of the sign-in; null: keys only. */
  readonly tokens: Pick<Tokens, 'find'> | null;
  /** Further hosts and origins than those of the addresses. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly onFault: (error: unknown) => void;
};

type ToolRequest = {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly nowMs: number;
};

export type Refused = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const JSON_TYPE = { 'content-type': 'application/json' };
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const formatProtocolError = (message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } });

const isLoopbackOrigin = (origin: string): boolean => URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);

/** Whether pages of this origin may call; a server on a loopback address takes any loopback origin (T-01). */
const isAllowedOrigin = (origin: string, { mcpUrl, origins }: RefusalDeps): boolean =>
  origins.includes(origin) || (LOOPBACK.has(new URL(mcpUrl).hostname) && isLoopbackOrigin(origin));

/** Step 1: a page of another site that a name server led here. */
export const refuseHost = ({ headers }: Pick<ToolRequest, 'headers'>, deps: RefusalDeps): Refused | null => {
  const { host = '', origin } = headers;
  if (!deps.hosts.includes(host.toLowerCase())) {
    return { status: 403, headers: JSON_TYPE, body: formatProtocolError('The Host header is not of this server.') };
  }
  if (origin === undefined || isAllowedOrigin(origin, deps)) return null;
  return {
    status: 403,
    headers: JSON_TYPE,
    body: formatProtocolError('Pages of this origin may not call this server.'),
  };
};

/** Step 2: anything but POST. */
export const WRONG_METHOD: Refused = {
  status: 405,
  headers: { ...JSON_TYPE, allow: 'POST' },
  body: formatProtocolError('Use POST; there are no sessions.'),
};

const refuseUrl = (asked: ToolRequest, deps: RefusalDeps): Refused | null => {
  const refused = refuseKeyInUrl(asked, deps);
  return refused === null ? null : { status: refused.status, headers: JSON_TYPE, body: JSON.stringify(refused.body) };
};

const KEY_HINT = 'Send Authorization: Bearer <API_KEY>, or sign in.';
const NOT_ACCEPTED = 'The key or access token is not accepted.';

/** A 401: the client is to sign in (again). */
export const refuseUnauthorized = (credentials: Unaccepted, addresses: Addresses): Refused => ({
  status: 401,
  headers: { ...TEXT, 'www-authenticate': makeChallengeHeader(addresses, credentials) },
  body: `${credentials === 'refused' ? NOT_ACCEPTED : 'The Authorization header is missing.'} ${KEY_HINT}\n`,
});

const UNCHECKED: Refused = {
  status: 503,
  headers: { ...TEXT, 'retry-after': '5' },
  body: 'The key or access token cannot be checked now; repeat the request in 5 seconds.\n',
};

/** The key that the request counts on: its own, or that of the connection of its token. */
type Admitted = { readonly key: string };

const admitToken = async (
  token: string,
  tokens: Pick<Tokens, 'find'>,
  deps: RefusalDeps,
): Promise<Admitted | Refused> => {
  const found = await tokens.find(token);
  if (found === 'refused') return refuseUnauthorized('refused', deps);
  return found === 'unreachable' ? UNCHECKED : found;
};

const admitCredentials = async ({ headers, nowMs }: ToolRequest, deps: RefusalDeps): Promise<Admitted | Refused> => {
  const { authorization } = headers;
  if (authorization === undefined) return refuseUnauthorized('missing', deps);
  const sent = readBearer(authorization) ?? '';
  if (deps.tokens !== null && isToken(sent)) return admitToken(sent, deps.tokens, deps);
  const refused = await checkKey({ nowMs, account: null }, authorization, deps);
  if (refused === null) return { key: sent };
  return refused.status === 401 ? refuseUnauthorized('refused', deps) : UNCHECKED;
};

export const isAdmitted = (outcome: Admitted | Refused): outcome is Admitted => 'key' in outcome;

/** The first refusal after that of host and origin, or the key with which the body may be read. */
export const admitRequest = async (asked: ToolRequest, deps: RefusalDeps): Promise<Admitted | Refused> =>
  (asked.method === 'POST' ? null : WRONG_METHOD) ?? refuseUrl(asked, deps) ?? (await admitCredentials(asked, deps));
