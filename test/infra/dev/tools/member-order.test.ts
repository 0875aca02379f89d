// Every record is printed with its members in the documented order (N-01): of every recording of every venue, and of what its messages become with
// other enumeration values of the venue in them, since no recording contains each (for example a liquidation).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { normalise } from '../../../../infra/dev/tools/normalise.ts';
import { VenueError, type VenueMessage } from '../../../../ingest/venues/contract/listings.ts';
import type { MapContext, Mapped } from '../../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import { findLineDisorder, findValuesDisorder } from '../../../support/documents/member-order.ts';
import { replaceWords } from '../../../support/mutations.ts';
import { fixturePath } from '../../../support/venues/recordings.ts';
import { chooseSeeds, makeContext, readRecordings } from '../../../support/venues/venue-seeds.ts';

/** Reference answers first: books are valued by their listings. */
const listFiles = (venue: Venue): readonly string[] =>
  readdirSync(fixturePath(venue.id))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name))
    .toSorted((a, b) => Number(a.includes('ws')) - Number(b.includes('ws')) || (a < b ? -1 : 1))
    .map((name) => fixturePath(`${venue.id}/${name}`));

type Disorder = { readonly records: number; readonly faults: ReadonlyMap<string, string> };

/** One line of each fault. */
const findDisorder = async (venue: Venue, assembled: boolean): Promise<Disorder> => {
  const faults = new Map<string, string>();
  let records = 0;
  const write = (line: string): void => {
    records++;
    const fault = findLineDisorder(line);
    if (fault !== null && !faults.has(fault)) faults.set(fault, line.slice(0, 300));
  };
  await normalise({ venue, files: listFiles(venue), assembled, write });
  return { records, faults };
};

const SOURCES = join(import.meta.dirname, '../../../../ingest/venues');

/** The enumeration values in a venue's files, and in those of the venue whose messages it shares. */
const readWords = ({ id }: Venue): readonly string[] => {
  const folder = join(SOURCES, id === 'aster' ? 'binance' : id);
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
  return [...new Set([...text.matchAll(/'([A-Za-z]\w{0,30})'/g)].map(([, word]) => word as string))];
};

const mapOrNothing = (venue: Venue, message: VenueMessage, context: MapContext): readonly Mapped[] => {
  try {
    return venue.map({}, message, context);
  } catch (error) {
    if (error instanceof VenueError) return [];
    throw error;
  }
};

/** Lists of instruments have one value a line, and no event. */
const LONG_MESSAGE = 4_096;

const disorderOfWords = (venue: Venue): Disorder => {
  const faults = new Map<string, string>();
  const messages = readRecordings(venue);
  const context = makeContext(venue, messages);
  const words = readWords(venue);
  let records = 0;
  const seeds = chooseSeeds(messages).filter(({ payload }) => payload.byteLength < LONG_MESSAGE);
  for (const seed of seeds)
    for (const payload of replaceWords(Buffer.from(seed.payload), words))
      for (const { record } of mapOrNothing(venue, { ...seed, payload }, context)) {
        records++;
        const fault = findValuesDisorder(record.layer, record.values);
        if (fault !== null) faults.set(fault, payload.toString('utf8').slice(0, 300));
      }
  return { records, faults };
};

for (const venue of venues.values())
  t.test(`${venue.id}: members are in the documented order`, async (t) => {
    for (const assembled of [false, true]) {
      const { records, faults } = await findDisorder(venue, assembled);
      t.same([...faults], [], `${records} lines${assembled ? ', books assembled' : ''}`);
      t.ok(records > 0);
    }
    const { records, faults } = disorderOfWords(venue);
    t.same([...faults], [], `${records} records of messages with other words`);
    t.ok(records > 0);
  });
