// The market as published on `live`, at an instant: by what was recorded up to it and by nothing else, from the text of the decisions alone.
import { type KafkaHandle, readToEnd } from '../../../infra/runtime/kafka/kafka.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import {
  type CapabilityVersion,
  type ListingVersion,
  type LiveEntry,
  makeLiveEntry,
  nameTopics,
  type Reading,
  type Span,
} from '../../../schemas/topics.ts';
import { LAYER_OF, type SlowLayer, type SlowListing } from '../screen/slow-evaluator.ts';

/** Microseconds. */
type Micros = number;

/** One entry of `live`, and when it could be read there. */
export type LiveLogEntry = {
  readonly venue: string;
  readonly partition: number;
  readonly publishedAt: Micros;
  readonly entry: LiveEntry;
};

/** Versions are in topics of their own, and hold from when they were written. */
const readVersions = async (handle: KafkaHandle, namespace: string): Promise<readonly LiveLogEntry[]> => {
  const names = nameTopics(namespace);
  const entries: LiveLogEntry[] = [];
  const add = (venue: string, body: Partial<LiveEntry> & Pick<LiveEntry, 'kind' | 'recorded_at'>): void => {
    const entry = makeLiveEntry({ offset: entries.length, index: 0, ...body });
    entries.push({ venue, partition: -1, publishedAt: body.recorded_at, entry });
  };
  const from = () => 'earliest' as const;
  await readToEnd(handle, { topic: names.capabilities, from }, ({ value }) => {
    const capability = value === null ? null : codecs.capability.decode(value);
    if (capability !== null)
      add(capability.venue, { kind: 'capability', recorded_at: capability.written_at, capability });
  });
  await readToEnd(handle, { topic: names.listings, from }, ({ value }) => {
    const listing = value === null ? null : codecs.listing.decode(value);
    if (listing !== null) add(listing.venue, { kind: 'listing', recorded_at: listing.written_at, listing });
  });
  return entries;
};

/** Everything that `live` and the topics of versions hold of the venues, in the order of the log; duplicates of a task appear once. */
export const readLiveLog = async (
  handle: KafkaHandle,
  { namespace, venues }: { readonly namespace: string; readonly venues: readonly string[] },
): Promise<readonly LiveLogEntry[]> => {
  const entries: LiveLogEntry[] = [...(await readVersions(handle, namespace))];
  for (const venue of venues) {
    const highest = new Map<number, readonly [offset: number, index: number]>();
    const topic = nameTopics(namespace).live(venue);
    await readToEnd(handle, { topic, from: () => 'earliest' as const }, ({ value, timestampMs }, partition) => {
      if (value === null) return;
      const entry = codecs.live.decode(value);
      const [offset, index] = highest.get(partition) ?? [-1, -1];
      if (entry.offset < offset || (entry.offset === offset && entry.index <= index)) return;
      highest.set(partition, [entry.offset, entry.index]);
      entries.push({ venue, partition, publishedAt: Number(timestampMs) * 1_000, entry });
    });
  }
  return entries.sort((a, b) => a.entry.recorded_at - b.entry.recorded_at);
};

/** Times at which the watermark of a venue was more than `behind` back: a live answer may then have reported it (L-07 `state_lag`). */
export const findLags = (
  entries: readonly LiveLogEntry[],
  behind: Micros,
): readonly (readonly [from: Micros, to: Micros])[] => {
  const lags: (readonly [Micros, Micros])[] = [];
  const watermarks = new Map<string, Micros>();
  for (const { venue, partition, publishedAt, entry } of entries) {
    if (entry.kind !== 'watermark' || entry.watermark === null) continue;
    const task = `${venue}/${partition}`;
    const before = watermarks.get(task);
    if (before !== undefined && publishedAt - before > behind) lags.push([before, publishedAt]);
    watermarks.set(task, entry.watermark);
  }
  return lags;
};

type Listed = { readonly versions: ListingVersion[]; readonly readings: Map<ReadingLayer, Reading> };
type Venue = {
  readonly listings: Map<string, Listed>;
  readonly spans: Map<string, Span[]>;
  capabilities: CapabilityVersion[];
};

const newestAt = <V extends { readonly written_at: Micros }>(versions: readonly V[], at: Micros): V | null =>
  versions.reduce<V | null>(
    (held, one) => (one.written_at <= at && (held === null || one.written_at >= held.written_at) ? one : held),
    null,
  );

const bare = (status: SlowLayer['status'], reason: string, ageMs: number | null = null): SlowLayer => ({
  ...{ status, reason, ageMs, values: {} },
});

type Held = { readonly version: ListingVersion; readonly reading: Reading | null };
export type BoundsMs = Readonly<Record<ReadingLayer, number>>;

type AskedLayer = { readonly layer: ReadingLayer; readonly at: Micros; readonly bounds: BoundsMs };

export const DEFAULT_BOUNDS = Object.fromEntries(
  READING_LAYERS.map((layer) => [layer, LAYERS[layer].freshnessMs]),
) as BoundsMs;

/** Goes forward only: `advance` to an instant, then ask. */
export class PublishedMarket {
  readonly #entries: readonly LiveLogEntry[];
  readonly #venues = new Map<string, Venue>();
  #next = 0;

  constructor(entries: readonly LiveLogEntry[]) {
    this.#entries = entries;
  }

  /** Takes in all that was recorded at or before `at`. */
  advance(at: Micros): void {
    for (; (this.#entries[this.#next]?.entry.recorded_at ?? Number.POSITIVE_INFINITY) <= at; this.#next++)
      this.#apply(this.#entries[this.#next] as LiveLogEntry);
  }

  /** Listings that are listed at `at`, ascending by venue and symbol, with their layers under these bounds. */
  listingsAt(at: Micros, bounds: BoundsMs): readonly SlowListing[] {
    return [...this.#venues]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([venue, held]) =>
        [...held.listings]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .flatMap(([symbol, listed]) => {
            const version = newestAt(listed.versions, at);
            if (version === null || (version.delisted_at !== null && version.delisted_at <= at)) return [];
            const { base, quote, instrument, tick_size } = version.record.values;
            const layers = Object.fromEntries(
              READING_LAYERS.map((layer) => [
                layer,
                this.#layerAt(held, { version, reading: listed.readings.get(layer) ?? null }, { layer, at, bounds }),
              ]),
            );
            return [{ venue, symbol, base, quote, instrument, tickSize: Number(tick_size), layers, columns: {} }];
          }),
      );
  }

  /** A layer that is not present still says which of its fields the listing never has (D-475). */
  #layerAt(venue: Venue, held: Held, asked: AskedLayer): SlowLayer {
    const found = this.#stateAt(venue, held, asked);
    if (found.status !== 'stale' && found.status !== 'missing') return found;
    return { ...found, values: listNeverPublished(held, asked.layer) };
  }

  /** L-07: what the venue has, then the reading, then each cause of staleness in its order. */
  #stateAt({ capabilities, spans }: Venue, { version, reading }: Held, { layer, at, bounds }: AskedLayer): SlowLayer {
    const policy = newestAt(capabilities, at)?.layers[layer]?.policy ?? 'off';
    if (policy === 'off') return bare('off', 'policy_off');
    if (policy === 'on' && version.record.off?.includes(layer)) return bare('off', 'policy_off');
    if (policy !== 'on' || version.record.values.not_published.includes(layer))
      return bare('not_published', 'venue_capability');
    if (reading === null) return bare('missing', 'no_value');
    const ageMs = Math.floor((at - reading.received_at) / 1_000);
    if (!reading.valid) return bare('missing', 'gap', ageMs);
    const ofConnection = reading.horizon_source === 'connection';
    const lost = findEnd(spans.get(reading.conn_id) ?? [], reading.received_at);
    if (ofConnection && lost !== null && lost <= at) return bare('stale', 'connection_lost', ageMs);
    if (!ofConnection && (reading.horizon_source === null || reading.valid_until === null))
      return bare('stale', 'horizon_unknown', ageMs);
    if (!ofConnection && reading.valid_until !== null && reading.valid_until < at)
      return bare('stale', 'horizon_passed', ageMs);
    if (ageMs > bounds[layer]) return bare('stale', 'freshness_bound', ageMs);
    return { status: 'present', reason: null, ageMs, values: toValues(reading, at) };
  }

  #apply({ venue: code, entry }: LiveLogEntry): void {
    const venue: Venue = this.#venues.get(code) ?? { listings: new Map(), spans: new Map(), capabilities: [] };
    this.#venues.set(code, venue);
    if (entry.capability !== null) venue.capabilities.push(entry.capability);
    if (entry.listing !== null) findListed(venue, entry.listing.venue_symbol).versions.push(entry.listing);
    if (entry.reading !== null && entry.symbol !== null)
      findListed(venue, entry.symbol).readings.set(entry.reading.layer, entry.reading);
    if (entry.span !== null) {
      const { conn_id: id, from } = entry.span;
      const others = (venue.spans.get(id) ?? []).filter((span) => span.from !== from);
      venue.spans.set(
        id,
        [...others, entry.span].sort((a, b) => a.from - b.from),
      );
    }
  }
}

/** Names without which a field does not exist, beside its own. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = {
  ...{ basis: ['mark', 'index'], mid: ['bid', 'ask'], spread: ['bid', 'ask'] },
  ...{ funding_8h: ['funding', 'funding_interval'], time_to_funding: ['next_funding_at'] },
};

/** Fields of a layer that the listing never has; one that its reading has is published. */
const listNeverPublished = ({ version, reading }: Held, layer: ReadingLayer): SlowLayer['values'] => {
  const { not_published } = version.record.values;
  const isHeld = (field: string): boolean =>
    field === 'time_to_funding'
      ? reading?.instants['next_funding_at'] !== undefined
      : reading?.values[field] !== undefined;
  return Object.fromEntries(
    Object.entries(LAYER_OF)
      .filter(([field, of]) => of === layer && !isHeld(field))
      .filter(([field]) => [field, ...(MADE_OF[field] ?? [])].some((name) => not_published.includes(name)))
      .map(([field]) => [field, 'venue_capability']),
  );
};

const findListed = ({ listings }: Venue, symbol: string): Listed => {
  const held = listings.get(symbol) ?? { versions: [], readings: new Map() };
  listings.set(symbol, held);
  return held;
};

/** When the span on which something came ended; null: it had not, or nothing is known of it. */
const findEnd = (spans: readonly Span[], receivedAt: Micros): Micros | null =>
  (spans.findLast(({ from }) => from <= receivedAt) ?? spans[0])?.to ?? null;

const toValues = ({ values, null_reasons, instants }: Reading, at: Micros): SlowLayer['values'] => {
  const numbers = Object.entries(values).map(([member, digits]) => [member, Number(digits)] as const);
  const next = instants['next_funding_at'];
  const left = next === undefined || next <= at ? 'no_value' : Math.floor((next - at) / 1_000);
  return { ...null_reasons, ...Object.fromEntries(numbers), time_to_funding: left };
};
