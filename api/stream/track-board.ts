// The tracks of all streams: shared by format, found by listing, checked again after a change or when they are due (ST-07).
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveListing } from '../live/listing-book.ts';
import { makeVenueView } from '../live/listing-view.ts';
import type { AppliedEntry, LiveMemory } from '../live/memory.ts';
import { DueQueue } from './due-queue.ts';
import { toListingKey } from './keys.ts';
import { formatGap, type Stream } from './stream.ts';
import { isSame, type Sight, Track } from './track.ts';

type StreamTrack = Track<Stream>;

/** So many moments more than twice the tracks, and those that mean nothing any more are dropped: with a bound of a week they would stay a week. */
const MOST_PASSED_OVER = 1_024;

export class TrackBoard {
  readonly #live: LiveMemory;
  /** By listing, then by format and layer. */
  readonly #tracks = new Map<string, Map<string, StreamTrack>>();
  /** Streams that follow any layer of a listing. */
  readonly #followers = new Map<string, Set<Stream>>();
  #trackCount = 0;
  readonly #due = new DueQueue<StreamTrack>();
  /** Venues whose watermark is too far behind, as reported to streams (L-07 `state_lag`). */
  readonly #behind = new Set<string>();

  constructor(live: LiveMemory) {
    this.#live = live;
  }

  /** Makes a stream a follower of a listing. */
  follow(stream: Stream, key: string): void {
    const followers = this.#followers.get(key) ?? new Set<Stream>();
    this.#followers.set(key, followers);
    followers.add(stream);
  }

  /** Adds a reader to the track of a listing and layer in the format of its stream. */
  join(stream: Stream, { listing, layer, now }: { listing: LiveListing; layer: ReadingLayer; now: Micros }): void {
    const key = toListingKey(listing.venue, listing.venueSymbol);
    const tracks = this.#tracks.get(key) ?? new Map<string, StreamTrack>();
    this.#tracks.set(key, tracks);
    const name = `${stream.request.format.key}|${layer}`;
    const track = tracks.get(name) ?? this.#make(stream, { listing, layer, now });
    tracks.set(name, track);
    track.readers.add(stream);
    stream.tracks.set(track.key, track);
  }

  /** Takes a stream off a listing and all its tracks. */
  leave(stream: Stream, key: string): void {
    const followers = this.#followers.get(key);
    followers?.delete(stream);
    if (followers?.size === 0) this.#followers.delete(key);
    const tracks = this.#tracks.get(key);
    for (const [name, track] of tracks ?? []) {
      if (!track.readers.delete(stream)) continue;
      stream.tracks.delete(track.key);
      if (track.readers.size > 0) continue;
      tracks?.delete(name);
      this.#trackCount--;
    }
    if (tracks?.size === 0) this.#tracks.delete(key);
  }

  followers(venue: string, symbol: string | null): Iterable<Stream> {
    return this.#followers.get(toListingKey(venue, symbol ?? '')) ?? [];
  }

  ofListing(venue: string, symbol: string): Iterable<StreamTrack> {
    return this.#tracks.get(toListingKey(venue, symbol))?.values() ?? [];
  }

  /** Moments that wait, for tracks that are followed and for those that were. */
  get moments(): number {
    return this.#due.size;
  }

  isBehind(venue: string): boolean {
    return this.#behind.has(venue);
  }

  /**
   * The present of a track; null when its listing is not listed. A version holds as soon as it is read, also where this node's clock is behind
   * that of the log.
   */
  presentSight(track: StreamTrack, now: Micros): Sight | null {
    const { listing, layer } = track;
    const venue = this.#live.venue(listing.venue);
    if (venue === undefined) return null;
    const at = Math.max(now, this.#newestVersion(track));
    return track.see({ view: makeVenueView(this.#live, venue, at), reading: listing.readings.get(layer), at });
  }

  /** Adds a snapshot of the track to the step of a stream; false when there is none. */
  sendSnapshot(stream: Stream, track: StreamTrack, now: Micros): boolean {
    const sight = this.presentSight(track, now);
    if (sight === null) return false;
    stream.add('snapshot', track.data(sight));
    return true;
  }

  /** Whether a track is due, or the venue has fallen behind or caught up. */
  isDue(venue: string, now: Micros): boolean {
    return this.#due.isDue(now) || this.#live.isBehind(venue, now) !== this.#behind.has(venue);
  }

  /** Checks every track that is due. */
  advance(now: Micros): void {
    for (let due = this.#due.take(now); due !== null; due = this.#due.take(now)) {
      const track = due.subject;
      if (!isAwaited(due.at, track)) continue;
      track.queuedAt = Number.POSITIVE_INFINITY;
      this.checkLag(track.listing.venue, now);
      this.refresh(track, now);
    }
  }

  /** Looks at the tracks of a venue that has fallen behind, or caught up. */
  checkLag(venue: string, now: Micros): void {
    const isBehind = this.#live.isBehind(venue, now);
    if (isBehind === this.#behind.has(venue)) return;
    if (isBehind) this.#behind.add(venue);
    else this.#behind.delete(venue);
    for (const track of this.#ofVenue(venue)) this.refresh(track, now);
  }

  /** Checks the tracks that an applied entry concerns: those of its listing and layer, of its connection, or of its venue. */
  apply({ venue, message: { kind, symbol, layer }, entry }: AppliedEntry, now: Micros): void {
    switch (kind) {
      case 'reading':
        for (const track of this.ofListing(venue, symbol ?? '')) if (track.layer === layer) this.refresh(track, now);
        return;
      case 'connection':
        for (const track of this.#ofVenue(venue))
          if (track.reading?.conn_id === entry?.span?.conn_id) this.refresh(track, now);
        return;
      case 'capability':
        for (const track of this.#ofVenue(venue)) this.refresh(track, now);
        return;
      case 'listing':
      case 'watermark':
      case 'sealed':
      case 'event':
      case 'provisional':
        return;
      default:
        kind satisfies never;
    }
  }

  /** Checks a track and sends its readers what changed since the last event; after a hole, the whole picture (ST-03 `gap`). */
  refresh(track: StreamTrack, now: Micros): void {
    const sight = this.presentSight(track, now);
    if (sight === null) return;
    const [before, after] = [track.reading, sight.reading];
    // While the copy is being read again it has older readings than the ones sent.
    if (before !== null && (after === null || after.recorded_at < before.recorded_at)) return;
    const isNew = after !== null && (before === null || after.rev !== before.rev);
    const isMoved = this.#take(track, sight);
    if (!isNew && !isMoved) return;
    if (isNew && before !== null && after.rev !== before.rev + 1) {
      const [hole, snapshot] = [formatHole(track, before, after), track.data(sight)];
      for (const stream of track.readers) {
        stream.add('gap', hole);
        stream.add('snapshot', snapshot);
      }
      return;
    }
    const data = track.data(sight, isNew ? (isMoved ? 'both' : 'value') : 'status');
    const update = { event: 'update', data, key: track.key, isStatus: !isNew };
    for (const stream of track.readers) stream.addDraft(update);
  }

  *#ofVenue(venue: string): Generator<StreamTrack> {
    for (const tracks of this.#tracks.values()) {
      for (const track of tracks.values()) if (track.listing.venue === venue) yield track;
    }
  }

  #newestVersion({ listing: { venue, versions } }: StreamTrack): Micros {
    const capabilities = this.#live.venue(venue)?.capabilities ?? [];
    return Math.max(capabilities.at(-1)?.written_at ?? 0, versions.at(-1)?.written_at ?? 0);
  }

  #make(
    stream: Stream,
    { listing, layer, now }: { listing: LiveListing; layer: ReadingLayer; now: Micros },
  ): StreamTrack {
    const track = new Track<Stream>(listing, layer, stream.request.format);
    // Before its instant is queued: the instant of a track without readers has no effect.
    track.readers.add(stream);
    this.#trackCount++;
    const sight = this.presentSight(track, now);
    if (sight !== null) this.#take(track, sight);
    return track;
  }

  /** Stores the observed state in the track; true when the status has changed. */
  #take(track: StreamTrack, sight: Sight): boolean {
    const { status, reason, gap_cause } = track.status(sight);
    const isMoved = !isSame({ status, reason, gap_cause }, track.told);
    track.reading = sight.reading;
    track.told = { status, reason, gap_cause };
    const moment = track.nextMoment(sight);
    // The queue may already have an earlier instant; when it is due, the track is queued again.
    if (moment < track.queuedAt) {
      track.queuedAt = moment;
      this.#due.push(moment, track);
      if (this.#due.size > 2 * this.#trackCount + MOST_PASSED_OVER) this.#due.keep(isAwaited);
    }
    return isMoved;
  }
}

/** Whether a queued instant is the one for which a track with readers waits. */
const isAwaited = (at: Micros, track: StreamTrack): boolean => at === track.queuedAt && track.readers.size > 0;

type Placed = { readonly rev: number; readonly recorded_at: Micros };

/** The `gap` event for readings missing between two others: the log was read again past them (ST-03). */
export const formatHole = ({ listing, layer }: StreamTrack, before: Placed, after: Placed): string =>
  formatGap({
    from: before.recorded_at,
    to: after.recorded_at,
    reason: 'pipeline_restart',
    dropped: after.rev > before.rev ? after.rev - before.rev - 1 : null,
    scope: { venue: listing.venue, venue_symbol: listing.venueSymbol, layer: LAYERS[layer].recordName },
  });
