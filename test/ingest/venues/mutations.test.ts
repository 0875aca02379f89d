// Every recorded kind of message of every venue, damaged many times: it gives records, nothing or a `VenueError`, and no figure it does not hold.
//
// MUTATIONS=10000 node test/ingest/venues/mutations.test.ts: so many a venue, with what became of them.
import t from 'tap';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { mutate, NO_WORD, randomOf, replaceEach } from '../../support/mutations.ts';
import { digitsIn, findInvented, readDamaged } from '../../support/venue-checks.ts';
import { contextOf, recordingsOf, seedsOf } from '../../support/venue-seeds.ts';

const MUTATIONS = Number(process.env.MUTATIONS ?? '1000');
/** Damaged frames that one state goes through before a new one is begun. */
const SESSION = 50;

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
