// The limits that a 429 may name, its headers and text, and the refusal as an error (AC-03).
import { ServiceError } from '../../schemas/errors.ts';
import { formatCount } from './counts.ts';

/** Closed set of `X-Service-Limit`. */
export const SERVICE_LIMITS = [
  'requests_per_second',
  'requests_per_day',
  'concurrent_requests',
  'dql_per_day',
  'streams',
  'agent_evaluations_per_day',
  'archive_files_per_day',
  'x402_challenges_per_minute',
  'x402_unpaid_in_flight_per_payer',
] as const;
type ServiceLimit = (typeof SERVICE_LIMITS)[number];

export type Refusal = {
  readonly limit: ServiceLimit;
  readonly figure: number;
  /** Whole seconds, at least 1. */
  readonly retryAfterS: number;
};

/** What each limit counts, and over which time. */
const WORDS: Readonly<Record<ServiceLimit, readonly [noun: string, time: string]>> = {
  requests_per_second: ['request', 'a second'],
  requests_per_day: ['request', 'a day'],
  concurrent_requests: ['request', 'at once'],
  dql_per_day: ['DQL evaluation', 'a day'],
  streams: ['stream', 'at once'],
  agent_evaluations_per_day: ['agent evaluation', 'a day'],
  archive_files_per_day: ['archive file', 'a day'],
  x402_challenges_per_minute: ['payment challenge', 'a minute'],
  x402_unpaid_in_flight_per_payer: ['unsettled payment', 'at once'],
};

const HINTS: Partial<Readonly<Record<ServiceLimit, string>>> = {
  concurrent_requests: 'Wait for an answer before the next call.',
  streams: 'Close a stream, or select more in one.',
};

/** The message and hint for a limit that `who` has reached. */
export const describeLimit = (who: string, { limit, figure, retryAfterS }: Refusal) => {
  const [noun, time] = WORDS[limit];
  return {
    message: `${who} allows ${formatCount(figure, noun)} ${time}.`,
    hint: HINTS[limit] ?? `Wait ${formatCount(retryAfterS, 'second')}.`,
  };
};

export const makeLimitHeaders = ({ limit, retryAfterS }: Refusal): Readonly<Record<string, string>> => ({
  'retry-after': String(retryAfterS),
  'x-service-limit': limit,
});

/** A limit reached while a call is answered; the sender of the answer adds the headers of `refusal`. */
export class LimitReached extends ServiceError {
  readonly refusal: Refusal;
  constructor(who: string, refusal: Refusal) {
    super([{ code: 'RATE_LIMITED', ...describeLimit(who, refusal) }]);
    this.refusal = refusal;
  }
}
