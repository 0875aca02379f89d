// GET /v2/stream from an id on: exactly what came after it, the statuses that differ, and ids that cannot be resumed from (ST-05).
import fc from 'fast-check';
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { isBeyond, makeStartId, parseEventId, printEventId, printPlaces } from '../../../api/stream/positions.ts';
import { readRequest } from '../../../api/stream/request.ts';
import type { Micros } from '../../../schemas/records.ts';
import {
  capability,
  type Feed,
  LISTED,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
} from '../../support/apps/live-fixture.ts';
import { collectEvents, type StreamClient, type StreamEvent } from '../../support/services/stream-client.ts';
import { Bench, BTC, SECOND, state } from './bench.ts';

t.test('resumes with exactly what came after the id, then with the statuses that differ', async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.ready(`${BTC},funding`);
  bench.pass(SECOND);
  for (let rev = 2; rev <= 6; rev++) bench.mark('BTCUSDT', rev);
  const updates = await first.untilCount('update', 5);
  await first.close();
  const again = await bench.resume(`${BTC},funding`, updates[1]?.id ?? '');
  t.same(
    again.events.map((e) => [e.event, e.data.rev ?? null, e.data.change ?? null]),
    [['hello', null, null], ...[4, 5, 6].map((rev) => ['update', rev, 'value']), ['ready', null, null]],
  );
  t.equal(again.events[0]?.data.resumed, true);
  t.same(
    again.named('update').map((e) => state(e).values),
    updates.slice(2).map((e) => state(e).values),
  );
  t.same(again.named('update')[1]?.id.split('.')[2], updates[3]?.id.split('.')[2], 'ids name the same places again');
  const { lastId } = again;
  await again.close();

  bench.pass(40 * SECOND);
  bench.feed.entry('binance', {
    kind: 'connection',
    span: { conn_id: 'c1', slot: 'market', from: LISTED, to: bench.now - SECOND, cause: 'connection_lost' },
  });
  const later = await bench.resume(`${BTC},funding`, lastId);
  t.same(
    later.events.map((e) => [e.event, e.data.layer ?? null, e.data.rev ?? null, state(e).reason ?? null]),
    [
      ['hello', null, null, null],
      ['update', 'funding', 1, 'connection_lost'],
      ['update', 'mark', 6, 'connection_lost'],
      ['ready', null, null, null],
    ],
  );
  t.equal(later.named('update')[0]?.data.change, 'status');
  const same = await bench.resume(`${BTC},funding`, later.lastId);
  t.same(
    same.events.map((e) => e.event),
    ['hello', 'ready'],
    'nothing is sent twice',
  );
});

t.test('a client that was told that a venue is behind is told that it caught up meanwhile (L-07)', async (t) => {
  const bench = await Bench.open(t);
  const both = 'where=base%20%3D%20BTC&layers=mark';
  const client = await bench.ready(both);
  bench.now += 6 * SECOND;
  bench.feed.watermark('okx', bench.now);
  const [behind] = await client.untilCount('update', 1);
  t.match(behind?.data, { venue: 'binance', state: { status: 'stale', reason: 'state_lag' } });
  await client.close();
  bench.pass(SECOND);
  const again = await bench.resume(both, client.lastId);
  t.same(
    again.named('update').map((e) => [e.data.venue, state(e).status]),
    [
      ['binance', 'present'],
      ['okx', 'present'],
    ],
  );
});

t.test('a loss from before the id that was told after it is sent (ST-05)', async (t) => {
  const bench = await Bench.open(t);
  const client = await bench.ready(BTC);
  await client.close();
  bench.feed.entry('binance', {
    kind: 'connection',
    span: { conn_id: 'c1', slot: 'market', from: LISTED, to: bench.now - 1, cause: 'connection_lost' },
  });
  bench.pass(SECOND);
  const again = await bench.resume(BTC, client.lastId);
  t.same(
    again.events.map((e) => [e.event, state(e).reason ?? null]),
    [
      ['hello', null],
      ['update', 'connection_lost'],
      ['ready', null],
    ],
  );
});

t.test("the end of a listing during a client's absence is sent once, however it is known (ST-05, F-04)", async (t) => {
  const eth = listingValues({ instrument: 'ETH-PERP', venue_symbol: 'ETHUSDT', base: 'ETH' });
  const end = NOW + 10 * SECOND;
  const delist = ({ feed, now }: Bench): void =>
    feed.list(listing('binance', eth, { writtenAt: now, delistedAt: end }));
  const query = 'where=venue%20%3D%20binance&layers=mark';
  const listChanges = ({ events }: StreamClient): unknown[] => events.map(({ event, data }) => data.change ?? event);
  for (const [isAhead, delistedIn, expected] of [
    [true, [], ['delisted']],
    [true, [10], ['delisted']],
    [true, [15], ['delisted']],
    [false, [5], ['changed', 'delisted']],
    [false, [10], ['delisted']],
    [false, [15], ['delisted']],
  ] as const) {
    const bench = await Bench.open(t);
    const passTo = (second: number): void => bench.pass(NOW + second * SECOND - bench.now);
    if (isAhead) delist(bench);
    const first = await bench.ready(query);
    t.equal(first.events[0]?.data.listings, 2);
    await first.close();
    for (const second of delistedIn) {
      passTo(second);
      delist(bench);
    }
    passTo(20);
    const again = await bench.resume(query, first.lastId);
    const name = JSON.stringify({ isAhead, delistedIn });
    t.match(again.events[0]?.data, { resumed: true, listings: 1 }, name);
    t.same(listChanges(again), ['hello', ...expected, 'ready'], name);
    const last = again.named('listing').at(-1);
    t.match(last?.data, { venue_symbol: 'ETHUSDT', record: { delisted_at: '2026-01-15T12:00:10.500Z' } }, name);
    t.same(listChanges(await bench.resume(query, again.lastId)), ['hello', 'ready'], name);
  }
  // An entry may come between the end and the next look at the clock: its id must not pass the end before the end is sent.
  const bench = await Bench.open(t);
  delist(bench);
  const first = await bench.ready(query);
  bench.pass(10 * SECOND);
  bench.mark('BTCUSDT', 2);
  const [update] = await first.untilCount('update', 1);
  await first.close();
  const before = first.events.slice(0, first.events.indexOf(update as StreamEvent) + 1);
  t.ok(before.some(({ data }) => data.change === 'delisted'));
  t.same(listChanges(await bench.resume(query, update?.id ?? '')), ['hello', 'ready']);
});

t.test('an id that cannot be resumed from gives a gap and fresh snapshots', async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.ready(BTC);
  const { lastId } = first;
  const expired = async (query: string, id: string): Promise<void> => {
    const client = await bench.resume(query, id);
    t.equal(client.events[0]?.data.resumed, false);
    t.equal(client.events[1]?.event, 'gap');
    t.match(client.events[1]?.data, { reason: 'resume_expired', dropped: null, scope: {} });
    t.ok(client.named('snapshot').length > 0);
  };
  await expired(BTC, 'nonsense');
  await expired(BTC, first.events[0]?.id ?? '');
  await expired(`${BTC}&units=base`, lastId);
  await expired(`${BTC}&snapshot=false`, 'x'.repeat(600));
  bench.pass(SECOND);
  bench.mark('BTCUSDT', 2);
  await first.untilCount('update', 1);
  bench.pass(301 * SECOND);
  bench.mark('BTCUSDT', 3);
  await expired(BTC, lastId);
  const bare = await bench.ready(`${BTC}&snapshot=false`);
  t.same(
    bare.events.map((e) => e.event),
    ['hello', 'ready'],
  );
  t.equal(bare.events[1]?.data.layers, 0);
});

t.test(
  'an id of a clock that is ahead by a second is resumed, one that is further ahead is not of a node',
  async (t) => {
    const bench = await Bench.open(t);
    const { lastId } = await bench.ready(BTC);
    const isResumed = async (ahead: Micros): Promise<unknown> => {
      const id = lastId.replace(/\.[0-9a-z]+/, `.${(bench.now + ahead).toString(36)}`);
      return (await bench.resume(BTC, id)).events.map(({ event, data }) => data.resumed ?? event);
    };
    t.same(await isResumed(SECOND), [true, 'ready']);
    t.same(await isResumed(SECOND + 1), [false, 'gap', 'snapshot', 'ready']);
  },
);

type Step =
  | { readonly kind: 'read'; readonly symbol: number; readonly valid: boolean; readonly conn: number }
  | { readonly kind: 'lose' | 'open'; readonly conn: number }
  | { readonly kind: 'pass'; readonly seconds: number; readonly keepsUp: boolean }
  | { readonly kind: 'policy'; readonly on: boolean };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('read' as const),
        symbol: fc.nat(1),
        valid: fc.boolean(),
        conn: fc.nat(1),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('lose' as const, 'open' as const), conn: fc.nat(1) }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.nat(20), keepsUp: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('policy' as const), on: fc.boolean() }) },
  ),
  { maxLength: 25 },
);

/** A connection opens while the venue has just fallen behind, before a look at the clock has told so. */
const FOUND: Step[] = [
  { kind: 'pass', seconds: 9, keepsUp: false },
  { kind: 'open', conn: 0 },
  { kind: 'pass', seconds: 5, keepsUp: true },
];

/** Applies the steps to a market of one venue whose clock is `clock`. */
const perform = (feed: Feed, clock: { now: Micros }, all: readonly Step[]): void => {
  const revs = [1, 1];
  const span = (conn: number, to: Micros | null) => ({
    conn_id: `c${conn + 1}`,
    slot: 'market',
    from: LISTED,
    to,
    cause: null,
  });
  for (const step of all) {
    clock.now += 1_000;
    if (step.kind === 'read') {
      const rev = (revs[step.symbol] ?? 0) + 1;
      revs[step.symbol] = rev;
      const over = step.valid ? {} : { valid: false, gap_cause: 'crossed_book' as const, values: {} };
      const at = { received_at: clock.now, recorded_at: clock.now, conn_id: `c${step.conn + 1}`, rev };
      feed.read('binance', ['BTCUSDT', 'ETHUSDT'][step.symbol] ?? '', markReading(String(rev), { ...at, ...over }));
    } else if (step.kind === 'pass') {
      clock.now += step.seconds * SECOND;
      if (step.keepsUp) feed.watermark('binance', clock.now);
    } else if (step.kind === 'policy') {
      const policy = step.on ? 'on' : 'off';
      feed.entry('binance', { kind: 'capability', capability: capability('binance', { mark: { policy } }, clock.now) });
    } else
      feed.entry('binance', { kind: 'connection', span: span(step.conn, step.kind === 'lose' ? clock.now : null) });
  }
};

t.test(
  'whatever event a client resumes from, it ends with the picture of one that stayed and receives no reading twice',
  async (t) => {
    const plan = PLANS.pro_plus;
    const picture = (events: readonly StreamEvent[]) => {
      const seen = new Map<string, unknown>();
      for (const { event, data } of events) {
        if (event !== 'snapshot' && event !== 'update') continue;
        const { status, reason, gap_cause } = data.state as Record<string, unknown>;
        seen.set(`${data.venue_symbol}`, [data.rev, status, reason, gap_cause]);
      }
      return [...seen].sort();
    };
    const readings = (events: readonly StreamEvent[]) =>
      events
        .filter(({ event, data }) => event === 'update' && data.change !== 'status')
        .map(({ data }) => `${data.venue_symbol} ${data.rev}`);
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = { now: NOW };
        const feed = market();
        const hub = new StreamHub({ live: feed.memory, nowMicros: () => clock.now });
        const choice = { venues: null, instruments: null };
        const input = { where: 'venue = binance', layers: 'mark' };
        const names = readNames(input.where, feed.memory);
        const request = readRequest({ input, names }, { live: feed.memory, plan, choice, at: NOW });
        const open = (lastEventId: string | null): readonly StreamEvent[] => {
          const { out, events } = collectEvents();
          const findKey = async () => 'unreachable' as const;
          const isInScope = () => true;
          hub.open({ account: { keyId: 'key', plan }, request, lastEventId, out, findKey, isInScope });
          return events;
        };
        const stayed = open(null);
        perform(feed, clock, all);
        // Opening a stream reads the clock, so the one that stayed open receives everything up to now.
        open(null);
        await new Promise((resume) => setImmediate(resume));
        const sent = [...stayed];
        for (const [i, { id, event }] of sent.entries()) {
          if (event === 'hello' || event === 'snapshot') continue;
          const back = open(id);
          t.equal(back[0]?.data.resumed, true);
          const joined = [...sent.slice(0, i + 1), ...back];
          t.same(picture(joined), picture(sent), JSON.stringify({ i, event, all }));
          t.equal(new Set(readings(joined)).size, readings(joined).length, JSON.stringify({ i, event, all }));
        }
        hub.close();
      }),
      { numRuns: 25, seed: 7, examples: [[FOUND]] },
    );
  },
);

t.test('an id of one node is resumed on another', async (t) => {
  const nodes = [await Bench.open(t), await Bench.open(t)] as const;
  const client = await nodes[0].ready(BTC);
  for (const bench of nodes) {
    bench.pass(SECOND);
    for (let rev = 2; rev <= 4; rev++) bench.mark('BTCUSDT', rev);
  }
  const [second] = await client.untilCount('update', 3);
  const again = await nodes[1].resume(BTC, second?.id ?? '');
  t.equal(again.events[0]?.data.resumed, true);
  t.same(
    again.named('update').map((e) => e.data),
    client
      .named('update')
      .slice(1)
      .map((e) => e.data),
  );
});

t.test(
  'an id of a node that is ahead waits until this one has come so far; nothing is sent twice (ST-02, D-37)',
  async (t) => {
    const nodes = [await Bench.open(t), await Bench.open(t, market(), { aheadWithinMs: 600_000 })] as const;
    const client = await nodes[0].ready(BTC);
    for (const bench of nodes) bench.pass(SECOND);
    for (let rev = 2; rev <= 4; rev++) nodes[0].mark('BTCUSDT', rev);
    const [second] = await client.untilCount('update', 3);
    const headers = { ...nodes[1].test.as('pro_plus'), 'last-event-id': second?.id ?? '' };
    const again = await nodes[1].stream(BTC, headers);
    for (let rev = 2; rev <= 5; rev++) nodes[1].mark('BTCUSDT', rev);
    await again.untilCount('update', 3);
    t.match(again.events[0], { event: 'hello', data: { resumed: true } });
    t.same(
      again.named('update').map((e) => e.data.rev),
      [3, 4, 5],
    );
  },
);

t.test('an id beyond the log, which was begun anew, is unknown (ST-05)', async (t) => {
  const [before, anew] = [await Bench.open(t), await Bench.open(t, market(), { aheadWithinMs: 1 })] as const;
  const client = await before.ready(BTC);
  before.pass(SECOND);
  for (let rev = 2; rev <= 4; rev++) before.mark('BTCUSDT', rev);
  await client.untilCount('update', 3);
  anew.pass(SECOND);
  const again = await anew.resume(BTC, client.lastId);
  t.same(
    again.events.map((e) => e.event),
    ['hello', 'gap', 'snapshot', 'ready'],
  );
  t.match(again.events[0]?.data, { resumed: false });
  t.match(again.events[1]?.data, { reason: 'resume_expired' });
});

t.test('an event id prints places of many tasks within 512 characters and reads back', (t) => {
  const tasks = Array.from({ length: 40 }, (_, i) => `venue-${i}/0`);
  const places = new Map(tasks.map((task, i) => [task, { offset: 3_000_000_000 + i, index: i - 1 }] as const));
  const id = { selection: 'abcdefghijk', sentAt: NOW, lagging: true };
  const text = printEventId(id, printPlaces(tasks, places));
  t.ok(text.length <= 512, String(text.length));
  t.same(parseEventId(text, 'abcdefghijk', tasks), { ...id, places });
  t.equal(parseEventId(text, 'abcdefghijx', tasks), null);
  t.equal(parseEventId(text, 'abcdefghijk', tasks.slice(1)), null);
  const many = Array.from({ length: 200 }, (_, i) => `venue-${i}/0`);
  const far = new Map(many.map((task) => [task, { offset: 3_000_000_000, index: 0 }]));
  t.equal(
    printEventId(id, printPlaces(many, far)),
    makeStartId('abcdefghijk'),
    'too long: nothing can be resumed from it',
  );
  const whole = new Map([['binance/0', { offset: 7, index: Number.POSITIVE_INFINITY }]]);
  const afterWhole = parseEventId(printEventId(id, printPlaces([...whole.keys()], whole)), 'abcdefghijk', [
    ...whole.keys(),
  ]);
  t.same(afterWhole?.places.get('binance/0'), { offset: 8, index: -1 }, 'a whole record is everything before the next');
  const [before, beyond] = [
    { offset: 7, index: 9_999 },
    { offset: 8, index: 0 },
  ];
  t.equal(isBeyond(new Map([['binance/0', before]]), whole), false);
  t.equal(isBeyond(new Map([['binance/0', beyond]]), whole), true);
  t.equal(isBeyond(new Map([['okx/0', before]]), whole), true, 'of a task that has not come anywhere');
  t.end();
});
