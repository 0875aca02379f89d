// REST of one simulated venue: counts the weight of requests, refuses them by faults and limits, and returns the venue's responses.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Faults } from './faults.ts';
import { readBody } from './request-body.ts';
import type { RestAnswer, RestRequest, RunningVenue, VenueLimits } from './venue.ts';

/** A request as it reaches the venue, without its prefix. */
export type RestCall = Pick<RestRequest, 'method' | 'path' | 'query' | 'body'>;

type RestDeskOptions = {
  readonly running: RunningVenue;
  readonly faults: Faults;
  readonly limits: VenueLimits;
  readonly nowMs: () => number;
  /** The venue's clock, skewed while a fault lasts. */
  readonly venueNowMs: () => number;
};

const DOWN_STATUS = 503;
const NOT_FOUND: RestAnswer = { status: 404, body: '{"error":"the venue has no such path"}' };

export class RestDesk {
  /** Requests by bucket and path. */
  readonly counts: Record<string, number> = {};
  readonly #options: RestDeskOptions;
  readonly #weights = new Map<string, { readonly minute: number; readonly used: number }>();

  constructor(options: RestDeskOptions) {
    this.#options = options;
  }

  /** `url` without the venue's prefix. */
  async handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { method = 'GET' } = request;
    const body = method === 'POST' ? await readBody(request) : '';
    const answer = this.answer({ method, path: url.pathname, query: url.searchParams, body });
    response.writeHead(answer.status, { 'content-type': 'application/json;charset=UTF-8', ...answer.headers });
    response.end(answer.body);
  }

  answer(request: RestCall): RestAnswer {
    const { running, faults, limits, nowMs, venueNowMs } = this.#options;
    const cost = running.cost(request);
    if (cost === null) return NOT_FOUND;
    const name = `${cost.bucket} ${request.path}`;
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    const used = this.#weigh(cost.bucket, cost.weight);
    const refusal = faults.refusal(nowMs());
    if (refusal?.kind === 'rest_down') return { status: refusal.status ?? DOWN_STATUS, body: 'upstream unavailable' };
    if (refusal !== null) return running.refuse(refusal.status, refusal.untilMs - nowMs());
    if (used > limits.weightPerMinute) return running.refuse(null, MS_PER_MINUTE - (nowMs() % MS_PER_MINUTE));
    return running.answer({ ...request, used, nowMs: venueNowMs() });
  }

  /** Weight of the bucket used this minute after this request, by the clock's minutes. */
  #weigh(bucket: string, weight: number): number {
    const minute = Math.floor(this.#options.nowMs() / MS_PER_MINUTE);
    const before = this.#weights.get(bucket);
    const used = weight + (before?.minute === minute ? before.used : 0);
    this.#weights.set(bucket, { minute, used });
    return used;
  }
}
