// What generators start from: one recorded message of each kind of a venue, and the listings its recordings name.
import { readdirSync } from 'node:fs';
import type { VenueMessage } from '../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../schemas/records.ts';
import { isRaw, parseExact } from './mutations.ts';
import { fixturePath, readRecording, toVenueMessage } from './recordings.ts';

/** Elements of an array that a seed keeps: more of the same make no other kind. */
const KEPT = 3;

/** Every message of a venue's recordings, as its mapper sees it. */
export const recordingsOf = (venue: Venue): readonly VenueMessage[] =>
  readdirSync(fixturePath(venue.id))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name) && !name.includes('binary'))
    .flatMap((name) => readRecording(`${venue.id}/${name}`))
    .filter(({ dir }) => dir === 'in')
    .map(toVenueMessage);

const shortened = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, KEPT).map(shortened);
  if (typeof value !== 'object' || value === null || isRaw(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, item]) => [key, shortened(item)]),
  );
};

/** What makes two messages of one kind: the members they have, the channel they name, the path that was asked. */
const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return `[${[...new Set(value.map(kindOf))].join()}]`;
  if (typeof value !== 'object' || value === null || isRaw(value)) return '';
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => (/\d|^[A-Z]{3,}/.test(key) ? '' : `${key}:${kindOf(item)}`))
    .join();
};

/** One shortened message of each kind. */
export const seedsOf = (messages: readonly VenueMessage[]): readonly VenueMessage[] => {
  const seeds = new Map<string, VenueMessage>();
  for (const message of messages) {
    let tree: unknown;
    try {
      tree = shortened(parseExact(Buffer.from(message.payload).toString('utf8')));
    } catch {
      continue;
    }
    const kind = `${message.request?.replace(/[?].*/, '') ?? ''} ${kindOf(tree)}`;
    if (!seeds.has(kind)) seeds.set(kind, { ...message, payload: Buffer.from(JSON.stringify(tree)) });
  }
  return [...seeds.values()];
};

/** The listings that the messages name. */
export const contextOf = (venue: Venue, messages: readonly VenueMessage[]): MapContext => {
  const listings = new Map<string, ListingRecord>();
  const state = {};
  for (const message of messages)
    try {
      for (const record of venue.mapReference(state, message)?.listings ?? [])
        listings.set(record.venue_symbol, record);
    } catch {
      // A recorded refusal.
    }
  return { listings };
};
