// A part of a message that cannot be read, in a task: one dead letter, the rest is applied, and no listing is taken for delisted.
import t from 'tap';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import { UnreadablePart } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { paperVenue } from '../../support/tasks/paper-log.ts';
import { listReadings, listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';

type Answer = {
  readonly listings: readonly { readonly symbol: string }[];
  readonly unreadable?: readonly (string | null)[];
};

const parse = <T>(payload: Uint8Array): T => JSON.parse(Buffer.from(payload).toString()) as T;

/** An answer names the listings that cannot be read; a frame with `part` has one more row, which cannot be read; one with `all` has several. */
const venue: Venue = {
  ...paperVenue,
  mapReference: (state, message) => {
    const answer = paperVenue.mapReference(state, message);
    const { unreadable = [] } = parse<Answer>(message.payload);
    const toRow = (symbol: string | null) =>
      ({ symbol, code: 'VENUE_BAD_FRAME', kind: 'bad_shape', text: 'odd' }) as const;
    return answer && { ...answer, unreadable: unreadable.map(toRow) };
  },
  map: (state, message, context) => {
    const { all } = parse<{ readonly all?: readonly object[] }>(message.payload);
    const toMessage = (of: object) => ({ ...message, payload: Buffer.from(JSON.stringify(of)) });
    if (all !== undefined) return all.flatMap((of) => paperVenue.map(state, toMessage(of), context));
    const mapped = paperVenue.map(state, message, context);
    if (!Buffer.from(message.payload).includes('"part"')) return mapped;
    throw new UnreadablePart(new VenueError('VENUE_BAD_FIGURE', 'odd'), mapped);
  },
};

const listing = (symbol: string): object => ({
  ...{ symbol, base: symbol, kind: 'linear', unit: 'base', multiplier: '1', size: '1' },
});

const run = (answers: readonly object[], frame?: object) => {
  const log = new TestLog();
  log.capability(venue);
  for (const answer of answers) {
    log.now += 1_000_000;
    log.json('response', 'reference', 'r1', answer, { request: 'GET /listings' });
  }
  log.open('s1', 'slot', [{ layers: ['mark', 'book'], symbols: null }]);
  if (frame) log.json('frame', 'slot', 's1', frame);
  const { outputs } = runTask({ venue, partition: 0, shards: 1 }, log.records);
  return {
    outputs,
    versions: outputs.flatMap((out) =>
      out.listings.map(({ venue_symbol, record }) => [venue_symbol, record.values.status]),
    ),
    letters: outputs.flatMap((out) => out.deadLetters.map(({ code }) => code)),
  };
};

t.test('a listing whose row cannot be read stays listed, and becomes one dead letter', (t) => {
  const both = { listings: [listing('A'), listing('B')] };
  for (const unreadable of [['B'], [null], ['B', 'C', null]]) {
    const { versions, letters } = run([
      both,
      { listings: [listing('A')], unreadable },
      { listings: [listing('A')], unreadable },
    ]);
    t.same(
      versions.map(([symbol]) => symbol),
      ['A', 'B'],
      'no version tells of an end',
    );
    t.same(letters, ['VENUE_BAD_FRAME', 'VENUE_BAD_FRAME'], 'one for each answer');
  }
  const other = run([both, { listings: [listing('A')], unreadable: ['C'] }]);
  t.same(other.versions.at(-1), ['B', 'delisted'], 'one that is absent was delisted, whatever else cannot be read');
  const later = run([both, { listings: [listing('A')], unreadable: ['B'] }, { listings: [listing('A')] }]);
  t.same(later.versions.at(-1), ['B', 'delisted'], 'it is remembered until it is absent');
  t.end();
});

t.test('an answer without listings ends none of those that are known, and is a dead letter', (t) => {
  const both = { listings: [listing('A'), listing('B')] };
  const { versions, letters } = run([{ listings: [] }, both, { listings: [] }, { listings: [listing('A')] }]);
  t.same(versions, [
    ['A', 'tradeable'],
    ['B', 'tradeable'],
    ['B', 'delisted'],
  ]);
  t.same(letters, ['VENUE_BAD_FRAME'], 'one before any listing is known says nothing odd');
  t.end();
});

t.test('the records beside an unreadable part are applied, and the part becomes a dead letter', (t) => {
  const { outputs, letters } = run([{ listings: [listing('A')] }], {
    l: 'mark',
    s: 'A',
    t: null,
    v: { mark: '5', index: '6' },
    part: true,
  });
  t.same(letters, ['VENUE_BAD_FIGURE']);
  t.equal(listReadings(outputs, 'mark').length, 1);
  t.end();
});

t.test('a record that cannot be applied does not take the others of its message with it', (t) => {
  const toBook = (s: string, size: string): object => ({
    ...{ l: 'book', s, t: null },
    v: { kind: 'snapshot', id: 1, previous: null, bids: `1:${size}`, asks: '2:1', full: 1 },
  });
  const wide = '9'.repeat(20);
  const { outputs, letters } = run([{ listings: [listing('A'), listing('B')] }], {
    ...{ l: 'book', s: 'A' },
    all: [toBook('A', wide), { l: 'mark', s: 'A', t: null, v: { mark: '5', index: '6' } }, toBook('B', '3')],
  });
  t.same(letters, ['VENUE_BAD_FIGURE']);
  t.same(
    outputs.flatMap((out) =>
      out.live.flatMap(({ symbol, reading }) => (reading === null ? [] : [[symbol, reading.layer, reading.valid]])),
    ),
    [
      ['A', 'book', false],
      ['A', 'venue_depth', false],
      ['A', 'mark', true],
      ['B', 'book', true],
      ['B', 'venue_depth', true],
    ],
  );
  t.end();
});

t.test('thousands of frames that cannot be read are a few instants in the state, and explain every window', (t) => {
  const log = new TestLog();
  log.capability(venue);
  log.json('response', 'reference', 'r1', { listings: [listing('A')] }, { request: 'GET /listings' });
  log.open('s1', 'slot', [{ layers: ['mark'], symbols: null }]);
  for (let i = 0; i < 6_000; i++) {
    log.now += 5_000;
    log.json('frame', 'slot', 's1', { l: 'bad', s: 'A', t: null, v: {} });
  }
  const { task } = runTask({ venue, partition: 0, shards: 1 }, log.records);
  t.equal(task.state.connections.get('s1')?.unreadable.length, 3, 'one for each ten seconds');
  log.run(130_000_000, ['s1']);
  const { outputs } = runTask({ venue, partition: 0, shards: 1 }, log.records);
  t.same(
    listRows(outputs, 'mark')
      .slice(0, 4)
      .map(({ at, texts }) => [(at - START) / SECOND, texts.gap_cause]),
    [
      [10, 'parse_error'],
      [20, 'parse_error'],
      [30, 'parse_error'],
      [40, 'no_update'],
    ],
  );
  t.end();
});
