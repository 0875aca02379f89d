// A member that a venue sends as null or as an empty text is one that it does not send: nothing is lost with it, nothing is made of it.
import t from 'tap';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord, NormalisedRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact } from '../../support/mutations.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import { chooseSeeds, makeContext, readRecordings, readReference } from '../../support/venues/venue-seeds.ts';
import { readShapes } from '../../support/venues/venue-shapes.ts';

type Holder = Record<string, unknown>;
type Reader = (message: VenueMessage) => unknown;

const listHolders = (value: unknown): readonly Holder[] => {
  if (typeof value !== 'object' || value === null || isRaw(value)) return [];
  const inner = Object.values(value).flatMap(listHolders);
  return Array.isArray(value) ? inner : [value as Holder, ...inner];
};

const isScalar = (value: unknown): boolean => typeof value !== 'object' || isRaw(value);

/** Names and words that say what a message or a listing is: an empty one is no name. */
const WORDS: ReadonlySet<string> = new Set(['symbol', 'instId', 'status', 'symbolType', 'action']);

/** What is read of a message; null when something of it is refused, or nothing is read. */
const toText = (read: Reader, message: VenueMessage): string | null => {
  try {
    const text = JSON.stringify(read(message), (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
    return text === undefined || text === '[]' ? null : text;
  } catch (error) {
    if (error instanceof VenueError) return null;
    throw error;
  }
};

/** Readers of the records and of the listings of a message; the first message of a subscription may be the past, hence it is read twice. */
const readersOf = (venue: Venue, context: MapContext): readonly Reader[] => [
  (message) => {
    const state = {};
    toText(() => venue.map(state, message, context), message);
    return venue.map(state, message, context).map(({ record, chain }) => ({ record, chain }));
  },
  (message) => {
    const answer = venue.mapReference({}, message);
    return answer?.unreadable?.length === 0 ? answer.listings : [];
  },
];

/** The message as a tree, and the message that the tree is now; null where it is no JSON. */
const openTree = (seed: VenueMessage): { readonly tree: unknown; readonly encode: () => VenueMessage } | null => {
  try {
    const tree = parseExact(Buffer.from(seed.payload).toString('utf8'));
    return { tree, encode: () => ({ ...seed, payload: Buffer.from(JSON.stringify(tree)) }) };
  } catch {
    return null;
  }
};

const readSeeds = (venue: Venue): { readonly seeds: readonly VenueMessage[]; readonly context: MapContext } => {
  const messages = readRecordings(venue);
  const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
  return { seeds, context: makeContext(venue, messages) };
};

type Tried = { members: number; readonly different: string[] };

/** Every member without which the message is still read whole. */
const tryMembers = (readers: readonly Reader[], seed: VenueMessage): Tried => {
  const tried: Tried = { members: 0, different: [] };
  const opened = openTree(seed);
  if (opened === null) return tried;
  const { tree, encode } = opened;
  for (const holder of listHolders(tree))
    for (const name of Object.keys(holder)) {
      const held = holder[name];
      if (!isScalar(held) || WORDS.has(name)) continue;
      for (const read of readers) {
        delete holder[name];
        const without = toText(read, encode());
        if (without !== null) {
          tried.members += 1;
          for (const none of [null, '']) {
            holder[name] = none;
            if (toText(read, encode()) !== without)
              tried.different.push(`${name} ${JSON.stringify(none)}: ${seed.payload.toString().slice(0, 200)}`);
          }
        }
        holder[name] = held;
      }
    }
  return tried;
};

for (const venue of venues.values()) {
  t.test(`${venue.id}: null and an empty text are read as a member that is missing`, (t) => {
    const { seeds, context } = readSeeds(venue);
    const readers = readersOf(venue, context);
    const tried = seeds.map((seed) => tryMembers(readers, seed));
    t.same(
      tried.flatMap(({ different }) => different),
      [],
    );
    t.ok(tried.some(({ members }) => members > 0));
    t.end();
  });
}

/** Holders with the names on the way to them: messages of other kinds and versions have other members at the same place. */
const listPlaces = (value: unknown, path = ''): readonly (readonly [path: string, holder: Holder])[] => {
  if (typeof value !== 'object' || value === null || isRaw(value)) return [];
  if (Array.isArray(value)) return value.flatMap((item) => listPlaces(item, path));
  const inner = Object.entries(value).flatMap(([name, item]) => listPlaces(item, `${path}/${name}`));
  return [[path, value as Holder], ...inner];
};

/** Members that any message may have: what it answers, and what went wrong. */
const ENVELOPE = ['event', 'op', 'error', 'id'] as const;
/** Members that hold a message of another kind, or that are keyed by symbol. */
const OTHER_SHAPES: ReadonlySet<string> = new Set(['channel', 'ch', 'markets', 'oraclePrices', 'trading']);

t.test('a null member of another kind or version of message changes nothing', (t) => {
  for (const venue of venues.values()) {
    const { seeds, context } = readSeeds(venue);
    const opened = seeds.flatMap((seed) => openTree(seed) ?? []);
    const names = new Map<string, Set<string>>([['', new Set(ENVELOPE)]]);
    for (const [path, holder] of opened.flatMap(({ tree }) => listPlaces(tree)))
      names.set(path, new Set([...(names.get(path) ?? []), ...Object.keys(holder)]));
    const different = new Set<string>();
    for (const read of readersOf(venue, context))
      for (const { tree, encode } of opened) {
        const before = toText(read, encode());
        const shapes = new Set<string>();
        for (const [path, holder] of before === null ? [] : listPlaces(tree)) {
          const shape = `${path} ${Object.keys(holder).join()}`;
          if (shapes.has(shape) || OTHER_SHAPES.has(path.split('/').at(-1) ?? '')) continue;
          shapes.add(shape);
          for (const name of names.get(path) ?? []) {
            if (name in holder || OTHER_SHAPES.has(name)) continue;
            holder[name] = null;
            if (toText(read, encode()) !== before) different.add(`${name} in${path}: ${shape.slice(0, 100)}`);
            delete holder[name];
          }
        }
      }
    t.same([...different], [], venue.id);
  }
  t.end();
});

const READINGS: ReadonlySet<string> = new Set(['ticker', 'mark', 'funding', 'oi', 'stats']);

/** Numbers that say what the answer is, or of what. */
const CODES: ReadonlySet<string> = new Set(['code']);

const isNumber = (value: unknown): boolean =>
  isRaw(value) || (typeof value === 'string' && value !== '' && Number.isFinite(Number(value)));

/** Records of a message read first; null: it is refused. */
const readRecords = (venue: Venue, message: VenueMessage, context: MapContext): readonly NormalisedRecord[] | null => {
  try {
    return venue.map({}, message, context).map(({ record }) => record);
  } catch (error) {
    if (error instanceof VenueError) return null;
    throw error;
  }
};

/** Whether a message holds readings alone; trades, books and candles are nothing without their figures. */
const areReadings = (records: readonly NormalisedRecord[] | null): records is readonly NormalisedRecord[] =>
  records !== null && records.length > 0 && records.every(({ layer }) => READINGS.has(layer));

/** Records of funding that have a rate and the coming settlement: one of them is left when the other is not sent. */
const countSettlements = (records: readonly NormalisedRecord[]): number =>
  records.filter(({ layer, values }) => {
    const { funding = null, next_funding_at = null } = layer === 'funding' ? values : {};
    return funding !== null && next_funding_at !== null;
  }).length;

const countFundings = (records: readonly NormalisedRecord[]): number =>
  records.filter(({ layer }) => layer === 'funding').length;

t.test('a reading whose figure is not sent is less, or none, at every venue', (t) => {
  const lost: string[] = [];
  for (const venue of venues.values()) {
    const { seeds, context } = readSeeds(venue);
    let members = 0;
    for (const seed of seeds) {
      const opened = openTree(seed);
      const whole = readRecords(venue, seed, context);
      if (opened === null || !areReadings(whole)) continue;
      for (const holder of listHolders(opened.tree))
        for (const name of Object.keys(holder)) {
          const held = holder[name];
          if (!isNumber(held) || CODES.has(name)) continue;
          members += 1;
          for (const none of [null, '']) {
            holder[name] = none;
            const left = readRecords(venue, opened.encode(), context);
            if (left === null || countFundings(left) < countSettlements(whole))
              lost.push(`${venue.id} ${name} ${seed.payload.toString().slice(0, 100)}`);
          }
          holder[name] = held;
        }
    }
    t.ok(members > 0, venue.id);
  }
  t.same(lost, []);
  t.end();
});

/** Rules of listings that name the venue's field, and have no value. */
const listEmptyRules = (venue: Venue, listings: readonly ListingRecord[]): readonly string[] =>
  listings.flatMap(({ venue_symbol, values }) =>
    Object.keys(values.rules_normalisation)
      .filter((rule) => (values as Readonly<Record<string, unknown>>)[rule] === null)
      .map((rule) => `${venue.id}: ${rule} of ${venue_symbol}`),
  );

t.test(
  'a listing without one of its members is listed, and a rule without a value names no field of the venue (V-03)',
  (t) => {
    const empty = new Set<string>();
    for (const venue of venues.values()) {
      const lost = new Set<string>();
      for (const seed of readSeeds(venue).seeds) {
        const opened = openTree(seed);
        const whole = readReference(venue, seed)?.listings;
        if (opened === null || whole === undefined) continue;
        for (const holder of listHolders(opened.tree))
          for (const name of Object.keys(holder)) {
            const { [name]: held, ...rest } = holder;
            delete holder[name];
            const left = readReference(venue, opened.encode())?.listings ?? [];
            for (const rule of listEmptyRules(venue, left)) empty.add(rule);
            if (left.length < whole.length && isScalar(held)) lost.add(name);
            Object.assign(holder, rest, { [name]: held });
          }
      }
      t.same([...lost].toSorted(), factsAbout(venue).needed.toSorted(), `${venue.id}: needed`);
    }
    t.same([...empty], []);
    t.end();
  },
);

const FIGURES = ['volume_24h', 'turnover_24h', 'change_24h'] as const;
type Figure = (typeof FIGURES)[number];
type Day = Readonly<Partial<Record<Figure, string>>>;

/** Figures of the day of a message about one listing; null: it has none, or cannot be read. */
const readDay = (venue: Venue, message: VenueMessage, context: MapContext): Day | null => {
  try {
    const days = venue.map({}, message, context).flatMap(({ record }) => (record.layer === 'stats' ? [record] : []));
    const [day] = days;
    if (day === undefined || days.length > 1) return null;
    const figures = FIGURES.map((name) => [name, day.values[name]] as const);
    return Object.fromEntries(figures.filter(([, figure]) => figure !== null));
  } catch (error) {
    if (error instanceof VenueError) return null;
    throw error;
  }
};

/** For each figure of the message's day that a member of its own holds: what is left when the others are not sent. */
const listLonely = (
  venue: Venue,
  seed: VenueMessage,
  context: MapContext,
): readonly (readonly [Figure, Day | null])[] => {
  const opened = openTree(seed);
  const whole = readDay(venue, seed, context);
  if (opened === null || whole === null) return [];
  const { tree, encode } = opened;
  const held = new Map<Figure, readonly [holder: Holder, name: string]>();
  for (const holder of listHolders(tree))
    for (const name of Object.keys(holder)) {
      const { [name]: value, ...rest } = holder;
      if (!isScalar(value)) continue;
      delete holder[name];
      const without = readDay(venue, encode(), context) ?? {};
      for (const key of Object.keys(holder)) delete holder[key];
      Object.assign(holder, { ...rest, [name]: value });
      const gone = FIGURES.filter((figure) => whole[figure] !== undefined && without[figure] === undefined);
      if (gone.length === 1 && gone[0] !== undefined) held.set(gone[0], [holder, name]);
    }
  return [...held.keys()].map((kept) => {
    const others = [...held].filter(([figure]) => figure !== kept).map(([, [holder, name]]) => ({ holder, name }));
    const values = others.map(({ holder, name }) => holder[name]);
    for (const { holder, name } of others) delete holder[name];
    const left = readDay(venue, encode(), context);
    for (const [i, { holder, name }] of others.entries()) holder[name] = values[i];
    return [kept, left] as const;
  });
};

t.test('each figure of the day is a record without the others', (t) => {
  let alone = 0;
  for (const venue of venues.values()) {
    const { seeds, context } = readSeeds(venue);
    for (const seed of seeds)
      for (const [kept, left] of listLonely(venue, seed, context)) {
        alone += 1;
        t.ok(left?.[kept], `${venue.id}: ${kept} of ${seed.payload.toString().slice(0, 200)}`);
      }
  }
  t.ok(alone > 30, `${alone} figures`);
  t.end();
});
