// Input of generators: one recorded message of each kind of a venue, and the listings its recordings name.
import { type ReferenceAnswer, VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact } from '../mutations.ts';
import { type Recorded, readRecording, recordingsIn, toVenueMessage } from './recordings.ts';
import { factsAbout } from './venue-facts.ts';

/** Elements of an array that a seed keeps: more of the same make no other kind. */
const KEPT = 3;
/** Cells of a row whose figures are told by their place: a cut row is none. */
const CELLS = 16;

const recorded = new Map<string, readonly VenueMessage[]>();
const seeds = new WeakMap<readonly VenueMessage[], readonly VenueMessage[]>();

/** Every message of a venue's recordings, as its mapper reads it; read once for each process. */
export const readRecordings = ({ id }: Venue): readonly VenueMessage[] => {
  const messages =
    recorded.get(id) ??
    recordingsIn(id)
      .flatMap(readRecording)
      .filter(({ dir }) => dir === 'in')
      .map(toVenueMessage);
  recorded.set(id, messages);
  return messages;
};

const toAnswer = (venue: Venue, line: Recorded): Recorded => {
  const { listingsFrame } = factsAbout(venue);
  const [, raw] = listingsFrame?.answer.exec(line.raw) ?? [];
  return raw === undefined ? line : { ...line, kind: 'rest', url: listingsFrame?.request ?? '', raw };
};

/** Recorded answers of requests. */
export const readAnswers = (venue: Venue): readonly VenueMessage[] =>
  recordingsIn(venue.id)
    .flatMap(readRecording)
    .filter(({ dir }) => dir === 'in')
    .map((line) => toAnswer(venue, line))
    .filter(({ kind }) => kind === 'rest')
    .map(toVenueMessage);

/** The answer about listings that a message is; null: it is another, or a refusal. */
export const readReference = (venue: Venue, message: VenueMessage, state = {}): ReferenceAnswer | null => {
  try {
    return venue.mapReference(state, message);
  } catch (error) {
    if (error instanceof VenueError) return null;
    throw error;
  }
};

const isCell = (value: unknown): boolean => typeof value !== 'object' || value === null || isRaw(value);

const shortened = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, value.every(isCell) ? CELLS : KEPT).map(shortened);
  if (typeof value !== 'object' || value === null || isRaw(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, item]) => [key, shortened(item)]),
  );
};

/** Members that name a frame's channel, at any venue. */
const CHANNELS: ReadonlySet<string> = new Set(
  [...venues.values()].flatMap((venue) => Object.keys(factsAbout(venue).unknownChannel)),
);

/** The words of a channel's name, without symbols and numbers. */
const toWords = (channel: unknown): string =>
  typeof channel === 'string'
    ? channel
        .split(/[^A-Za-z_-]/)
        .filter((word) => /^[a-z]+[A-Za-z]?[a-z_-]*$/.test(word))
        .join()
    : '';

/** The kind of a message: the members it has, the channel it names, the requested path. */
const toKind = (value: unknown): string => {
  if (Array.isArray(value)) return `[${[...new Set(value.map(toKind))].join()}]`;
  if (typeof value !== 'object' || value === null || isRaw(value)) return '';
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) =>
      /\d|^[A-Z]{3,}/.test(key) ? '' : `${key}:${CHANNELS.has(key) ? toWords(item) : ''}${toKind(item)}`,
    )
    .join();
};

const findSeeds = (messages: readonly VenueMessage[]): readonly VenueMessage[] => {
  const found = new Map<string, VenueMessage>();
  for (const message of messages) {
    let tree: unknown;
    try {
      tree = shortened(parseExact(Buffer.from(message.payload).toString('utf8')));
    } catch {
      continue;
    }
    const kind = `${message.request?.replace(/[?].*/, '') ?? ''} ${toKind(tree)}`;
    if (!found.has(kind)) found.set(kind, { ...message, payload: Buffer.from(JSON.stringify(tree)) });
  }
  return [...found.values()];
};

/** One shortened message of each kind; chosen once for each list of messages. */
export const chooseSeeds = (messages: readonly VenueMessage[]): readonly VenueMessage[] => {
  const chosen = seeds.get(messages) ?? findSeeds(messages);
  seeds.set(messages, chosen);
  return chosen;
};

/** The listings that the messages name. */
export const makeContext = (venue: Venue, messages: readonly VenueMessage[]): MapContext => {
  const listings = new Map<string, ListingRecord>();
  const state = {};
  for (const message of messages)
    for (const record of readReference(venue, message, state)?.listings ?? [])
      listings.set(record.venue_symbol, record);
  return { listings };
};
