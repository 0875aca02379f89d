// The listings of a stream as they are added, changed and removed (ST-03 `listing`, ST-08), now or as of an entry that is replayed.
import { writeJson } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry } from '../../schemas/topics.ts';
import { findVersionAt, type LiveListing, type Selected } from '../live/listing-book.ts';
import { findMarkNow } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import type { LiveMemory } from '../live/memory.ts';
import { makeListingRecord } from '../operations/listing-record.ts';
import { toListingKey, toTrackKey } from './keys.ts';
import { selectNow, selectOne } from './request.ts';
import type { Stream } from './stream.ts';
import type { Track } from './track.ts';
import type { TrackBoard } from './track-board.ts';

type ListingChange = 'added' | 'changed' | 'delisted';
export type Changed = {
  readonly live: LiveMemory;
  readonly board: TrackBoard;
  readonly now: Micros;
  /** Called for every version that is followed: a version may state when the listing will end. */
  readonly awaitEnd: (selected: Selected) => void;
};

/** The present or a replayed point of the log: its instant, the function that sends a snapshot of a track as of then, and the mark that was present. */
type Moment = {
  readonly at: Micros;
  readonly sendSnapshot: (track: Track<Stream>) => void;
  readonly findMark: (listing: LiveListing) => Mark | null;
};

/** Adds a listing to a stream, with a track for each of its layers. */
export const followListing = (stream: Stream, selected: Selected, { board, now, awaitEnd }: Changed): void => {
  const { listing } = selected;
  awaitEnd(selected);
  const key = toListingKey(listing.venue, listing.venueSymbol);
  stream.selected.set(key, selected);
  board.follow(stream, key);
  for (const layer of stream.request.layers) board.join(stream, { listing, layer, now });
};

export const unfollowListing = (stream: Stream, key: string, board: TrackBoard): void => {
  stream.selected.delete(key);
  board.leave(stream, key);
};

const sendSnapshots = (stream: Stream, key: string, sendSnapshot: Moment['sendSnapshot']): void => {
  for (const layer of stream.request.layers) {
    const track = stream.tracks.get(toTrackKey(key, layer));
    if (track !== undefined) sendSnapshot(track);
  }
};

type Told = Pick<Moment, 'at' | 'findMark'> & { readonly live: LiveMemory; readonly change: ListingChange };

const sendListing = (stream: Stream, listing: LiveListing, { live, at, findMark, change }: Told): void => {
  const version = findVersionAt(listing.versions, at);
  if (version === null) return;
  const capability = findVersionAt(live.venue(listing.venue)?.capabilities ?? [], at);
  const { units, numberFormat } = stream.request.format;
  // What rules of the record convert with, as in `GET /v2/instruments`.
  const mark = units === 'published' ? null : findMark(listing);
  const record = makeListingRecord(listing, { version, capability }, { at, units, includeRaw: false, mark });
  const { venue, venueSymbol } = listing;
  const { instrument } = version.record.values;
  stream.add('listing', writeJson({ venue, venue_symbol: venueSymbol, instrument, change, record }, { numberFormat }));
};

export const findListing = (live: LiveMemory, { listing: version }: LiveEntry): LiveListing | undefined =>
  version === null ? undefined : live.venue(version.venue)?.listings.get(version.venue_symbol);

/** The present. A version is valid as soon as it is read, even if this node's clock is behind the log. */
const makePresentMoment = (stream: Stream, { versions }: LiveListing, { live, board, now }: Changed): Moment => {
  const at = Math.max(now, versions.at(-1)?.written_at ?? now);
  const { bounds } = stream.request.format;
  return {
    at,
    sendSnapshot: (track) => void board.sendSnapshot(stream, track, at),
    findMark: (listing) => findMarkNow(live, listing, { at, bounds }),
  };
};

/** Handles a version of a listing, or its end: follows it, removes it, or sends its new record, at present or at a replayed point. */
export const changeListing = (
  stream: Stream,
  listing: LiveListing,
  { moment, ...changed }: Changed & { readonly moment?: Moment },
): void => {
  const { live, board } = changed;
  const { at, sendSnapshot, findMark } = moment ?? makePresentMoment(stream, listing, changed);
  const key = toListingKey(listing.venue, listing.venueSymbol);
  const before = stream.selected.get(key) ?? null;
  const after = selectOne(stream.request, { live, listing, at });
  const told = { live, at, findMark };
  if (after === null) {
    if (before === null) return;
    unfollowListing(stream, key, board);
    sendListing(stream, listing, { ...told, change: 'delisted' });
  } else if (before === null) {
    if (stream.selected.size >= stream.request.plan.limits.stream_listings) return;
    sendListing(stream, listing, { ...told, change: 'added' });
    followListing(stream, after, moment === undefined ? { ...changed, now: at } : changed);
    sendSnapshots(stream, key, sendSnapshot);
  } else if (after.version.written_at !== before.version.written_at) {
    changed.awaitEnd(after);
    stream.selected.set(key, after);
    sendListing(stream, listing, { ...told, change: 'changed' });
    // Different layers may be collected for it now; a replay sends the statuses at its end.
    if (moment === undefined)
      for (const track of board.ofListing(listing.venue, listing.venueSymbol)) board.refresh(track, changed.now);
  }
};

/** Updates a stream's listings to the present: ends that were known in advance, which no entry reports, and other differences. */
export const settleListings = (stream: Stream, changed: Changed): void => {
  const present = new Map(
    selectNow(stream.request, changed.live, changed.now).map((selected) => {
      const { venue, venueSymbol } = selected.listing;
      return [toListingKey(venue, venueSymbol), selected] as const;
    }),
  );
  // Ends are first, because they free places of the plan.
  for (const [key, { listing }] of [...stream.selected]) {
    if (!present.has(key)) changeListing(stream, listing, changed);
  }
  for (const [key, { listing, version }] of present) {
    if (stream.selected.get(key)?.version.written_at !== version.written_at) changeListing(stream, listing, changed);
  }
};
