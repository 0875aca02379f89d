// One call to the data API from a page, as a client would make it; the answer as it is shown, with the digits that the API wrote.
import { parseKeepingDigits } from '../tool-app/digits.ts';
import type { SiteUrls } from './site.ts';

const TIMEOUT_MS = 15_000;
/** Bounds of an answer as shown; the page states that there is more. */
const MOST_LINES = 200;
const MOST_BYTES = 262_144;

export type ApiCall = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body: string | null };
export type TriedCall =
  | {
      readonly is: 'answered';
      readonly status: number;
      readonly ms: number;
      readonly text: string;
      readonly cutLines: number;
      /** Where a redirect leads; it is not followed. */
      readonly location: string | null;
    }
  | { readonly is: 'away' };

/** Digits stay as the API wrote them; a text that is no JSON stays as it is. */
const indentJson = (text: string): string => {
  try {
    return JSON.stringify(parseKeepingDigits(text), null, 2);
  } catch {
    return text;
  }
};

/** The API refuses an answer larger than this page shows, and its hint explains how to narrow it (T-04). */
export const callApi = async (
  { api }: Pick<SiteUrls, 'api'>,
  { method, path, body }: ApiCall,
  key: string | null,
): Promise<TriedCall> => {
  const begun = performance.now();
  try {
    const answer = await fetch(`${api}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        accept: 'application/json',
        'x-service-max-bytes': String(MOST_BYTES),
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === null ? {} : { body }),
    });
    const text = await answer.text();
    const ms = Math.round(performance.now() - begun);
    const lines = text === '' ? [] : indentJson(text).split('\n');
    const cutLines = Math.max(0, lines.length - MOST_LINES);
    const shown = lines.slice(0, MOST_LINES).join('\n');
    return {
      is: 'answered',
      status: answer.status,
      ms,
      text: shown,
      cutLines,
      location: answer.headers.get('location'),
    };
  } catch {
    return { is: 'away' };
  }
};
