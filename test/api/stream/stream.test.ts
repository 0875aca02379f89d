// GET /v2/stream over the real memory copy: every event, statuses that time brings, and its ends (ST-01 to ST-04, ST-09).
import t from 'tap';
import {
  capability,
  Feed,
  LISTED,
  listing,
  listingValues,
  micros,
  NOW,
  reading,
} from '../../support/apps/live-fixture.ts';
import type { StreamEvent } from '../../support/services/stream-client.ts';
import { Bench, BTC, crowd, SECOND, state } from './bench.ts';

t.test('sends hello, a snapshot of each listing and layer, ready, then every reading as an update', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready('where=base%20%3D%20BTC&layers=mark,funding,book');
  t.equal(client.status, 200);
  t.equal(client.headers.get('content-type'), 'text/event-stream');
  t.equal(client.headers.get('cache-control'), 'no-store');
  t.equal(client.headers.get('x-accel-buffering'), 'no');
  t.equal(client.headers.get('access-control-allow-origin'), '*');
  t.match(client.text, /^retry: 3000\nid: [^\n]+\nevent: hello\ndata: \{/);
  t.same(
    client.events.map((e) => e.event),
    ['hello', ...Array<string>(6).fill('snapshot'), 'ready'],
  );
  const [hello] = client.events;
  t.match(hello?.data, {
    evaluated_at: '2026-01-15T12:00:00.500Z',
    units: 'published',
    freshness: { book: '30s', funding: '300s', mark: '30s' },
    layers: ['book', 'funding', 'mark'],
    listings: 2,
    resumed: false,
    heartbeat_ms: 15_000,
  });
  t.same(Object.keys(hello?.data ?? {}), [
    ...['stream_id', 'evaluated_at', 'catalogue', 'units', 'freshness', 'layers', 'listings', 'resumed'],
    ...['buffer_from', 'heartbeat_ms'],
  ]);
  t.same(client.events.at(-1)?.data, { listings: 2, layers: 6, served_at: '2026-01-15T12:00:00.310Z' });
  const snapshot = client.named('snapshot').find((e) => e.data.venue === 'binance' && e.data.layer === 'mark');
  t.same(Object.keys(snapshot?.data ?? {}), ['venue', 'venue_symbol', 'instrument', 'layer', 'rev', 'state']);
  t.match(snapshot?.data, { rev: 1, instrument: 'BTC-PERP', state: { status: 'present', values: { mark: 60000 } } });
  const missing = client.named('snapshot').find((e) => e.data.layer === 'book');
  t.match(missing?.data, { rev: 0, state: { status: 'missing', reason: 'no_value' } });

  bench.pass(SECOND);
  for (let rev = 2; rev <= 5; rev++) bench.mark('BTCUSDT', rev);
  bench.mark('ETHUSDT', 2);
  bench.feed.read('binance', 'BTCUSDT', reading({ layer: 'oi', values: { oi: '5' }, quantity_unit: 'base' }));
  const updates = await client.untilCount('update', 4);
  t.same(
    updates.map((e) => [e.data.rev, e.data.change]),
    [2, 3, 4, 5].map((rev) => [rev, 'value']),
  );
  t.match(state(updates.at(-1)), { status: 'present', values: { mark: 60005 } });
  t.same(Object.keys(updates[0]?.data ?? {}), [
    ...['venue', 'venue_symbol', 'instrument', 'layer', 'rev', 'change', 'state'],
  ]);
  bench.feed.read('binance', 'BTCUSDT', reading({ layer: 'book', rev: 1, values: { bid: '1' }, raw: null }));
  const [, , , , first] = await client.untilCount('update', 5);
  t.match(first?.data, { layer: 'book', rev: 1, change: 'both', state: { status: 'present' } });
  t.equal(new Set(client.named('update').map((e) => e.id)).size, 5, 'each update moves the id');
  t.ok(client.events.every((e) => e.id.length > 0 && e.id.length <= 512));
});

t.test('sends what time alone changes: bound, horizon and its precedence, and the way back', async (t) => {
  const bench = await Bench.open(t);
  bench.mark('BTCUSDT', 2, {
    horizon_source: 'documented',
    horizon_ms: 40_000,
    received_at: NOW,
    valid_until: NOW + 40 * SECOND,
  });
  const client = await bench.ready(`${BTC}&allow_stale=true`);
  bench.pass(30 * SECOND);
  bench.pass(1_000);
  const [bound] = await client.untilCount('update', 1);
  t.match(bound?.data, { rev: 2, change: 'status', state: { status: 'stale', reason: 'freshness_bound', values: {} } });
  t.match(state(bound).withheld, { values: { mark: 60002 } });
  bench.pass(10 * SECOND);
  const [, passed] = await client.untilCount('update', 2);
  t.match(passed?.data, { rev: 2, change: 'status', state: { status: 'stale', reason: 'horizon_passed' } });
  bench.mark('BTCUSDT', 3);
  const [, , back] = await client.untilCount('update', 3);
  t.match(back?.data, { rev: 3, change: 'both', state: { status: 'present' } });
  const wide = await bench.ready(`${BTC}&freshness=600s`);
  bench.pass(100 * SECOND);
  await client.untilCount('update', 4);
  t.equal(wide.named('update').length, 0, 'a wider bound of another stream holds');
});

t.test('sends a lost connection, an invalid reading, a policy and a pipeline that falls behind', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(BTC);
  const span = {
    conn_id: 'c1',
    slot: 'market',
    from: LISTED,
    to: bench.now - 1_000,
    cause: 'connection_lost',
  } as const;
  bench.feed.entry('binance', { kind: 'connection', span });
  const [lost] = await client.untilCount('update', 1);
  t.match(lost?.data, { rev: 1, change: 'status', state: { status: 'stale', reason: 'connection_lost' } });
  bench.feed.entry('binance', {
    kind: 'connection',
    span: { conn_id: 'c2', slot: 'market', from: bench.now, to: null, cause: null },
  });
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 2, { conn_id: 'c2' });
  t.match((await client.untilCount('update', 2))[1]?.data, { rev: 2, change: 'both', state: { status: 'present' } });
  bench.mark('BTCUSDT', 3, { conn_id: 'c2', valid: false, gap_cause: 'crossed_book', values: {} });
  t.match((await client.untilCount('update', 3))[2]?.data, {
    rev: 3,
    change: 'both',
    state: { status: 'missing', reason: 'gap', gap_cause: 'crossed_book' },
  });
  bench.mark('BTCUSDT', 4, { conn_id: 'c2' });
  bench.now += 6 * SECOND;
  const lag = (await client.untilCount('update', 5))[4];
  t.match(lag?.data, { rev: 4, change: 'status', state: { status: 'stale', reason: 'state_lag' } });
  bench.pass(0);
  t.match((await client.untilCount('update', 6))[5]?.data, { rev: 4, change: 'status', state: { status: 'present' } });
  bench.feed.entry('binance', {
    kind: 'capability',
    capability: capability('binance', { mark: { policy: 'off' } }, bench.now),
  });
  t.match((await client.untilCount('update', 7))[6]?.data, { change: 'status', state: { status: 'off' } });
});

t.test('a hole in the readings is a gap, then the picture of what it concerns (ST-03)', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(`${BTC},funding`);
  const { lastId } = client;
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 5);
  bench.mark('BTCUSDT', 6);
  await client.untilCount('update', 1);
  const [gap, snapshot, update] = client.events.slice(4);
  t.same(
    client.events.slice(4).map(({ event }) => event),
    ['gap', 'snapshot', 'update'],
  );
  t.same(gap?.data, {
    from: '2026-01-15T12:00:00.186Z',
    to: '2026-01-15T12:00:01.500Z',
    reason: 'pipeline_restart',
    dropped: 3,
    scope: { venue: 'binance', venue_symbol: 'BTCUSDT', layer: 'mark' },
  });
  t.same(Object.keys(snapshot?.data ?? {}), ['venue', 'venue_symbol', 'instrument', 'layer', 'rev', 'state']);
  t.match(snapshot?.data, {
    venue: 'binance',
    venue_symbol: 'BTCUSDT',
    layer: 'mark',
    rev: 5,
    state: { status: 'present', values: { mark: 60005 } },
  });
  t.match(update?.data, { layer: 'mark', rev: 6, change: 'value' });
  t.equal(gap?.id, lastId, 'a client that is cut off after the gap still receives the reading');
  t.not(snapshot?.id, lastId);
  const again = await bench.resume(`${BTC},funding`, lastId);
  t.same(
    again.events.map(({ event, data }) => [event, data]).slice(1, 4),
    [gap, snapshot, update].map((sent) => [sent?.event, sent?.data]),
    'a client that comes back is told, too',
  );
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 8);
  bench.mark('BTCUSDT', 3);
  const gaps = await client.untilCount('gap', 3);
  t.same(
    gaps.slice(1).map(({ data }) => data.dropped),
    [1, null],
    'one that is missing; and numbers that begin anew, which tell no number',
  );
});

t.test('follows listings that are added, changed and delisted', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready('where=venue%20%3D%20binance&layers=mark');
  bench.pass(SECOND);
  const sol = listingValues({ instrument: 'SOL-PERP', venue_symbol: 'SOLUSDT', base: 'SOL' });
  bench.feed.list(listing('binance', sol, { writtenAt: bench.now }));
  const [added] = await client.untilCount('listing', 1);
  t.match(added?.data, {
    venue_symbol: 'SOLUSDT',
    change: 'added',
    record: { instrument: 'SOL-PERP', tick_size: 0.1 },
  });
  const fresh = (await client.untilCount('snapshot', 3))[2];
  t.match(fresh?.data, { venue_symbol: 'SOLUSDT', rev: 0, state: { status: 'missing', reason: 'no_value' } });
  bench.mark('SOLUSDT', 1);
  t.match((await client.untilCount('update', 1))[0]?.data, { venue_symbol: 'SOLUSDT', change: 'both' });
  bench.pass(SECOND);
  bench.feed.list(listing('binance', { ...sol, tick_size: '0.5' }, { writtenAt: bench.now }));
  t.match((await client.untilCount('listing', 2))[1]?.data, { change: 'changed', record: { tick_size: 0.5 } });
  bench.pass(SECOND);
  bench.feed.list(listing('binance', sol, { writtenAt: bench.now, delistedAt: bench.now }));
  t.match((await client.untilCount('listing', 3))[2]?.data, { change: 'delisted', venue_symbol: 'SOLUSDT' });
  bench.pass(60 * SECOND);
  bench.mark('SOLUSDT', 2);
  await client.untilCount('update', 3);
  t.notOk(
    client
      .named('update')
      .slice(1)
      .some((e) => e.data.venue_symbol === 'SOLUSDT'),
    'nothing is sent of a delisted listing',
  );
  bench.feed.list(listing('okx', { ...sol, venue_symbol: 'SOL-USDT-SWAP' }, { writtenAt: bench.now }));
  bench.mark('BTCUSDT', 2);
  const isRead = ({ event, data }: StreamEvent) =>
    event === 'update' && data.venue_symbol === 'BTCUSDT' && data.rev === 2;
  await client.until((events) => events.some(isRead));
  t.equal(client.named('listing').length, 3, 'another venue is not selected');
  const eth = listingValues({ instrument: 'ETH-PERP', venue_symbol: 'ETHUSDT', base: 'ETH' });
  const end = bench.now + 10 * SECOND;
  bench.feed.list(listing('binance', eth, { writtenAt: bench.now, delistedAt: end }));
  t.match((await client.untilCount('listing', 4))[3]?.data, { change: 'changed', record: { delisted_at: null } });
  bench.pass(10 * SECOND);
  const ended = (await client.untilCount('listing', 5))[4];
  t.match(ended?.data, { change: 'delisted', venue_symbol: 'ETHUSDT', record: { delisted_at: /^2026/ } });
});

t.test('a stream follows listings up to the number of its plan (ST-08)', async (t) => {
  const bench = await Bench.open(t);
  const add = (n: number): void => {
    const names = { instrument: `A${n}-PERP`, venue_symbol: `A${n}USDT`, base: `A${n}` };
    bench.feed.list(listing('binance', listingValues(names), { writtenAt: bench.now }));
  };
  for (let n = 0; n < 47; n++) add(n);
  const client = await bench.ready('where=venue%20%3D%20binance&layers=mark', bench.test.as('mini'));
  t.match(client.named('ready')[0]?.data, { listings: 49 });
  bench.pass(SECOND);
  for (const n of [47, 48]) add(n);
  bench.mark('BTCUSDT', 2);
  await client.untilCount('update', 1);
  t.same(
    client.named('listing').map(({ data }) => data.venue_symbol),
    ['A47USDT'],
  );
});

t.test(
  "a listing's version holds once it is read, also where the clock of the node is behind that of the log (ST-03, ST-08)",
  async (t) => {
    const bench = await Bench.open(t);
    const client = await bench.ready('where=venue%20%3D%20binance&layers=mark,oi');
    bench.pass(SECOND);
    const values = { instrument: 'SOL-PERP', venue_symbol: 'SOLUSDT', base: 'SOL', not_published: ['oi'] };
    const sol = listingValues(values);
    bench.feed.list(listing('binance', sol, { writtenAt: bench.now + 30_000 }));
    await client.untilCount('listing', 1);
    bench.mark('SOLUSDT', 1);
    await client.untilCount('update', 1);
    const told = client.events.filter(({ data }) => data.venue_symbol === 'SOLUSDT');
    t.same(
      told.map(({ event, data }) => [event, data.layer, (data.state as { reason?: string } | undefined)?.reason]),
      [
        ['listing', undefined, undefined],
        ['snapshot', 'mark', 'no_value'],
        ['snapshot', 'oi', 'venue_capability'],
        ['update', 'mark', undefined],
      ],
    );
  },
);

t.test('beats every 15 seconds with its lag and the venues that are up', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(BTC);
  const lost = { conn_id: 'other', slot: 'other', from: LISTED, to: NOW, cause: 'connection_lost' } as const;
  bench.feed.entry('binance', { kind: 'connection', span: lost });
  bench.pass(15 * SECOND);
  const [beat] = await client.untilCount('heartbeat', 1);
  t.same(beat?.data, {
    at: '2026-01-15T12:00:15.500Z',
    served_at: '2026-01-15T12:00:15.310Z',
    lag_ms: 190,
    connections: { binance: 'up', okx: 'up' },
  });
  t.equal(client.named('update').length, 0, 'another connection of the venue is lost');
});

t.test('beats at the last look at the clock, every 250 ms, that is within the 15 seconds (ST-03)', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(BTC);
  bench.now += 14_750_000;
  const [lag] = await client.untilCount('update', 1);
  t.match(lag?.data, { change: 'status', state: { reason: 'state_lag' } }, 'the clock was looked at');
  bench.now += 1;
  const [first] = await client.untilCount('heartbeat', 1);
  t.equal(first?.data.at, '2026-01-15T12:00:15.250001Z', 'a look 250 ms before the end is not the last one');
  bench.now += 14_750_001;
  const [, second] = await client.untilCount('heartbeat', 2);
  t.equal(second?.data.at, '2026-01-15T12:00:30.000002Z');
});

t.test('prints units, string figures and levels of the book as requested', async (t) => {
  const bench = await Bench.open(t);
  bench.feed.read(
    'okx',
    'BTC-USDT-SWAP',
    reading({
      layer: 'book',
      values: { bid: '60000.5', bid_size: '100' },
      instants: {},
      quantity_unit: 'contracts',
      raw: null,
      book: {
        bids: [
          ['60000.5', '100'],
          ['60000', '50'],
        ],
        asks: [['60001', '7']],
        sequence: null,
        collected_bids: 2,
        collected_asks: 1,
      },
    }),
  );
  const query = 'where=venue%20%3D%20okx&layers=book';
  const base = await bench.ready(`${query}&units=base&number_format=string&depth=1`);
  const shown = state(base.named('snapshot')[0]);
  t.match(shown, { values: { bid: '60000.5', bid_size: '1' }, bids: [['60000.5', '1']], asks: [['60001', '0.07']] });
  t.equal(Object.keys(shown)[Object.keys(shown).indexOf('values') + 1], 'bids');
  const top = await bench.ready(query);
  t.notOk('bids' in state(top.named('snapshot')[0]));
});

t.test('sends bye when a key ends and when the service stops', async (t) => {
  const bench = await Bench.open(t);
  const [revoked, other] = [await bench.ready(BTC, bench.test.as('mini')), await bench.ready(BTC)];
  const row = bench.test.table.row(bench.test.keys.mini);
  if (row) row.revoked = true;
  t.teardown(moveWallClock(Date.now() + 31_000));
  bench.pass(15 * SECOND);
  await revoked.ended();
  t.match(revoked.named('error')[0]?.data, { errors: [{ code: 'AUTH_INVALID' }] });
  t.same(revoked.events.at(-1)?.data, { reason: 'key_ended', reconnect: false });
  t.equal(other.isEnded, false);
  await bench.test.app.close();
  await other.ended();
  t.same(other.events.at(-1)?.data, { reason: 'shutdown', reconnect: true });
});

t.test('a Free stream rotates after midnight when the plan then covers something else (AC-02)', async (t) => {
  const midnight = micros('2026-01-16T00:00:00.000Z');
  const threeVenues = new Feed(['binance', 'bybit', 'okx']);
  for (const venue of ['binance', 'bybit', 'okx']) threeVenues.venue(venue);
  threeVenues.list(listing('binance', listingValues()));
  threeVenues.list(listing('okx', listingValues({ venue_symbol: 'BTC-USDT-SWAP' })));
  // Until a turnover is stored the copy's own is chosen by, equal ones by code: ETH-PERP and okx are outside at first.
  const turnover = reading({ layer: 'stats', values: { turnover_24h: '5' }, instants: {}, raw: null });
  for (const [feed, venue, symbol] of [
    [crowd(), 'binance', 'ETHUSDT'],
    [threeVenues, 'okx', 'BTC-USDT-SWAP'],
  ] as const) {
    const bench = await Bench.open(t, feed);
    const client = await bench.ready(BTC, bench.test.as('free'));
    feed.read(venue, symbol, turnover);
    bench.pass(midnight - 1 - bench.now);
    await client.untilCount('heartbeat', 1);
    bench.pass(15 * SECOND);
    await client.ended();
    t.same(
      client.named('heartbeat').map(({ data }) => data.at),
      ['2026-01-15T23:59:59.999999Z', '2026-01-16T00:00:14.999999Z'],
      'the choice of a day holds until its end',
    );
    t.same(
      client.events.slice(-2).map(({ event }) => event),
      ['heartbeat', 'bye'],
    );
    t.same(client.events.at(-1)?.data, { reason: 'rotate', reconnect: true });
  }
  const same = await Bench.open(t, crowd());
  const goesOn = await same.ready(BTC, same.test.as('free'));
  same.pass(midnight - same.now);
  await goesOn.untilCount('heartbeat', 1);
  same.pass(15 * SECOND);
  await goesOn.untilCount('heartbeat', 2);
  t.same(goesOn.named('bye'), []);
  t.equal(goesOn.isEnded, false);
});

/** The key cache reads the wall clock: moves it, and gives the function that puts it back. */
const moveWallClock = (at: number): (() => void) => {
  const { now } = Date;
  const moved = at - now();
  Date.now = () => now() + moved;
  return () => {
    Date.now = now;
  };
};
