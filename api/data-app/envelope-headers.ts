// The envelope of an answer whose rows are sent as a table: each of its members is a header (N-15).
import { type JsonValue, writeJson } from '../../schemas/json.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { isMap } from './row-formats.ts';

/** The rows, and the members that have a separate header in every answer. */
const WITHOUT: ReadonlySet<string> = new Set(['items', 'receipt_id']);

/** `items_sha256` as `X-Service-Items-Sha256`. */
const toHeader = (member: string): string =>
  `X-Service-${member.replaceAll('_', '-').replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())}`;

/** Members of the envelope as headers; a null one is left out. */
export const makeEnvelopeHeaders = (body: JsonValue): Record<string, string> => {
  if (!isMap(body)) return {};
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) {
    if (WITHOUT.has(name) || value === null || value === undefined) continue;
    headers[toHeader(name)] = typeof value === 'string' ? value : writeJson(value);
  }
  return headers;
};

/** The number of gaps, which are rows of no table. */
export const GAPS_HEADER = 'X-Service-Gaps';

/** The headers that an endpoint's tables may have, with the member of the answer that each represents. */
export const listEnvelopeHeaders = ({ output, rows }: Endpoint): ReadonlyMap<string, string> => {
  if (rows !== true) return new Map();
  const { properties = {} } = output;
  const members = Object.keys(properties).filter((name) => !WITHOUT.has(name));
  const hasGaps = Object.hasOwn(properties['items']?.items?.properties ?? {}, 'gaps');
  return new Map([
    ...members.map((name) => [toHeader(name), name] as const),
    ...(hasGaps ? [[GAPS_HEADER, 'gaps'] as const] : []),
  ]);
};
