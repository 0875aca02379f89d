// Whether a store responds, as reported to /readyz (OP-01).
import t from 'tap';
import { watchReachable } from '../../../../infra/runtime/network/reachable.ts';

t.test('it is reachable as the ping reports, and away when the ping fails', async (t) => {
  const outcomes = [async () => true, async () => false, () => Promise.reject(new Error('connect ECONNREFUSED'))];
  const isReachable = watchReachable(async () => (outcomes.shift() as () => Promise<boolean>)());
  t.equal(await isReachable(), true);
  t.equal(await isReachable(), false);
  t.equal(await isReachable(), false);
});

t.test(
  'a store that hangs is away, gets one ping for everybody who waits, and another when it has answered',
  async (t) => {
    const pings: ((usable: boolean) => void)[] = [];
    const isReachable = watchReachable(() => new Promise((settle) => pings.push(settle)), 20);
    t.same(await Promise.all([isReachable(), isReachable()]), [false, false]);
    t.equal(await isReachable(), false);
    t.equal(pings.length, 1);
    pings[0]?.(true);
    t.equal(await isReachable(), true, 'the answer that came late');
    const asked = isReachable();
    t.equal(pings.length, 2);
    pings[1]?.(true);
    t.equal(await asked, true);
  },
);
