// What every listing of the recorded reference answers counts in (V-04): a table that a person has read. GOLDEN_UPDATE=1 writes it anew.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { fixturePath, readRecording, toVenueMessage } from '../../support/recordings.ts';

const GOLDEN = fixturePath('listings.tsv');
const COLUMNS = [
  'venue',
  'venue_symbol',
  'instrument',
  'base',
  'base_venue_alias',
  'quote',
  'multiplier',
  'contract_size',
  'quantity_unit',
  'venue_kind',
  'recording',
];

const answersOf = (venue: Venue, file: string): readonly ListingRecord[] => {
  const state = {};
  return readRecording(`${venue.id}/${file}`)
    .filter(({ dir, kind }) => dir === 'in' && kind === 'rest')
    .flatMap((line) => {
      try {
        return venue.mapReference(state, toVenueMessage(line))?.listings ?? [];
      } catch (error) {
        // Other answers of the same recording, and refusals.
        if (error instanceof VenueError) return [];
        throw error;
      }
    });
};

const toLine = ({ venue, venue_symbol, values }: ListingRecord, file: string): string =>
  [
    venue,
    venue_symbol,
    values.instrument,
    values.base,
    values.base_venue_alias ?? '',
    values.quote,
    values.multiplier ?? '?',
    values.contract_size ?? '?',
    values.quantity_unit,
    values.venue_kind ?? '?',
    file,
  ].join('\t');

const linesOf = (venue: Venue): readonly string[] =>
  readdirSync(fixturePath(venue.id))
    .filter((name) => /\.ndjson(\.gz)?$/.test(name) && !name.includes('binary'))
    .toSorted()
    .flatMap((file) => [...new Set(answersOf(venue, file).map((record) => toLine(record, file)))].toSorted());

t.test('every recorded listing has the base, multiplier, contract size and kind of the table', (t) => {
  const now = [COLUMNS.join('\t'), ...[...venues.values()].flatMap(linesOf)];
  if (process.env.GOLDEN_UPDATE === '1') writeFileSync(GOLDEN, `${now.join('\n')}\n`);
  t.same(
    now,
    readFileSync(GOLDEN, 'utf8').trimEnd().split('\n'),
    'a changed line was looked at: GOLDEN_UPDATE=1 writes the table',
  );
  t.end();
});
