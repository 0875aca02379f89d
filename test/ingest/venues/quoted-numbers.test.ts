// A number in quotes is the number: venues change between the two. The quick checks of a collector read both, as the mappers do; else a book whose ids
// change their spelling would be mapped, and its gaps never found.
import t from 'tap';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { collectedVenues, venues } from '../../../ingest/venues/index.ts';
import { chooseSeeds, makeContext, readRecordings } from '../../support/venues/venue-seeds.ts';
import { readShapes } from '../../support/venues/venue-shapes.ts';

const formatPlain = (value: unknown): string =>
  JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? `${member}n` : member));

/** A whole number or a figure, as the value of a member or an element of a list. Text that begins with a zero is no number of JSON. */
const FIGURE = /(?<=[:,[])(?:"(-?(?:0|[1-9]\d*)(?:\.\d+)?)"|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))(?=[,\]}])/g;
/** A message of levels has thousands. */
const MOST_FIGURES = 80;

/** The text with one figure in the other spelling. */
const respell = (text: string): readonly string[] =>
  Array.from(text.matchAll(FIGURE))
    .slice(0, MOST_FIGURES)
    .map(({ index, 0: figure, 1: quoted }) => {
      const other = quoted ?? `"${figure}"`;
      return text.slice(0, index) + other + text.slice(index + figure.length);
    });

const readSeeds = (venue: Venue): readonly VenueMessage[] => [
  ...chooseSeeds(readRecordings(venue)),
  ...readShapes(venue).map(({ message }) => message),
];

for (const [id, venue] of venues) {
  const collected = collectedVenues.get(id);
  if (collected === undefined) continue;
  const context = makeContext(venue, readRecordings(venue));

  const check = (text: string): string => {
    const { classify, closedMinute, newestMinute, sequence, subscriptionOf } = collected;
    const reads = [sequence, subscriptionOf, closedMinute, newestMinute].map((read) => read?.(text));
    return formatPlain([classify(text), ...reads]);
  };
  /** The first message of a subscription may be the past, hence it is read twice. Null: the venue's refusal, or an answer without its request. */
  const map = (message: VenueMessage): string | null => {
    const state = {};
    const read = (): unknown => venue.map(state, message, context).map(({ record, chain }) => ({ record, chain }));
    try {
      read();
      return formatPlain(read());
    } catch (error) {
      if (error instanceof VenueError) return null;
      throw error;
    }
  };

  t.test(`${id}: the quick checks and the records of a message`, (t) => {
    let tried = 0;
    for (const seed of readSeeds(venue)) {
      const text = Buffer.from(seed.payload).toString();
      const records = map(seed);
      if (records === null) continue;
      const checked = check(text);
      for (const other of respell(text)) {
        tried += 1;
        const where = other.slice(0, 300);
        if (check(other) !== checked) t.equal(check(other), checked, where);
        const after = map({ ...seed, payload: Buffer.from(other) });
        if (after !== records) t.equal(after, records, where);
      }
    }
    t.ok(tried > 50, `${tried} spellings`);
    t.end();
  });
}
