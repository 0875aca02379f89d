// Replays from the ring what a resuming stream has missed: listing changes, readings and rows in order, then the statuses that differ (ST-05).
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Place, Reading } from '../../schemas/topics.ts';
import { venueView } from '../live/listing-view.ts';
import { type Changed, changeListing, findListing, followListing, settleListings } from './listing-changes.ts';
import { PastLog } from './past-log.ts';
import type { EventId } from './positions.ts';
import type { Ring, RingEntry } from './ring.ts';
import { RowBatches } from './row-events.ts';
import type { Stream } from './stream.ts';
import { isSame, type LayerStatus, type Sight, type Track } from './track.ts';
import { holeData, listingKey } from './track-board.ts';

export type ResumeDeps = Changed & {
  readonly ring: Ring;
  /** Id of the places given, with statuses as of the id resumed from. */
  readonly idOf: (places: ReadonlyMap<string, Place>) => string;
};

/** What the client knows of a track; a null status cannot be derived. */
type Known = { readonly reading: Reading | null; readonly status: LayerStatus | null };

/**
 * One stream on its way from an id to the present. It follows the listings that it followed then, and goes through the log as it would have
 * done live: so each listing and layer only moves forward, whatever its client resumes with next.
 */
class Replay {
  readonly #stream: Stream;
  readonly #id: EventId;
  readonly #deps: ResumeDeps;
  readonly #log: PastLog;
  readonly #known = new Map<string, Known>();
  readonly #rows: RowBatches;

  constructor(stream: Stream, id: EventId, { deps, log }: { readonly deps: ResumeDeps; readonly log: PastLog }) {
    this.#stream = stream;
    this.#id = id;
    this.#deps = deps;
    this.#log = log;
    this.#rows = new RowBatches(deps.live);
    for (const selected of log.selectedThen(stream.request, deps.live, id)) followListing(stream, selected, deps);
  }

  /** Adds to the step what the entry brought. */
  apply(held: RingEntry): void {
    const track = held.track === null ? undefined : this.#stream.tracks.get(held.track);
    if (held.track === null || track !== undefined) this.#applyEntry(held, track);
    this.#log.pass(held);
  }

  /** Adds the statuses that differ by now from those the client knows. */
  sendStatuses(): void {
    const { live, now } = this.#deps;
    for (const track of this.#stream.tracks.values()) {
      const { status } = this.#know(track);
      const [venue, version] = [live.venue(track.listing.venue), track.version(now)];
      if (venue === undefined || version === null || (status !== null && isSame(status, track.told))) continue;
      const sight = { view: venueView(live, venue, now), reading: track.reading, at: now };
      this.#stream.add('update', track.data(sight, version, 'status'), track.key);
    }
  }

  #applyEntry({ venue, entry: read }: RingEntry, track: Track<Stream> | undefined): void {
    const entry = read();
    this.#endListing(listingKey(venue, entry.symbol ?? ''), entry.recorded_at);
    if (entry.kind === 'listing') this.#changeListing(entry);
    if (entry.reading !== null && track !== undefined) this.#sendReading(track, entry.reading);
    this.#rows.add({ venue, entry }, { streams: [this.#stream], now: this.#deps.now });
    this.#rows.send();
  }

  /** The end of a listing that was known ahead came before what follows. */
  #endListing(key: string, at: Micros): void {
    const selected = this.#stream.selected.get(key);
    const end = selected?.version.delisted_at ?? null;
    if (selected === undefined || end === null || end > at) return;
    changeListing(this.#stream, selected.listing, { ...this.#deps, moment: this.#momentAt(end) });
  }

  #changeListing(entry: LiveEntry): void {
    const listing = findListing(this.#deps.live, entry);
    if (listing === undefined || entry.listing === null) return;
    changeListing(this.#stream, listing, { ...this.#deps, moment: this.#momentAt(entry.listing.written_at) });
  }

  #momentAt(at: Micros) {
    return { at, sendSnapshot: (track: Track<Stream>) => this.#sendSnapshot(track, at) };
  }

  /** The track of an added listing as of its place in the log. */
  #sendSnapshot(track: Track<Stream>, from: Micros): void {
    const reading = this.#log.readingNow(track);
    const sight = this.#sight(track, reading, from);
    const version = sight === null ? null : track.version(sight.at);
    if (sight === null || version === null) return;
    this.#known.set(track.key, { reading, status: track.status(sight) });
    this.#stream.add('snapshot', track.data(sight, version));
  }

  /** One past reading as it was sent live. */
  #sendReading(track: Track<Stream>, reading: Reading): void {
    const { reading: before, status } = this.#know(track);
    if (before !== null && reading.recorded_at < before.recorded_at) return;
    const sight = this.#sight(track, reading, reading.recorded_at);
    const version = sight === null ? null : track.version(sight.at);
    if (sight === null || version === null || reading.rev === before?.rev) return;
    const answer = track.status(sight);
    this.#known.set(track.key, { reading, status: answer });
    if (before !== null && reading.rev !== before.rev + 1) {
      this.#stream.add('gap', holeData(track, before, reading));
      this.#stream.add('snapshot', track.data(sight, version));
      return;
    }
    const change = status !== null && isSame(status, answer) ? 'value' : 'both';
    this.#stream.add('update', track.data(sight, version, change), track.key);
  }

  /** At the moment it was read, which is never before it was received. */
  #sight({ listing }: Track<Stream>, reading: Reading | null, from: Micros): Sight | null {
    const { live } = this.#deps;
    const venue = live.venue(listing.venue);
    const at = Math.max(from, reading?.received_at ?? from);
    return venue === undefined ? null : { view: { ...venueView(live, venue, at), stateLag: false }, reading, at };
  }

  #know(track: Track<Stream>): Known {
    const known = this.#known.get(track.key);
    if (known !== undefined) return known;
    return { reading: this.#log.readingThen(track), status: this.#log.statusThen(track, this.#deps.live, this.#id) };
  }
}

/** Replays everything after the id into the stream, which follows no listing yet, and brings it to the present. */
export const resume = (stream: Stream, id: EventId, deps: ResumeDeps): void => {
  const entries = [...deps.ring.after(id.places)];
  const replay = new Replay(stream, id, { deps, log: new PastLog(entries) });
  const places = new Map(id.places);
  for (const held of entries) {
    const { task, offset, index } = held;
    places.set(task, { offset, index });
    replay.apply(held);
    if (stream.hasDrafts) stream.commit(deps.idOf(places));
  }
  replay.sendStatuses();
  settleListings(stream, deps);
};
