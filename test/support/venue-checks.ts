// What the test of every venue asks: records of a recorded line by value, damaged frames refused, no two members exchanged unnoticed.

import { VenueError, type VenueMessage } from '../../ingest/venues/contract/listings.ts';
import type { MapContext, Mapped, MapState } from '../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../ingest/venues/contract/venue.ts';
import { canonicalDigits, multiply } from '../../schemas/decimals.ts';
import type { ListingRecord, NormalisedRecord, PriceType } from '../../schemas/records.ts';
import { mutate, randomOf } from './mutations.ts';
import { type Recorded, readRecording, toVenueMessage } from './recordings.ts';

/** Messages without a receive time are read as received at the start of 2000. */
const AT_2000 = 946_684_800_000_000;
const NO_LISTINGS: MapContext = { listings: new Map() };

/** Bands of every listing (L-03). */
export const BANDS = ['10bps', '25bps', '50bps', '100bps'];
/** `candles` of a listing: a venue differs by the prices it publishes minutes of, the timeframes are the service's own. */
export const candlesOf = (...price_types: readonly PriceType[]) => ({
  base_timeframe: '1m',
  price_types,
  timeframes: ['1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d'],
});

/** What `run` gave, or the code it was refused with. */
export const outcomeOf = (run: () => unknown): string => {
  try {
    return `gave ${JSON.stringify(run())}`;
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
    codeOf: (message) => outcomeOf(() => map(message)),
  };
};

// ---- damage ----

/** What a venue's mapping may make of the digits of a message, beyond copying them. */
export type Arithmetic = {
  /** The day's change is sent in percent (`scale:0.01`). */
  readonly percent?: boolean;
  /** A size's sign is its side. */
  readonly signed?: boolean;
  /** A level is removed without a size of zero being sent. */
  readonly removals?: boolean;
};

/** The documented arithmetic of each venue; figures of the others are copies. */
const ARITHMETIC: Readonly<Record<string, Arithmetic>> = {
  aster: { percent: true },
  binance: { percent: true },
  bitmex: { removals: true },
  deribit: { percent: true, removals: true },
  gate: { percent: true, signed: true },
  // A size below zero is one the venue ran out of: nothing rests there.
  'kraken-futures': { percent: true, removals: true },
};

type Place = { readonly name: string; readonly digits: string };

/** Every figure of a record's values with the member it stands in; sizes of levels as `size`. */
const placesOf = (value: unknown, name: string): Place[] => {
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? [{ name, digits: value }] : [];
  if (typeof value === 'number') return name === 'trades' ? [{ name, digits: String(value) }] : [];
  if (Array.isArray(value)) {
    const isLevel = value.length === 2 && typeof value[0] === 'string';
    return value.flatMap((item, i) => placesOf(item, isLevel && i === 1 ? 'size' : name));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => placesOf(item, key));
};

const NUMBER = /[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?/g;
export const digitsIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(NUMBER)].map(([token]) => {
      try {
        return canonicalDigits(token);
      } catch {
        return token;
      }
    }),
  );

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
export const findInvented = ({ id }: Venue, mapped: readonly Mapped[], held: Held): string | null => {
  const arithmetic = ARITHMETIC[id] ?? {};
  const found = mapped
    .flatMap(({ record }) => placesOf(record.values, ''))
    .find((place) => !isHeld(place, held, arithmetic));
  return found === undefined ? null : `${found.name} ${found.digits}`;
};

export type Damaged = {
  readonly venue: Venue;
  readonly message: VenueMessage;
  /** State to start from, made anew for each damaged frame. */
  readonly state?: () => MapState;
  /** What was said before, of which the state holds figures. */
  readonly before?: string;
};

/** The first of 1,000 damaged copies that throws anything but `VenueError` or gives a figure it does not hold; null: none does. */
export const findUnsafeDamage = ({ venue, message, state, before = '' }: Damaged): string | null => {
  const random = randomOf(message.payload.length);
  for (let run = 0; run < 1_000; run++) {
    const payload = mutate(Buffer.from(message.payload), random);
    const text = payload.toString('utf8');
    const outcome = readDamaged({ venue, message: { ...message, payload }, state: state?.() ?? {} });
    if (typeof outcome === 'string') return `${outcome}: ${text.slice(0, 300)}`;
    if (outcome.length === 0) continue;
    const invented = findInvented(venue, outcome, { digits: digitsIn(before + text), text });
    if (invented !== null) return `${invented} is not in ${text.slice(0, 300)}`;
  }
  return null;
};

/** A word such as `constructor` looked up where the venue's own words stand. */
const holdsFunction = ({ venue_symbol, values }: NormalisedRecord): boolean =>
  [venue_symbol, ...Object.values(values)].some((value) => typeof value === 'function');

type Trial = {
  readonly venue: Venue;
  readonly message: VenueMessage;
  readonly state: MapState;
  readonly context?: MapContext;
};

/** Everything the collector and the task ask about a message; what it gave, or what was thrown that is no `VenueError`. */
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

export type Distinct = {
  readonly venue: Venue;
  /** The message around a body whose mapped members all differ. */
  readonly message: (body: Readonly<Record<string, unknown>>) => VenueMessage;
  readonly body: Readonly<Record<string, unknown>>;
  readonly members: readonly string[];
  readonly state?: () => MapState;
};

/** Pairs of members that can be exchanged without changing the records; the message itself must give some. */
export const findExchangeable = ({ venue, message, body, members, state }: Distinct): readonly string[] => {
  const outcome = (changed: Distinct['body']): string => {
    try {
      const mapped = venue.map(state?.() ?? {}, message(changed), NO_LISTINGS);
      return JSON.stringify(
        mapped.map(({ record, chain }) => ({ record, chain })),
        (_key, value) => (typeof value === 'bigint' ? `${value}n` : value),
      );
    } catch (error) {
      if (error instanceof VenueError) return error.code;
      throw error;
    }
  };
  const before = outcome(body);
  if (!before.startsWith('[{')) return [`not read at all: ${before}`];
  return members.flatMap((a, i) =>
    members
      .slice(i + 1)
      .filter((b) => outcome({ ...body, [a]: body[b], [b]: body[a] }) === before)
      .map((b) => `${a} and ${b}`),
  );
};
