// Waits for what has not arrived yet: how they end, and that they leave nothing behind.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { Arrivals } from '../../../api/stream/arrivals.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const LONG_MS = 600_000;

t.test('a wait ends when what is awaited is there, not at any other arrival', async (t) => {
  const arrivals = new Arrivals();
  let isThere = false;
  const ended: string[] = [];
  const wait = arrivals.until(() => isThere, LONG_MS).then(() => ended.push('wait'));
  arrivals.look();
  await arrivals.until(() => true, 1).then(() => ended.push('another, by its time'));
  isThere = true;
  arrivals.look();
  await wait;
  t.same(ended, ['another, by its time', 'wait']);
});

t.test('the end of the node ends every wait, and each that would begin after it', async (t) => {
  const arrivals = new Arrivals();
  const wait = arrivals.until(() => false, LONG_MS);
  t.equal(arrivals.isClosed, false);
  arrivals.close();
  await wait;
  await arrivals.until(() => false, LONG_MS);
  t.equal(arrivals.isClosed, true);
});

t.test('waits that are over hold no memory, however many there were', async (t) => {
  const arrivals = new Arrivals();
  const waitOften = async (times: number): Promise<number> => {
    for (let i = 0; i < times; i += 500) {
      const waits = Array.from({ length: 500 }, () => arrivals.until(() => true, LONG_MS));
      arrivals.look();
      await Promise.all(waits);
    }
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = await waitOften(1_000);
  const bytes = (await waitOften(5_000)) - before;
  t.ok(bytes < 2_000_000, `${bytes} bytes`);
});

t.test('what waits for the past is looked at when that was joined, not at every arrival', async (t) => {
  const arrivals = new Arrivals();
  let looks = 0;
  const isThere = (): boolean => {
    looks += 1;
    return true;
  };
  const wait = arrivals.untilJoined(isThere, LONG_MS);
  arrivals.look();
  t.equal(looks, 0);
  arrivals.lookBack();
  await wait;
  t.equal(looks, 1);
  const last = arrivals.untilJoined(() => false, LONG_MS);
  arrivals.close();
  await last;
});
