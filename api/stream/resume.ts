// Replays from the ring what a resuming stream has missed: listing changes, readings and rows in order, then the statuses that differ (ST-05).
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Place, Reading } from '../../schemas/topics.ts';
import type { LiveListing } from '../live/listing-book.ts';
import { findPresentMark, makeVenueView } from '../live/listing-view.ts';
import type { Mark } from '../live/members.ts';
import { toListingKey, toTrackKey } from './keys.ts';
import {
  type Changed,
  changeListing,
  findListing,
  followListing,
  settleListings,
  unfollowListing,
} from './listing-changes.ts';
import { PastLog } from './past-log.ts';
import { type EventId, printEventId, printPlaces } from './positions.ts';
import type { Ring, RingEntry } from './ring.ts';
import { placeRow, RowBatches } from './row-events.ts';
import type { Stream } from './stream.ts';
import { isSame, type LayerStatus, type Sight, type Track } from './track.ts';
import { formatHole, TrackBoard } from './track-board.ts';

/** Characters of frames, and entries, after which a replay gives way: to its client, and to all others. */
const SLICE_LENGTH = 262_144;
const SLICE_ENTRIES = 8_192;

/** What the client knows of a track; a null status cannot be derived. */
type Known = { readonly reading: Reading | null; readonly status: LayerStatus | null };

/**
 * One stream on its way from an id to the present. It follows the listings that it followed then, and goes through the log as it would have
 * done live: so each listing and layer only moves forward, whatever its client resumes with next. Until it has come to the present it is no
 * reader of the present's tracks: what happens meanwhile is in the ring, and follows in its place.
 */
export class Replay {
  readonly #stream: Stream;
  readonly #id: EventId;
  readonly #ring: Ring;
  readonly #entries: Iterator<RingEntry>;
  readonly #log = new PastLog();
  /** The end of the ring when the log was read. */
  #readTo: number;
  readonly #board: TrackBoard;
  /** The present as of the slice under way, over tracks of the replay's own. */
  #changed: Changed;
  readonly #known = new Map<string, Known>();
  readonly #rows: RowBatches;
  readonly #places: Map<string, Place>;
  #passedAt: Micros;

  /** The stream follows no listing yet. */
  constructor(stream: Stream, id: EventId, { ring, ...changed }: Changed & { readonly ring: Ring }) {
    this.#stream = stream;
    this.#id = id;
    this.#ring = ring;
    this.#places = new Map(id.places);
    this.#passedAt = id.sentAt;
    this.#board = new TrackBoard(changed.live);
    this.#changed = { ...changed, board: this.#board };
    this.#rows = new RowBatches(changed.live);
    this.#entries = ring.after(id.places);
    this.#log.read(ring.after(id.places));
    this.#readTo = ring.end;
    for (const selected of this.#log.selectedThen(stream.request, changed.live, id))
      followListing(stream, selected, this.#changed);
  }

  /** What was recorded up to here is in the frames of the stream. */
  get passedAt(): Micros {
    return this.#passedAt;
  }

  /** Whether everything that is still to be replayed is held. */
  get isCovered(): boolean {
    return this.#ring.covers(this.#places);
  }

  /** Puts what follows into frames of the stream, a slice of it at most; answers whether that was all. */
  advance(changed: Changed): boolean {
    this.#changed = { ...changed, board: this.#board };
    this.#log.read(this.#ring.after(this.#id.places, this.#readTo));
    this.#readTo = this.#ring.end;
    for (let passed = 0; passed < SLICE_ENTRIES && this.#stream.gatheredLength < SLICE_LENGTH; passed++) {
      const next = this.#entries.next();
      if (next.done) return true;
      const { task, offset, index } = next.value;
      this.#places.set(task, { offset, index });
      this.#apply(next.value);
      if (this.#stream.hasDrafts)
        this.#stream.commit(printEventId(this.#id, printPlaces(this.#stream.tasks, this.#places)));
    }
    return false;
  }

  /** Makes the stream, for which everything was replayed, a reader of the present: with the statuses and listings that differ by now. */
  join(changed: Changed): void {
    const followed = [...this.#stream.selected.values()];
    this.leave();
    for (const selected of followed) followListing(this.#stream, selected, changed);
    this.#sendStatuses(changed);
    settleListings(this.#stream, changed);
  }

  /** The stream follows no listing any more. */
  leave(): void {
    for (const key of [...this.#stream.selected.keys()]) unfollowListing(this.#stream, key, this.#board);
  }

  /** Adds to the step what the entry brought. */
  #apply(held: RingEntry): void {
    const track = held.track === null ? undefined : this.#stream.tracks.get(held.track);
    if (held.track === null || track !== undefined) this.#applyEntry(held, track);
    this.#log.pass(held);
  }

  /** Adds the statuses that differ by now from those the client knows. */
  #sendStatuses({ board, now }: Changed): void {
    for (const track of this.#stream.tracks.values()) {
      const { status } = this.#know(track);
      const present = board.presentSight(track, now);
      if (present === null || (status !== null && isSame(status, track.told))) continue;
      const data = track.data({ ...present, reading: track.reading }, 'status');
      this.#stream.addDraft({ event: 'update', data, key: track.key, isStatus: true });
    }
  }

  #applyEntry({ venue, entry: read }: RingEntry, track: Track<Stream> | undefined): void {
    const entry = read();
    this.#passedAt = entry.recorded_at;
    this.#endListing(toListingKey(venue, entry.symbol ?? ''), entry.recorded_at);
    if (entry.kind === 'listing') this.#changeListing(entry);
    if (entry.reading !== null && track !== undefined) this.#sendReading(track, entry.reading);
    const placed = placeRow(venue, entry);
    if (placed === null) return;
    const findMark = (listing: LiveListing): Mark | null => this.#findMark(listing, entry.recorded_at);
    this.#rows.add(placed, { streams: [this.#stream], now: this.#changed.now, findMark });
    this.#rows.send();
  }

  /** The end of a listing, known in advance, was before the following entry. */
  #endListing(key: string, at: Micros): void {
    const selected = this.#stream.selected.get(key);
    const end = selected?.version.delisted_at ?? null;
    if (selected === undefined || end === null || end > at) return;
    changeListing(this.#stream, selected.listing, { ...this.#changed, moment: this.#momentAt(end) });
  }

  #changeListing(entry: LiveEntry): void {
    const listing = findListing(this.#changed.live, entry);
    if (listing === undefined || entry.listing === null) return;
    changeListing(this.#stream, listing, { ...this.#changed, moment: this.#momentAt(entry.listing.written_at) });
  }

  #momentAt(at: Micros) {
    return {
      at,
      sendSnapshot: (track: Track<Stream>) => this.#sendSnapshot(track, at),
      findMark: (listing: LiveListing) => this.#findMark(listing, at),
    };
  }

  /** The mark that was present at the last entry that was passed, whether the stream follows it or not (N-07). */
  #findMark(listing: LiveListing, at: Micros): Mark | null {
    const { live } = this.#changed;
    const venue = live.venue(listing.venue);
    if (venue === undefined) return null;
    const key = toTrackKey(toListingKey(listing.venue, listing.venueSymbol), 'mark');
    const newest = this.#log.readingNow({ key, listing, layer: 'mark' });
    const view = { ...makeVenueView(live, venue, at), stateLag: false };
    return findPresentMark(view, listing, { at, bounds: this.#stream.request.format.bounds, newest });
  }

  /** The track of an added listing as of its place in the log. */
  #sendSnapshot(track: Track<Stream>, from: Micros): void {
    const reading = this.#log.readingNow(track);
    const sight = this.#sight(track, reading, from);
    if (sight === null) return;
    this.#known.set(track.key, { reading, status: track.status(sight) });
    this.#stream.add('snapshot', track.data(sight));
  }

  /** One past reading as it was sent live. */
  #sendReading(track: Track<Stream>, reading: Reading): void {
    const { reading: before, status } = this.#know(track);
    if (before !== null && reading.recorded_at < before.recorded_at) return;
    const sight = this.#sight(track, reading, reading.recorded_at);
    if (sight === null || reading.rev === before?.rev) return;
    const answer = track.status(sight);
    this.#known.set(track.key, { reading, status: answer });
    if (before !== null && reading.rev !== before.rev + 1) {
      this.#stream.add('gap', formatHole(track, before, reading));
      this.#stream.add('snapshot', track.data(sight));
      return;
    }
    const change = status !== null && isSame(status, answer) ? 'value' : 'both';
    this.#stream.add('update', track.data(sight, change), track.key);
  }

  /** At the instant at which it was read, which is never before its receipt. */
  #sight(track: Track<Stream>, reading: Reading | null, from: Micros): Sight | null {
    const { live } = this.#changed;
    const venue = live.venue(track.listing.venue);
    if (venue === undefined) return null;
    const at = Math.max(from, reading?.received_at ?? from);
    const view = { ...makeVenueView(live, venue, at), stateLag: false };
    return track.see({ view, reading, at, mark: () => this.#findMark(track.listing, at) });
  }

  #know(track: Track<Stream>): Known {
    const known = this.#known.get(track.key);
    if (known !== undefined) return known;
    return { reading: this.#log.readingThen(track), status: this.#log.statusThen(track, this.#changed.live, this.#id) };
  }
}
