// HTTP to services a test started. A busy machine must not fail it: each request has a connection of its own, and only the tests' common bound.
import { Agent, fetch, type RequestInit, type Response } from 'undici';
import { BOUND_MS } from '../wait.ts';

/** A kept connection may be closed by its service just when a busy test takes it again; the default bounds are of seconds. */
const dispatcher = new Agent({
  pipelining: 0,
  connect: { timeout: BOUND_MS },
  headersTimeout: BOUND_MS,
  bodyTimeout: BOUND_MS,
});

/** As `fetch`; the error of a request that got no answer names the request and its cause. */
export const fetchFrom = async (url: string, init: Omit<RequestInit, 'dispatcher'> = {}): Promise<Response> => {
  try {
    return await fetch(url, { ...init, dispatcher });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    throw new Error(`${init.method ?? 'GET'} ${url}: ${String(error)}, ${String(cause)}`, { cause: error });
  }
};
