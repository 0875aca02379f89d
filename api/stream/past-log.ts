// The log after an id, as far as it has come: which listings its client followed then, and the reading of each listing and layer at any of
// its entries (ST-05).
import type { Micros } from '../../schemas/records.ts';
import { formatTask, type Reading } from '../../schemas/topics.ts';
import { findVersionAt, type LiveListing, type Selected } from '../live/listing-book.ts';
import { makeVenueView } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import { findPartition } from '../live/partition.ts';
import { toListingKey } from './keys.ts';
import type { EventId } from './positions.ts';
import { type StreamRequest, selectAt, selectOne } from './request.ts';
import type { RingEntry } from './ring.ts';
import type { Stream } from './stream.ts';
import type { LayerStatus, Track } from './track.ts';

/** A listing and layer, followed or not. */
type TrackName = Pick<Track<Stream>, 'key' | 'listing' | 'layer'>;

export class PastLog {
  /** Its first reading of each track, which knows the one before. */
  readonly #firstReadings = new Map<string, RingEntry>();
  /** The newest reading of each track that the replay has passed. */
  readonly #passed = new Map<string, RingEntry>();
  /** Connections whose spans changed, by task: what the client knew of their readings' statuses cannot be derived. */
  readonly #connections = new Set<string>();
  /** Venues whose policies changed. */
  readonly #venues = new Set<string>();
  /** When its first version of each listing was written. */
  readonly #written = new Map<string, Micros>();

  /** Takes in the entries that follow those taken in before. */
  read(entries: Iterable<RingEntry>): void {
    for (const held of entries) {
      const { venue, task, kind, track } = held;
      if (track !== null && !this.#firstReadings.has(track)) this.#firstReadings.set(track, held);
      if (kind === 'connection') this.#connections.add(`${task}|${held.entry().span?.conn_id}`);
      if (kind === 'capability') this.#venues.add(venue);
      if (kind !== 'listing') continue;
      const { listing } = held.entry();
      const key = toListingKey(venue, listing?.venue_symbol ?? '');
      if (listing !== null && !this.#written.has(key)) this.#written.set(key, listing.written_at);
    }
  }

  /** The listings that the client of the id followed, in the versions that it knew. */
  selectedThen(request: StreamRequest, live: LiveMemory, { sentAt }: EventId): Selected[] {
    const then = selectAt(request, live, sentAt).filter(({ listing }) => !this.#isLater(listing, sentAt));
    for (const code of request.venues) {
      for (const listing of live.venue(code)?.listings.values() ?? []) {
        if (!this.#isLater(listing, sentAt)) continue;
        const written = this.#written.get(toListingKey(code, listing.venueSymbol)) ?? Number.POSITIVE_INFINITY;
        const version = findVersionAt(listing.versions, written - 1);
        // Its end, which later entries may have revoked, was reported at that time.
        if (version === null || (version.delisted_at ?? Number.POSITIVE_INFINITY) <= sentAt) continue;
        // Of an id within a replay the places are newer than the instant.
        const at = Math.max(version.written_at, Math.min(sentAt, written - 1));
        const selected = selectOne(request, { live, listing, at });
        if (selected !== null) then.push(selected);
      }
    }
    return then;
  }

  /** The status that the client of the id knew of a track, or null when that cannot be derived. */
  statusThen(track: Track<Stream>, live: LiveMemory, id: EventId): LayerStatus | null {
    const { venue: code } = track.listing;
    const venue = live.venue(code);
    if (venue === undefined || id.lagging || this.#venues.has(code)) return null;
    const reading = this.readingThen(track);
    const task = formatTask(code, findPartition(venue.partitions, track.listing.venueSymbol));
    if (reading !== null && this.#connections.has(`${task}|${reading.conn_id}`)) return null;
    // A version after the id may have been written before the instant: at that time it was not known that it switches layers off.
    const written = this.#written.get(toListingKey(code, track.listing.venueSymbol)) ?? Number.POSITIVE_INFINITY;
    const at = Math.min(id.sentAt, written - 1);
    const view = { ...makeVenueView(live, venue, at), stateLag: false };
    return track.status({ view, reading, at });
  }

  /** The reading of a track at the id. */
  readingThen({ key, listing, layer }: TrackName): Reading | null {
    const first = this.#firstReadings.get(key);
    return first?.isHeld() ? first.replaced() : listing.readings.get(layer);
  }

  /** The reading of a track after the last entry that was passed. */
  readingNow(track: TrackName): Reading | null {
    const passed = this.#passed.get(track.key);
    if (passed === undefined) return this.readingThen(track);
    return passed.isHeld() ? passed.entry().reading : track.listing.readings.get(track.layer);
  }

  /** The replay has passed an entry. */
  pass(held: RingEntry): void {
    if (held.track !== null) this.#passed.set(held.track, held);
  }

  /** Whether the listing has versions that the instant alone does not place before or after the id. */
  #isLater({ venue, venueSymbol, versions }: LiveListing, sentAt: Micros): boolean {
    return (versions.at(-1)?.written_at ?? 0) > sentAt || this.#written.has(toListingKey(venue, venueSymbol));
  }
}
