// Messages in the shapes of a venue's docs whose mapped members all differ: two of them exchanged must change the records or be refused.
import { existsSync, readFileSync } from 'node:fs';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { parseExact } from '../mutations.ts';
import { fixturePath, type Recorded, toVenueMessage } from './recordings.ts';
import { runCase } from './venue-checks.ts';

type ShapeLine = Pick<Recorded, 'kind' | 'url' | 'raw'> & {
  /** Path of the object or array that holds `members`. */
  readonly at?: string;
  readonly members?: readonly string[];
};
type Shape = {
  readonly message: VenueMessage;
  readonly at: readonly string[];
  readonly members: readonly string[];
};

/** The lines of `shapes.jsonl` among a venue's fixtures. */
export const readShapes = ({ id }: Venue): readonly Shape[] => {
  const path = fixturePath(`${id}/shapes.jsonl`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const { at = '', members = [], ...recorded } = JSON.parse(line) as ShapeLine;
    const message = toVenueMessage({ dir: 'in', recv_ms: null, ...recorded });
    return { message, at: at.split('.').filter((step) => step !== ''), members };
  });
};

type Holder = Record<string, unknown>;

const exchanged = ({ message, at }: Shape, [a, b]: readonly [string, string]): VenueMessage => {
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  const holder = at.reduce<unknown>((held, step) => (held as Holder)[step], tree) as Holder;
  [holder[a], holder[b]] = [holder[b], holder[a]];
  return { ...message, payload: Buffer.from(JSON.stringify(tree)) };
};

/** Records of a message read first, and read after `before`: first trades after a subscription may be the past, repeats may be left out. */
const readTwice = (venue: Venue, message: VenueMessage, before: VenueMessage): string => {
  const state = {};
  const map = (read: VenueMessage, held: object): string =>
    runCase(() =>
      venue.map(held as Holder, read, { listings: new Map() }).map(({ record, chain }) => ({ record, chain })),
    );
  const first = map(message, {});
  map(before, state);
  return `${first} ${map(message, state)}`;
};

/** Pairs of members that can be exchanged unnoticed; the message itself must give records. */
export const findExchangeable = (venue: Venue, shape: Shape): readonly string[] => {
  const before = readTwice(venue, shape.message, shape.message);
  if (!before.includes('gave [{')) return [`not read at all: ${before}`];
  return shape.members.flatMap((a, i) =>
    shape.members
      .slice(i + 1)
      .filter((b) => readTwice(venue, exchanged(shape, [a, b]), shape.message) === before)
      .map((b) => `${a} and ${b}`),
  );
};
