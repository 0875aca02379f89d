// What a mapper keeps passes through a checkpoint, which is JSON, in the middle of a session.
import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { formatMapper } from '../../../processors/task/state-json.ts';
import { fixturePath, recordingsIn } from '../../support/venues/recordings.ts';

/** Messages from one restore to the next; prime, so that a repeated order of messages does not hide one of their kinds. */
const RESTORED_EACH = 23;

const restore = (state: MapState): void => {
  const text = formatMapper(state);
  const restored = JSON.parse(text) as MapState;
  // Whoever writes its own JSON writes what JSON.stringify would.
  assert.deepEqual(restored, JSON.parse(JSON.stringify(state)));
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, restored);
};

const restoreOften = (venue: Venue): Venue => {
  let messages = 0;
  return {
    ...venue,
    map: (state, message, context) => {
      messages += 1;
      if (messages % RESTORED_EACH === 0) restore(state);
      return venue.map(state, message, context);
    },
  };
};

const hashRecords = async (venue: Venue): Promise<string> => {
  const hash = createHash('sha256');
  const files = recordingsIn(venue.id).map(fixturePath);
  await normalise({ venue, files, assembled: false, write: (line) => void hash.update(`${line}\n`) });
  return hash.digest('hex');
};

for (const venue of venues.values()) {
  t.test(`${venue.id}: a state that was restored from its JSON gives the same records`, async (t) => {
    t.equal(await hashRecords(restoreOften(venue)), await hashRecords(venue));
  });
}
