// Checks the form of a rule before it is saved, through the data API: every fault of its query, and what it matches now.
import { fetchBytes } from '../../infra/runtime/network/fetch-bytes.ts';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseJson } from '../../schemas/json-object.ts';
import { preparePageKey } from '../accounts/page-key.ts';
import type { Codes } from '../language/codes.ts';
import { type Catalogue, checkRule, fetchCatalogue, toCodes } from '../rules/check-rule.ts';
import { type RuleDraft, readDraft } from '../rules/rule.ts';
import type { Site } from './site.ts';

/** A form that is checked while the user types does not read the catalogue each time. */
const CATALOGUE_MS = 10_000;
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 4_000_000;

type Held = { readonly catalogue: Catalogue; readonly codes: Codes; readonly atMs: number };
const held = new WeakMap<Site, Held>();

/** The catalogue of the data API, at most ten seconds old. Throws ServiceError UNAVAILABLE. */
const readCatalogue = async (site: Site): Promise<Held> => {
  const known = held.get(site);
  if (known !== undefined && isYounger(CATALOGUE_MS, known.atMs, site.nowMs())) return known;
  const catalogue = await fetchCatalogue(site.urls.api);
  const read = { catalogue, codes: toCodes(catalogue), atMs: site.nowMs() };
  held.set(site, read);
  return read;
};

type Word = { readonly word: string; readonly says: string };

/** Words that a query may have, each with its kind. */
export const readWords = async (site: Site): Promise<readonly Word[]> => {
  const { catalogue } = await readCatalogue(site);
  const { fields, sources, functions, venues, currencies, assets, instruments } = catalogue;
  const codes = (of: readonly string[], says: string): Word[] => of.map((word) => ({ word, says }));
  return [
    ...[...fields, ...sources].map(({ name, description }) => ({ word: name, says: description })),
    ...functions.map(({ name, signature }) => ({ word: name, says: signature })),
    ...[...codes(venues, 'venue'), ...codes(assets, 'base'), ...codes(currencies, 'quote')],
    ...codes(instruments, 'instrument'),
  ];
};

/** Throws ServiceError with every fault of the members, else of the query. */
export const checkDraft = async (site: Site, sent: unknown): Promise<RuleDraft> => {
  const draft = readDraft(sent);
  checkRule(draft, (await readCatalogue(site)).codes);
  return draft;
};

/** The canonical text and the cost of a query. Throws ServiceError with its faults. */
export const checkQuery = async (site: Site, query: string, units: RuleDraft['units']) => {
  const { string, complexity } = checkRule({ query, units }, (await readCatalogue(site)).codes);
  return { query: string, complexity };
};

export type MatchedNow = {
  readonly at: string;
  readonly matched: readonly string[];
  readonly unknown: readonly string[];
  /** There are more than a page of the plan holds. */
  readonly isMore: boolean;
};

type Screened = {
  readonly evaluated_at: string;
  readonly instruments: readonly { readonly instrument: string; readonly result: 'true' | 'unknown' }[];
  readonly page: { readonly next_cursor: string | null };
};
type Refused = { readonly errors?: ServiceError['errors'] };

/** Null: it is not an answer of the API, but of a proxy in front of it. */
const readScreened = (text: string): (Screened & Refused) | null =>
  (parseJson(text) ?? null) as (Screened & Refused) | null;

/** What a valid draft matches now, by the account's plan and within its limits; null: the data API does not respond. Throws ServiceError with its refusal. */
export const matchNow = async (
  site: Site,
  { query, units, freshness }: RuleDraft,
  accountId: string,
): Promise<MatchedNow | null> => {
  const key = await preparePageKey(site.pool, site.connectionSecret, accountId);
  const asked = { query, units, include_unknown: true, ...(freshness === null ? {} : { freshness }) };
  const answer = await fetchBytes({
    url: `${site.urls.api}/v2/screen`,
    method: 'POST',
    body: JSON.stringify(asked),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    maxBytes: MOST_BYTES,
  }).catch(() => null);
  if (answer === null) return null;
  const body = readScreened(answer.body.toString());
  if (body === null) return null;
  if (answer.status !== 200) {
    if (body.errors === undefined) return null;
    throw new ServiceError(body.errors);
  }
  const named = (result: string): string[] =>
    body.instruments.filter((one) => one.result === result).map(({ instrument }) => instrument);
  return {
    at: body.evaluated_at,
    matched: named('true'),
    unknown: named('unknown'),
    isMore: body.page.next_cursor !== null,
  };
};
