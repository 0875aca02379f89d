// Reads recorded venue messages of test/fixtures as the mapper sees them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';

export type Recorded = {
  readonly recv_ms: number | null;
  readonly kind: string;
  readonly dir: string;
  readonly url?: string;
  readonly raw: string;
};

export const fixturePath = (name: string): string => join(import.meta.dirname, '../../fixtures', name);

/** A venue's recordings, compressed frames included. */
export const recordedFiles = (venueId: string): readonly string[] =>
  readdirSync(fixturePath(venueId))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name))
    .toSorted()
    .map((name) => `${venueId}/${name}`);

/** Recordings of text. */
export const recordingsIn = (venueId: string): readonly string[] =>
  recordedFiles(venueId).filter((name) => !name.includes('binary'));

export const readRecording = (name: string): readonly Recorded[] => {
  const bytes = readFileSync(fixturePath(name));
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Recorded);
};

/** Messages without a receive time are read as received at the start of 2000. */
export const toVenueMessage = ({ recv_ms, kind, url, raw }: Recorded): VenueMessage => ({
  kind: kind === 'rest' ? 'response' : 'frame',
  received_at: (recv_ms ?? 946_684_800_000) * 1000,
  request: kind === 'rest' ? (url ?? null) : null,
  payload: Buffer.from(raw),
});
