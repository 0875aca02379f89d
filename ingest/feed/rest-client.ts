// REST requests of a collector: the most urgent first, within the venue's weight, with a deadline, a size limit and Retry-After honoured.
import { fetchBytes, type HttpAnswer } from '../../infra/runtime/http.ts';
import { LIMITS } from '../../infra/runtime/kafka/topics.ts';
import { type Burst, URGENCIES, type Urgency } from '../venues/contract/feed.ts';
import type { VenueRequest } from '../venues/contract/listings.ts';
import type { VenueMeters } from './meters.ts';
import { createRateWindow, type RateWindow } from './rate-window.ts';

const TIMEOUT_MS = 10_000;
/** Requests of one host under way: enough for the whole weight at 200 ms an answer. */
const AT_ONCE = 4;
/**
 * What comes again by itself leaves a quarter of the weight to books that broke and to connections. It is counted apart: what those took
 * is not taken from its share, so that polls go on beside the many first snapshots of a start.
 */
const YIELDING_SHARE = 0.75;
/** A venue that says 429 or 418 without Retry-After; 418 is a ban of at least two minutes. */
const PAUSE_MS: Readonly<Record<number, number>> = { 429: 30_000, 418: 120_000 };
const LONGEST_PAUSE_MS = 600_000;

type Refusal = { readonly cause?: unknown; readonly retryAtMs?: number };

/** The venue did not give the answer that was asked for; nothing of it reaches the log. */
export class RestError extends Error {
  override readonly name = 'RestError';
  /** HTTP status, or null when there was no answer at all. */
  readonly status: number | null;
  /** Nobody is answered before this instant of the monotonic clock; null when the refusal asks for no pause. */
  readonly retryAtMs: number | null;
  constructor(request: VenueRequest, status: number | null, { cause, retryAtMs }: Refusal = {}) {
    super(`${request.method} ${request.url}: ${status === null ? describeCause(cause) : `status ${status}`}`, {
      cause,
    });
    this.status = status;
    this.retryAtMs = retryAtMs ?? null;
  }
}

export type RestClient = {
  /**
   * The body of a 2xx answer, as received. Requests of one host and urgency are sent in the order of the calls. Throws RestError; while the
   * venue refuses everybody, what comes again by itself is refused here with the venue's status.
   */
  readonly ask: (request: VenueRequest, urgency?: Urgency) => Promise<Buffer>;
  /** Ends waiting and running requests; they reject. */
  readonly close: () => void;
};

type Waiting = {
  readonly request: VenueRequest;
  readonly urgency: Urgency;
  readonly resolve: (body: Buffer) => void;
  readonly reject: (error: RestError) => void;
};

type Block = { readonly retryAtMs: number; readonly status: number };

type Host = {
  /** Everything sent. */
  readonly window: RateWindow;
  /** Of that, what yields. */
  readonly yielding: RateWindow;
  waiting: Waiting[];
  running: number;
  timer: NodeJS.Timeout | undefined;
  blocked: Block | null;
};

type RestOptions = {
  readonly weightPerMinute: number;
  readonly burst?: Burst | undefined;
  /** Of all hosts together; each has its own unless stated. */
  readonly weightIsShared?: boolean | undefined;
  readonly meters: VenueMeters;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

const yields = (urgency: Urgency): boolean => urgency !== 'connection' && urgency !== 'book';
const rankOf = ({ urgency }: Waiting): number => URGENCIES.indexOf(urgency);

export const createRestClient = (options: RestOptions): RestClient => {
  const { weightPerMinute, burst, weightIsShared, meters, headers = {} } = options;
  const hosts = new Map<string, Host>();
  const closing = new AbortController();

  const openHost = (url: string): Host => {
    const name = weightIsShared ? 'all' : new URL(url).host;
    const known = hosts.get(name);
    if (known) return known;
    const host: Host = {
      window: createRateWindow(weightPerMinute, burst),
      yielding: createRateWindow(weightPerMinute, burst, YIELDING_SHARE),
      waiting: [],
      running: 0,
      timer: undefined,
      blocked: null,
    };
    hosts.set(name, host);
    return host;
  };

  const listWindows = ({ window, yielding }: Host, urgency: Urgency): readonly RateWindow[] =>
    yields(urgency) ? [window, yielding] : [window];

  const waitMs = (host: Host, { request, urgency }: Waiting): number => {
    const nowMs = performance.now();
    const waits = listWindows(host, urgency).map((window) => window.waitMs(request.weight, nowMs));
    return Math.max((host.blocked?.retryAtMs ?? 0) - nowMs, ...waits);
  };

  const pump = (host: Host): void => {
    clearTimeout(host.timer);
    while (host.running < AT_ONCE) {
      const next = mostUrgent(host.waiting);
      if (!next) return;
      const leftMs = waitMs(host, next);
      if (leftMs > 0) {
        host.timer = setTimeout(() => pump(host), Math.ceil(leftMs));
        return;
      }
      host.waiting.splice(host.waiting.indexOf(next), 1);
      void run(host, next);
    }
  };

  const run = async (host: Host, { request, urgency, resolve, reject }: Waiting): Promise<void> => {
    host.running += 1;
    for (const window of listWindows(host, urgency)) window.spend(request.weight, performance.now());
    meters.restWeight(request.weight);
    await send(host, request).then(resolve, reject);
    host.running -= 1;
    pump(host);
  };

  const send = async (host: Host, request: VenueRequest): Promise<Buffer> => {
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
      throw new RestError(request, null, { cause: error });
    });
    meters.restAnswer(String(answer.status));
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    const pauseMs = retryAfterMs(answer);
    if (pauseMs === null) throw new RestError(request, answer.status);
    const blocked = { retryAtMs: performance.now() + pauseMs, status: answer.status };
    host.blocked = blocked;
    drop(
      host,
      ({ urgency }) => yields(urgency),
      (waiting) => refusedBy(blocked, waiting),
    );
    throw refusedBy(blocked, request);
  };

  const drop = (
    host: Host,
    which: (waiting: Waiting) => boolean,
    refuse: (request: VenueRequest) => RestError,
  ): void => {
    const dropped = host.waiting.filter(which);
    host.waiting = host.waiting.filter((waiting) => !which(waiting));
    for (const { request, reject } of dropped) reject(refuse(request));
  };

  const ask = (request: VenueRequest, urgency: Urgency = 'poll'): Promise<Buffer> => {
    const host = openHost(request.url);
    if (closing.signal.aborted) return Promise.reject(new RestError(request, null));
    if (yields(urgency) && host.blocked && host.blocked.retryAtMs > performance.now()) {
      return Promise.reject(refusedBy(host.blocked, request));
    }
    return new Promise((resolve, reject) => {
      host.waiting.push({ request, urgency, resolve, reject });
      pump(host);
    });
  };

  return {
    ask,
    close: () => {
      closing.abort();
      for (const host of hosts.values()) {
        clearTimeout(host.timer);
        drop(
          host,
          () => true,
          (request) => new RestError(request, null),
        );
      }
    },
  };
};

const refusedBy = ({ retryAtMs, status }: Block, request: VenueRequest): RestError =>
  new RestError(request, status, { retryAtMs });

/** Of the most urgent ones the first. */
const mostUrgent = (waiting: readonly Waiting[]): Waiting | undefined => {
  let best = waiting[0];
  for (const one of waiting) if (best && rankOf(one) < rankOf(best)) best = one;
  return best;
};

/** How long a refused host is left alone; null when the answer asks for no pause. RFC 9110 section 10.2.3: seconds or a date. */
export const retryAfterMs = ({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null => {
  const text = headers.get('retry-after');
  const asked = text === null ? Number.NaN : /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  const waitMs = Number.isNaN(asked) ? PAUSE_MS[status] : Math.max(asked, 0);
  return waitMs === undefined ? null : Math.min(waitMs, LONGEST_PAUSE_MS);
};

const describeCause = (cause: unknown): string => {
  if (!(cause instanceof Error)) return 'no answer';
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
};
