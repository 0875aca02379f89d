// Decisions of the feed without a socket: rate windows, Retry-After, clock offset, which book needs a snapshot, capabilities.
import fc from 'fast-check';
import { Registry } from 'prom-client';
import t from 'tap';
import { computeClockOffsetMs } from '../../../ingest/clock-guard.ts';
import { type BookNeed, type BookWatch, createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { type ClosedMinutes, createCandleWatch } from '../../../ingest/feed/candle-watch.ts';
import { createConnectionLog } from '../../../ingest/feed/connection-log.ts';
import { createLinkWatch } from '../../../ingest/feed/link-watch.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import { createRateWindow } from '../../../ingest/feed/rate-window.ts';
import { readRetryAfterMs } from '../../../ingest/feed/rest-client.ts';
import { createSubscriptionWatch } from '../../../ingest/feed/subscription-watch.ts';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { openMemory, paper, readBody, type Written } from '../paper-venue.ts';

type Spent = { readonly atMs: number; readonly weight: number };

const spendAll = (limit: number, asks: readonly { readonly weight: number; readonly gapMs: number }[]): Spent[] => {
  const window = createRateWindow(limit);
  const spent: Spent[] = [];
  let nowMs = 0;
  for (const { weight, gapMs } of asks) {
    nowMs += gapMs;
    for (let waitMs = window.waitMs(weight, nowMs); waitMs > 0; waitMs = window.waitMs(weight, nowMs)) {
      nowMs += waitMs;
      t.ok(window.waitMs(weight, nowMs - 1) > 0, 'no wait is longer than it must be');
    }
    window.spend(weight, nowMs);
    spent.push({ atMs: nowMs, weight });
  }
  return spent;
};
const most = (spent: readonly Spent[], lengthMs: number): number =>
  Math.max(
    ...spent.map(({ atMs }) =>
      spent.reduce((sum, s) => (s.atMs > atMs - lengthMs && s.atMs <= atMs ? sum + s.weight : sum), 0),
    ),
  );

t.test('no minute holds more than 80 % of the limit and no ten seconds more than 48 %', async (t) => {
  const asks = fc.array(
    fc.record({ weight: fc.integer({ min: 1, max: 40 }), gapMs: fc.integer({ min: 0, max: 5_000 }) }),
    {
      minLength: 1,
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 600 }), asks, (limit, wanted) => {
      const spent = spendAll(limit, wanted);
      return most(spent, 60_000) <= limit * 0.8 && most(spent, 10_000) <= Math.max(limit * 0.48, 40);
    }),
    { numRuns: 200 },
  );
  t.pass('held for 200 schedules');
});

t.test("a venue's own burst is kept to in any span of its length", (t) => {
  const window = createRateWindow(7_200, { most: 600, ms: 5_000 });
  const spent: number[] = [];
  for (let nowMs = 0; nowMs < 30_000; nowMs += 10) {
    while (window.waitMs(1, nowMs) === 0) {
      window.spend(1, nowMs);
      spent.push(nowMs);
    }
  }
  const most = Math.max(...spent.map((from) => spent.filter((at) => at >= from && at < from + 5_000).length));
  t.equal(most, 480, 'four fifths of 600');
  t.equal(spent.length, 2_880, 'and no less is granted');
  t.end();
});

t.test('the whole usable minute is granted, the first burst at once', async (t) => {
  const spent = spendAll(
    2_400,
    Array.from({ length: 120 }, () => ({ weight: 20, gapMs: 0 })),
  );
  t.equal(spent.filter(({ atMs }) => atMs === 0).length, 57, '48 % of 2400 at weight 20');
  t.equal(spent.filter(({ atMs }) => atMs < 60_000).length, 96, '80 % of 2400 at weight 20');
});

t.test('a request above the whole limit waits for an empty window, not for ever', async (t) => {
  const window = createRateWindow(100);
  t.equal(window.waitMs(500, 0), 0);
  window.spend(500, 0);
  t.equal(window.waitMs(1, 1), 59_999);
});

t.test('what yields may use a share of the window only', async (t) => {
  const window = createRateWindow(100, undefined, 0.5);
  for (let n = 0; n < 24; n += 1) {
    t.equal(window.waitMs(1, 0), 0);
    window.spend(1, 0);
  }
  t.equal(window.waitMs(1, 0), 10_000, 'half of the burst of 48');
});

t.test('Retry-After is read as seconds or as a date, with the pause of the status when it is absent', async (t) => {
  const wait = (status: number, value?: string) =>
    readRetryAfterMs({ status, headers: new Headers(value === undefined ? {} : { 'retry-after': value }) });
  t.equal(wait(429, '7'), 7_000);
  t.equal(wait(503, '3'), 3_000);
  t.equal(wait(429), 30_000);
  t.equal(wait(418), 120_000, 'a ban is at least two minutes');
  t.equal(wait(500), null);
  t.equal(wait(429, 'soon'), 30_000, 'what cannot be read is absent');
  t.equal(wait(418, '999999'), 600_000, 'never longer than ten minutes');
  t.equal(wait(429, '0'), 1_000, 'never at once');
  t.equal(wait(429, new Date(Date.now() - 60_000).toUTCString()), 1_000, 'also where their clock is behind ours');
  const dated = wait(429, new Date(Date.now() + 60_000).toUTCString()) ?? 0;
  t.ok(dated > 55_000 && dated <= 60_000);
  for (const text of ['-5', '+5', '1/2', '1e3', '2026-11-27', '5 minutes', ''])
    t.equal(wait(418, text), 120_000, `"${text}" is neither seconds nor a date, however Date.parse reads it`);
  t.equal(wait(418, '119.5'), 119_500, 'seconds with a fraction');
  // The three forms of RFC 9110, section 5.6.7; the last one has no zone and is in UTC.
  const at = new Date(Date.now() + 60_000);
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(at.toUTCString()) ?? [];
  const long = at.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  for (const text of [
    `${long}, ${day}-${month}-${year?.slice(2)} ${time} GMT`,
    `${long.slice(0, 3)} ${month} ${day} ${time} ${year}`,
  ]) {
    const ms = wait(429, text) ?? 0;
    t.ok(ms > 55_000 && ms <= 60_000, text);
  }
});

t.test('the clock is off only by what the broker time lies outside of sending and answer', async (t) => {
  const at = (sentMs: number, ackedMs: number, appendedMs: number) =>
    computeClockOffsetMs({ sentAt: sentMs * 1_000, ackedAt: ackedMs * 1_000, appendedMs });
  t.equal(at(1_000, 1_040, 1_020), 0);
  t.equal(at(1_000.4, 1_000.9, 1_000), 0, 'the broker cuts off at whole milliseconds');
  t.equal(at(3_000, 3_010, 1_000), 1_999, 'ahead');
  t.equal(at(1_000, 1_010, 7_010), -6_000, 'behind');
});

const snapshot = (symbol: string, id: number): Chain => ({
  symbol,
  kind: 'snapshot',
  first: null,
  last: BigInt(id),
  previous: null,
});
const diff = (symbol: string, first: number, last: number): Chain => ({
  symbol,
  kind: 'update',
  first: BigInt(first),
  last: BigInt(last),
  previous: null,
});
const createWatch = (...symbols: string[]) => createBookWatch({ rule: paper.bookRule, symbols, nowMs: 0 });
/** The oldest need of the most urgent kind. */
const findNeed = (watch: BookWatch, nowMs: number): BookNeed | null =>
  watch.oldest(nowMs, 'join') ?? watch.oldest(nowMs, 'confirm') ?? watch.oldest(nowMs, 'refresh');
const createStreamed = (...symbols: string[]) =>
  createBookWatch({ rule: { ...paper.bookRule, style: 'stream' }, symbols, nowMs: 0 });

t.test('a book needs its snapshot from its first diff on, the oldest need first', async (t) => {
  const watch = createWatch('AAA', 'BBB', 'CCC');
  t.equal(findNeed(watch, 1), null, 'nothing was received yet');
  watch.take(diff('BBB', 5, 6), 100);
  watch.take(diff('AAA', 5, 6), 200);
  t.same(findNeed(watch, 300), { symbol: 'BBB', why: 'join', sinceMs: 100 });
  watch.take(diff('BBB', 7, 8), 400);
  t.same(findNeed(watch, 500), { symbol: 'BBB', why: 'join', sinceMs: 100 }, 'a need keeps its age');
  watch.postpone('BBB', 1_500);
  t.equal(findNeed(watch, 500)?.symbol, 'AAA', 'a book that was just requested lets others pass');
  watch.take(diff('CCC', 5, 6), 550);
  t.equal(findNeed(watch, 560)?.symbol, 'AAA', 'of two the one that has waited longest');
  watch.take(snapshot('CCC', 6), 560);
  watch.take(snapshot('BBB', 6), 600);
  watch.take(snapshot('AAA', 3), 700);
  t.same(findNeed(watch, 800), { symbol: 'AAA', why: 'join', sinceMs: 200 }, 'too old a snapshot leaves the need');
  t.notOk(watch.allWhole());
  watch.take(snapshot('AAA', 5), 900);
  t.equal(findNeed(watch, 1_600), null);
  t.equal(watch.take(diff('AAA', 9, 9), 2_000), true, 'a hole breaks it');
  t.same(findNeed(watch, 2_100), { symbol: 'AAA', why: 'join', sinceMs: 2_000 });
});

t.test('a book that is quiet for 20 s is confirmed, after those that are not whole', async (t) => {
  const watch = createWatch('AAA', 'BBB');
  watch.take(diff('AAA', 5, 6), 0);
  watch.take(snapshot('AAA', 6), 0);
  t.equal(findNeed(watch, 19_999), null);
  t.same(
    findNeed(watch, 20_000),
    { symbol: 'BBB', why: 'join', sinceMs: 0 },
    'without a diff: only its snapshot is missing',
  );
  watch.take(snapshot('BBB', 1), 20_500);
  t.ok(watch.allWhole());
  t.same(findNeed(watch, 20_600), { symbol: 'AAA', why: 'confirm', sinceMs: 0 });
  t.equal(watch.take(snapshot('AAA', 6), 20_700), false);
  t.equal(findNeed(watch, 40_400), null);
  t.equal(watch.take(diff('ZZZ', 1, 1), 1), false, 'a book without a subscription is left alone');
});

t.test('a whole book is requested again when its snapshot is old', async (t) => {
  const old = { symbol: 'AAA', why: 'refresh', sinceMs: 0 } as const;
  const sent: Chain[] = [
    diff('AAA', 5, 6),
    snapshot('AAA', 6),
    ...Array.from({ length: 30 }, (_, i) => diff('AAA', 7 + i, 7 + i)),
  ];
  const [onRequest, streamed] = [createWatch('AAA'), createStreamed('AAA')];
  for (const watch of [onRequest, streamed])
    for (const [i, chain] of sent.entries()) watch.take(chain, i < 2 ? 0 : (i - 1) * 10_000 - 1);
  t.equal(findNeed(onRequest, 299_999), null);
  t.same(findNeed(onRequest, 300_000), old);
  t.equal(findNeed(streamed, 300_000), null, 'a venue that sends its snapshots itself is not asked');
  t.ok(streamed.take(diff('AAA', 99, 99), 300_000), 'a hole breaks its book too');
  t.equal(findNeed(streamed, 300_001), null);
  t.notOk(streamed.isWhole('AAA'));
  t.ok(streamed.isWhole('ZZZ'), 'of no subscription');
  onRequest.take(snapshot('AAA', 40), 301_000);
  t.equal(findNeed(onRequest, 310_000), null);
});

t.test('a quiet book is confirmed by its id alone; after another id the whole book is requested', async (t) => {
  const watch = createWatch('AAA');
  watch.take(diff('AAA', 5, 6), 0);
  watch.take(snapshot('AAA', 6), 0);
  const confirmation = (id: number): Chain => ({ ...snapshot('AAA', id), kind: 'confirmation' });
  t.same(findNeed(watch, 20_000), { symbol: 'AAA', why: 'confirm', sinceMs: 0 });
  watch.take(confirmation(6), 20_000);
  t.equal(findNeed(watch, 39_999), null);
  watch.take(confirmation(9), 40_000);
  t.same(findNeed(watch, 40_000), { symbol: 'AAA', why: 'confirm', sinceMs: 20_000, isDoubted: true });
  t.ok(watch.allWhole(), 'its diffs may be on their way');
  t.equal(watch.take(diff('AAA', 7, 9), 40_100), false);
  t.equal(findNeed(watch, 40_200), null, 'they came');
  t.same(findNeed(watch, 60_100), { symbol: 'AAA', why: 'confirm', sinceMs: 40_100 });
  t.equal(watch.oldest(60_100, 'join'), null);
  t.equal(watch.oldest(60_100, 'refresh'), null);
});

t.test(
  'a quiet book whose venue restarted its numbering is requested again, with and without new messages',
  async (t) => {
    const quiet = createWatch('AAA');
    quiet.take(snapshot('AAA', 1_000), 0);
    t.same(findNeed(quiet, 20_000), { symbol: 'AAA', why: 'confirm', sinceMs: 0 });
    t.equal(quiet.take(snapshot('AAA', 3), 20_100), true);
    t.same(findNeed(quiet, 20_200), { symbol: 'AAA', why: 'join', sinceMs: 20_100 });
    quiet.take(snapshot('AAA', 3), 21_200);
    t.ok(quiet.allWhole());

    const busy = createWatch('AAA');
    busy.take(snapshot('AAA', 1_000), 0);
    t.equal(busy.take(diff('AAA', 1, 2), 10_000), false, 'the snapshot may have overtaken it');
    t.equal(busy.take(diff('AAA', 3, 4), 10_001), true);
    t.same(findNeed(busy, 10_001), { symbol: 'AAA', why: 'join', sinceMs: 10_001 });
  },
);

t.test('a silent subscription is named once for each silence, a quiet one before it', async (t) => {
  const watched = [
    { subscriptions: ['a', 'b'], silenceMs: 30_000, confirmAfterMs: 20_000 },
    { subscriptions: ['c'], silenceMs: 50_000 },
  ];
  const watch = createSubscriptionWatch(watched, 0);
  watch.take('a', '{}', 15_000);
  watch.take('unknown', '{}', 15_000);
  t.equal(watch.quiet(19_999), null);
  t.equal(watch.quiet(20_000), 'b');
  t.equal(watch.quiet(20_000), null, 'it was just requested');
  t.same(watch.silent(29_999), []);
  t.same(watch.silent(30_000), ['b']);
  t.same(watch.silent(44_999), []);
  t.same(watch.silent(50_000), ['a', 'c']);
  t.same(watch.silent(60_000), ['b'], 'still silent, and so renewed once more');
  watch.forgive(70_000);
  t.same(watch.silent(99_999), []);
  t.equal(watch.quiet(89_999), null);
});

t.test(
  'a subscription that may be quiet is renewed until it has begun, with an acknowledgement or a frame',
  async (t) => {
    const watch = createSubscriptionWatch([{ subscriptions: ['a', 'b', 'c'], silenceMs: 60_000, mayBeQuiet: true }], 0);
    watch.begin('a');
    watch.begin('unknown');
    watch.take('b', '{}', 1_000);
    t.same(watch.silent(59_999), []);
    t.same(watch.silent(60_000), ['c'], 'the venue refused it');
    t.same(watch.silent(119_999), []);
    t.same(watch.silent(120_000), ['c'], 'again, until the venue accepts it');
    watch.begin('c');
    t.same(watch.silent(1_000_000), []);
  },
);

t.test('a member that frames omit or repeat is requested, although others of its subscription change', async (t) => {
  const members = [
    { name: 'lastPrice', confirmAfterMs: 20_000 },
    { name: 'fundingRate', confirmAfterMs: 50_000 },
  ];
  const watch = createSubscriptionWatch([{ subscriptions: ['a'], silenceMs: 30_000, members }], 0);
  watch.take('a', '{"lastPrice":"1","fundingRate":"0.1"}', 1_000);
  watch.take('a', '{"lastPrice":"2"}', 10_000);
  watch.take('a', '{"lastPrice":"2","bid1Price":"1.9"}', 20_000);
  watch.take('a', '{"bid1Price":"1.8"}', 29_000);
  t.equal(watch.quiet(29_999), null);
  t.equal(watch.quiet(30_000), 'a');
  t.equal(watch.quiet(49_999), null, 'the answer contained all members');
  watch.take('a', '{"lastPrice":"3"}', 49_999);
  t.equal(watch.quiet(69_998), null);
  t.equal(watch.quiet(69_999), 'a');
  t.same(watch.silent(70_000), [], 'it never rested');
});

t.test(
  'a minute that no frame closed is requested while it can count, the oldest first, and at once after connecting',
  async (t) => {
    const minute = (n: number): number => n * 60_000;
    const watch = createCandleWatch(['AAA', 'BBB'], new Map());
    const opened = minute(10) + 5_000;
    t.same(watch.next(opened), { symbol: 'AAA', fromMs: minute(8), toMs: minute(8) }, 'the ninth is over for 5 s only');
    t.same(watch.next(opened), { symbol: 'BBB', fromMs: minute(8), toMs: minute(8) });
    t.equal(watch.next(opened), null, 'both are requested');
    for (const symbol of ['AAA', 'BBB']) watch.fill({ symbol, fromMs: minute(8), toMs: minute(8) });
    watch.close({ symbol: 'AAA', openMs: minute(9) });
    watch.close({ symbol: 'CCC', openMs: minute(9) });
    t.same(watch.next(minute(10) + 20_000), { symbol: 'BBB', fromMs: minute(9), toMs: minute(9) });
    t.equal(watch.next(minute(10) + 34_999), null);
    t.same(watch.next(minute(10) + 35_000), { symbol: 'BBB', fromMs: minute(9), toMs: minute(9) }, 'no answer so far');
    t.same(watch.next(minute(11) + 10_000), { symbol: 'BBB', fromMs: minute(9), toMs: minute(10) });
    t.same(watch.next(minute(11) + 30_000), { symbol: 'AAA', fromMs: minute(10), toMs: minute(10) });
    t.same(
      watch.next(minute(11) + 30_000),
      { symbol: 'BBB', fromMs: minute(10), toMs: minute(10) },
      'what is over for 90 s would be recorded too late',
    );
  },
);

t.test('where no minute is marked as closed, a published one is over when a newer one is published', async (t) => {
  const minute = (n: number): number => n * 60_000;
  const watch = createCandleWatch(['AAA'], new Map());
  const begin = (n: number): void => watch.begin({ symbol: 'AAA', openMs: minute(n) });
  const missing = (n: number, afterMs: number): readonly number[] => {
    const need = watch.next(minute(n) + afterMs);
    return need ? [need.fromMs / 60_000, need.toMs / 60_000] : [];
  };
  begin(9);
  t.same(missing(10, 5_000), [8, 8], 'no frame of this connection published it');
  watch.fill({ symbol: 'AAA', fromMs: minute(8), toMs: minute(8) });
  begin(9);
  t.same(missing(10, 20_000), [9, 9], 'no newer one so far');
  begin(10);
  t.same(missing(10, 40_000), [], 'the ninth is over');
  begin(10);
  begin(13);
  t.same(missing(13, 20_000), [], 'what lies between had no trades');
  begin(12);
  t.same(missing(14, 20_000), [13, 13], 'an older one changes nothing');
  watch.fill({ symbol: 'AAA', fromMs: minute(13), toMs: minute(13) });
  begin(15);
  t.same(missing(15, 20_000), [14, 14], 'the answer ended in the fourteenth, which is no record of its own');
  watch.begin({ symbol: 'BBB', openMs: minute(15) });

  const begun = createCandleWatch(['AAA'], new Map());
  const need = (from: number, to: number) => ({ symbol: 'AAA', fromMs: minute(from), toMs: minute(to) });
  t.same(begun.next(minute(12) + 5_000), need(10, 10));
  begun.fill(need(10, 10));
  begun.begin({ symbol: 'AAA', openMs: minute(13) });
  t.same(begun.next(minute(13) + 20_000), need(11, 12), 'the span began in the twelfth, of which it may lack a part');
});

t.test('a span requests what the one before it closed only along with minutes that no frame closed', async (t) => {
  const minute = (n: number): number => n * 60_000;
  const closed: ClosedMinutes = new Map();
  const dueAt = minute(10) + 20_000;
  const need = (from: number, to: number) => ({ symbol: 'AAA', fromMs: minute(from), toMs: minute(to) });
  const first = createCandleWatch(['AAA'], closed);
  first.begin({ symbol: 'AAA', openMs: minute(8) });
  first.begin({ symbol: 'AAA', openMs: minute(9) });
  t.same(createCandleWatch(['AAA'], closed).next(dueAt), need(8, 9), 'the ninth may continue in another span');
  first.begin({ symbol: 'AAA', openMs: minute(10) });
  t.equal(createCandleWatch(['AAA'], closed).next(dueAt), null);

  const other: ClosedMinutes = new Map();
  const answered = createCandleWatch(['AAA'], other);
  t.same(answered.next(dueAt), need(8, 9));
  answered.fill(need(8, 9));
  t.equal(answered.next(minute(10) + 40_000), null);
  t.same(createCandleWatch(['AAA'], other).next(dueAt), need(8, 9), 'the answer may end in the ninth');
  answered.begin({ symbol: 'AAA', openMs: minute(10) });
  t.equal(createCandleWatch(['AAA'], other).next(dueAt), null, 'a newer one made it whole');

  const marking: ClosedMinutes = new Map();
  createCandleWatch(['AAA', 'BBB'], marking).close({ symbol: 'AAA', openMs: minute(8) });
  const next = createCandleWatch(['AAA'], marking);
  t.equal(next.next(minute(10)), null);
  next.close({ symbol: 'AAA', openMs: minute(9) });
  t.equal(next.next(dueAt), null);
  for (let n = 10; n < 100; n += 1) next.close({ symbol: 'AAA', openMs: minute(n) });
  t.equal(marking.get('AAA')?.size, 6, 'minutes that no answer can fill any more are forgotten');
});

t.test('a connection is alive again after a pause that may be the end of a span to the task (F-02)', async (t) => {
  const memory = openMemory();
  let now = 1_000_000_000;
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: () => now,
    collector: 'c1',
    shards: 2,
    meters: createMeters(new Registry()).venue('paper'),
  });
  const open = () => connections.open({ slot: 's', shards: [0, 1], url: 'ws://test', covers: [] });
  const after = (ms: number): void => {
    now += ms * 1_000;
  };
  const [receiving, quiet] = [open(), open()];
  const openedAt = now;
  after(1_000);
  connections.tick();
  after(1_000);
  receiving.frame(Buffer.from('{}'));
  quiet.response('GET /one', Buffer.from('{}'), [1]);
  after(200);
  const unblock = memory.block();
  connections.tick();
  unblock();
  t.same([receiving.aliveFrom(), quiet.aliveFrom()], [openedAt, openedAt]);
  after(100);
  connections.tick();
  t.equal(receiving.aliveFrom(), openedAt);
  t.equal(quiet.aliveFrom(), now, 'nothing named it in the other shard');
  after(3_100);
  receiving.frame(Buffer.from('{}'));
  t.equal(receiving.aliveFrom(), now, 'the frame itself is the first of the new span');
  memory.setAway(true);
  for (let i = 0; i < 4; i += 1) {
    after(1_000);
    receiving.frame(Buffer.from('{}'));
    connections.tick();
  }
  memory.setAway(false);
  after(100);
  connections.tick();
  t.equal(receiving.aliveFrom(), now, 'what waits on disk names nobody now, and ticks were left out');
  // Kafka stops here, and it takes 1.6 s to notice: what was written since comes with what follows.
  after(1_600);
  receiving.frame(Buffer.from('{}'));
  memory.setAway(true);
  after(1_450);
  memory.setAway(false);
  connections.tick();
  t.equal(receiving.aliveFrom(), now, 'the log has 3.05 s without a record that names it');
  receiving.lost('connection_lost', '');
  t.equal(receiving.aliveFrom(), null);
  const countWritten = (): number =>
    memory.of('frame').length + memory.of('response').length + memory.of('lost').length;
  const written = countWritten();
  receiving.frame(Buffer.from('{}'));
  receiving.response('GET /late', Buffer.from('{}'));
  receiving.lost('venue_down', '');
  t.equal(countWritten(), written, 'nothing of a connection is recorded after its end');
});

t.test('a connection that ends after a standstill ended by it, whatever notices first', async (t) => {
  const memory = openMemory();
  let now = 1_000_000_000;
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: () => now,
    collector: 'c1',
    shards: 1,
    meters: createMeters(new Registry()).venue('paper'),
    onStandstill: () => {
      for (const source of sources) source.lost('collector_down', 'stood still');
    },
  });
  const sources = ['a', 'b'].map((slot) => connections.open({ slot, shards: [0], url: 'ws://test', covers: [] }));
  now += 60_000_000;
  sources[0]?.lost('venue_rate_limit', 'no answer for 60 s');
  t.same(
    memory.of('lost').map((lost) => [lost.slot, readBody(lost).cause]),
    [
      ['a', 'collector_down'],
      ['b', 'collector_down'],
    ],
  );
  now += 1_000_000;
  const next = connections.open({ slot: 'a', shards: [0], url: 'ws://test', covers: [] });
  now += 1_500_000;
  next.lost('venue_rate_limit', '');
  t.equal(readBody(memory.of('lost')[2] as Written).cause, 'venue_rate_limit');
});

t.test('a minute on the boundary of two spans is requested, and frames after the end are ignored', async (t) => {
  const minute = (n: number): number => n * 60_000;
  const venue: Venue = {
    ...paper,
    newestMinute: (text) => ({ symbol: 'AAA', openMs: minute(Number(text)) }),
    candles: (_listing, { fromMs, toMs }) => ({ method: 'GET', url: `${fromMs / 60_000}-${toMs / 60_000}`, weight: 1 }),
  };
  const closed: ClosedMinutes = new Map();
  let span: number | null = 1;
  let nowMs = minute(8) + 5_000;
  const aliveFrom = (): number | null => span;
  const link = { venue, endpoints: {}, watched: [], closed, aliveFrom, wallMs: () => nowMs };
  const watch = createLinkWatch({ ...link, candles: ['AAA'] });
  for (const frame of ['6', '7', '8', '9']) watch.take(frame);
  nowMs = minute(10) + 20_000;
  span = 2;
  watch.take('10');
  const asked = watch.next('candle');
  t.equal(asked?.request.url, '8-9', 'the ninth was published before the pause only');
  asked?.filled();
  watch.take('11');
  nowMs = minute(11) + 20_000;
  t.equal(watch.next('candle'), null);

  nowMs = minute(13) + 20_000;
  const late = watch.next('candle');
  t.equal(late?.request.url, '11-12');
  span = null;
  late?.filled();
  watch.take('13');
  t.equal(watch.next('candle'), null);
  span = 3;
  t.equal(createLinkWatch({ ...link, candles: ['AAA'] }).next('candle')?.request.url, '11-12');
});

t.test('a live cadence is no number of milliseconds in a capability', async (t) => {
  const body = toCapability({
    name: 'Somewhere',
    layers: {
      book: { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' },
      mark: { policy: 'on', cadence: 1_000, horizonMs: 2_000, horizonSource: 'documented' },
    },
  });
  t.equal(body.name, 'Somewhere');
  t.same(body.layers.book, { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' });
  t.same(body.layers.mark, { policy: 'on', cadence_ms: 1_000, horizon_ms: 2_000, horizon_source: 'documented' });
});
