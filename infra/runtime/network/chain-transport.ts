// The transport to a node of a chain: each answer has a deadline for its whole body, and an error says whether the node answered.
import { unescape as decodePercents } from 'node:querystring';
import { type BaseError, HttpRequestError, type HttpTransport, http, TimeoutError } from 'viem';

/** The address without its user and password, which `fetch` refuses, and the header that they stand for. */
const readAddress = (rpcUrl: string) => {
  const address = new URL(rpcUrl);
  const credentials = [address.username, address.password].map(decodePercents).join(':');
  address.username = '';
  address.password = '';
  const headers = { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  return { address, headers: credentials === ':' ? {} : headers };
};

/**
 * A request is repeated `retryCount` times when its answer fails. The library's own deadline ends with the head of the answer: the body of a node that sends
 * nothing more would be awaited for as long as `fetch` waits for the next byte, which is minutes. The library writes the address that it knows into
 * each of its errors, which are logged: providers of nodes put the key of their customer into path or query, so it knows the origin alone.
 */
export const openChainTransport = (rpcUrl: string, withinMs: number, retryCount = 1): HttpTransport => {
  const { address, headers } = readAddress(rpcUrl);
  return http(address.origin, {
    timeout: withinMs,
    retryCount,
    fetchFn: (_origin, init) => {
      const deadline = AbortSignal.timeout(withinMs);
      const { signal } = init ?? {};
      return fetch(address, {
        ...init,
        headers: { ...(init?.headers as Record<string, string>), ...headers },
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      });
    },
  });
};

/** Whether an error of the library means that the node did not answer. */
export const isUnansweredByNode = (error: BaseError): boolean =>
  error.walk((cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError) !== null;
