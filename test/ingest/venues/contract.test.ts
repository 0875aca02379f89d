// Contract of every venue of the registry: its plan, its limits, its results for damaged messages, exchanged members and repeats, coverage of its recordings.
//
// MUTATIONS=100000 node test/ingest/venues/contract.test.ts: number of damaged messages per venue; prints their outcomes.
import t from 'tap';
import { readStatement } from '../../../infra/dev/documents/venue-docs.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext, MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { type Chain, isWhole, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { createRandom, mutate, NO_WORD, replaceEach } from '../../support/mutations.ts';
import { digitsIn, findInvented, readDamaged, unpackTexts } from '../../support/venues/venue-checks.ts';
import { findUnrecorded } from '../../support/venues/venue-coverage.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import { findPlanFaults, planListings } from '../../support/venues/venue-plans.ts';
import {
  findDisagreement,
  findOddRecords,
  findUnknownFields,
  printRecords,
} from '../../support/venues/venue-records.ts';
import { chooseSeeds, makeContext, readAnswers, readRecordings } from '../../support/venues/venue-seeds.ts';
import { findExchangeable, readShapes } from '../../support/venues/venue-shapes.ts';

const MUTATIONS = Number(process.env.MUTATIONS ?? '5000');
/** Damaged frames that one state goes through before a new one is begun. */
const SESSION = 50;

/** Requests with each name of the path replaced in turn: by an encoded one, and by one whose encoding is wrong. */
const replaceNames = (request: string): (readonly [name: string, request: string])[] => {
  const [, host = '', path = '', query = ''] =
    /^(?:GET |POST )?(https?:[/][/][^/]+)?([/][^?]*)(.*)$/.exec(request) ?? [];
  const names = path.split('/');
  return names.slice(1).flatMap((_, i) =>
    ['币安人生_USDT', '%ff'].map((name) => {
      const encoded = names.with(i + 1, name === '%ff' ? name : encodeURIComponent(name));
      return [name, `GET ${host}${encoded.join('/')}${query}`] as const;
    }),
  );
};

type Input = {
  readonly venue: Venue;
  readonly messages: readonly VenueMessage[];
  readonly context: MapContext;
  /** One message of each kind: recorded ones, and those of the docs. */
  readonly seeds: readonly VenueMessage[];
};

const readInput = (venue: Venue): Input => {
  const messages = readRecordings(venue);
  const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
  return { venue, messages, context: makeContext(venue, messages), seeds };
};

let newest: Input | null = null;
/** Read once for the tests of a venue, which follow each other. */
const inputOf = (venue: Venue): Input => {
  if (newest?.venue !== venue) newest = readInput(venue);
  return newest;
};

type Outcome = { gave: number; nothing: number; kinds: number };

/** Damages seeds in turn; every second damaged frame continues a session whose earlier figures the state may hold. */
const damageAll = (venue: Venue): Outcome | string => {
  const { seeds, context } = inputOf(venue);
  const random = createRandom(seeds.length);
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
    if (result.length > 0) {
      const held = unpackTexts(isAlone ? text : session.text);
      const invented = findInvented(venue, result, { digits: digitsIn(held), text: held });
      if (invented !== null) return `${invented} is not in ${text.slice(0, 400)}`;
    }
    outcome[result.length > 0 ? 'gave' : 'nothing'] += 1;
  }
  return outcome;
};

/** Values that lookup tables and text readers must withstand, in each member's place: a member every object has, and an object that is no text. */
const findUnsafeWord = (venue: Venue): string | null => {
  const { seeds, context } = inputOf(venue);
  for (const seed of seeds)
    for (const word of ['constructor', NO_WORD])
      for (const payload of replaceEach(Buffer.from(seed.payload), word)) {
        const result = readDamaged({ venue, message: { ...seed, payload }, state: {}, context });
        if (typeof result === 'string') return `${result}: ${payload.toString('utf8').slice(0, 1000)}`;
      }
  return null;
};

for (const venue of venues.values()) {
  t.test(`${venue.id}: a plan covers each listing once, on slots of its shard, within the limits`, (t) => {
    const listings = [...makeContext(venue, readAnswers(venue)).listings.values()];
    t.ok(listings.length > 0, `${listings.length} recorded listings`);
    for (const shards of [1, 3]) t.same(findPlanFaults(planListings(venue, listings, shards)), [], `${shards} shards`);
    t.end();
  });

  t.test(`${venue.id}: a listing whose end has passed is not collected, whatever its status says`, (t) => {
    const listings = [...makeContext(venue, readAnswers(venue)).listings.values()];
    const ending = (after: number): readonly ListingRecord[] =>
      listings.map((one) => ({ ...one, values: { ...one.values, delisted_at: one.received_at + after } }));
    const listPlanned = (after: number): readonly string[] =>
      planListings(venue, ending(after), 1).slots.flatMap(({ covers }) =>
        covers.flatMap(({ symbols }) => symbols ?? []),
      );
    t.ok(listPlanned(1).length > 0, 'its end is known ahead');
    t.same(listPlanned(0), []);
    t.end();
  });

  t.test(`${venue.id}: a damaged message throws nothing but VenueError and gives no figure it does not hold`, (t) => {
    const outcome = damageAll(venue);
    if (typeof outcome === 'string') t.fail(outcome);
    else t.pass(`${outcome.kinds} kinds; ${outcome.gave} gave records, ${outcome.nothing} nothing or a VenueError`);
    t.equal(findUnsafeWord(venue), null, 'a word in each place');
    t.end();
  });

  t.test(
    `${venue.id}: a request's path in any encoding names a symbol or none, and throws nothing but VenueError`,
    (t) => {
      const { seeds, context } = inputOf(venue);
      for (const message of seeds) {
        for (const [name, request] of replaceNames(message.request ?? '')) {
          const renamed = { ...message, request };
          const mapped = readDamaged({ venue, message: renamed, state: {}, context });
          if (typeof mapped === 'string') t.fail(`${mapped}: ${request}`);
          else {
            const symbols = mapped.map(({ record }) => record.venue_symbol ?? '');
            t.notOk(
              symbols.some((symbol) => symbol.includes('%') && symbol !== name),
              request,
            );
          }
          t.doesNotThrow(() => venue.askedMinutes?.(renamed, context), request);
        }
      }
      t.end();
    },
  );

  t.test(`${venue.id}: exchanging any two members of a message changes its records or is refused`, (t) => {
    const shapes = readShapes(venue).filter(({ members }) => members.length > 1);
    t.ok(shapes.length > 0, `${shapes.length} shapes`);
    for (const shape of shapes) t.same(findExchangeable(venue, shape), [], shape.members.join());
    t.end();
  });

  t.test(`${venue.id}: a book message that comes twice is no gap`, (t) => {
    const numbered = { symbol: 'A', first: 11n, last: 11n, previous: 10n };
    let state = makeBookSync<null>();
    for (const chain of [
      { ...numbered, kind: 'snapshot', last: 10n } as const,
      { ...numbered, kind: 'update' } as const,
      { ...numbered, kind: 'update' } as const,
    ]) {
      const step = stepBookSync(venue.bookRule, state, { chain, payload: null });
      t.notOk(step.broke, chain.kind);
      state = step.state;
    }
    t.ok(isWhole(state));
    t.end();
  });

  t.test(`${venue.id}: a restarted numbering breaks a book, whether or not a diff came since its snapshot`, (t) => {
    const whole = { symbol: 'A', kind: 'snapshot', first: null, last: 1_000n, previous: null } as const;
    const next = { symbol: 'A', kind: 'update', first: 1_001n, last: 1_001n, previous: 1_000n } as const;
    const restarted = { symbol: 'A', kind: 'update', first: 5n, last: 5n, previous: 4n } as const;
    const isNumbered = venue.bookRule.continues({ last: 1_001n, joined: true }, restarted) === 'break';
    for (const before of isNumbered ? [[whole], [whole, next]] : []) {
      let state = makeBookSync<null>();
      for (const chain of before)
        state = stepBookSync(venue.bookRule, state, { chain, payload: null, receivedAt: 0 }).state;
      const message = { chain: restarted, payload: null, receivedAt: 11_000_000 };
      t.ok(stepBookSync(venue.bookRule, state, message).broke, before.at(-1)?.kind ?? '');
    }
    t.equal(isNumbered, factsAbout(venue).unnumbered !== true, 'its messages have numbers');
    t.end();
  });

  t.test(`${venue.id}: a hole in the numbering breaks a book, the next number does not`, (t) => {
    const { continues } = venue.bookRule;
    const book = { last: 1_000n, joined: true };
    const makeUpdate = (number: bigint): Chain => ({
      symbol: 'A',
      kind: 'update',
      first: number,
      last: number,
      previous: number - 1n,
    });
    t.equal(continues(book, makeUpdate(1_001n)), 'apply');
    t.equal(continues(book, makeUpdate(1_003n)), factsAbout(venue).unnumbered === true ? 'apply' : 'break');
    t.end();
  });

  t.test(`${venue.id}: the quick reads of a message agree with its records`, (t) => {
    const { messages, seeds, context } = inputOf(venue);
    for (const message of seeds) {
      const found = findDisagreement(venue, message, context);
      if (found !== null) t.fail(`${found}: ${message.request ?? ''} ${message.payload.toString().slice(0, 300)}`);
    }
    t.same(findUnknownFields(context, messages), [], 'its listings name fields of its messages');
    t.end();
  });

  t.test(
    `${venue.id}: the records of its recordings fit together, and its README states what is never recorded`,
    async (t) => {
      const records = await printRecords(venue);
      t.same(findOddRecords(venue, records).slice(0, 5), []);
      const unrecorded = findUnrecorded(venue, records);
      t.equal(readStatement(venue)['never recorded'], unrecorded.length === 0 ? 'nothing' : unrecorded.join(', '));
    },
  );
}
