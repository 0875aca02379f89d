// The error codes that an endpoint may return: those that follow from its method, key and price, and those that it declares.
import { CATALOGUE, type ErrorCode } from '../../schemas/errors.ts';
import type { Endpoint } from '../contract/endpoint.ts';

const EVERYWHERE: readonly ErrorCode[] = [
  'DQL_JSON_SCHEMA',
  'KEY_IN_URL',
  'AUTH_INVALID',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
];
const WITH_BODY: readonly ErrorCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];

/** In the order of the catalogue. */
export const listErrorCodes = ({ method, key, price, codes }: Endpoint): ErrorCode[] => {
  const withoutKey: ErrorCode = price === null ? 'AUTH_REQUIRED' : 'PAYMENT_REQUIRED';
  const may = new Set<string>([
    ...EVERYWHERE,
    ...(method === 'POST' ? WITH_BODY : []),
    ...(key === 'required' ? [withoutKey] : []),
    ...(key === 'required' && price !== null ? (['PAYMENT_MALFORMED'] as const) : []),
    ...codes,
  ]);
  return (Object.keys(CATALOGUE) as ErrorCode[]).filter((code) => may.has(code));
};

/** Step 8 of E-01 is one list: its first error gives the status, and the others may have another status. */
const JUDGED_TOGETHER: ReadonlySet<ErrorCode> = new Set([
  'DQL_COMPLEXITY',
  'DQL_LIMIT',
  'PLAN_LIMIT',
  'PLAN_VENUE_NOT_INCLUDED',
]);

/** The codes that an answer of each status may have, those that give it the status first. */
export const listCodesByStatus = (endpoint: Endpoint): ReadonlyMap<number, readonly ErrorCode[]> => {
  const codes = listErrorCodes(endpoint);
  const byStatus = Map.groupBy(codes, (code) => CATALOGUE[code].status);
  // Without a selection there are no limits over several listings: DQL_LIMIT applies to the bytes of the answer.
  const together = codes.filter((code) => endpoint.codes.includes('DQL_COMPLEXITY') && JUDGED_TOGETHER.has(code));
  return new Map(
    [...byStatus].map(([status, own]) => [
      status,
      own.some((code) => JUDGED_TOGETHER.has(code)) ? [...new Set([...own, ...together])] : own,
    ]),
  );
};
