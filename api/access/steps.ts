// The checks of a request before its body is read, in the order of E-01: URL, credentials, payment, limits of the key. No other file makes them.
import { CATALOGUE, type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { ArchiveManifest } from '../contract/archive.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { describeLimit, makeLimitHeaders, type Refusal } from '../contract/limits.ts';
import { QUOTAS } from '../contract/quotas.ts';
import { type Call, isRefused, type PaymentChecks, type Refused } from './call.ts';
import type { Limits } from './held-permits.ts';
import type { Account, KeyStore } from './key-store.ts';
import { findKeyShapes, isKey } from './keys.ts';
import type { Meter } from './meter.ts';
import { nameQuota } from './quotas.ts';

export type AccessDeps = {
  readonly keys: KeyStore;
  readonly meter: Meter;
  readonly payments: PaymentChecks;
  /** The files, for their prices; absent: none. */
  readonly manifest?: ArchiveManifest;
  readonly onFault: (error: unknown) => void;
};

type Step = (call: Call, deps: AccessDeps) => Refused | null | Promise<Refused | null>;

const refuse = (
  code: ErrorCode,
  { message, hint, headers = {} }: { message: string; hint: string; headers?: Record<string, string> },
): Refused => ({
  status: CATALOGUE[code].status,
  headers: CATALOGUE[code].status === 401 ? { 'www-authenticate': 'Bearer', ...headers } : headers,
  body: { errors: [{ code, message, hint }] },
});

const refuseForNow = (message: string): Refused =>
  refuse('UNAVAILABLE', {
    message,
    hint: 'Repeat the call in a few seconds.',
    headers: { 'retry-after': '5' },
  });

const KEY_NAMES = new Set([
  'key',
  'api_key',
  'apikey',
  'api-key',
  'token',
  'access_token',
  'auth',
  'authorization',
  'bearer',
]);

/** Step 2: a key in the URL is written to logs and histories, so it is refused and marked (E-02). */
export const refuseKeyInUrl = (
  { query }: Pick<Call, 'query'>,
  { keys, onFault }: Pick<AccessDeps, 'keys' | 'onFault'>,
): Refused | null => {
  let isRefused = false;
  const sent = new Set<string>();
  for (const [name, value] of query) {
    // A key that is sent without a parameter name is in the place of the name.
    const shapes = [name, value].flatMap(findKeyShapes);
    for (const key of shapes.filter(isKey)) sent.add(key);
    isRefused ||= shapes.length > 0 || KEY_NAMES.has(name.toLowerCase());
  }
  if (sent.size > 0) keys.markCompromised([...sent]).catch(onFault);
  if (!isRefused) return null;
  return refuse('KEY_IN_URL', {
    message: 'A key was sent in the URL and must be treated as compromised.',
    hint: CATALOGUE.KEY_IN_URL.fix,
  });
};

const BEARER = /^bearer +(\S+)$/i;
/** The credentials of an Authorization header; undefined when it has another form. */
export const readBearer = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1];

const refuseInvalidKey = (message: string): Refused =>
  refuse('AUTH_INVALID', { message, hint: 'Send a live key as Authorization: Bearer <API_KEY>.' });

/** The key of a header; a good one is noted in the call. */
export const checkKey = async (
  call: Pick<Call, 'nowMs' | 'account'>,
  authorization: string,
  { keys }: Pick<AccessDeps, 'keys'>,
): Promise<Refused | null> => {
  const key = readBearer(authorization);
  if (key === undefined) return refuseInvalidKey('The Authorization header is not of the form Bearer <API_KEY>.');
  if (!isKey(key)) return refuseInvalidKey('The key is not of the shape of a key.');
  const found = await keys.find(key, call.nowMs);
  if (found === 'unreachable') return refuseForNow('The key cannot be checked now.');
  if (found === 'unknown') return refuseInvalidKey('The key is unknown, revoked or expired.');
  call.account = found;
  return null;
};

/** HEAD takes no payment (P-01). */
const hasPayment = ({ headers, method }: Call): boolean =>
  method !== 'HEAD' && (headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined);

const refuseMissingKey = (subject: string): Refused =>
  refuse('AUTH_REQUIRED', { message: `${subject} needs a key.`, hint: 'Send Authorization: Bearer <API_KEY>.' });

/** Step 3: a header decides; without one the price, else openness (rules 1 to 4 of the interface). */
const checkCredentials: Step = async (call, deps) => {
  const { authorization } = call.headers;
  if (authorization !== undefined) return checkKey(call, authorization, deps);
  const { key, price, quote } = call.operation;
  if (key === 'open') return null;
  if (quote !== undefined) {
    const refused = await quotePrice(call, quote, deps);
    if (refused !== null) return refused;
  } else if (price === null) {
    return refuseMissingKey('This endpoint');
  } else {
    call.price = { amount: price, class: call.operation.class, path: call.operation.path };
  }
  return hasPayment(call) || call.price === null ? null : deps.payments.challenge(call, call.price);
};

/** The data that a price depends on must exist before a payment is requested (AR-02). The payment buys this very path. */
const quotePrice = async (call: Call, quote: NonNullable<Endpoint['quote']>, deps: AccessDeps) => {
  const quoted = await quote(call, deps.manifest ?? null);
  if (quoted === 'unknown')
    return refuse('NOT_FOUND', { message: 'There is no such file.', hint: 'GET /v2/archive lists the files.' });
  if (quoted === 'unsold') return refuseMissingKey('This file');
  if (!('errors' in quoted)) {
    call.price = { amount: quoted.price, class: quoted.class, path: call.path };
    return null;
  }
  // A payment is read before the parameters: for a payment for a plan they are never read (P-06), for any other step 6 finds the same faults.
  const { price, class: requestClass } = call.operation;
  if (price !== null && hasPayment(call)) {
    call.price = { amount: price, class: requestClass, path: call.path };
    return null;
  }
  const { status, errors } = new ServiceError(quoted.errors);
  return { status, headers: {}, body: { errors } };
};

/** Step 4: a payment of valid shape that may be presented now. */
const presentPayment: Step = async (call, { payments }) => {
  if (call.price === null) return null;
  const outcome = await payments.present(call, call.price);
  if (isRefused(outcome)) return outcome;
  call.payment = outcome;
  return null;
};

/** Account calls are not counted as requests: one a second, metered under a separate name (AC-01). */
const ACCOUNT_LIMITS: Limits = {
  requests_per_second: 1,
  burst: 1,
  requests_per_day: Number.MAX_SAFE_INTEGER,
  concurrent_requests: null,
};

/** An account answer counts what this process has not reported yet. */
const reportFirst = ({ keyId, plan }: Account, nowMs: number, meter: Meter): Promise<Refused | null> =>
  meter.report(keyId, plan.limits, { nowMs, others: QUOTAS.map((quota) => nameQuota(keyId, quota)) }).then(
    () => null,
    () => refuseForNow('The counters cannot be read now.'),
  );

const refuseLimit = (who: string, refusal: Refusal): Refused =>
  refuse('RATE_LIMITED', { ...describeLimit(who, refusal), headers: makeLimitHeaders(refusal) });

/** Step 5: requests of the key, by second, by day and at once (AC-03); receipts are not counted (P-10). */
const meterKey: Step = async (call, { meter }) => {
  if (call.account === null || call.operation.class === 'receipt') return null;
  const { keyId, plan } = call.account;
  const requestClass = call.operation.class;
  const isAccount = requestClass === 'account';
  const meteredAs = isAccount ? `${keyId}/account` : keyId;
  const refusal = await meter.admit(meteredAs, isAccount ? ACCOUNT_LIMITS : plan.limits, call.nowMs);
  if (refusal === null) {
    call.leases.request = (status) => meter.finish(meteredAs, requestClass, status);
    return isAccount ? reportFirst(call.account, call.nowMs, meter) : null;
  }
  // The headers of the answer state the day's usage, which a process may not have received yet.
  if (isAccount && !meter.knows(keyId)) await reportFirst(call.account, call.nowMs, meter);
  return refuseLimit(isAccount ? 'An account call' : `The plan ${plan.name}`, refusal);
};

/** The name under which streams of a key are counted. */
export const toStreamsName = (keyId: string): string => `${keyId}/streams`;
const STREAM_RETRY_S = 5;

/** Step 5: a place among the open streams of the key (ST-08). */
const placeStream: Step = async ({ account, operation, leases }, { meter: { places }, onFault }) => {
  if (account === null || operation.class !== 'stream') return null;
  const { keyId, plan } = account;
  const figure = plan.limits.streams;
  if (!(await places.take(toStreamsName(keyId), figure))) {
    return refuseLimit(`The plan ${plan.name}`, { limit: 'streams', figure, retryAfterS: STREAM_RETRY_S });
  }
  leases.stream = () => void places.giveUp(toStreamsName(keyId)).catch(onFault);
  return null;
};

/** E-01, steps 2 to 5. The router makes step 1; the steps of the body follow. */
const STEPS: readonly Step[] = [refuseKeyInUrl, checkCredentials, presentPayment, meterKey, placeStream];

/** The first refusal, or null when the body may be read. */
export const checkAccess = async (call: Call, deps: AccessDeps): Promise<Refused | null> => {
  for (const step of STEPS) {
    const refused = await step(call, deps);
    if (refused !== null) return refused;
  }
  return null;
};
