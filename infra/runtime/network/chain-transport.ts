// The transport to a node of a chain: each answer has a deadline for its whole body, and an error says whether the node answered.
import { type BaseError, HttpRequestError, type HttpTransport, http, TimeoutError } from 'viem';

/**
 * A request is repeated once when the first answer fails. The library's own deadline ends with the head of the answer: the body of a node that sends
 * nothing more would be awaited for as long as `fetch` waits for the next byte, which is minutes.
 */
export const openChainTransport = (rpcUrl: string, withinMs: number): HttpTransport =>
  http(rpcUrl, {
    timeout: withinMs,
    retryCount: 1,
    fetchFn: (input, init) => {
      const deadline = AbortSignal.timeout(withinMs);
      const { signal } = init ?? {};
      return fetch(input, { ...init, signal: signal ? AbortSignal.any([signal, deadline]) : deadline });
    },
  });

/** Whether an error of the library means that the node did not answer. */
export const isUnansweredByNode = (error: BaseError): boolean =>
  error.walk((cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError) !== null;
