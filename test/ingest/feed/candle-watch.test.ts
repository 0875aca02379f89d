// Which minutes of trades a connection requests, and that an earlier one closed the others.
import t from 'tap';
import { type ClosedMinutes, createCandleWatch } from '../../../ingest/feed/candle-watch.ts';

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
