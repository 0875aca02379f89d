// Recorded sessions for a mapping bench: messages of sockets with their receive times, listings from the REST responses beside them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type ReferenceState, VenueError, type VenueMessage } from '../../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../../../schemas/records.ts';
import type { RecordingLine } from '../../tools/recording-lines.ts';

/** The messages of a venue's sockets in one recording. */
export type Session = {
  readonly file: string;
  readonly messages: readonly VenueMessage[];
};

export type Recorded = {
  readonly sessions: readonly Session[];
  readonly listings: ReadonlyMap<string, ListingRecord>;
};

/** Receive time of recordings without one: late enough for every venue's newest message. */
const NO_TIME_MS = Date.UTC(2025, 0, 1);

/** A venue's recordings in `folder/<venue>`; those of binary frames are left out. */
export const listRecordings = (folder: string, venueId: string): readonly string[] => {
  const own = join(folder, venueId);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .filter((name) => /\.ndjson(\.gz)?$/.test(name) && !name.includes('binary'))
    .toSorted()
    .map((name) => join(own, name));
};

const readLines = (path: string): readonly RecordingLine[] => {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as RecordingLine]));
};

const toMessage = ({ recv_ms, kind, url, raw }: RecordingLine): VenueMessage => ({
  kind: kind === 'rest' ? 'response' : 'frame',
  received_at: Math.round((recv_ms ?? NO_TIME_MS) * 1000),
  request: kind === 'rest' ? (url ?? null) : null,
  payload: Buffer.from(raw, 'utf8'),
});

export const readRecorded = (venue: Venue, paths: readonly string[]): Recorded => {
  const listings = new Map<string, ListingRecord>();
  const reference: ReferenceState = {};
  const sessions = paths.map((path): Session => {
    const lines = readLines(path).filter(({ dir }) => dir === 'in');
    for (const line of lines.filter(({ kind }) => kind === 'rest')) {
      for (const record of readListings(venue, reference, toMessage(line))) listings.set(record.venue_symbol, record);
    }
    const frames = lines.filter(({ kind }) => kind === 'ws');
    return { file: basename(path), messages: frames.map(toMessage) };
  });
  return { sessions, listings };
};

const readListings = (venue: Venue, state: ReferenceState, message: VenueMessage): readonly ListingRecord[] => {
  try {
    return venue.mapReference(state, message)?.listings ?? [];
  } catch (error) {
    if (error instanceof VenueError) return [];
    throw error;
  }
};
