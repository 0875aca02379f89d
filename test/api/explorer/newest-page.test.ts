// The newest part of a period of events, read again and again while they come in bursts.
import t from 'tap';
import { createNewestReader } from '../../../api/explorer/islands/newest-page.ts';

const DAY_MS = 86_400_000;
const LIMIT = 500;

t.test('a period that a burst made shorter is as long as asked once the burst has passed', async (t) => {
  let events = 1_000;
  const asked: number[] = [];
  const read = createNewestReader(DAY_MS, async (lengthMs) => {
    asked.push(lengthMs);
    // A burst of some minutes, three hours ago and more.
    const found = lengthMs > DAY_MS / 8 ? events : 3;
    const returned = Math.min(found, LIMIT);
    return { page: { limit: LIMIT, returned, next_cursor: found > LIMIT ? 'c' : null } };
  });
  await read();
  t.same(asked.splice(0), [DAY_MS, DAY_MS / 8], 'a shorter one is asked for where the first does not fit');
  for (let i = 0; i < 9; i++) await read();
  t.same(asked.splice(0), Array(9).fill(DAY_MS / 8), 'which is remembered');
  await read();
  t.same(asked.splice(0), [DAY_MS, DAY_MS / 8], 'the longer one is tried now and then');
  events = 40;
  for (let i = 0; i < 12; i++) await read();
  t.same(asked, [...Array(9).fill(DAY_MS / 8), ...Array(3).fill(DAY_MS)]);
});

t.test('a page that is nearly full is not asked for in a longer period', async (t) => {
  const asked = new Set<number>();
  const read = createNewestReader(DAY_MS, async (lengthMs) => {
    asked.add(lengthMs);
    const isWhole = lengthMs < DAY_MS;
    return { page: { limit: LIMIT, returned: isWhole ? 100 : LIMIT, next_cursor: isWhole ? null : 'c' } };
  });
  await read();
  asked.clear();
  for (let i = 0; i < 30; i++) await read();
  t.same([...asked], [DAY_MS / 8]);
});

t.test('a second that has more than a page is shown as far as the page goes', async (t) => {
  const read = createNewestReader(2_000, async () => ({ page: { limit: 1, returned: 1, next_cursor: 'c' } }));
  t.equal((await read()).page.next_cursor, 'c');
});
