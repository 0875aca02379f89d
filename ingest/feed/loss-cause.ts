// Why a connection ended or was not opened, as a collector reports it (L-08).

/** Causes that a collector may report. */
export type LossCause =
  | 'connection_lost'
  | 'venue_down'
  | 'venue_rate_limit'
  | 'sequence_break'
  | 'collector_down'
  | 'storage_failure';

/** Codes for a machine that has no descriptor, port, buffer or memory left: the request never reached the venue. */
const OUR_OWN: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM']);

/** Of a host with several addresses all attempts have to be: on a machine without IPv6 one of them always is. */
const isOurOwn = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isOurOwn);
  return error instanceof Error && (('code' in error && OUR_OWN.has(error.code)) || isOurOwn(error.cause));
};

/** The cause of a refused or unanswered request. `status`: of HTTP; null: no answer, because of `error`. */
export const toLossCause = (status: number | null, error: unknown): LossCause => {
  if (status === 429 || status === 418) return 'venue_rate_limit';
  if (status === null && isOurOwn(error)) return 'collector_down';
  return status === null || status >= 500 ? 'venue_down' : 'connection_lost';
};
