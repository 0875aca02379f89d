// A layer that is switched off and on again: on every live surface it has no value until its next reading, whatever memory holds (F-04).
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { findHeldAt } from '../../../api/live/listing-view.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { findListingPolicy } from '../../../schemas/policies.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { CapabilityVersion, ListingVersion } from '../../../schemas/topics.ts';
import {
  capability,
  type Feed,
  LISTED,
  listing,
  listingValues,
  market,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { StreamClient } from '../../support/services/stream-client.ts';

const SECOND: Micros = 1_000_000;
const NO_VALUE = { status: 'missing', reason: 'no_value', values: {} };

/** Every layer of every listing has a reading of the connection that goes on living. */
const full = (): Feed => {
  const feed = market();
  const values = { bid: '1', ask: '2', mid: '1.5', spread: '0.6', bid_size: '3', ask_size: '4' };
  const book = { bids: [['1', '3']], asks: [['2', '4']], sequence: '7', collected_bids: 1, collected_asks: 1 } as const;
  feed.read('binance', 'BTCUSDT', reading({ layer: 'book', values, instants: {}, book, quantity_unit: 'base' }));
  feed.read('binance', 'BTCUSDT', reading({ layer: 'venue_depth', values: { mid: '1.5' }, instants: {} }));
  feed.read('binance', 'BTCUSDT', reading({ layer: 'oi', values: { oi: '9' }, instants: {}, quantity_unit: 'base' }));
  return feed;
};

/** Who switches layers of one listing. */
const SWITCHES = {
  'the venue': (feed: Feed, layers: readonly string[], at: Micros): void => {
    const off = Object.fromEntries(layers.map((layer) => [layer, { policy: 'off' }] as const));
    feed.entry('binance', { kind: 'capability', capability: capability('binance', off, at) });
  },
  'its listing': (feed: Feed, layers: readonly string[], at: Micros): void => {
    const version = listing('binance', listingValues(), { writtenAt: at });
    feed.list({ ...version, record: { ...version.record, off: layers } });
  },
} as const;
const WATCHED = ['mark', 'book', 'venue_depth', 'oi', 'funding'];

const post = async (test: Awaited<ReturnType<typeof testApp>>, url: string, body: unknown) => {
  const headers = { 'content-type': 'application/json', ...test.as('pro_plus') };
  const answer = await test.app.inject({ method: 'POST', url, headers, payload: JSON.stringify(body) });
  const json = answer.json();
  if (json.errors !== undefined) throw new Error(answer.body);
  return json;
};

/** The states of the listing's layers, by what is asked. */
const ask = async (t: Test, feed: Feed, now: Micros) => {
  const test = await testApp(feed, { nowMicros: () => now });
  t.teardown(() => test.app.close());
  const where = { venue: ['binance'], symbol: ['BTCUSDT'] };
  const snapshots = await post(test, '/v2/snapshots', { where, freshness: '1h', allow_stale: true });
  const converted = await post(test, '/v2/snapshots', { where, freshness: '1h', layers: ['oi'], units: 'quote' });
  const books = await post(test, '/v2/books', { where });
  const query = 'where venue = binance and symbol = "BTCUSDT" select status(mark), status(bid), age(oi)';
  const screen = await post(test, '/v2/screen', { query, freshness: '1h', include_unknown: true });
  return {
    layers: snapshots.items[0].layers,
    converted: converted.items[0].layers.oi,
    book: books.items[0],
    screened: screen.instruments[0]?.venues[0]?.values,
  };
};

for (const [name, turn] of Object.entries(SWITCHES)) {
  t.test(`switched by ${name}: off, then no value on every surface, then the next reading`, async (t) => {
    const feed = full();
    t.match((await ask(t, feed, NOW)).layers, { mark: { status: 'present' }, book: { status: 'present' } });
    turn(feed, WATCHED, NOW + SECOND);
    const off = await ask(t, feed, NOW + 2 * SECOND);
    for (const layer of WATCHED) t.match(off.layers[layer], { status: 'off', reason: 'policy_off', values: {} }, layer);
    turn(feed, [], NOW + 3 * SECOND);
    feed.watermark('binance', NOW + 4 * SECOND);
    const on = await ask(t, feed, NOW + 4 * SECOND);
    for (const layer of WATCHED) {
      t.match(on.layers[layer], { ...NO_VALUE, received_at: null, age_ms: null, valid_until: null }, layer);
      t.equal(on.layers[layer].withheld, undefined, `nothing of ${layer} is withheld`);
    }
    t.match(on.book, { status: 'missing', reason: 'no_value', bids: [], asks: [], received_at: null });
    t.match(on.screened, {
      'status(mark)': { value: 'missing' },
      'status(bid)': { value: 'missing' },
      'age(oi)': { value: null },
    });
    const at = { received_at: NOW + 4 * SECOND, recorded_at: NOW + 4 * SECOND };
    feed.read(
      'binance',
      'BTCUSDT',
      reading({ layer: 'oi', values: { oi: '9' }, instants: {}, quantity_unit: 'base', ...at }),
    );
    const again = await ask(t, feed, NOW + 5 * SECOND);
    t.match(again.layers, { oi: { status: 'present', values: { oi: 9 } }, mark: NO_VALUE });
    t.match(again.converted, { values: { oi: null }, null_reasons: { oi: 'unit_unknown' } }, 'nor is the mark used');
  });

  t.test(`switched by ${name}: each move is an event, and readings go on being numbered (F-04, ST-03)`, async (t) => {
    const feed = full();
    let now = NOW;
    const nowMicros = () => now;
    const hub = new StreamHub({ live: feed.memory, nowMicros });
    const test = await testApp(feed, { nowMicros, hub });
    t.teardown(() => test.app.close());
    const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
    const query = 'where=symbol%20%3D%20%22BTCUSDT%22&layers=mark&freshness=1h';
    const open = async (headers: Record<string, string> = {}) => {
      const client = await StreamClient.open(`${url}/v2/stream?${query}`, { ...test.as('pro_plus'), ...headers });
      t.teardown(() => client.close());
      await client.untilCount('ready', 1);
      return client;
    };
    const client = await open();
    const { lastId } = client;
    // The clock of the node is behind that of the log.
    turn(feed, ['mark'], now + 1_000);
    t.match((await client.untilCount('update', 1))[0]?.data, { rev: 1, change: 'status', state: { status: 'off' } });
    now += SECOND;
    const missed = await open({ 'last-event-id': lastId });
    t.match(
      (await missed.untilCount('update', 1))[0]?.data,
      { rev: 1, state: { status: 'off' } },
      'to one that resumes',
    );
    turn(feed, [], now);
    t.match((await client.untilCount('update', 2))[1]?.data, { rev: 1, change: 'status', state: NO_VALUE });
    const resumed = await open({ 'last-event-id': lastId });
    t.match((await resumed.untilCount('update', 1))[0]?.data, { rev: 1, change: 'status', state: NO_VALUE });
    t.match(
      (await open()).named('snapshot')[0]?.data,
      { rev: 1, state: NO_VALUE },
      'a new client has the same picture',
    );
    now += SECOND;
    const at = { received_at: now, recorded_at: now, rev: 2, layer: 'mark', instants: {} } as const;
    feed.read('binance', 'BTCUSDT', reading({ ...at, values: { mark: '7', index: '7', basis: '0' } }));
    t.match((await client.untilCount('update', 3))[2]?.data, { rev: 2, change: 'both', state: { status: 'present' } });
  });
}

t.test('a reading is held unless its layer was off at any instant since it was recorded, up to T', (t) => {
  const MINUTES = 12;
  const policy = fc.constantFrom('on' as const, 'off' as const, 'not_published' as const);
  const turn = fc.record({ at: fc.integer({ min: 1, max: MINUTES }), ofVenue: fc.boolean(), policy });
  const drawn = fc.record({ turns: fc.array(turn, { maxLength: 6 }), recorded: fc.nat(MINUTES), at: fc.nat(MINUTES) });
  const isRight = ({ turns, recorded, at }: typeof drawn extends fc.Arbitrary<infer D> ? D : never): boolean => {
    const byTime = (a: { written_at: Micros }, b: { written_at: Micros }): number => a.written_at - b.written_at;
    const stamps = (ofVenue: boolean) => [
      ...new Map(turns.filter((one) => one.ofVenue === ofVenue).map((one) => [one.at, one])).values(),
    ];
    const capabilities: CapabilityVersion[] = stamps(true)
      .map((one) => capability('binance', { mark: { policy: one.policy } }, one.at))
      .concat(capability('binance', {}, 0))
      .sort(byTime);
    const versions = stamps(false)
      .map((one): ListingVersion => {
        const version = listing('binance', listingValues(), { writtenAt: one.at });
        return { ...version, record: { ...version.record, off: one.policy === 'off' ? ['mark'] : [] } };
      })
      .concat(listing('binance', listingValues(), { writtenAt: 0 }))
      .sort(byTime);
    const last = <V extends { written_at: Micros }>(all: readonly V[], instant: Micros): V | null =>
      all.findLast(({ written_at }) => written_at <= instant) ?? null;
    const policyAt = (instant: Micros) =>
      findListingPolicy(last(capabilities, instant), 'mark', last(versions, instant));
    let wasOff = false;
    // A version is valid from its own instant, so the reading of that instant may be its first.
    for (let instant = recorded; instant < at; instant++) wasOff ||= policyAt(instant) === 'off' && at > recorded;
    const held = findHeldAt({ layer: 'mark', recorded_at: recorded }, { capabilities, versions, at });
    return policyAt(at) === 'off' || (held === null) === wasOff;
  };
  fc.assert(fc.property(drawn, isRight), { numRuns: 500 });
  t.equal(findHeldAt(null, { capabilities: [], versions: [], at: LISTED }), null);
  t.end();
});
