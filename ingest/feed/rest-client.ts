// REST requests of a collector: most urgent first, within the venue's weight, with a deadline and a size limit; Retry-After is honoured.
import { LIMITS } from '../../infra/runtime/kafka/topics.ts';
import { fetchBytes, type HttpAnswer } from '../../infra/runtime/network/fetch-bytes.ts';
import { type Burst, URGENCIES, type Urgency } from '../venues/contract/feed.ts';
import type { VenueRequest } from '../venues/contract/listings.ts';
import type { VenueMeters } from './meters.ts';
import { createRateWindow, type RateWindow } from './rate-window.ts';

const TIMEOUT_MS = 10_000;
/** Requests of one host in flight: enough for the whole weight at 200 ms an answer. */
const AT_ONCE = 4;
/**
 * Periodic requests leave a quarter of the weight to broken books and to connections. They have their own window: weight spent by urgent
 * requests is not deducted from their share, so that polls continue beside the many first snapshots of a start.
 */
const YIELDING_SHARE = 0.75;
/** Pause after a 429 or 418 without Retry-After; 418 is a ban of at least two minutes. */
const PAUSE_MS: Readonly<Record<number, number>> = { 429: 30_000, 418: 120_000 };
const LONGEST_PAUSE_MS = 600_000;
/** A date may be in the past by our clock. A host that refuses is not requested again at once. */
const SHORTEST_PAUSE_MS = 1_000;

type Refusal = { readonly cause?: unknown; readonly retryAtMs?: number };

/** The request was not answered, or was refused; nothing is written to the log. */
export class RestError extends Error {
  override readonly name = 'RestError';
  /** HTTP status, or null without an answer. */
  readonly status: number | null;
  /** End of the host's pause on the monotonic clock; null when the refusal sets no pause. */
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
   * Returns the body of a 2xx answer, as received. Requests of one host and urgency are sent in the order of the calls. Throws RestError.
   * During a host's pause, periodic requests are rejected here with the venue's status.
   */
  readonly ask: (request: VenueRequest, urgency?: Urgency) => Promise<Buffer>;
  /** Rejects waiting and running requests. */
  readonly close: () => void;
};

type Waiting = {
  readonly request: VenueRequest;
  readonly urgency: Urgency;
  readonly resolve: (body: Buffer) => void;
  readonly reject: (error: RestError) => void;
};

type Block = { readonly retryAtMs: number; readonly status: number };

type RestOptions = {
  readonly weightPerMinute: number;
  readonly burst?: Burst | undefined;
  /** One weight for all hosts together; by default each host has its own. */
  readonly weightIsShared?: boolean | undefined;
  readonly meters: VenueMeters;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

const isYielding = (urgency: Urgency): boolean => urgency !== 'connection' && urgency !== 'book';
const toRank = ({ urgency }: Waiting): number => URGENCIES.indexOf(urgency);

/** Requests of one host that wait or are in flight, and the pause that the host set. */
class HostQueue {
  readonly #options: RestOptions;
  readonly #closing: AbortSignal;
  /** Counts every request. */
  readonly #window: RateWindow;
  /** Counts the requests that yield. */
  readonly #yielding: RateWindow;
  #waiting: Waiting[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;
  #blocked: Block | null = null;

  constructor(options: RestOptions, closing: AbortSignal) {
    const { weightPerMinute, burst } = options;
    this.#options = options;
    this.#closing = closing;
    this.#window = createRateWindow(weightPerMinute, burst);
    this.#yielding = createRateWindow(weightPerMinute, burst, YIELDING_SHARE);
  }

  ask(request: VenueRequest, urgency: Urgency): Promise<Buffer> {
    if (isYielding(urgency) && this.#blocked && this.#blocked.retryAtMs > performance.now()) {
      return Promise.reject(toRefusal(this.#blocked, request));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, urgency, resolve, reject });
      this.#sendNext();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { request, reject } of waiting) reject(new RestError(request, null));
  }

  /** Sends what the weight allows now, and schedules itself for the next request. */
  #sendNext(): void {
    clearTimeout(this.#timer);
    while (this.#running < AT_ONCE) {
      const next = findMostUrgent(this.#waiting);
      if (!next) return;
      const leftMs = this.#waitMs(next);
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#sendNext(), Math.ceil(leftMs));
        return;
      }
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      void this.#run(next);
    }
  }

  #waitMs({ request, urgency }: Waiting): number {
    const nowMs = performance.now();
    const waits = this.#listWindows(urgency).map((window) => window.waitMs(request.weight, nowMs));
    return Math.max((this.#blocked?.retryAtMs ?? 0) - nowMs, ...waits);
  }

  #listWindows(urgency: Urgency): readonly RateWindow[] {
    return isYielding(urgency) ? [this.#window, this.#yielding] : [this.#window];
  }

  async #run({ request, urgency, resolve, reject }: Waiting): Promise<void> {
    this.#running += 1;
    for (const window of this.#listWindows(urgency)) window.spend(request.weight, performance.now());
    this.#options.meters.restWeight(request.weight);
    await this.#send(request).then(resolve, reject);
    this.#running -= 1;
    this.#sendNext();
  }

  async #send(request: VenueRequest): Promise<Buffer> {
    const answer = await this.#fetch(request);
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    const pauseMs = readRetryAfterMs(answer);
    if (pauseMs === null) throw new RestError(request, answer.status);
    throw toRefusal(this.#block({ retryAtMs: performance.now() + pauseMs, status: answer.status }), request);
  }

  async #fetch(request: VenueRequest): Promise<HttpAnswer> {
    const { meters, headers = {} } = this.#options;
    const { method, url, body } = request;
    const answer = await fetchBytes({
      method,
      url,
      ...(body === undefined ? { headers } : { body, headers: { ...headers, 'content-type': 'application/json' } }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: LIMITS.frameBytes,
      signal: this.#closing,
    }).catch((error: unknown) => {
      meters.restAnswer('none');
      throw new RestError(request, null, { cause: error });
    });
    meters.restAnswer(String(answer.status));
    return answer;
  }

  /** Rejects periodic requests; the others wait for the end of the pause. Returns the pause that holds. */
  #block(asked: Block): Block {
    // Requests in flight at a ban are answered too: a shorter pause does not end a longer one.
    const blocked = this.#blocked && this.#blocked.retryAtMs > asked.retryAtMs ? this.#blocked : asked;
    this.#blocked = blocked;
    const refused = this.#waiting.filter(({ urgency }) => isYielding(urgency));
    this.#waiting = this.#waiting.filter(({ urgency }) => !isYielding(urgency));
    for (const { request, reject } of refused) reject(toRefusal(blocked, request));
    return blocked;
  }
}

export const createRestClient = (options: RestOptions): RestClient => {
  const hosts = new Map<string, HostQueue>();
  const closing = new AbortController();

  const openHost = (url: string): HostQueue => {
    const name = options.weightIsShared ? 'all' : new URL(url).host;
    const host = hosts.get(name) ?? new HostQueue(options, closing.signal);
    hosts.set(name, host);
    return host;
  };

  return {
    ask: (request, urgency = 'poll') => {
      const host = openHost(request.url);
      return closing.signal.aborted ? Promise.reject(new RestError(request, null)) : host.ask(request, urgency);
    },
    close: () => {
      closing.abort();
      for (const host of hosts.values()) host.close();
    },
  };
};

const toRefusal = ({ retryAtMs, status }: Block, request: VenueRequest): RestError =>
  new RestError(request, status, { retryAtMs });

/** The first of the most urgent requests. */
const findMostUrgent = (waiting: readonly Waiting[]): Waiting | undefined => {
  let best = waiting[0];
  for (const one of waiting) if (best && toRank(one) < toRank(best)) best = one;
  return best;
};

/**
 * RFC 9110 section 10.2.3: seconds, which some hosts send with a fraction, or a date; NaN for anything else. Dates begin with the name of a day: `-5` and
 * `1/2`, too, are dates to `Date.parse`. The form without a zone is in UTC (section 5.6.7).
 */
const parseRetryAfterMs = (text: string): number => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Z][a-z]{2}/.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - Date.now();
};

/** Pause after a refusal in milliseconds; null when the answer sets none. */
export const readRetryAfterMs = ({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null => {
  const text = headers.get('retry-after');
  const asked = text === null ? Number.NaN : parseRetryAfterMs(text);
  const waitMs = Number.isNaN(asked) ? PAUSE_MS[status] : Math.max(asked, SHORTEST_PAUSE_MS);
  return waitMs === undefined ? null : Math.min(waitMs, LONGEST_PAUSE_MS);
};

const describeCause = (cause: unknown): string => {
  if (!(cause instanceof Error)) return 'no answer';
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
};
