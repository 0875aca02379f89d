// Listings that the collector follows: one whose row cannot be read is followed as it was, one that is absent no longer.
import { pino } from 'pino';
import t from 'tap';
import { followReference } from '../../../ingest/feed/reference.ts';
import { type RestClient, RestError } from '../../../ingest/feed/rest-client.ts';
import type { VenueRequest } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { paper, silentLog } from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';

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

const makeOptions = (of: Venue, ask: (request: VenueRequest) => Promise<Buffer>) => ({
  venue: of,
  endpoints: { rest: 'http://localhost' },
  rest: { ask } as unknown as RestClient,
  source: { response: () => undefined } as never,
  ready: async () => undefined,
  countStandstills: () => 0,
  nowMicros: () => 1,
  random: () => 0.999,
  log: silentLog,
});

const follow = (
  of: Venue,
  ask: (request: VenueRequest) => Promise<Buffer>,
  onListings: (symbols: string) => void,
): ReturnType<typeof followReference> =>
  followReference({
    ...makeOptions(of, ask),
    onListings: (listings) => onListings(listings.map(({ venue_symbol }) => venue_symbol).join()),
  });

t.test('a listing is followed until it is absent from an answer that has others, which can all be read', async (t) => {
  const answers = [['A', 'B'], ['A', '?B'], ['A', '?B', '?N'], ['A', '?'], ['A', 'B'], [], ['A', '?C']];
  const followed: string[] = [];
  let asked = 0;
  const reference = follow(
    venue,
    async () => Buffer.from(JSON.stringify(answers[Math.min(asked++, answers.length - 1)])),
    (symbols) => void followed.push(symbols),
  );
  await waitFor('each answer', () => followed.length >= answers.length);
  reference.stop();
  t.same(followed.slice(0, answers.length), ['A,B', 'A,B', 'A,B', 'A,B', 'A,B', 'A,B', 'A']);
});

t.test('the listings of one host are asked for in their time while another host answers nothing', async (t) => {
  const [up, down] = ['http://up', 'http://down'].map(
    (host) => ({ method: 'GET', url: `${host}/l`, weight: 1 }) as const,
  );
  const asked: string[] = [];
  const answers = [['A'], ['A', 'NEW']];
  const followed: string[] = [];
  const reference = follow(
    { ...venue, reference: () => [up, down] as VenueRequest[] },
    async (request) => {
      asked.push(request.url);
      if (request === down) throw new RestError(request, 503);
      return Buffer.from(JSON.stringify(answers.shift() ?? ['A', 'NEW']));
    },
    (symbols) => void followed.push(symbols),
  );
  await waitFor('two failures', () => asked.filter((url) => url === down?.url).length >= 2);
  reference.stop();
  t.same(followed, ['A', 'A,NEW']);
});

t.test('listings that may have changed during a long round are asked for once it ends', async (t) => {
  const { now } = performance;
  let passedMs = 0;
  t.intercept(performance, 'now', { value: () => now.call(performance) + passedMs });
  const answers = [['A'], ['A', 'NEW'], ['A', 'NEW']];
  const followed: string[] = [];
  let asked = 0;
  const held = Promise.withResolvers<void>();
  const reference = follow(
    { ...venue, referenceEveryMs: 3_600_000 },
    async () => {
      const answer = Buffer.from(JSON.stringify(answers[asked++]));
      if (asked === 1) await held.promise;
      return answer;
    },
    (symbols) => void followed.push(symbols),
  );
  await waitFor('the round has begun', () => asked === 1);
  passedMs = 11_000;
  reference.hurry();
  held.resolve();
  await waitFor('the next round', () => followed.length >= 2);
  reference.hurry();
  await new Promise(setImmediate);
  t.same([asked, followed], [2, ['A', 'A,NEW']], 'and no sooner than ten seconds after that one began');
  reference.stop();
});

t.test('of listings that cannot be read the log names twenty, and how many there are', async (t) => {
  const rows = ['A', ...Array.from({ length: 5_000 }, (_, i) => `?B${i}`)];
  const lines: string[] = [];
  const reference = followReference({
    ...makeOptions(venue, async () => Buffer.from(JSON.stringify(rows))),
    onListings: () => undefined,
    log: pino({}, { write: (line) => void lines.push(line) }),
  });
  await waitFor('a line', () => lines.length > 0);
  reference.stop();
  const { count, unreadable } = JSON.parse(lines[0] ?? '') as { count: number; unreadable: unknown[] };
  t.same([count, unreadable.length], [5_000, 20]);
});
