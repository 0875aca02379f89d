// The time limits for a client to send a request and to read its answer, as options of a server.

type RequestTime = {
  readonly requestTimeout: number;
  readonly connectionTimeout: number;
  readonly http: { readonly headersTimeout: number; readonly connectionsCheckingInterval: number };
};

/** Longer than any answer is worked at: nothing passes on the connection meanwhile. */
const IDLE_MS = 120_000;

/**
 * Node gives the head of a request the shorter of its two deadlines and the whole the longer, so both are set: of `requestTimeout` alone the
 * other stays at a minute, and a body has that long. It looks for what is late every half minute unless it is told otherwise. A client that
 * takes nothing of its answer for `idleMs` is gone: what it was to be sent is not held for ever.
 */
export const limitRequestTime = (ms: number, idleMs = IDLE_MS): RequestTime => ({
  requestTimeout: ms,
  connectionTimeout: idleMs,
  http: { headersTimeout: ms, connectionsCheckingInterval: Math.ceil(ms / 30) },
});
