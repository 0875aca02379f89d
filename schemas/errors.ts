// The error catalogue: every code with its status, whether to retry, and what to do (E-05, E-06, E-08).
type Entry = { readonly status: number; readonly retry: boolean; readonly meaning: string; readonly fix: string };

/** A call may be repeated unchanged if the service is busy or has failed. */
const makeEntry = (status: number, meaning: string, fix: string): Entry => ({
  status,
  retry: status === 429 || status >= 500,
  meaning,
  fix,
});

export const CATALOGUE = {
  DQL_JSON_SCHEMA: makeEntry(
    400,
    'The request does not match the endpoint’s schema.',
    'Correct the member named by path.',
  ),
  DQL_VERSION: makeEntry(400, 'The language version is not 1.', 'Send dql "1" or omit it.'),
  DQL_LIMIT: makeEntry(400, 'The request or its answer exceeds a limit.', 'Narrow the request as the hint states.'),
  DQL_COMPLEXITY: makeEntry(
    400,
    'The query costs more than the limits allow.',
    'Shorten the query. POST /v2/dql/parse returns its cost.',
  ),
  KEY_IN_URL: makeEntry(
    400,
    'A key was sent in the URL.',
    'Replace the key, and send the new one as Authorization: Bearer <API_KEY>.',
  ),
  PAYMENT_MALFORMED: makeEntry(
    400,
    'The payment header is not a version 2 exact payment.',
    'Sign an entry of accepts with x402 version 2.',
  ),
  DQL_SYNTAX: makeEntry(400, 'The text is not a query or selection.', 'Correct the text at the position.'),
  DQL_UNKNOWN_FIELD: makeEntry(400, 'The field does not exist.', 'Use a field of the catalogue.'),
  DQL_UNKNOWN_FUNCTION: makeEntry(400, 'The function does not exist.', 'Use a function of the catalogue.'),
  DQL_UNKNOWN_VENUE: makeEntry(400, 'The venue is not known.', 'Use a code of GET /v2/venues.'),
  DQL_UNKNOWN_CURRENCY: makeEntry(400, 'No listing has this quote currency.', 'Use a currency of the catalogue.'),
  DQL_UNKNOWN_ASSET: makeEntry(400, 'The base asset is not known.', 'Use an asset of the catalogue.'),
  DQL_UNKNOWN_INSTRUMENT: makeEntry(400, 'The instrument is not known.', 'Use a code of the form BASE-PERP.'),
  DQL_SCOPE: makeEntry(400, 'A venue-scoped name is used at instrument level.', 'Put it inside any(venues where …).'),
  DQL_NESTING: makeEntry(400, 'A quantifier or aggregate is inside another.', 'Split the condition.'),
  DQL_TYPE: makeEntry(
    400,
    'The operation does not fit its operands.',
    'Use operands of the kinds that the function takes.',
  ),
  DQL_TIMEFRAME_REQUIRED: makeEntry(400, 'A series has no period.', 'Add a timeframe clause or trailing argument.'),
  DQL_TIMEFRAME_UNSUPPORTED: makeEntry(400, 'The period is not offered.', 'Use a timeframe of the catalogue.'),
  DQL_TIMEFRAME_MISMATCH: makeEntry(400, 'Series of different periods are combined.', 'Use one period.'),
  DQL_ARGUMENT: makeEntry(400, 'An argument is outside its range.', 'Use a value within the stated range.'),
  DQL_DUPLICATE_CLAUSE: makeEntry(400, 'A clause or key is given twice.', 'Give it once.'),
  DQL_AS_OF_RANGE: makeEntry(
    400,
    'The instant is in the future, or before the earliest retained instant.',
    'Use an instant within the stated range.',
  ),
  AUTH_REQUIRED: makeEntry(401, 'The endpoint needs a key.', 'Send Authorization: Bearer <API_KEY>.'),
  AUTH_INVALID: makeEntry(401, 'The key is not accepted.', 'Send a live key as Authorization: Bearer <API_KEY>.'),
  PAYMENT_REQUIRED: makeEntry(
    402,
    'The call must be paid for, and no payment was accepted.',
    'Send a key, or sign an entry of accepts.',
  ),
  PLAN_LIMIT: makeEntry(403, 'The request is beyond the plan.', 'Stay within the plan or change it.'),
  PLAN_VENUE_NOT_INCLUDED: makeEntry(403, 'The venue is not in the plan.', 'Request a venue of the plan.'),
  ANCHOR_NOT_FOUND: makeEntry(
    404,
    'There is no anchor for the day, or no such row.',
    'Request the day, instant or file that the hint names.',
  ),
  NOT_FOUND: makeEntry(404, 'There is nothing at this address.', 'See /openapi.json for the addresses.'),
  METHOD_NOT_ALLOWED: makeEntry(405, 'The address has no such method.', 'Use a method of the Allow header.'),
  ANCHOR_CHANGED: makeEntry(409, 'The stored rows no longer match the closed day.', 'See /incidents.json.'),
  PAYLOAD_TOO_LARGE: makeEntry(413, 'The body is above 64 KiB.', 'Send a smaller body.'),
  UNSUPPORTED_MEDIA_TYPE: makeEntry(415, 'The body is not JSON.', 'Send Content-Type: application/json.'),
  RATE_LIMITED: makeEntry(
    429,
    'A rate limit has been reached; X-Service-Limit names it.',
    'Wait for Retry-After seconds.',
  ),
  INTERNAL: makeEntry(500, 'The service failed to answer.', 'Repeat the call; quote the receipt id to support.'),
  UNAVAILABLE: makeEntry(503, 'The service cannot answer yet.', 'Wait for Retry-After seconds.'),
} satisfies Readonly<Record<string, Entry>>;

export type ErrorCode = keyof typeof CATALOGUE;

/** A position in the query text: line and column from 1, offset from 0, all in Unicode code points (DQL-01). */
export type Position = {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly length: number;
};

export type ApiError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly position?: Position;
  readonly hint?: string;
  /** JSON pointer of the offending member. */
  readonly path?: string;
};

const MOST_ERRORS = 20;

/** Limits of the language apply to valid requests only, so they are reported only if there is no other fault (E-01, D-65). */
export const withoutLateLimits = <T extends { readonly code: ErrorCode }>(errors: readonly T[]): readonly T[] => {
  const lawless = errors.filter(({ code }) => code !== 'DQL_COMPLEXITY');
  return lawless.length > 0 ? lawless : errors;
};

/** The errors to report: sorted by position, then those without a position by path; at most 20 (E-05). */
export const sortErrors = (errors: readonly ApiError[]): readonly ApiError[] =>
  [...withoutLateLimits(errors)]
    .sort((a, b) => {
      const x = a.position?.offset ?? Number.POSITIVE_INFINITY;
      const y = b.position?.offset ?? Number.POSITIVE_INFINITY;
      if (x !== y) return x < y ? -1 : 1;
      const [p, q] = [a.path ?? '', b.path ?? ''];
      return p < q ? -1 : p > q ? 1 : 0;
    })
    .slice(0, MOST_ERRORS);

/** A failure that is returned to the caller; the status is that of the first error (E-05). */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly errors: readonly ApiError[];
  readonly status: number;
  constructor(errors: readonly ApiError[]) {
    const ordered = sortErrors(errors);
    super(ordered[0]?.message ?? 'no error given');
    this.errors = ordered;
    this.status = ordered[0] ? CATALOGUE[ordered[0].code].status : 500;
  }
}

/** A member whose shape or value is wrong, by its JSON pointer (DQL-34h). */
export const makeShapeFault = (path: string, message: string, hint: string): ApiError => ({
  code: 'DQL_JSON_SCHEMA',
  message,
  hint,
  path,
});

export const makeServiceError = (
  code: ErrorCode,
  message: string,
  extra: Omit<ApiError, 'code' | 'message'>,
): ServiceError => new ServiceError([{ code, message, ...extra }]);

/** What cannot be read for now, although nothing is wrong with the call. */
export const makeUnavailable = (message: string, hint = 'Repeat the call in a few seconds.'): ServiceError =>
  makeServiceError('UNAVAILABLE', message, { hint });

const FARTHEST = 2;
export const MOST_SUGGESTED = 3;

/** A bit for each letter of a text; some share one. */
const findLetters = (text: string): number => {
  let letters = 0;
  for (let at = 0; at < text.length; at++) letters |= 1 << (text.charCodeAt(at) & 31);
  return letters;
};

const countBits = (bits: number): number => {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count += 1;
  return count;
};

/** Known names within two edits of `name`, which may be of any length, nearest first, at most `most` (E-08). */
export const findNearest = (name: string, known: Iterable<string>, most = MOST_SUGGESTED): string[] => {
  const lower = name.toLowerCase();
  const letters = findLetters(lower);
  const found: { readonly known: string; readonly distance: number }[] = [];
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > FARTHEST) continue;
    const lowerCandidate = candidate.toLowerCase();
    const ofCandidate = findLetters(lowerCandidate);
    // An edit adds at most one letter and removes at most one: this check excludes most of thousands of names at a hundredth of the cost of the distance.
    if (countBits(letters & ~ofCandidate) > FARTHEST || countBits(ofCandidate & ~letters) > FARTHEST) continue;
    const distance = computeEditDistance(lower, lowerCandidate);
    if (distance <= FARTHEST) found.push({ known: candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.known < b.known ? -1 : 1));
  return found.slice(0, most).map((f) => f.known);
};

/** The distance if the letters that end at `i` and `j` (counted from 1) are swapped, with at most one letter inserted or deleted between them. */
const computeSwap = (
  a: string,
  b: string,
  { i, j, rows }: { i: number; j: number; rows: readonly number[][] },
): number => {
  const swaps = (lettersOfA: number, lettersOfB: number): number =>
    i >= lettersOfA && j >= lettersOfB && a[i - lettersOfA] === b[j - 1] && b[j - lettersOfB] === a[i - 1]
      ? (rows[lettersOfA - 1]?.[j - lettersOfB] ?? 0) + lettersOfA + lettersOfB - 3
      : Number.POSITIVE_INFINITY;
  return Math.min(swaps(2, 2), swaps(2, 3), swaps(3, 2));
};

/** Damerau-Levenshtein distance, in which two swapped letters may be edited between; above `FARTHEST` the value is only a lower bound. */
export const computeEditDistance = (a: string, b: string): number => {
  let rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const last = rows[0] ?? [];
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const letter = a[i - 1];
      const same = letter === b[j - 1];
      const near = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const isSwappable = !same && (letter === b[j - 2] || letter === b[j - 3]);
      const best = isSwappable ? Math.min(near, computeSwap(a, b, { i, j, rows })) : near;
      row.push(best);
      if (best < least) least = best;
    }
    if (least > FARTHEST) return least;
    rows = [row, ...rows.slice(0, 2)];
  }
  return rows[0]?.[b.length] ?? 0;
};
