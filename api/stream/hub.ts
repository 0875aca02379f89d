// All streams of this process over its memory copy: who is told what when an entry of `live` or the clock changes something.
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { serviceError } from '../../schemas/errors.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { byKey, type JsonValue, writeJson } from '../../schemas/json.ts';
import { LAYERS, type ReadingLayer } from '../../schemas/layers.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveEntry, Place, Reading } from '../../schemas/topics.ts';
import type { Account, KeyAnswer } from '../access/key-store.ts';
import { printBounds } from '../live/bounds.ts';
import { type LiveListing, versionAt } from '../live/listing-book.ts';
import { venueView } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import { catalogueVersion } from '../operations/catalogue-version.ts';
import { listingRecord } from '../operations/listing-record.ts';
import type { Selected } from '../selection/resolve.ts';
import { DueQueue } from './due-queue.ts';
import { isAbove, parseEventId, printEventId, printPlaces } from './positions.ts';
import { type StreamRequest, selectedAs, selectedBy } from './request.ts';
import { resume } from './resume.ts';
import { Ring } from './ring.ts';
import { gapData, Stream } from './stream.ts';
import { isSame, type Sight, Track } from './track.ts';

/** The clock is looked at this often: a change that time brings is told well within a second (ST-07). */
const TICK_MS = 250;
const HEARTBEAT: Micros = 15_000_000;
const ROTATE: Micros = 86_400_000_000;
/** How long to wait when all streams of a key are in use. */
export const RETRY_S = 5;

export type HubDeps = { readonly live: LiveMemory; readonly nowMicros: () => Micros };

export type Opening = {
  readonly account: Account;
  readonly request: StreamRequest;
  /** `Last-Event-ID` as it came. */
  readonly lastEventId: string | null;
  readonly out: Writable;
  readonly findKey: () => Promise<KeyAnswer>;
};

const listingKey = (venue: string, symbol: string): string => `${venue}|${symbol}`;

export class StreamHub {
  readonly #live: LiveMemory;
  readonly #nowMicros: () => Micros;
  readonly #ring = new Ring();
  readonly #places = new Map<string, Place>();
  /** Printed places by task list, until a place moves. */
  readonly #printed = new Map<string, string>();
  readonly #streams = new Set<Stream>();
  /** Tracks by listing, then by format and layer. */
  readonly #tracks = new Map<string, Map<string, Track<Stream>>>();
  readonly #due = new DueQueue<Track<Stream>>();
  readonly #behind = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor({ live, nowMicros }: HubDeps) {
    this.#live = live;
    this.#nowMicros = nowMicros;
    for (const { venue, partitions } of live.venues()) {
      for (const [partition, { offset, index }] of partitions) this.#begin(`${venue}/${partition}`, { offset, index });
    }
    live.observe((venue, partition, entry, replaced) => this.#apply(venue, partition, { entry, replaced }));
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Bytes that wait for slow clients, for the metrics. */
  get waitingBytes(): number {
    let sum = 0;
    for (const stream of this.#streams) sum += stream.waitingBytes;
    return sum;
  }

  /** Throws ServiceError when the key has all the streams of its plan (ST-08). */
  refuseTooMany({ keyId, plan }: Account): void {
    let open = 0;
    for (const { account } of this.#streams) if (account.keyId === keyId) open++;
    if (open < plan.limits.streams) return;
    throw serviceError('RATE_LIMITED', `The plan ${plan.name} allows ${plan.limits.streams} streams.`, {
      hint: 'Close a stream, or select more in one.',
    });
  }

  /** Starts a stream on `out`; everything up to `ready` is written before this returns. */
  open({ account, request, lastEventId, out, findKey }: Opening): Stream {
    const now = this.#advance();
    const tasks = [...this.#places.keys()].filter((task) => request.venues.includes(task.split('/')[0] ?? '')).sort();
    const deps = { id: `str_${randomUUID()}`, account, request, out, findKey, nowMicros: this.#nowMicros };
    const stream = new Stream({ ...deps, onEnd: (ended) => this.#forget(ended) }, tasks);
    this.#streams.add(stream);
    for (const selected of selectedBy(request, this.#live, now)) this.#follow(stream, selected, now);
    this.#greet(stream, lastEventId, now);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    return stream;
  }

  /** Says goodbye to every client. */
  close(): void {
    for (const stream of [...this.#streams]) stream.end('shutdown');
  }

  #greet(stream: Stream, lastEventId: string | null, now: Micros): void {
    const { request, tasks } = stream;
    const id = lastEventId === null ? null : parseEventId(lastEventId, request.selection, tasks);
    const isResumed = id !== null && id.toldAt <= now && this.#ring.covers(id.places);
    stream.add('hello', this.#hello(stream, isResumed, now));
    const expired = lastEventId !== null && !isResumed;
    if (isResumed) {
      stream.commit(lastEventId ?? '');
      resume(stream, id, {
        live: this.#live,
        ring: this.#ring,
        now,
        idOf: (places, toldAt) =>
          printEventId({ ...id, toldAt }, printPlaces(tasks, places)),
        tellListing: (resumed, entry) => this.#retellListing(resumed, entry, now),
      });
    } else if (expired) {
      const from = id === null ? null : Math.min(id.toldAt, now);
      stream.add('gap', gapData({ from, to: now, reason: 'resume_expired', dropped: null, scope: {} }));
    }
    const snapshots = expired || (request.withSnapshots && !isResumed);
    const told = snapshots ? [...stream.tracks.values()].filter((track) => this.#tellSnapshot(stream, track, now)) : [];
    stream.commit(stream.hasDrafts && isResumed ? this.#idOf(stream, now) : this.#startOf(stream));
    stream.add('ready', writeJson({
      listings: stream.selected.size,
      layers: told.length,
      served_at: formatInstant(this.#servedAt(stream, now) ?? now),
    }));
    stream.commit(this.#idOf(stream, now));
  }

  #startOf({ request }: Stream): string {
    return `${request.selection}.0`;
  }

  #hello(stream: Stream, resumed: boolean, now: Micros): string {
    const { format, layers } = stream.request;
    const bounds = printBounds(format.bounds, layers);
    return writeJson({
      stream_id: stream.id,
      evaluated_at: formatInstant(now),
      catalogue: catalogueVersion(this.#live, now),
      units: format.units,
      freshness: byKey(Object.fromEntries(layers.map((layer) => [LAYERS[layer].recordName, bounds[layer] ?? '']))),
      layers: layers.map((layer) => LAYERS[layer].recordName),
      listings: stream.selected.size,
      resumed,
      buffer_from: formatInstant(this.#ring.from(now)),
      heartbeat_ms: HEARTBEAT / 1_000,
    });
  }

  #tellSnapshot(stream: Stream, track: Track<Stream>, now: Micros): boolean {
    const sight = this.#sight(track, now);
    const version = track.version(now);
    if (sight === null || version === null) return false;
    stream.add('snapshot', track.data(sight, version));
    return true;
  }

  /** Adds a listing to a stream, with a track for each of its layers. */
  #follow(stream: Stream, selected: Selected, now: Micros): void {
    const { venue, venueSymbol } = selected.listing;
    stream.selected.set(listingKey(venue, venueSymbol), selected);
    for (const layer of stream.request.layers) {
      const track = this.#trackOf(selected.listing, layer, stream, now);
      track.readers.add(stream);
      stream.tracks.set(track.key, track);
    }
  }

  #unfollow(stream: Stream, key: string): void {
    stream.selected.delete(key);
    for (const track of this.#tracks.get(key)?.values() ?? []) {
      if (!track.readers.delete(stream)) continue;
      stream.tracks.delete(track.key);
      if (track.readers.size === 0) this.#dropTrack(key, track);
    }
  }

  #dropTrack(key: string, track: Track<Stream>): void {
    const tracks = this.#tracks.get(key);
    tracks?.delete(`${track.format.key}|${track.layer}`);
    if (tracks?.size === 0) this.#tracks.delete(key);
  }

  #trackOf(listing: LiveListing, layer: ReadingLayer, { request }: Stream, now: Micros): Track<Stream> {
    const key = listingKey(listing.venue, listing.venueSymbol);
    const tracks = this.#tracks.get(key) ?? new Map<string, Track<Stream>>();
    this.#tracks.set(key, tracks);
    const name = `${request.format.key}|${layer}`;
    const held = tracks.get(name);
    if (held !== undefined) return held;
    const track = new Track<Stream>(listing, layer, request.format);
    tracks.set(name, track);
    const sight = this.#sight(track, now);
    if (sight === null) return track;
    track.reading = sight.reading;
    track.told = track.status(sight);
    this.#await(track, sight);
    return track;
  }

  #sight({ listing, layer }: Track<Stream>, at: Micros): Sight | null {
    const venue = this.#live.venue(listing.venue);
    if (venue === undefined) return null;
    return { view: venueView(this.#live, venue, at), reading: listing.readings[layer] ?? null, at };
  }

  /** Puts the track's next moment into the queue, unless a sooner one stands there. */
  #await(track: Track<Stream>, sight: Sight): void {
    const moment = track.nextMoment(sight);
    if (moment >= track.queuedAt) return;
    track.queuedAt = moment;
    this.#due.push(moment, track);
  }

  /** Looks at a track again and tells its readers what changed since they were told. */
  #refresh(track: Track<Stream>, now: Micros): void {
    const [sight, version] = [this.#sight(track, now), track.version(now)];
    if (sight === null || version === null) return;
    const [before, after] = [track.reading, sight.reading];
    // While the copy is being read anew it holds older readings than the ones told.
    if (before !== null && (after === null || after.recorded_at < before.recorded_at)) return;
    const isNew = after !== null && (before === null || after.rev !== before.rev);
    const answer = track.status(sight);
    const isMoved = !isSame(answer, track.told);
    track.reading = after;
    track.told = { status: answer.status, reason: answer.reason, gap_cause: answer.gap_cause };
    this.#await(track, sight);
    if (!isNew && !isMoved) return;
    const data = track.data(sight, version, isNew ? (isMoved ? 'both' : 'value') : 'status');
    const hole = isNew && before !== null ? this.#holeData(track, before, after) : null;
    for (const stream of track.readers) {
      if (hole !== null) stream.add('gap', hole);
      stream.add('update', data, track.key);
    }
  }

  /** What is said when readings are missing between two: the log was read anew past them (ST-03). */
  #holeData({ listing, layer }: Track<Stream>, before: Reading, after: Reading): string | null {
    if (after.rev === before.rev + 1) return null;
    return gapData({
      from: before.recorded_at,
      to: after.recorded_at,
      reason: 'pipeline_restart',
      dropped: after.rev > before.rev ? after.rev - before.rev - 1 : null,
      scope: { venue: listing.venue, venue_symbol: listing.venueSymbol, layer: LAYERS[layer].recordName },
    });
  }

  *#tracksOf(venue: string): Generator<Track<Stream>> {
    for (const tracks of [...this.#tracks.values()]) {
      for (const track of [...tracks.values()]) if (track.listing.venue === venue) yield track;
    }
  }

  /** Tells everything that time alone has changed up to now, and ends that step. */
  #advance(): Micros {
    const now = this.#nowMicros();
    for (let due = this.#due.take(now); due !== null; due = this.#due.take(now)) {
      const track = due.subject;
      if (due.at !== track.queuedAt || track.readers.size === 0) continue;
      track.queuedAt = Number.POSITIVE_INFINITY;
      this.#refresh(track, now);
    }
    for (const { venue } of this.#live.venues()) this.#checkLag(venue, now);
    this.#commit(now);
    return now;
  }

  #checkLag(venue: string, now: Micros): void {
    const isBehind = this.#live.isBehind(venue, now);
    if (isBehind === this.#behind.has(venue)) return;
    if (isBehind) this.#behind.add(venue);
    else this.#behind.delete(venue);
    for (const track of this.#tracksOf(venue)) this.#refresh(track, now);
  }

  #commit(now: Micros): void {
    for (const stream of this.#streams) if (stream.hasDrafts) stream.commit(this.#idOf(stream, now));
  }

  #idOf(stream: Stream, toldAt: Micros): string {
    const { tasks, tasksKey, request } = stream;
    const printed = this.#printed.get(tasksKey) ?? printPlaces(tasks, this.#places);
    this.#printed.set(tasksKey, printed);
    const lagging = request.venues.some((venue) => this.#behind.has(venue));
    return printEventId({ selection: request.selection, toldAt, lagging }, printed);
  }

  #begin(task: string, place: Place): void {
    this.#places.set(task, place);
    this.#ring.begin(task, place);
  }

  /** Takes in one applied entry of `live`. */
  #apply(venue: string, partition: number, { entry, replaced }: { entry: LiveEntry; replaced: Reading | null }): void {
    const task = `${venue}/${partition}`;
    const place = this.#places.get(task);
    if (place === undefined) this.#begin(task, { offset: entry.offset, index: entry.index - 1 });
    else if (!isAbove(entry, place)) return;
    const hasStreams = this.#streams.size > 0;
    const now = hasStreams && entry.kind !== 'provisional' ? this.#advanceBefore(entry) : this.#nowMicros();
    this.#places.set(task, { offset: entry.offset, index: entry.index });
    this.#printed.clear();
    if (['reading', 'connection', 'listing', 'capability'].includes(entry.kind)) {
      this.#ring.push({ venue, task, entry, replaced }, now);
    }
    if (!hasStreams) return;
    this.#tell(venue, entry, now);
    this.#commit(now);
  }

  /** What is due by now comes before the entry; the lag of venues is looked at by the clock and with their watermarks. */
  #advanceBefore({ kind }: LiveEntry): Micros {
    return kind === 'watermark' ? this.#nowMicros() : this.#advance();
  }

  #tell(venue: string, entry: LiveEntry, now: Micros): void {
    switch (entry.kind) {
      case 'reading': {
        const { symbol, reading } = entry;
        for (const track of this.#tracks.get(listingKey(venue, symbol ?? ''))?.values() ?? []) {
          if (track.layer === reading?.layer) this.#refresh(track, now);
        }
        return;
      }
      case 'connection':
        for (const track of this.#tracksOf(venue)) {
          if (track.reading?.conn_id === entry.span?.conn_id) this.#refresh(track, now);
        }
        return;
      case 'capability':
        for (const track of this.#tracksOf(venue)) this.#refresh(track, now);
        return;
      case 'listing':
        for (const stream of [...this.#streams]) this.#tellListing(stream, venue, { symbol: entry.symbol ?? '', now });
        return;
      case 'watermark':
        this.#checkLag(venue, now);
        return;
      default:
        return;
    }
  }

  #tellListing(stream: Stream, venue: string, { symbol, now }: { symbol: string; now: Micros }): void {
    const key = listingKey(venue, symbol);
    const listing = this.#live.venue(venue)?.listings.get(symbol);
    if (listing === undefined || !stream.request.venues.includes(venue)) return;
    const before = stream.selected.get(key) ?? null;
    const after = selectedAs(stream.request, { live: this.#live, listing, at: now });
    if (after === null) {
      if (before === null) return;
      this.#unfollow(stream, key);
      stream.add('listing', this.#listingData(stream, listing, { change: 'delisted', at: now }));
    } else if (before === null) {
      // A selection follows listings added later, up to the limit (ST-08).
      if (stream.selected.size >= stream.request.plan.limits.stream_listings) return;
      stream.add('listing', this.#listingData(stream, listing, { change: 'added', at: now }));
      this.#follow(stream, after, now);
      for (const layer of stream.request.layers) {
        const track = stream.tracks.get(`${key}|${layer}`);
        if (track !== undefined) this.#tellSnapshot(stream, track, now);
      }
    } else if (after.version.written_at !== before.version.written_at) {
      stream.selected.set(key, after);
      stream.add('listing', this.#listingData(stream, listing, { change: 'changed', at: now }));
    }
  }

  /** A listing's change of the past, told again; true when it was added, and so its snapshots are told too. */
  #retellListing(stream: Stream, { listing: version }: LiveEntry, now: Micros): boolean {
    const listing = this.#live.venue(version?.venue ?? '')?.listings.get(version?.venue_symbol ?? '');
    if (version === null || listing === undefined) return false;
    const at = version.written_at;
    const ask = { live: this.#live, listing };
    const before = selectedAs(stream.request, { ...ask, at: at - 1 });
    const after = selectedAs(stream.request, { ...ask, at });
    if (before === null && after === null) return false;
    const change = after === null ? 'delisted' : before === null ? 'added' : 'changed';
    const key = listingKey(listing.venue, listing.venueSymbol);
    if (change === 'added' && !stream.selected.has(key)) return false;
    stream.add('listing', this.#listingData(stream, listing, { change, at }));
    if (change !== 'added') return false;
    for (const layer of stream.request.layers) {
      const track = stream.tracks.get(`${key}|${layer}`);
      if (track !== undefined) this.#tellSnapshot(stream, track, now);
    }
    return true;
  }

  #listingData(
    stream: Stream,
    listing: LiveListing,
    { change, at }: { change: 'added' | 'changed' | 'delisted'; at: Micros },
  ): string {
    const version = versionAt(listing.versions, at) ?? listing.versions.at(-1);
    const capability = versionAt(this.#live.venue(listing.venue)?.capabilities ?? [], at);
    const { units, numberFormat } = stream.request.format;
    const body: JsonValue = {
      venue: listing.venue,
      venue_symbol: listing.venueSymbol,
      instrument: version?.record.values.instrument ?? '',
      change,
      record:
        version === undefined
          ? null
          : listingRecord(listing, { version, capability }, { at, units, includeRaw: false, mark: null }),
    };
    return writeJson(body, { numberFormat });
  }

  /** Everything recorded up to here is told (F-05); null while a venue has said nothing. */
  #servedAt({ request }: Stream, now: Micros): Micros | null {
    let least = now;
    for (const venue of request.venues) {
      const watermark = this.#live.watermark(venue);
      if (watermark === null) return null;
      least = Math.min(least, watermark);
    }
    return least;
  }

  #tick(): void {
    const now = this.#advance();
    for (const stream of [...this.#streams]) {
      stream.merge();
      if (now - stream.openedAt >= ROTATE) stream.end('rotate');
      else if (now - stream.heartbeatAt >= HEARTBEAT) this.#heartbeat(stream, now);
    }
  }

  #heartbeat(stream: Stream, now: Micros): void {
    stream.heartbeatAt = now;
    const served = this.#servedAt(stream, now);
    const connections = stream.request.venues.map((code) => {
      const spans = this.#live.venue(code)?.connections.newestBySlot().values() ?? [];
      return [code, [...spans].some(({ to }) => to === null) ? 'up' : 'down'] as const;
    });
    stream.add('heartbeat', writeJson({
      at: formatInstant(now),
      served_at: served === null ? null : formatInstant(served),
      lag_ms: served === null ? null : Math.floor((now - served) / 1_000),
      connections: byKey(Object.fromEntries(connections)),
    }));
    stream.commit(this.#idOf(stream, now));
    void this.#checkKey(stream);
  }

  /** A key that ended or changed its plan ends its streams within a minute (ST-08). */
  async #checkKey(stream: Stream): Promise<void> {
    const found = await stream.findKey();
    if (found === 'unreachable') return;
    if (found === 'unknown') {
      stream.end('key_ended', [{ code: 'AUTH_INVALID', message: 'The key is unknown, revoked or expired.' }]);
    } else if (found.plan.code !== stream.account.plan.code) {
      stream.end('plan_changed', [{ code: 'PLAN_LIMIT', message: `The key is now of the plan ${found.plan.name}.` }]);
    }
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream);
    for (const key of [...stream.selected.keys()]) this.#unfollow(stream, key);
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
