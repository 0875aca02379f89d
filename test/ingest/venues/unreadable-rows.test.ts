// One row of a message that cannot be read does not take the others with it; one row of a reference answer neither hides nor delists a listing.
import t from 'tap';
import { mayExist, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { type MapContext, UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact } from '../../support/mutations.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import {
  chooseSeeds,
  makeContext,
  readAnswers,
  readRecordings,
  readReference,
} from '../../support/venues/venue-seeds.ts';
import { readShapes } from '../../support/venues/venue-shapes.ts';

type Holder = Record<string, unknown>;

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null && !isRaw(value);

/** Every list of objects or rows, and every object of objects. */
const listTables = (value: unknown): readonly Holder[] => {
  if (!isHolder(value)) return [];
  const rows = Object.values(value);
  return [...(rows.length > 0 && rows.every(isHolder) ? [value] : []), ...rows.flatMap(listTables)];
};

const encode = (tree: unknown): Buffer => Buffer.from(JSON.stringify(tree));

type Outcome = {
  readonly records: ReadonlySet<string>;
  readonly layers: ReadonlySet<string>;
  readonly fault: string | null;
};

const read = (venue: Venue, message: VenueMessage, context: MapContext): Outcome => {
  const toOutcome = (mapped: ReturnType<Venue['map']>, fault: string | null): Outcome => ({
    records: new Set(mapped.map(({ record }) => JSON.stringify(record))),
    layers: new Set(mapped.map(({ record }) => record.layer)),
    fault,
  });
  try {
    return toOutcome(venue.map({}, message, context), null);
  } catch (error) {
    return toOutcome(error instanceof UnreadablePart ? error.mapped : [], String(error));
  }
};

const isWithin = (some: Outcome, all: Outcome): boolean => [...some.records].every((record) => all.records.has(record));

type Tried = { faults: number; readonly lost: string[] };

/** A copy of a table's last row after it, with a fault in each of its members: what the message gave must be given beside it. */
const tryFaults = (venue: Venue, seed: VenueMessage, context: MapContext): Tried => {
  const tree = parseExact(Buffer.from(seed.payload).toString('utf8'));
  const tried: Tried = { faults: 0, lost: [] };
  const whole = read(venue, seed, context);
  // Changes of a book only make sense together.
  if (whole.fault !== null || whole.records.size === 0 || whole.layers.has('book')) return tried;
  for (const table of listTables(tree)) {
    const key = Array.isArray(table) ? String(table.length) : 'NEW-USD';
    const row = { ...(Object.values(table).at(-1) as Holder) };
    const asRow = (): unknown => (Array.isArray(Object.values(table)[0]) ? Object.values(row) : row);
    const readWith = (): Outcome => {
      table[key] = asRow();
      const payload = encode(tree);
      if (Array.isArray(table)) table.pop();
      else delete table[key];
      return read(venue, { ...seed, payload }, context);
    };
    if (!isWithin(whole, readWith())) continue;
    for (const name of Object.keys(row)) {
      const held = row[name];
      if (isHolder(held)) continue;
      row[name] = 'no figure';
      const after = readWith();
      row[name] = held;
      tried.faults += after.fault === null ? 0 : 1;
      if (!isWithin(whole, after)) tried.lost.push(`${name}: ${after.fault} ${seed.payload.toString().slice(0, 300)}`);
    }
  }
  return tried;
};

t.test('a row that cannot be read leaves the other rows', (t) => {
  for (const venue of venues.values()) {
    const messages = readRecordings(venue);
    const context = makeContext(venue, messages);
    const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
    const tried = seeds.map((seed) => tryFaults(venue, seed, context));
    t.same(tried.flatMap(({ lost }) => lost).slice(0, 3), [], venue.id);
    const faults = tried.reduce((sum, one) => sum + one.faults, 0);
    // Its rows are named by their places in another list (hyperliquid.test.ts).
    t.ok(faults > 0 || venue.id === 'hyperliquid', `${venue.id}: ${faults} faults`);
  }
  t.end();
});

const TICKER_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats'];

const listHolders = (value: unknown): readonly Holder[] =>
  isHolder(value) ? [value, ...Object.values(value).flatMap(listHolders)] : [];

/** The message with `odd` as the value of a member, wherever it has it. */
const withOdd = (seed: VenueMessage, name: string, odd: unknown): VenueMessage => {
  const tree = parseExact(Buffer.from(seed.payload).toString('utf8'));
  for (const holder of listHolders(tree)) if (name in holder && !isHolder(holder[name])) holder[name] = odd;
  return { ...seed, payload: encode(tree) };
};

/** Layers of a ticker that no fault of one member takes alone. */
const findBound = (venue: Venue, seed: VenueMessage, context: MapContext): readonly string[] => {
  const whole = read(venue, seed, context);
  const layers = TICKER_LAYERS.filter((layer) => whole.layers.has(layer));
  if (whole.fault !== null || layers.length < 2) return [];
  const alone = new Set<string>();
  const holders = listHolders(parseExact(Buffer.from(seed.payload).toString('utf8')));
  for (const name of new Set(holders.flatMap((holder) => Object.keys(holder))))
    for (const odd of ['no figure', {}]) {
      const after = read(venue, withOdd(seed, name, odd), context);
      const lost = [...whole.records].filter((record) => !after.records.has(record));
      const of = new Set(lost.map((record) => (JSON.parse(record) as NormalisedRecord).layer));
      if (after.fault !== null && of.size === 1) for (const layer of of) alone.add(layer);
    }
  return layers.filter((layer) => !alone.has(layer));
};

t.test('a figure of a ticker that cannot be read leaves the other layers', (t) => {
  for (const venue of venues.values()) {
    const messages = readRecordings(venue);
    const context = makeContext(venue, messages);
    const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
    const bound = seeds.flatMap((seed) =>
      findBound(venue, seed, context).map((layer) => `${layer} of ${seed.payload.toString().slice(0, 300)}`),
    );
    t.same(bound, [], venue.id);
  }
  t.end();
});

/** Elements of an answer, by the path of the venue's facts: `*` is every member. */
const listElements = (tree: unknown, path: string): readonly Holder[] => {
  const steps = path.split('.').filter((step) => step !== '');
  const found = steps.reduce<readonly unknown[]>(
    (held, step) => held.flatMap((one) => (!isHolder(one) ? [] : step === '*' ? Object.values(one) : [one[step]])),
    [tree],
  );
  return found.filter(isHolder);
};

/** The answer with a second listing like its first, where it has only one. */
const withTwin = (venue: Venue, message: VenueMessage): VenueMessage => {
  const listings = readReference(venue, message)?.listings ?? [];
  const { paths, name } = factsAbout(venue).elements;
  if (listings.length !== 1) return message;
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  const lists: readonly unknown[] = paths
    .filter((path) => path.endsWith('*'))
    .flatMap((path) => listElements(tree, path.split('.').slice(0, -1).join('.')));
  for (const list of lists)
    if (Array.isArray(list) && isHolder(list[0])) list.push({ ...list[0], [name]: `B${String(list[0][name])}` });
  return { ...message, payload: encode(tree) };
};

/** Undefined: the member is absent. */
const ODD: readonly unknown[] = ['no figure', -1, [], {}, null, undefined];

const checkListings = (t: { readonly fail: (why: string) => void }, venue: Venue, message: VenueMessage): number => {
  const { elements } = factsAbout(venue);
  const listed = (payload: Buffer) => readReference(venue, { ...message, payload });
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  const before = listed(encode(tree))?.listings.map(({ venue_symbol }) => venue_symbol) ?? [];
  const rows = elements.paths.flatMap((path) => listElements(tree, path));
  const row = rows.find((one) => before.includes(String(one[elements.name])));
  // A lone listing's answer is refused whole.
  if (before.length < 2 || row === undefined) return 0;
  let unreadable = 0;
  for (const name of Object.keys(row))
    for (const odd of ODD) {
      const held = row[name];
      row[name] = odd;
      const after = listed(encode(tree));
      row[name] = held;
      const now = new Set(after?.listings.map(({ venue_symbol }) => venue_symbol));
      const gone = before.filter((symbol) => !now.has(symbol));
      if (gone.length > 1) t.fail(`${venue.id}: ${name} of one listing hides ${gone.length}`);
      const hidden = gone.filter((symbol) => after === null || !mayExist(after, symbol));
      // The kind of an instrument may say that it is no perpetual.
      const decides = factsAbout(venue).deciding.includes(name) || name === elements.name || name === 'displayName';
      if (hidden.length > 0 && !decides) t.fail(`${venue.id}: ${name} ${JSON.stringify(odd)} delists ${hidden}`);
      unreadable += after?.unreadable?.length ?? 0;
    }
  const table = listTables(tree).find((one) => Object.values(one).includes(row));
  const [place] = Object.entries(table ?? {}).find(([, one]) => one === row) ?? [];
  if (table === undefined || place === undefined) return unreadable;
  table[place] = null;
  const after = listed(encode(tree));
  const isHidden = (symbol: string): boolean => after === null || !mayExist(after, symbol);
  if (isHidden(String(row[elements.name]))) t.fail(`${venue.id}: null in a listing's place delists it`);
  return unreadable;
};

/** The answer without its listings. */
const withoutRows = (venue: Venue, message: VenueMessage): VenueMessage => {
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  const { paths } = factsAbout(venue).elements;
  for (const list of paths.flatMap((path) => listElements(tree, path.split('.').slice(0, -1).join('.'))))
    if (Array.isArray(list)) list.length = 0;
    else for (const name of Object.keys(list)) delete list[name];
  return { ...message, payload: encode(tree) };
};

t.test('an answer without listings delists none', (t) => {
  for (const venue of venues.values()) {
    const gone = readAnswers(venue).flatMap((message) => {
      const known = readReference(venue, message)?.listings ?? [];
      const after = readReference(venue, withoutRows(venue, message));
      return known.filter(({ venue_symbol }) => after !== null && !mayExist(after, venue_symbol));
    });
    t.same(
      gone.map(({ venue_symbol }) => venue_symbol),
      [],
      venue.id,
    );
  }
  t.end();
});

t.test('a listing that cannot be read is neither delisted nor hides another', (t) => {
  for (const venue of venues.values()) {
    const answers = readAnswers(venue).map((message) => withTwin(venue, message));
    const counts = answers.map((message) => checkListings(t, venue, message));
    t.ok(
      counts.some((count) => count > 0),
      `${venue.id}: ${counts.length} answers`,
    );
  }
  t.end();
});
