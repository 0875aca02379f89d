// REST requests of a collector: one at a time a host, within the venue's weight, with a deadline, a size limit and Retry-After honoured.
import { setTimeout as pause } from 'node:timers/promises';
import { fetchBytes, type HttpAnswer } from '../../infra/runtime/http.ts';
import { LIMITS } from '../../infra/runtime/topics.ts';
import type { VenueRequest } from '../venue.ts';
import type { VenueMeters } from './meters.ts';
import { createRateWindow, type RateWindow } from './rate-window.ts';

const TIMEOUT_MS = 10_000;
/** A venue that says 429 or 418 without Retry-After; 418 is a ban of at least two minutes. */
const PAUSE_MS: Readonly<Record<number, number>> = { 429: 30_000, 418: 120_000 };
const LONGEST_PAUSE_MS = 600_000;

/** The venue did not give the answer that was asked for; nothing of it reaches the log. */
export class RestError extends Error {
  override readonly name = 'RestError';
  /** HTTP status, or null when there was no answer at all. */
  readonly status: number | null;
  constructor(request: VenueRequest, status: number | null, cause?: unknown) {
    super(`${request.method} ${request.url}: ${status === null ? reasonOf(cause) : `status ${status}`}`, { cause });
    this.status = status;
  }
}

export type RestClient = {
  /** The body of a 2xx answer, as received. Requests of one host are answered in the order of the calls. Throws RestError. */
  readonly ask: (request: VenueRequest) => Promise<Buffer>;
  /** Share of the host's usable minute that is spent, 0 to 1. */
  readonly used: (url: string) => number;
  /** Ends waiting and running requests; they reject. */
  readonly close: () => void;
};

type Host = { readonly window: RateWindow; tail: Promise<unknown>; blockedUntilMs: number };

export type RestOptions = {
  readonly weightPerMinute: number;
  readonly meters: VenueMeters;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

export const createRestClient = ({ weightPerMinute, meters, headers = {} }: RestOptions): RestClient => {
  const hosts = new Map<string, Host>();
  const closing = new AbortController();

  const hostOf = (url: string): Host => {
    const name = new URL(url).host;
    const known = hosts.get(name);
    if (known) return known;
    const host: Host = { window: createRateWindow(weightPerMinute), tail: Promise.resolve(), blockedUntilMs: 0 };
    hosts.set(name, host);
    return host;
  };

  const granted = async (host: Host, weight: number): Promise<void> => {
    for (;;) {
      const nowMs = performance.now();
      const waitMs = Math.max(host.blockedUntilMs - nowMs, host.window.waitMs(weight, nowMs));
      if (waitMs <= 0) break;
      await pause(Math.ceil(waitMs), undefined, { signal: closing.signal });
    }
    host.window.spend(weight, performance.now());
    meters.restWeight(weight);
  };

  const send = async (host: Host, request: VenueRequest): Promise<Buffer> => {
    await granted(host, request.weight).catch((error: unknown) => {
      throw new RestError(request, null, error);
    });
    const { method, url, body } = request;
    const answer = await fetchBytes({
      method,
      url,
      ...(body === undefined ? { headers } : { body, headers: { ...headers, 'content-type': 'application/json' } }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: LIMITS.frameBytes,
      signal: closing.signal,
    }).catch((error: unknown) => {
      meters.restAnswer('none');
      throw new RestError(request, null, error);
    });
    meters.restAnswer(String(answer.status));
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    const pauseMs = retryAfterMs(answer);
    if (pauseMs !== null) host.blockedUntilMs = performance.now() + pauseMs;
    throw new RestError(request, answer.status);
  };

  return {
    ask: (request) => {
      const host = hostOf(request.url);
      const answer = host.tail.then(() => send(host, request));
      host.tail = answer.catch(() => undefined);
      return answer;
    },
    used: (url) => hostOf(url).window.used(performance.now()),
    close: () => closing.abort(),
  };
};

/** How long a refused host is left alone; null when the answer asks for no pause. RFC 9110 section 10.2.3: seconds or a date. */
export const retryAfterMs = ({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null => {
  const text = headers.get('retry-after');
  const asked = text === null ? Number.NaN : /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  const waitMs = Number.isNaN(asked) ? PAUSE_MS[status] : Math.max(asked, 0);
  return waitMs === undefined ? null : Math.min(waitMs, LONGEST_PAUSE_MS);
};

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return 'no answer';
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
};
