// All records of the recordings, plain and with books assembled, as one hash a venue: work on speed changes none. GOLDEN_UPDATE=1 writes them again.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { fixturePath, recordingsIn } from '../../support/venues/recordings.ts';

const GOLDEN = fixturePath('record-hashes.tsv');
const COLUMNS = ['venue', 'records', 'records with books assembled', 'sha256 of their lines'];

const makeLine = async (venue: Venue): Promise<string> => {
  const hash = createHash('sha256');
  const files = recordingsIn(venue.id).map(fixturePath);
  const records: number[] = [];
  for (const assembled of [false, true]) {
    const counts = await normalise({ venue, files, assembled, write: (line) => void hash.update(`${line}\n`) });
    records.push(counts.records);
  }
  return [venue.id, ...records, hash.digest('hex')].join('\t');
};

t.test('the recordings give the records they gave', async (t) => {
  const now = [COLUMNS.join('\t')];
  for (const venue of venues.values()) now.push(await makeLine(venue));
  if (process.env.GOLDEN_UPDATE === '1') writeFileSync(GOLDEN, `${now.join('\n')}\n`);
  t.same(
    now,
    readFileSync(GOLDEN, 'utf8').trimEnd().split('\n'),
    'a changed hash was looked at with `npm run normalise`: GOLDEN_UPDATE=1 writes the table',
  );
});
