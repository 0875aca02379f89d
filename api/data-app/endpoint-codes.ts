// Which codes an endpoint may answer: what follows from its method, key and price, and what it declares itself.
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
    ...codes,
  ]);
  return (Object.keys(CATALOGUE) as ErrorCode[]).filter((code) => may.has(code));
};
