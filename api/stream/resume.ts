// Replays from the ring what a resuming stream has missed: listing changes and readings in order, then the statuses that differ (ST-05).
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Place, Reading } from '../../schemas/topics.ts';
import { venueView } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { ListingChange } from './listing-changes.ts';
import type { EventId } from './positions.ts';
import type { Ring, RingEntry } from './ring.ts';
import { RowBatches } from './row-events.ts';
import type { Stream } from './stream.ts';
import { isSame, type LayerStatus, type Track } from './track.ts';

export type ResumeDeps = {
  readonly live: LiveMemory;
  readonly ring: Ring;
  readonly now: Micros;
  /** Id of the places given, with statuses as of the id resumed from. */
  readonly idOf: (places: ReadonlyMap<string, Place>) => string;
  /** Sends the stream a listing's change as of the entry, and returns the change; an added listing is sent anew. */
  readonly replayListing: (stream: Stream, entry: LiveEntry) => ListingChange | null;
  /** Sends the stream the ends of listings since then that no entry reports; `told` are ends that were sent. */
  readonly replayEnds: (stream: Stream, told: ReadonlySet<string>) => void;
};

/** What the client knew when it received the id. */
class Memory {
  /** Readings then of what has been read since, by track. */
  readonly readings = new Map<string, Reading | null>();
  /** Connections whose spans changed since: what it knew of their readings' statuses cannot be derived. */
  readonly connections = new Set<string>();
  /** Venues whose policies changed since. */
  readonly venues = new Set<string>();

  constructor(entries: readonly RingEntry[], tracks: Stream['tracks']) {
    for (const held of entries) {
      const { venue, kind, track } = held;
      if (kind === 'connection') this.connections.add(`${venue}|${held.entry().span?.conn_id}`);
      if (kind === 'capability') this.venues.add(venue);
      if (track !== null && tracks.has(track) && !this.readings.has(track)) this.readings.set(track, held.replaced());
    }
  }

  /** The status it received, or null when that cannot be derived. */
  told(track: Track<Stream>, id: EventId, live: LiveMemory): LayerStatus | null {
    const { venue: code } = track.listing;
    const venue = live.venue(code);
    if (venue === undefined || id.lagging || this.venues.has(code)) return null;
    const held = this.readings.get(track.key);
    const reading = held === undefined ? track.reading : held;
    const view = { ...venueView(live, venue, id.sentAt), stateLag: false };
    if (reading !== null && this.connections.has(`${code}|${reading.conn_id}`)) return null;
    return track.status({ view, reading, at: id.sentAt });
  }
}

/** Sends one past reading as it was; later statuses are compared with the status it had then. */
const sendReading = (
  track: Track<Stream>,
  sent: LayerStatus | null,
  { live, stream, reading }: { live: LiveMemory; stream: Stream; reading: Reading },
): LayerStatus | null => {
  const venue = live.venue(track.listing.venue);
  // As it was sent live: at the moment it was read, which is never before it was received.
  const at = Math.max(reading.recorded_at, reading.received_at);
  const version = track.version(at);
  if (venue === undefined || version === null) return sent;
  const sight = { view: { ...venueView(live, venue, at), stateLag: false }, reading, at };
  const answer = track.status(sight);
  const change = sent !== null && isSame(sent, answer) ? 'value' : 'both';
  stream.add('update', track.data(sight, version, change), track.key);
  return answer;
};

/** Replays everything after the id into the stream, whose tracks are as of `now`. */
export const resume = (stream: Stream, id: EventId, deps: ResumeDeps): void => {
  const { live, ring, now, idOf, replayListing, replayEnds } = deps;
  const entries = [...ring.after(id.places)];
  const memory = new Memory(entries, stream.tracks);
  const sent = new Map<string, LayerStatus | null>();
  const anew = new Set<string>();
  const ended = new Set<string>();
  const places = new Map(id.places);
  const rows = new RowBatches(live);
  for (const held of entries) {
    const { venue, task, offset, index } = held;
    places.set(task, { offset, index });
    const track = held.track === null ? undefined : stream.tracks.get(held.track);
    if (held.track !== null && track === undefined) continue;
    const entry = held.entry();
    const listing = `${venue}|${entry.symbol}`;
    const change = entry.kind === 'listing' ? replayListing(stream, entry) : null;
    if (change === 'added') anew.add(listing);
    if (change === 'delisted') ended.add(listing);
    if (entry.reading !== null && track !== undefined && !anew.has(listing)) {
      const before = sent.has(track.key) ? (sent.get(track.key) ?? null) : memory.told(track, id, live);
      sent.set(track.key, sendReading(track, before, { live, stream, reading: entry.reading }));
    }
    rows.add({ venue, entry }, { streams: [stream], now });
    rows.send();
    if (stream.hasDrafts) stream.commit(idOf(places));
  }
  replayEnds(stream, ended);
  for (const track of stream.tracks.values()) {
    const { venue: code, venueSymbol } = track.listing;
    const before = sent.has(track.key) ? sent.get(track.key) : memory.told(track, id, live);
    const [venue, version] = [live.venue(code), track.version(now)];
    if (anew.has(`${code}|${venueSymbol}`) || venue === undefined || version === null) continue;
    if (before !== null && before !== undefined && isSame(before, track.told)) continue;
    const sight = { view: venueView(live, venue, now), reading: track.reading, at: now };
    stream.add('update', track.data(sight, version, 'status'), track.key);
  }
};
