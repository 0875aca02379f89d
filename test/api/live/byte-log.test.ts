// Bytes outside of the heap: what is held is intact, and what is freed takes no memory.
import t from 'tap';
import { ByteLog, type BytePlace } from '../../../api/live/byte-log.ts';
import { createRandom } from '../../../infra/dev/simulator/random.ts';

const MB = 1_048_576;
const fill = (length: number, value: number): Buffer => Buffer.alloc(length, value);

t.test('held bytes are intact, in whatever order others are freed', async (t) => {
  const { below: random } = createRandom(5);
  const log = new ByteLog();
  const held: { readonly place: BytePlace; readonly bytes: Buffer }[] = [];
  let wrong = 0;
  for (let i = 0; i < 4_000; i++) {
    const bytes = fill(1 + random(i % 500 === 0 ? 3 * MB : 20_000), i % 251);
    held.push({ place: log.append(bytes), bytes });
    if (held.length < 300) continue;
    const [one] = held.splice(random(held.length), 1);
    if (one === undefined) continue;
    if (!log.at(one.place).equals(one.bytes)) wrong++;
    log.free(one.place);
  }
  t.equal(wrong, 0);
  for (const { place, bytes } of held) {
    if (!log.at(place).equals(bytes)) wrong++;
    log.free(place);
  }
  t.equal(wrong, 0);
  t.ok(log.size <= MB, `${log.size} bytes for nothing that is held`);
  t.throws(() => log.at(held[0]?.place as BytePlace), /is not held/);
});

t.test('bytes that stay hold their own chunk and no later one', async (t) => {
  const log = new ByteLog();
  const stays = log.append(fill(10, 7));
  for (let i = 0; i < 100; i++) log.free(log.append(fill(700_000, i)));
  t.ok(log.size <= 2 * MB, `${log.size} bytes`);
  t.ok(log.at(stays).equals(fill(10, 7)));
});
