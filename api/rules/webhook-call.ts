// One message to one webhook: signed, sent to an address that was checked, never redirected (AG-06).
import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { limitTime, NoAnswer } from '../../infra/runtime/time/within.ts';
import { type Address, ClosedAddressError, listPublicAddresses, type Resolve, resolveHost } from './public-address.ts';

/** From the first byte sent to the head of the answer; a name is looked up within the same time before. */
const TIMEOUT_MS = 10_000;
const LONGEST_URL = 2_000;
export const SIGNATURE_HEADER = 'x-service-signature';

type WebhookCall = { readonly url: string; readonly secret: string; readonly body: string };
export type CallOptions = {
  /** In simulated runs: messages may go to this machine, and over plain HTTP. */
  readonly allowsLoopback: boolean;
  readonly nowMs: () => number;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
};
type CallOutcome = {
  readonly isDelivered: boolean;
  readonly words: string;
  /** The receiver states that it no longer exists: 410 Gone (RFC 9110, section 15.5.11). */
  readonly isGone?: true;
};

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 with the secret over the timestamp, a full stop and the body. */
const signWebhook = (secret: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;

/** The reason why an address is not allowed for a webhook; null: it is allowed. */
export const findWebhookFault = (
  text: string,
  { allowsLoopback }: { readonly allowsLoopback: boolean },
): string | null => {
  if (!URL.canParse(text)) return 'The address is not an absolute URL.';
  const { href, protocol, username, password } = new URL(text);
  // As it is stored and sent: other letters than those of ASCII are several characters there.
  if (href.length > LONGEST_URL) return 'The address is too long.';
  if (username !== '' || password !== '') return 'The address has a user or password.';
  if (protocol === 'https:' || (allowsLoopback && protocol === 'http:')) return null;
  return 'The address does not begin with https://.';
};

/** The connection goes to one of the addresses that were checked: resolving the name again could return another address. */
const createPinnedLookup = (addresses: readonly Address[]): LookupFunction =>
  ((_host: string, { all }: { all?: boolean }, done: (...found: unknown[]) => void) => {
    if (all) done(null, [...addresses]);
    else done(null, addresses[0]?.address, addresses[0]?.family);
  }) as LookupFunction;

const send = (
  { url, body, secret }: WebhookCall,
  addresses: readonly Address[],
  { nowMs, timeoutMs = TIMEOUT_MS }: CallOptions,
): Promise<number> =>
  new Promise((settle, fail) => {
    const isTls = url.startsWith('https:');
    const call = (isTls ? requestHttps : requestHttp)(url, {
      method: 'POST',
      lookup: createPinnedLookup(addresses),
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'perp-rules/1',
        [SIGNATURE_HEADER]: signWebhook(secret, Math.floor(nowMs() / 1_000), body),
      },
    });
    const timer = setTimeout(() => call.destroy(new NoAnswer(timeoutMs)), timeoutMs);
    call.once('response', (answer) => {
      settle(answer.statusCode ?? 0);
      // Only the status of the answer is read.
      answer.destroy();
    });
    call.once('error', fail);
    call.once('close', () => {
      clearTimeout(timer);
      // A connection that is turned into another protocol closes without an answer and without an error.
      fail(new Error('closed without an answer'));
    });
    call.end(body);
  });

const explain = (error: unknown): string => {
  if (error instanceof ClosedAddressError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  return error instanceof NoAnswer ? 'no answer in time' : 'the connection failed';
};

/** Sends the message once; never throws. A message is delivered if the status is from 200 to 299. */
export const callWebhook = async (call: WebhookCall, options: CallOptions): Promise<CallOutcome> => {
  const fault = findWebhookFault(call.url, options);
  if (fault !== null) return { isDelivered: false, words: fault };
  const { resolve = resolveHost, allowsLoopback, timeoutMs = TIMEOUT_MS } = options;
  try {
    const looked = listPublicAddresses(new URL(call.url).hostname, { resolve, allowsLoopback });
    const addresses = await limitTime(looked, timeoutMs);
    const status = await send(call, addresses, options);
    if (status >= 300 && status < 400)
      return { isDelivered: false, words: `redirected (${status}), which is not followed` };
    const words = `answered ${status}`;
    return status === 410
      ? { isDelivered: false, words, isGone: true }
      : { isDelivered: status >= 200 && status < 300, words };
  } catch (error) {
    return { isDelivered: false, words: explain(error) };
  }
};
