// Every recorded kind of message of every venue, damaged many times: it gives records, nothing or a `VenueError`, and no figure it does not hold.
//
// MUTATIONS=10000 node test/ingest/venue-mutations.test.ts: so many a venue, with what became of them.
import { readdirSync } from 'node:fs';
import t from 'tap';
import type { MapContext, MapState, Venue, VenueMessage } from '../../ingest/venue.ts';
import { venues } from '../../ingest/venues/index.ts';
import type { ListingRecord } from '../../schemas/records.ts';
import { isRaw, mutate, NO_WORD, parseExact, randomOf, replaceEach } from '../support/mutations.ts';
import { fixturePath, readRecording, toVenueMessage } from '../support/recordings.ts';
import { digitsIn, findInvented, readDamaged } from '../support/venue-checks.ts';

const MUTATIONS = Number(process.env.MUTATIONS ?? '1000');
/** Elements of an array that a seed keeps: more of the same make no other kind. */
const KEPT = 3;
/** Damaged frames that one state goes through before a new one is begun. */
const SESSION = 50;

const recordingsOf = (venue: Venue): readonly VenueMessage[] =>
  readdirSync(fixturePath(venue.id))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name) && !name.includes('binary'))
    .flatMap((name) => readRecording(`${venue.id}/${name}`))
    .filter(({ dir }) => dir === 'in')
    .map(toVenueMessage);

const shortened = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, KEPT).map(shortened);
  if (typeof value !== 'object' || value === null || isRaw(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 100)
      .map(([key, item]) => [key, shortened(item)]),
  );
};

/** What makes two messages of one kind: the members they have, the channel they name, the path that was asked. */
const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return `[${[...new Set(value.map(kindOf))].join()}]`;
  if (typeof value !== 'object' || value === null || isRaw(value)) return '';
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => (/\d|^[A-Z]{3,}/.test(key) ? '' : `${key}:${kindOf(item)}`))
    .join();
};

/** One shortened message of each kind. */
const seedsOf = (messages: readonly VenueMessage[]): readonly VenueMessage[] => {
  const seeds = new Map<string, VenueMessage>();
  for (const message of messages) {
    let tree: unknown;
    try {
      tree = shortened(parseExact(Buffer.from(message.payload).toString('utf8')));
    } catch {
      continue;
    }
    const kind = `${message.request?.replace(/[?].*/, '') ?? ''} ${kindOf(tree)}`;
    if (!seeds.has(kind)) seeds.set(kind, { ...message, payload: Buffer.from(JSON.stringify(tree)) });
  }
  return [...seeds.values()];
};

const contextOf = (venue: Venue, messages: readonly VenueMessage[]): MapContext => {
  const listings = new Map<string, ListingRecord>();
  const state = {};
  for (const message of messages)
    try {
      for (const record of venue.mapReference(state, message)?.listings ?? [])
        listings.set(record.venue_symbol, record);
    } catch {
      // A recorded refusal.
    }
  return { listings };
};

type Outcome = { gave: number; nothing: number; kinds: number };

/** Damages seeds in turn; every second damaged frame continues a session whose earlier figures the state may hold. */
const damageAll = (venue: Venue): Outcome | string => {
  const messages = recordingsOf(venue);
  const seeds = seedsOf(messages);
  const context = contextOf(venue, messages);
  const random = randomOf(seeds.length);
  const outcome: Outcome = { gave: 0, nothing: 0, kinds: seeds.length };
  let session: { readonly state: MapState; text: string } = { state: {}, text: '' };
  for (let run = 0; run < MUTATIONS; run++) {
    const seed = seeds[Math.floor(run / 2) % seeds.length];
    if (seed === undefined) return 'no recording';
    if (run % SESSION === 0) session = { state: {}, text: '' };
    const isAlone = run % 2 === 0;
    if (!isAlone) {
      readDamaged({ venue, message: seed, state: session.state, context });
      session.text += Buffer.from(seed.payload).toString('utf8');
    }
    const payload = mutate(Buffer.from(seed.payload), random);
    const text = payload.toString('utf8');
    const state = isAlone ? {} : session.state;
    const result = readDamaged({ venue, message: { ...seed, payload }, state, context });
    if (typeof result === 'string') return `${result}: ${text.slice(0, 400)}`;
    if (!isAlone) session.text += ` ${text}`;
    const held = isAlone ? text : session.text;
    if (result.length > 0) {
      const invented = findInvented(venue, result, { digits: digitsIn(held), text: held });
      if (invented !== null) return `${invented} is not in ${text.slice(0, 400)}`;
    }
    outcome[result.length > 0 ? 'gave' : 'nothing'] += 1;
  }
  return outcome;
};

/** What tables of words and readers of text must stand, in each member's place: a member every object has, and an object that is no text. */
const findUnsafeWord = (venue: Venue): string | null => {
  const messages = recordingsOf(venue);
  const context = contextOf(venue, messages);
  for (const seed of seedsOf(messages))
    for (const word of ['constructor', NO_WORD])
      for (const payload of replaceEach(Buffer.from(seed.payload), word)) {
        const result = readDamaged({ venue, message: { ...seed, payload }, state: {}, context });
        if (typeof result === 'string') return `${result}: ${payload.toString('utf8').slice(0, 1000)}`;
      }
  return null;
};

for (const venue of venues.values())
  t.test(`${venue.id}: a damaged message throws nothing but VenueError and gives no figure it does not hold`, (t) => {
    const outcome = damageAll(venue);
    if (typeof outcome === 'string') t.fail(outcome);
    else t.pass(`${outcome.kinds} kinds; ${outcome.gave} gave records, ${outcome.nothing} nothing or a VenueError`);
    t.equal(findUnsafeWord(venue), null, 'a word in each place');
    t.end();
  });
