// Which subscriptions of a connection are silent, or never began, and which values are to be confirmed.
import t from 'tap';
import { createSubscriptionWatch } from '../../../ingest/feed/subscription-watch.ts';

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
