// The common checks of every venue's test: records of a recorded line by value, damaged frames refused, no two members exchanged unnoticed.
import { inflateRawSync } from 'node:zlib';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext, Mapped, MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { multiply, toCanonicalDigits } from '../../../schemas/decimals.ts';
import type { ListingRecord, NormalisedRecord, PriceType } from '../../../schemas/records.ts';
import { type Recorded, readRecording, toVenueMessage } from './recordings.ts';
import { type Arithmetic, factsAbout } from './venue-facts.ts';

/** Messages without a receive time are read as received at the start of 2000. */
const AT_2000 = 946_684_800_000_000;
const NO_LISTINGS: MapContext = { listings: new Map() };

/** Bands of every listing (L-03). */
export const BANDS = ['10bps', '25bps', '50bps', '100bps'];
/** `candles` of a listing: a venue differs by the prices it publishes minutes of, the timeframes are the service's own. */
export const makeCandles = (...price_types: readonly PriceType[]) => ({
  base_timeframe: '1m',
  price_types,
  timeframes: ['1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d'],
});

/** The result of `run`, or the code of its refusal. */
export const runCase = (run: () => unknown): string => {
  try {
    return `gave ${JSON.stringify(run(), (_key, value) => (typeof value === 'bigint' ? `${value}n` : value))}`;
  } catch (error) {
    if (error instanceof VenueError) return error.code;
    throw error;
  }
};

type Bench = {
  readonly lineOf: (file: string, line: number) => Recorded;
  readonly map: (message: VenueMessage, state?: MapState, context?: MapContext) => readonly NormalisedRecord[];
  readonly mapLine: (file: string, line: number, state?: MapState) => readonly NormalisedRecord[];
  /** Records of a whole recording, with one state. */
  readonly mapFile: (file: string) => readonly NormalisedRecord[];
  readonly listingsOf: (file: string) => readonly ListingRecord[];
  readonly frame: (body: unknown) => VenueMessage;
  readonly answer: (url: string, body: unknown) => VenueMessage;
  /** An expected record; times in milliseconds, `receivedMs` null: not recorded. */
  readonly record: (
    layer: string,
    symbol: string,
    times: readonly [venueMs: number | null, receivedMs: number | null],
    values: unknown,
  ) => unknown;
  /** The code a message is refused with, or what it gave. */
  readonly codeOf: (message: VenueMessage) => string;
};

export const venueBench = (venue: Venue): Bench => {
  const map: Bench['map'] = (message, state = {}, context = NO_LISTINGS) =>
    venue.map(state, message, context).map((mapped) => mapped.record);
  const lineOf: Bench['lineOf'] = (file, line) => {
    const recorded = readRecording(`${venue.id}/${file}`)[line - 1];
    if (!recorded) throw new Error(`${file} has no line ${line}`);
    return recorded;
  };
  const frame: Bench['frame'] = (body) => ({
    kind: 'frame',
    received_at: AT_2000,
    request: null,
    payload: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });
  const incoming = (file: string): readonly Recorded[] =>
    readRecording(`${venue.id}/${file}`).filter(({ dir }) => dir === 'in');
  return {
    map,
    lineOf,
    mapLine: (file, line, state) => map(toVenueMessage(lineOf(file, line)), state),
    mapFile: (file) => {
      const state: MapState = {};
      return incoming(file).flatMap((line) => map(toVenueMessage(line), state));
    },
    listingsOf: (file) =>
      incoming(file).flatMap((line) => venue.mapReference({}, toVenueMessage(line))?.listings ?? []),
    frame,
    answer: (url, body) => ({ ...frame(body), kind: 'response', request: url }),
    record: (layer, venue_symbol, [venueMs, receivedMs], values) => ({
      layer,
      venue: venue.id,
      venue_symbol,
      venue_ts: venueMs === null ? null : venueMs * 1000,
      received_at: receivedMs === null ? AT_2000 : receivedMs * 1000,
      values,
    }),
    codeOf: (message) => runCase(() => map(message)),
  };
};

type Place = { readonly name: string; readonly digits: string };

/** Every figure of a record's values with its member; sizes of levels as `size`. */
const listPlaces = (value: unknown, name: string): Place[] => {
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? [{ name, digits: value }] : [];
  if (typeof value === 'number') return name === 'trades' ? [{ name, digits: String(value) }] : [];
  if (Array.isArray(value)) {
    const isLevel = value.length === 2 && typeof value[0] === 'string';
    return value.flatMap((item, i) => listPlaces(item, isLevel && i === 1 ? 'size' : name));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => listPlaces(item, key));
};

const NUMBER = /[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?/g;
export const digitsIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(NUMBER)].map(([token]) => {
      try {
        return toCanonicalDigits(token);
      } catch {
        return token;
      }
    }),
  );

/** What a text holds as base64 of a raw deflate; empty: it is none. */
const unpack = (packed: string): string => {
  try {
    return inflateRawSync(Buffer.from(packed, 'base64')).toString();
  } catch {
    return '';
  }
};

/** Of each text that may be packed: most are ids, and come again in every mutant. */
const unpacked = new Map<string, string>();

/** The text with what its packed texts hold behind it. */
export const unpackTexts = (text: string): string => {
  let held = text;
  for (const [, packed = ''] of text.matchAll(/"([A-Za-z0-9+/=]{20,})"/g)) {
    const inside = unpacked.get(packed) ?? unpack(packed);
    unpacked.set(packed, inside);
    if (inside !== '') held += ` ${inside}`;
  }
  return held;
};

type Held = { readonly digits: ReadonlySet<string>; readonly text: string };

const isHeld = ({ name, digits }: Place, { digits: held, text }: Held, arithmetic: Arithmetic): boolean => {
  // The venue's own text, which may look like a figure.
  if (held.has(digits) || ((name === 'id' || name === 'sequence') && text.includes(digits))) return true;
  if (name === 'change_24h') return arithmetic.percent === true && held.has(multiply(digits, '100'));
  const isSize = name === 'size' || name === 'quantity';
  if (isSize && arithmetic.signed === true && held.has(`-${digits}`)) return true;
  return name === 'size' && digits === '0' && arithmetic.removals === true;
};

/** A figure of the records that the text does not hold. */
export const findInvented = (venue: Venue, mapped: readonly Mapped[], held: Held): string | null => {
  const { arithmetic = {} } = factsAbout(venue);
  const found = mapped
    .flatMap(({ record }) => listPlaces(record.values, ''))
    .find((place) => !isHeld(place, held, arithmetic));
  return found === undefined ? null : `${found.name} ${found.digits}`;
};

/** A name such as `constructor` looked up among the venue's own values. */
const holdsFunction = ({ venue_symbol, values }: NormalisedRecord): boolean =>
  [venue_symbol, ...Object.values(values)].some((value) => typeof value === 'function');

type Trial = {
  readonly venue: Venue;
  readonly message: VenueMessage;
  readonly state: MapState;
  readonly context?: MapContext;
};

/** Everything that the collector and the task read of a message; what it gave, or what was thrown that is no `VenueError`. */
export const readDamaged = ({ venue, message, state, context = NO_LISTINGS }: Trial): readonly Mapped[] | string => {
  try {
    const text = Buffer.from(message.payload).toString('utf8');
    venue.classify(text);
    venue.sequence(text);
    venue.replyTo?.(text);
    venue.subscriptionOf?.(text);
    venue.closedMinute?.(text);
  } catch (error) {
    return `${String(error)} thrown by a cheap look`;
  }
  try {
    const listings = venue.mapReference({}, message)?.listings ?? [];
    const mapped = venue.map(state, message, context);
    const odd = [...listings, ...mapped.map(({ record }) => record)].find(holdsFunction);
    return odd === undefined ? mapped : `a record holds a function: ${odd.venue_symbol} ${odd.layer}`;
  } catch (error) {
    return error instanceof VenueError ? [] : `${String(error)} thrown`;
  }
};
