// Which book of a connection needs a snapshot, a confirmation or a refresh, and when.
import t from 'tap';
import { type BookNeed, type BookWatch, createBookWatch } from '../../../ingest/feed/book-watch.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { paper } from '../../support/venues/paper-venue.ts';

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
