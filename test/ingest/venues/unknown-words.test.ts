// A new enumeration value of a venue (a contract type, a status) hides no listed perpetual: it stays listed, its status `unknown` (V-02).
// Other contracts stay excluded by further marks: a date in the symbol, the symbol's form.
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact } from '../../support/mutations.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import { readAnswers, readReference } from '../../support/venues/venue-seeds.ts';

/** Every other member that may hold such a value. */
const WORDY = /(status|state|typ|type|kind|period|category)$/i;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRaw(value);

const listObjects = (value: unknown): readonly Fields[] => {
  if (Array.isArray(value)) return value.flatMap(listObjects);
  return isFields(value) ? [value, ...Object.values(value).flatMap(listObjects)] : [];
};

const listListings = (venue: Venue, message: VenueMessage): readonly ListingRecord[] =>
  readReference(venue, message)?.listings ?? [];

type Change = { readonly names: ReadonlySet<string>; readonly word: unknown };

/** The answer with `word` for each named member: of every object that has it, and of every listing's element. */
const changed = (message: VenueMessage, symbols: ReadonlySet<unknown>, { names, word }: Change): VenueMessage => {
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  for (const fields of listObjects(tree)) {
    const isElement = Object.values(fields).some((value) => symbols.has(value));
    for (const name of names)
      if (isElement || (name in fields && typeof fields[name] !== 'object')) fields[name] = word;
  }
  return { ...message, payload: Buffer.from(JSON.stringify(tree)) };
};

const namesIn = (message: VenueMessage): readonly string[] => [
  ...new Set(
    listObjects(parseExact(Buffer.from(message.payload).toString('utf8'))).flatMap((fields) =>
      Object.entries(fields)
        // The answer's own `status` and the like are outside the listings.
        .filter(([name, value]) => WORDY.test(name) && typeof value === 'string' && 'symbol' in fields)
        .map(([name]) => name),
    ),
  ),
];

/** Unknown values, and none. */
const WORDS: readonly unknown[] = ['NO_SUCH_WORD', 'A new one', 97, '', null];

const listSymbols = (listings: readonly ListingRecord[]): string =>
  listings
    .map(({ venue_symbol }) => venue_symbol)
    .toSorted()
    .join();

for (const venue of venues.values())
  t.test(`${venue.id}: a perpetual stays listed whatever words describe it`, (t) => {
    const { deciding } = factsAbout(venue);
    const answers = readAnswers(venue).filter((message) => listListings(venue, message).length > 0);
    t.ok(answers.length > 0);
    const faults: string[] = [];
    for (const message of answers) {
      const before = listListings(venue, message);
      const symbols = new Set<unknown>(before.map(({ venue_symbol }) => venue_symbol));
      const sets = [deciding, ...[...new Set([...deciding, ...namesIn(message)])].map((name) => [name])];
      for (const names of sets)
        for (const word of WORDS) {
          const after = listListings(venue, changed(message, symbols, { names: new Set(names), word }));
          const what = `${names.join(' and ')}: ${JSON.stringify(word)} in ${message.request}`;
          if (listSymbols(after) !== listSymbols(before))
            faults.push(`${after.length} of ${before.length} stay listed with ${what}`);
          const isWord = word !== '' && word !== null && names.some((name) => deciding.includes(name));
          // Another member still shows that it is being settled.
          const odd = after.find(({ values }) => isWord && !['unknown', 'settling'].includes(values.status));
          if (odd) faults.push(`${odd.venue_symbol} is ${odd.values.status} with ${what}`);
        }
    }
    t.same(faults.slice(0, 10), []);
    t.end();
  });
