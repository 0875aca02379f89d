// Listings that the collector follows: one whose row cannot be read is followed as it was, one that is absent no longer.
import t from 'tap';
import { followReference } from '../../../ingest/feed/reference.ts';
import type { RestClient } from '../../../ingest/feed/rest-client.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { waitFor } from '../../support/wait.ts';
import { paper, silentLog } from '../paper-venue.ts';

/** `?B`: the row of `B` cannot be read; `?`: not even its name. */
const venue: Venue = {
  ...paper,
  referenceEveryMs: 1,
  mapReference: (state, message) => {
    const rows = JSON.parse(Buffer.from(message.payload).toString()) as string[];
    const read = Buffer.from(JSON.stringify(rows.filter((row) => !row.startsWith('?'))));
    const answer = paper.mapReference(state, { ...message, payload: read });
    const toRow = (row: string) =>
      ({ symbol: row === '?' ? null : row.slice(1), code: 'VENUE_BAD_FRAME', kind: 'bad_shape', text: 'odd' }) as const;
    return answer && { ...answer, unreadable: rows.filter((row) => row.startsWith('?')).map(toRow) };
  },
};

t.test('a listing whose row cannot be read is followed until it is absent', async (t) => {
  const answers = [
    ['A', 'B'],
    ['A', '?B'],
    ['A', '?B', '?N'],
    ['A', '?'],
    ['A', 'B'],
    ['A', '?C'],
  ];
  const followed: string[] = [];
  let asked = 0;
  const reference = followReference({
    venue,
    endpoints: { rest: 'http://localhost' },
    rest: {
      ask: async () => Buffer.from(JSON.stringify(answers[Math.min(asked++, answers.length - 1)])),
    } as unknown as RestClient,
    source: { response: () => undefined } as never,
    ready: async () => undefined,
    nowMicros: () => 1,
    onListings: (listings) => void followed.push(listings.map(({ venue_symbol }) => venue_symbol).join()),
    random: () => 0,
    log: silentLog,
  });
  await waitFor('each answer', () => followed.length >= answers.length);
  reference.stop();
  t.same(followed.slice(0, answers.length), ['A,B', 'A,B', 'A,B', 'A,B', 'A,B', 'A']);
});
