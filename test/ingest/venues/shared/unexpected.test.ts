// Content unknown to a venue's file is counted by kind, at every venue alike; a trade without a taker is no record, and is counted (V-03a).
import { Registry } from 'prom-client';
import t from 'tap';
import {
  UNEXPECTED,
  type Unexpected,
  VenueError,
  type VenueMessage,
} from '../../../../ingest/venues/contract/listings.ts';
import type { Mapped } from '../../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import { watchUnexpected } from '../../../../ingest/venues/shared/unexpected.ts';
import { createProcessorMetrics } from '../../../../processors/metrics.ts';
import { isRaw, parseExact } from '../../../support/mutations.ts';
import { factsAbout } from '../../../support/venues/venue-facts.ts';
import { chooseSeeds, readRecordings } from '../../../support/venues/venue-seeds.ts';

const NONE = ['', null];

type Fields = Record<string, unknown>;
const listObjects = (value: unknown): readonly Fields[] => {
  if (typeof value !== 'object' || value === null || isRaw(value)) return [];
  return [value as Fields, ...Object.values(value).flatMap(listObjects)];
};

const NO_LISTINGS = { listings: new Map() };

/** The same after the message itself: a venue's first trades after a subscription may be the past. */
const readAgain = (venue: Venue, message: VenueMessage, first: VenueMessage): Outcome => {
  const state = {};
  readWatched(venue, first, state);
  return readWatched(venue, message, state);
};

/** Messages of one kind begin alike but for their figures. */
const toBeginning = ({ request, payload }: VenueMessage): string =>
  `${request} ${Buffer.from(payload.subarray(0, 40))}`.replaceAll(/\d/g, '');

type Outcome = {
  readonly mapped: readonly Mapped[];
  readonly error: VenueError | null;
  readonly counts: Readonly<Partial<Record<Unexpected, number>>>;
};

const readWatched = (venue: Venue, message: VenueMessage, state = {}): Outcome => {
  const counts: Partial<Record<Unexpected, number>> = {};
  const watched = watchUnexpected(venue, (kind) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  });
  try {
    return { mapped: watched.map(state, message, NO_LISTINGS), error: null, counts };
  } catch (error) {
    if (!(error instanceof VenueError)) throw error;
    return { mapped: [], error, counts };
  }
};

/** The message with each member of `members` that it has in its place. */
const withMembers = (message: VenueMessage, members: Readonly<Record<string, unknown>>): VenueMessage => {
  const tree = parseExact(Buffer.from(message.payload).toString('utf8'));
  for (const fields of listObjects(tree))
    for (const [name, value] of Object.entries(members)) if (name in fields) fields[name] = value;
  return { ...message, payload: Buffer.from(JSON.stringify(tree)) };
};

const isTrade = ({ record }: Mapped): boolean => record.layer === 'trade';

for (const venue of venues.values()) {
  const { unknownChannel, side } = factsAbout(venue);
  const messages = readRecordings(venue);
  const seeds = chooseSeeds(messages);

  t.test(`${venue.id}: a trade without a taker is no record and is counted; another word is an error`, (t) => {
    const trades = messages.filter((message) => readAgain(venue, message, message).mapped.some(isTrade));
    t.ok(trades.length > 0);
    for (const seed of new Map(trades.map((message) => [toBeginning(message), message])).values()) {
      const before = readAgain(venue, seed, seed).mapped.filter(isTrade).length;
      const saying = (value: unknown): Outcome =>
        readAgain(venue, withMembers(seed, Object.fromEntries(side.members.map((name) => [name, value]))), seed);
      const text = Buffer.from(seed.payload).toString('utf8').slice(0, 200);
      for (const value of side.none ?? NONE) {
        const { mapped, error, counts } = saying(value);
        const events = mapped.filter(({ record }) => ['trade', 'liquidation'].includes(record.layer));
        t.same({ events, error, none: counts.no_side }, { events: [], error: null, none: before }, text);
      }
      if (side.none !== undefined) continue;
      t.match(saying('NO_SUCH_SIDE'), { error: { code: 'VENUE_BAD_FRAME' }, counts: { unknown_side: 1 } }, text);
    }
    t.end();
  });

  t.test(`${venue.id}: a frame of a channel that nobody reads gives nothing and is counted`, (t) => {
    const named = (seed: VenueMessage): boolean =>
      listObjects(parseExact(Buffer.from(seed.payload).toString('utf8'))).some((fields) =>
        Object.keys(unknownChannel).some((name) => name in fields),
      );
    const frames = seeds.filter(
      (seed) => seed.kind === 'frame' && named(seed) && readWatched(venue, seed).mapped.length > 0,
    );
    t.ok(frames.length > 0);
    for (const seed of frames) {
      const { mapped, error, counts } = readWatched(venue, withMembers(seed, unknownChannel));
      const text = Buffer.from(seed.payload).toString('utf8').slice(0, 200);
      t.same({ mapped, error }, { mapped: [], error: null }, text);
      t.ok((counts.unread_channel ?? 0) > 0, text);
    }
    t.end();
  });

  t.test(`${venue.id}: what cannot be read is counted by what is wrong with it, what is read is not`, (t) => {
    const frame = (text: string): VenueMessage => ({
      kind: 'frame',
      received_at: 0,
      request: null,
      payload: Buffer.from(text),
    });
    t.same(readWatched(venue, frame('{"a":')).counts, { unreadable: 1 });
    for (const seed of seeds) {
      const { mapped, error, counts } = readWatched(venue, seed);
      if (mapped.length > 0 && venue.id !== 'hyperliquid')
        t.same(counts, {}, Buffer.from(seed.payload).toString('utf8').slice(0, 200));
      if (error !== null) t.same(Object.values(counts), [1], error.message);
    }
    t.end();
  });
}

/** In the shapes of the venues' docs: Kraken's Unified WebSocket, KuCoin's Pro. */
const OTHER_PROTOCOLS: readonly (readonly [id: string, unread: number, text: string])[] = [
  ['kraken-futures', 1, '{"channel":"ticker","type":"update","data":[{"symbol":"PF_XBTUSD","last":64000.5}]}'],
  ['kraken-futures', 0, '{"channel":"status","type":"update","data":[{"system":"online","api_version":"v2"}]}'],
  ['kraken-futures', 0, '{"channel":"heartbeat"}'],
  ['kucoin', 1, '{"T":"ticker.FUTURES","P":"1747275076357","d":{"s":"XBTUSDTM","l":"64000.5"}}'],
  ['kucoin', 0, '{"id":"1","type":"pong","timestamp":1790000000000000}'],
];

t.test("data in a venue's other protocol, which nothing reads, are counted", (t) => {
  for (const [id, unread, text] of OTHER_PROTOCOLS) {
    const venue = venues.get(id);
    if (venue === undefined) throw new Error(id);
    const frame = { kind: 'frame' as const, received_at: 0, request: null, payload: Buffer.from(text) };
    t.match(readWatched(venue, frame), { mapped: [], error: null }, text);
    t.equal(readWatched(venue, frame).counts.unread_channel ?? 0, unread, text);
  }
  t.end();
});

t.test('a listing of a status that is not known is counted with every answer that names it', (t) => {
  for (const venue of venues.values()) {
    const counts: Unexpected[] = [];
    const watched = watchUnexpected(venue, (kind) => counts.push(kind));
    const answers = readRecordings(venue).filter(({ kind }) => kind === 'response');
    let unknown = 0;
    for (const message of answers)
      try {
        unknown += (watched.mapReference({}, message)?.listings ?? []).filter(
          ({ values }) => values.status === 'unknown',
        ).length;
      } catch (error) {
        if (!(error instanceof VenueError)) throw error;
      }
    t.equal(counts.filter((kind) => kind === 'unknown_status').length, unknown, venue.id);
  }
  t.end();
});

t.test('an unreadable figure, member and level are counted apart', (t) => {
  const okx = venues.get('okx') as Venue;
  const book = (level: unknown, ids: object = { seqId: 2, prevSeqId: 1 }): VenueMessage => ({
    kind: 'frame',
    received_at: 0,
    request: null,
    payload: Buffer.from(
      JSON.stringify({
        arg: { channel: 'books', instId: 'BTC-USDT-SWAP' },
        action: 'update',
        data: [{ asks: [level], bids: [], ts: '1700000000000', ...ids }],
      }),
    ),
  });
  t.same(readWatched(okx, book(['1', '2', '0', '1'])).counts, {});
  t.same(readWatched(okx, book(['x', '2', '0', '1'])).counts, { bad_figure: 1 });
  t.same(readWatched(okx, book('1')).counts, { bad_level: 1 });
  t.same(readWatched(okx, book(['1', '2'], { asks: undefined })).counts, { missing_member: 1 });
  t.same(readWatched(okx, book(['1', '2'], { asks: 7 })).counts, { bad_shape: 1 });
  t.end();
});

t.test('the processors count each kind of each venue', async (t) => {
  const registry = new Registry();
  const metrics = createProcessorMetrics(registry);
  for (const kind of UNEXPECTED) metrics.unexpected('okx', kind);
  const text = await registry.metrics();
  for (const kind of UNEXPECTED) t.ok(text.includes(`processor_unexpected_total{venue="okx",kind="${kind}"} 1`), kind);
});
