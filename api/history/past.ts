// Common decisions of all answers about the past: the selected listings, whether the answer can still change, what is unknown (N-11, H-09).
import { type ApiError, makeShapeFault, makeUnavailable } from '../../schemas/errors.ts';
import { formatInstant, INSTANT_HINT, MICROS_PER_DAY, parseInstant } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { RETENTION_DAYS } from '../../schemas/tables.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import { SEALS_AFTER } from '../../schemas/windows.ts';
import { EARLIEST_HOLDS, type Plan } from '../contract/plans.ts';
import { clip } from '../contract/sent-text.ts';
import { findVersionAt, type LiveListing, type Selected } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { WHOLE_WITHIN_MS } from '../live/whole.ts';

/** Rows read at a time: the memory of an answer in addition to its text. */
export const ROWS_AT_A_TIME = 20_000;
/** An instant is settled this long after it, once everything recorded in time can be read (N-11). */
const SETTLE_AFTER: Micros = 120_000_000;
/** The service's first listings are read within this; before it the service knew none. */
const FIRST_LISTINGS: Micros = 60_000_000;

/** Up to this instant all answers mean the service's first listings. */
const findFirstListings = (live: LiveMemory): Micros => {
  let first = Number.POSITIVE_INFINITY;
  for (const { listings } of live.venues())
    for (const { versions } of listings.values()) first = Math.min(first, versions[0]?.written_at ?? first);
  return first + FIRST_LISTINGS;
};

/**
 * The instant whose listings are meant: the answer's last, but none before the service's first listings were read. What a venue lists that is
 * added later, or any venue lists later, is of no earlier answer (N-10).
 */
export const findListingInstant = (live: LiveMemory, last: Micros): Micros => Math.max(last, findFirstListings(live));

/** Finds the least last instant of the answers that mean a listing; 0 where all do. */
export const findMeantFrom = (live: LiveMemory): ((one: Selected) => Micros) => {
  const first = findFirstListings(live);
  return ({ listing: { versions } }) => {
    const written = versions[0]?.written_at ?? 0;
    return written <= first ? 0 : written;
  };
};

/** Up to this instant the store shows a venue's rows, and this copy knows its versions, which arrive on `live`. */
const findKnownTo = (live: LiveMemory, venue: string): Micros =>
  Math.min(live.historyWatermark(venue) ?? 0, live.watermark(venue) ?? 0);

/** Whether nothing that is recorded from now on can change an answer about instants up to `at`. `venues`: all whose listings may be meant. */
export const isSettled = (
  at: Micros,
  { live, evaluatedAt }: { readonly live: LiveMemory; readonly evaluatedAt: Micros },
  venues: ReadonlySet<string>,
): boolean => {
  const last = findListingInstant(live, at);
  return (
    evaluatedAt >= last + SETTLE_AFTER && [...venues].every((venue) => findKnownTo(live, venue) >= last + SEALS_AFTER)
  );
};

export type Span = { readonly from: Micros; readonly to: Micros };

/** Up to this instant the store shows every row of a listing; later rows may be in memory only. */
const findShownTo = ({ listing, version }: Selected, live: LiveMemory): Micros =>
  Math.max((live.partitionOf(listing)?.history ?? 0) - SEALS_AFTER, version.first_seen_at);

/** Waits, at most ten seconds, while a process that has just begun reads what the store does not show of the span. */
export const awaitRecent = async ({ to }: Span, selected: readonly Selected[], live: LiveMemory): Promise<void> => {
  if (live.isWhole || selected.every((one) => to <= findShownTo(one, live))) return;
  await live.wholeWithin(WHOLE_WITHIN_MS);
};

/** Refuses windows that the store does not show yet and that memory does not hold: their content is unknown (design section 7). */
export const refuseHole = ({ from, to }: Span, selected: readonly Selected[], live: LiveMemory): void => {
  for (const one of selected) {
    const lower = findShownTo(one, live);
    if (to <= lower) continue;
    if (!live.isWhole)
      throw makeUnavailable(
        'The last minutes have not been read yet.',
        'Repeat the call in a few seconds, or request an earlier window.',
      );
    const upper = live.recentFrom(one.listing);
    if (upper <= lower || from >= upper) continue;
    throw makeUnavailable(
      `History of ${one.listing.venue} is behind since ${formatInstant(lower)}.`,
      'Repeat the call in a minute, or request an earlier window.',
    );
  }
};

/** The instant at which the newest version was written; null when there is none. */
export const findNewestVersion = (versions: readonly ({ readonly written_at: Micros } | null)[]): string | null => {
  const at = Math.max(0, ...versions.map((version) => version?.written_at ?? 0));
  return at === 0 ? null : formatInstant(at);
};

/** Versions the past was read under. */
export const listVersions = (selected: readonly Selected[], live: LiveMemory, at: Micros) => {
  const venues = new Set(selected.map(({ listing }) => listing.venue));
  return {
    listings_as_of: findNewestVersion(selected.map(({ version }) => version)),
    capabilities_as_of: findNewestVersion(
      [...venues].map((venue) => findVersionAt(live.venue(venue)?.capabilities ?? [], at)),
    ),
  };
};

/** Earliest instant a listing's rows are kept from: its first sight, or the floor, which moves a day at a time so that answers hold a day. */
export const computeRetentionFrom = (
  kind: keyof typeof RETENTION_DAYS,
  { first_seen_at }: ListingVersion,
  evaluatedAt: Micros,
): Micros =>
  Math.max(
    first_seen_at,
    Math.floor((evaluatedAt - RETENTION_DAYS[kind] * MICROS_PER_DAY) / MICROS_PER_DAY) * MICROS_PER_DAY,
  );

/** Stretches in which a listing was not listed, by the versions up to the one an answer reads: one may be listed again (H-07). */
export const findUnlistedSpans = ({ versions }: LiveListing, { written_at }: ListingVersion): Span[] => {
  const known = versions.filter((version) => version.written_at <= written_at);
  const spans: Span[] = [];
  for (const [i, { delisted_at: from }] of known.entries()) {
    const to = known[i + 1]?.written_at ?? Number.POSITIVE_INFINITY;
    if (from === null || from >= to) continue;
    const last = spans.at(-1);
    // Another version of a delisted listing continues the same stretch.
    if (last !== undefined && last.to >= from) spans[spans.length - 1] = { from: last.from, to };
    else spans.push({ from, to });
  }
  return spans;
};

export const findInstantFaults = (text: string | undefined, path: string): ApiError[] =>
  text === undefined || parseInstant(text) !== null
    ? []
    : [makeShapeFault(path, `"${clip(text)}" is not an instant from 2000 to 2100.`, INSTANT_HINT)];

/** A window whose bounds are both instants must begin before it ends. */
export const findWindowFaults = (from: string | undefined, to: string | undefined): ApiError[] => {
  const [start, end] = [parseInstant(from ?? ''), parseInstant(to ?? '')];
  if (start === null || end === null || start < end) return [];
  return [makeShapeFault('/to', 'The window does not end after it begins.', 'Send from before to.')];
};

/** `path`: the member of the request that the refusal names. */
type Reach = { readonly evaluatedAt: Micros; readonly path: string };

/** A window that starts before the plan's history (H-09). */
export const findReachRefusals = (first: Micros, plan: Plan, { evaluatedAt, path }: Reach): ApiError[] => {
  const earliest = plan.history_days === null ? 0 : evaluatedAt - plan.history_days * MICROS_PER_DAY;
  if (first >= earliest - EARLIEST_HOLDS) return [];
  const message = `The plan ${plan.name} reaches back to ${formatInstant(earliest)}.`;
  return [{ code: 'PLAN_LIMIT', message, hint: 'Ask from then on, or change the plan.', path }];
};
