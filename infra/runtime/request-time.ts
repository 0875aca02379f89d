// How long a client may take to send a request, as options of a server.

export type RequestTime = {
  readonly requestTimeout: number;
  readonly http: { readonly headersTimeout: number; readonly connectionsCheckingInterval: number };
};

/**
 * Node gives the head of a request the shorter of its two deadlines and the whole the longer, so both are set: of `requestTimeout` alone the
 * other stays at a minute, and a body has that long. It looks for what is late every half minute unless it is told otherwise.
 */
export const limitRequestTime = (ms: number): RequestTime => ({
  requestTimeout: ms,
  http: { headersTimeout: ms, connectionsCheckingInterval: Math.ceil(ms / 30) },
});
