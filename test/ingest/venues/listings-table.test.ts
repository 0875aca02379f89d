// Units of every listing in the recorded reference answers (V-04): a reviewed table. GOLDEN_UPDATE=1 writes it again.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import t from 'tap';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { fixturePath, readRecording, recordingsIn, toVenueMessage } from '../../support/venues/recordings.ts';
import { readReference } from '../../support/venues/venue-seeds.ts';

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

const listingsIn = (venue: Venue, recording: string): readonly ListingRecord[] => {
  const state = {};
  return readRecording(recording)
    .filter(({ dir, kind }) => dir === 'in' && kind === 'rest')
    .flatMap((line) => readReference(venue, toVenueMessage(line), state)?.listings ?? []);
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

const listLines = (venue: Venue): readonly string[] =>
  recordingsIn(venue.id).flatMap((recording) =>
    [...new Set(listingsIn(venue, recording).map((record) => toLine(record, basename(recording))))].toSorted(),
  );

t.test('every recorded listing has the base, multiplier, contract size and kind of the table', (t) => {
  const now = [COLUMNS.join('\t'), ...[...venues.values()].flatMap(listLines)];
  if (process.env.GOLDEN_UPDATE === '1') writeFileSync(GOLDEN, `${now.join('\n')}\n`);
  t.same(
    now,
    readFileSync(GOLDEN, 'utf8').trimEnd().split('\n'),
    'a changed line was looked at: GOLDEN_UPDATE=1 writes the table',
  );
  t.end();
});
