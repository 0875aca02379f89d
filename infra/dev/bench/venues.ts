// The cost of mapping a message compared with bare JSON.parse of the same bytes, for each venue over the messages of its recordings.
//
//   node infra/dev/bench/venues.ts [VENUE...]
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext, MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';

const FIXTURES = join(import.meta.dirname, '../../../test/fixtures');
/** Frames measured for each venue; rare kinds have their share in the recordings, whole listings of references are left out. */
const MOST_MESSAGES = 2_000;
const LARGEST_BYTES = 256 * 1024;
const ROUNDS = 6;
const ROUND_MICROS = 60_000;

type Recorded = { readonly kind: string; readonly dir: string; readonly url?: string; readonly raw: string };

const readRecorded = (venue: string): readonly Recorded[] =>
  readdirSync(join(FIXTURES, venue))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name) && !name.includes('binary'))
    .flatMap((name) => {
      const bytes = readFileSync(join(FIXTURES, venue, name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n');
    })
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Recorded)
    .filter(({ dir }) => dir === 'in');

const toMessage = ({ kind, url, raw }: Recorded): VenueMessage => ({
  kind: kind === 'rest' ? 'response' : 'frame',
  received_at: 0,
  request: kind === 'rest' ? (url ?? null) : null,
  payload: Buffer.from(raw),
});

/** Messages that give records, one after the other with the state of one connection. */
const filterRead = (venue: Venue, messages: readonly VenueMessage[], context: MapContext): readonly VenueMessage[] => {
  const state: MapState = {};
  return messages.filter((message) => {
    try {
      return venue.map(state, message, context).length > 0;
    } catch (error) {
      if (error instanceof VenueError) return false;
      throw error;
    }
  });
};

const readListings = (venue: Venue, messages: readonly VenueMessage[]): ReadonlyMap<string, ListingRecord> => {
  const listings = new Map<string, ListingRecord>();
  const state = {};
  for (const message of messages) {
    try {
      for (const record of venue.mapReference(state, message)?.listings ?? [])
        listings.set(record.venue_symbol, record);
    } catch (error) {
      if (!(error instanceof VenueError)) throw error;
    }
  }
  return listings;
};

const cpuMicros = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

/** Microseconds of CPU of one pass: the fastest of some rounds, since other processes only ever add time (caches, clock rate). */
const measureTime = (pass: () => void): number => {
  const start = cpuMicros();
  let passes = 0;
  do {
    pass();
    passes += 1;
  } while (cpuMicros() - start < ROUND_MICROS);
  return (cpuMicros() - start) / passes;
};

/** Each pass's fastest round; rounds alternate, so that a slow moment of the machine affects all passes. */
const fastest = (passes: readonly (() => void)[]): readonly number[] => {
  const rounds = Array.from({ length: ROUNDS }, () => passes.map(measureTime));
  return passes.map((_, i) => Math.min(...rounds.map((times) => times[i] ?? Number.POSITIVE_INFINITY)));
};

type Cost = {
  readonly messages: number;
  readonly bytes: number;
  readonly parse: number;
  readonly map: number;
  readonly raw: number;
};

const measure = (venue: Venue): Cost => {
  const all = readRecorded(venue.id).map(toMessage);
  const context = { listings: readListings(venue, all) };
  const frames = all.filter(({ payload }) => payload.byteLength < LARGEST_BYTES);
  const read = filterRead(venue, frames, context).slice(0, MOST_MESSAGES);
  const parseAll = (): void => {
    for (const { payload } of read) JSON.parse(Buffer.from(payload).toString('utf8'));
  };
  const mapAll = (take: (element: unknown) => void): void => {
    const state: MapState = {};
    for (const message of read) for (const { element } of venue.map(state, message, context)) take(element);
  };
  const [parse = 0, map = 0, raw = 0] = fastest([
    parseAll,
    () => mapAll(() => undefined),
    () => mapAll((element) => JSON.stringify(element)),
  ]);
  const bytes = read.reduce((sum, { payload }) => sum + payload.byteLength, 0);
  return { messages: read.length, bytes, parse, map, raw };
};

const per = (total: number, count: number): string => (total / Math.max(1, count)).toFixed(2);

const main = (names: readonly string[]): void => {
  console.log('| venue | messages | bytes each | JSON.parse µs | map µs | times | with `raw` µs |');
  console.log('|---|---|---|---|---|---|---|');
  for (const venue of venues.values()) {
    if (names.length > 0 && !names.includes(venue.id)) continue;
    const { messages, bytes, parse, map, raw } = measure(venue);
    const cells = [messages, (bytes / Math.max(1, messages)).toFixed(0), per(parse, messages), per(map, messages)];
    console.log(
      `| ${[venue.id, ...cells, (map / Math.max(parse, 1e-9)).toFixed(2), per(raw, messages)].join(' | ')} |`,
    );
  }
};

main(process.argv.slice(2));
