// A stream's listings as they come, change and go (ST-03 `listing`, ST-08), now or replayed to a stream that resumes.
import { writeJson } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry } from '../../schemas/topics.ts';
import { type LiveListing, type Selected, versionAt } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { listingRecord } from '../operations/listing-record.ts';
import { selectedAs, selectedBy } from './request.ts';
import type { Stream } from './stream.ts';
import { listingKey, type TrackBoard } from './track-board.ts';

export type ListingChange = 'added' | 'changed' | 'delisted';
export type Changed = {
  readonly live: LiveMemory;
  readonly board: TrackBoard;
  readonly now: Micros;
  /** Called for every version that is followed: a version may state when the listing will end. */
  readonly awaitEnd: (selected: Selected) => void;
};

/** Adds a listing to a stream, with a track for each of its layers. */
export const followListing = (stream: Stream, selected: Selected, { board, now, awaitEnd }: Changed): void => {
  const { listing } = selected;
  awaitEnd(selected);
  const key = listingKey(listing.venue, listing.venueSymbol);
  stream.selected.set(key, selected);
  board.follow(stream, key);
  for (const layer of stream.request.layers) board.join(stream, { listing, layer, now });
};

export const unfollowListing = (stream: Stream, key: string, board: TrackBoard): void => {
  stream.selected.delete(key);
  board.leave(stream, key);
};

const sendSnapshots = (stream: Stream, key: string, { board, now }: Changed): void => {
  for (const layer of stream.request.layers) {
    const track = stream.tracks.get(`${key}|${layer}`);
    if (track !== undefined) board.sendSnapshot(stream, track, now);
  }
};

const sendListing = (
  stream: Stream,
  listing: LiveListing,
  { live, change, at }: { readonly live: LiveMemory; readonly change: ListingChange; readonly at: Micros },
): void => {
  const version = versionAt(listing.versions, at);
  if (version === null) return;
  const capability = versionAt(live.venue(listing.venue)?.capabilities ?? [], at);
  const { units, numberFormat } = stream.request.format;
  const record = listingRecord(listing, { version, capability }, { at, units, includeRaw: false, mark: null });
  const { venue, venueSymbol } = listing;
  const { instrument } = version.record.values;
  stream.add('listing', writeJson({ venue, venue_symbol: venueSymbol, instrument, change, record }, { numberFormat }));
};

export const findListing = (live: LiveMemory, { listing: version }: LiveEntry): LiveListing | undefined =>
  version === null ? undefined : live.venue(version.venue)?.listings.get(version.venue_symbol);

/** Handles a version of a listing, or its end: follows it, lets it go, or sends its new record. */
export const changeListing = (stream: Stream, listing: LiveListing, changed: Changed): void => {
  const { live, board, now } = changed;
  const key = listingKey(listing.venue, listing.venueSymbol);
  const before = stream.selected.get(key) ?? null;
  const after = selectedAs(stream.request, { live, listing, at: now });
  if (after === null) {
    if (before === null) return;
    unfollowListing(stream, key, board);
    sendListing(stream, listing, { live, change: 'delisted', at: now });
  } else if (before === null) {
    if (stream.selected.size >= stream.request.plan.limits.stream_listings) return;
    sendListing(stream, listing, { live, change: 'added', at: now });
    followListing(stream, after, changed);
    sendSnapshots(stream, key, changed);
  } else if (after.version.written_at !== before.version.written_at) {
    changed.awaitEnd(after);
    stream.selected.set(key, after);
    sendListing(stream, listing, { live, change: 'changed', at: now });
  }
};

/** Replays a past change of a listing; returns the change, null for none. An added listing has its snapshots sent too. */
export const replayListing = (stream: Stream, entry: LiveEntry, changed: Changed): ListingChange | null => {
  const { live } = changed;
  const listing = findListing(live, entry);
  if (listing === undefined || entry.listing === null) return null;
  const at = entry.listing.written_at;
  const before = selectedAs(stream.request, { live, listing, at: at - 1 });
  const after = selectedAs(stream.request, { live, listing, at });
  if (before === null && after === null) return null;
  const change = after === null ? 'delisted' : before === null ? 'added' : 'changed';
  const key = listingKey(listing.venue, listing.venueSymbol);
  if (change === 'added' && !stream.selected.has(key)) return null;
  sendListing(stream, listing, { live, change, at });
  if (change === 'added') sendSnapshots(stream, key, changed);
  return change;
};

/** Ends of listings that were known ahead, so that no entry reports them. `told` are those whose end an entry reported. */
export const replayEnds = (
  stream: Stream,
  { since, told }: { readonly since: Micros; readonly told: ReadonlySet<string> },
  { live, now }: Changed,
): void => {
  for (const { listing } of selectedBy(stream.request, live, since)) {
    const key = listingKey(listing.venue, listing.venueSymbol);
    if (told.has(key) || stream.selected.has(key) || selectedAs(stream.request, { live, listing, at: now }) !== null)
      continue;
    sendListing(stream, listing, { live, change: 'delisted', at: now });
  }
};
