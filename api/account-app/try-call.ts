// The first call of a new key: the `curl` that the page shows, and its answer, which the server of the page requests.
import { fetchBytes } from '../../infra/runtime/http.ts';
import { parseKeepingDigits } from '../tool-app/digits.ts';
import type { SiteUrls } from './site.ts';

const PATH = '/v2/snapshots';
const BODY = '{"where": "base = BTC", "layers": ["mark", "funding"]}';
const TIMEOUT_MS = 15_000;
const MOST_BYTES = 1_000_000;
/** Bounds of the answer as shown: the page states that there is more. */
const MOST_LINES = 120;

export const formatExampleCurl = ({ base }: SiteUrls, key: string): string =>
  [
    `curl -s ${base}${PATH} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${BODY}'`,
  ].join('\n');

export type TriedCall =
  | {
      readonly is: 'answered';
      readonly status: number;
      readonly ms: number;
      readonly text: string;
      readonly cutLines: number;
    }
  | { readonly is: 'away' };

/** Digits stay as the API wrote them; a text that is no JSON stays as it is. */
export const indentJson = (text: string): string => {
  try {
    return JSON.stringify(parseKeepingDigits(text), null, 2);
  } catch {
    return text;
  }
};

/** Calls the API with the key as `curl` would. */
export const tryCall = async ({ api }: SiteUrls, key: string): Promise<TriedCall> => {
  const begun = performance.now();
  try {
    const { status, body } = await fetchBytes({
      url: `${api}${PATH}`,
      method: 'POST',
      body: BODY,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MOST_BYTES,
    });
    const ms = Math.round(performance.now() - begun);
    const lines = indentJson(body.toString()).split('\n');
    const cutLines = Math.max(0, lines.length - MOST_LINES);
    return { is: 'answered', status, ms, text: lines.slice(0, MOST_LINES).join('\n'), cutLines };
  } catch {
    return { is: 'away' };
  }
};
