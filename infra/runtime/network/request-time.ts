// How long a client may take to send its request and to read of its answer, on every listener.
type RequestTime = {
  readonly requestTimeout: number;
  readonly connectionTimeout: number;
  readonly http: { readonly headersTimeout: number; readonly connectionsCheckingInterval: number };
};

/** A client that dribbles its request holds a socket no longer than this. */
const REQUEST_MS = 30_000;
/** Longer than the work on any answer, during which nothing passes on the connection. */
const IDLE_MS = 120_000;

/**
 * Node applies the shorter of its two deadlines to the head of a request and the longer one to the whole request, so both are set: with only
 * `requestTimeout` the other stays at a minute, and a body has that long. By default Node checks for late requests every half minute. A client that
 * reads nothing of its answer for `idleMs` is disconnected, so that the rest of the answer is not kept for ever.
 */
export const limitRequestTime = (ms = REQUEST_MS, idleMs = IDLE_MS): RequestTime => ({
  requestTimeout: ms,
  connectionTimeout: idleMs,
  http: { headersTimeout: ms, connectionsCheckingInterval: Math.ceil(ms / 30) },
});
