// The directory of the explorer: listings and venues from the open calls of the data API, kept for a minute.
import { fetchJson, NotAnswered } from '../../infra/runtime/network/fetch-json.ts';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import type { Problem } from '../account-app/shell.ts';
import type { Site } from '../account-app/site.ts';
import type { BoardListing } from './board/board-rows.ts';
import type { Scope } from './scopes.ts';

export type Directory = {
  /** By venue and symbol. */
  readonly listings: readonly BoardListing[];
  /** Names by code, in the order of the service. */
  readonly venues: ReadonlyMap<string, string>;
};

const AWAY: Problem = {
  status: 503,
  code: 'UNAVAILABLE',
  text: 'The data API does not respond. Try again in a few seconds.',
};
const BUSY: Problem = {
  status: 429,
  code: 'RATE_LIMITED',
  text: 'The API reports the rights of a key at most once a second, and those of this key were just requested. Try again in a few seconds.',
};

const REFUSED: Problem = {
  status: 503,
  code: 'UNAVAILABLE',
  text: 'The data API returned an unexpected response. Try again in a few seconds.',
};

/** The problem that a page shows when its directory or scope could not be read. */
export const toProblem = (error: unknown): Problem => {
  if (!(error instanceof NotAnswered)) return AWAY;
  return error.status === BUSY.status ? BUSY : REFUSED;
};

const KEPT_MS = 60_000;
/** Pages of 5000 listings. */
const MOST_PAGES = 10;

type Listed = Omit<BoardListing, 'asset' | 'multiplier'> & {
  readonly status: string;
  readonly delisted_at: string | null;
  readonly base_venue_alias: string | null;
  readonly multiplier: number | null;
};
type Page = { readonly items: readonly Listed[]; readonly page: { readonly next_cursor: string | null } };

/** The venue's own name where one of it is not known to be one of the base. */
const findAsset = ({ base, base_venue_alias: alias, multiplier, venue_symbol }: Listed): string =>
  multiplier === 1 ? base : (alias ?? venue_symbol);

const readListings = async (api: string): Promise<readonly BoardListing[]> => {
  const listings: BoardListing[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const query: string = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const answer = (await fetchJson(`${api}/v2/instruments${query}`)) as Page;
    for (const listed of answer.items) {
      const { instrument, base, quote, venue, venue_symbol, status } = listed;
      const [asset, multiplier] = [findAsset(listed), listed.multiplier === null ? null : String(listed.multiplier)];
      if (status !== 'delisted') listings.push({ instrument, base, asset, multiplier, quote, venue, venue_symbol });
    }
    cursor = answer.page.next_cursor;
    if (cursor === null) break;
  }
  return listings;
};

const readDirectory = async (api: string): Promise<Directory> => {
  const [listings, venues] = await Promise.all([
    readListings(api),
    fetchJson(`${api}/v2/venues`) as Promise<{ items: readonly { venue: string; name: string }[] }>,
  ]);
  return { listings, venues: new Map(venues.items.map(({ venue, name }) => [venue, name])) };
};

/** Reads again when the stored directory is a minute old; while reading fails, the stored one is returned. */
export const openDirectory = ({ urls, nowMs }: Site): (() => Promise<Directory>) => {
  let kept: { readonly directory: Directory; readonly atMs: number } | null = null;
  let reading: Promise<Directory> | null = null;
  return async () => {
    if (kept !== null && kept.directory.listings.length > 0 && isYounger(KEPT_MS, kept.atMs, nowMs()))
      return kept.directory;
    reading ??= readDirectory(urls.api).finally(() => {
      reading = null;
    });
    try {
      kept = { directory: await reading, atMs: nowMs() };
    } catch (error) {
      if (kept === null) throw error;
    }
    return kept.directory;
  };
};

export const filterScope = (listings: readonly BoardListing[], { venues, instruments }: Scope): BoardListing[] =>
  listings.filter(
    ({ venue, instrument }) => venues.includes(venue) && (instruments === null || instruments.includes(instrument)),
  );
