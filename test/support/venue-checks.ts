// What the test of every venue asks: records of a recorded line by value, damaged frames refused, no two members exchanged unnoticed.
import {
  type MapContext,
  type Mapped,
  type MapState,
  type Venue,
  VenueError,
  type VenueMessage,
} from '../../ingest/venue.ts';
import { canonicalDigits } from '../../schemas/decimals.ts';
import type { ListingRecord, NormalisedRecord } from '../../schemas/records.ts';
import { mutate, randomOf } from './mutations.ts';
import { type Recorded, readRecording, toVenueMessage } from './recordings.ts';

/** Messages without a receive time are read as received at the start of 2000. */
export const AT_2000 = 946_684_800_000_000;
const NO_LISTINGS: MapContext = { listings: new Map() };

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
    codeOf: (message) => {
      try {
        return `gave ${JSON.stringify(map(message))}`;
      } catch (error) {
        if (error instanceof VenueError) return error.code;
        throw error;
      }
    },
  };
};

/** Every figure of a value, members named in `derived` left out. */
const figuresOf = (value: unknown, derived: readonly string[]): string[] => {
  if (typeof value === 'string') return /^-?\d+(\.\d+)?$/.test(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => figuresOf(item, derived));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => (derived.includes(name) ? [] : figuresOf(item, derived)));
};

const NUMBER = /[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?/g;
const digitsIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(NUMBER)].map(([token]) => {
      try {
        return canonicalDigits(token);
      } catch {
        return token;
      }
    }),
  );

export type Damaged = {
  readonly venue: Venue;
  readonly message: VenueMessage;
  /** State to start from, made anew for each damaged frame. */
  readonly state?: () => MapState;
  /** Members whose digits are made by a named transform. */
  readonly derived?: readonly string[];
};

/** The first of 1,000 damaged copies that throws anything but `VenueError` or gives a figure it does not hold; null: none does. */
export const findUnsafeDamage = ({ venue, message, state, derived = [] }: Damaged): string | null => {
  const random = randomOf(message.payload.length);
  for (let run = 0; run < 1_000; run++) {
    const payload = mutate(Buffer.from(message.payload), random);
    const text = payload.toString('utf8');
    const failure = tryDamaged({ venue, message: { ...message, payload }, state: state?.() ?? {}, text });
    if (typeof failure === 'string') return `${failure}: ${text.slice(0, 300)}`;
    const held = digitsIn(text);
    const invented = failure.flatMap(({ record }) => figuresOf(record.values, derived)).find((d) => !held.has(d));
    if (invented !== undefined) return `${invented} is not in ${text.slice(0, 300)}`;
  }
  return null;
};

type Trial = { readonly venue: Venue; readonly message: VenueMessage; readonly state: MapState; readonly text: string };

const tryDamaged = ({ venue, message, state, text }: Trial): readonly Mapped[] | string => {
  try {
    venue.classify(text);
    venue.sequence(text);
    venue.replyTo?.(text);
    venue.mapReference({}, message);
    return venue.map(state, message, NO_LISTINGS);
  } catch (error) {
    return error instanceof VenueError ? [] : `${String(error)} thrown`;
  }
};

export type Distinct = {
  readonly venue: Venue;
  /** The message around a body whose mapped members all differ. */
  readonly message: (body: unknown) => VenueMessage;
  readonly body: Readonly<Record<string, unknown>>;
  readonly members: readonly string[];
  readonly state?: () => MapState;
};

/** Pairs of members that can be exchanged without changing the records; the message itself must give some. */
export const findExchangeable = ({ venue, message, body, members, state }: Distinct): readonly string[] => {
  const outcome = (changed: unknown): string => {
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
