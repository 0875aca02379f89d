// What the simulator keeps of the frames it sent: a demo that runs for weeks keeps no more of them than one of an hour.
import t from 'tap';
import { createSentLog } from '../../../../infra/dev/simulator/sent-log.ts';

const DIGEST = Buffer.from('0011223344556677', 'hex');
const MEGABYTE = 1_048_576;
/** Of one chunk, so that the next frame begins another. */
const CHUNK = 16_384;

t.test('frames of connections that come and go are dropped, the oldest first; those of open ones stay', (t) => {
  const log = createSentLog();
  const calm = log.open('okx', '/', 0);
  calm.add('book', DIGEST, 1);
  for (let n = 0; n < 600; n++) {
    const { add, closed } = log.open('okx', '/', n);
    for (let i = 0; i < CHUNK; i++) add('book', DIGEST, n);
    closed('age', n);
  }
  calm.add('book', DIGEST, 2);
  const kept = log.connections.map(({ connection }) => [...log.frames(connection, 0)].length);
  t.equal(kept[0], 2);
  t.equal(kept.at(-1), CHUNK);
  t.same(new Set(kept.slice(1, 300)), new Set([0]));
  t.equal(log.connections.at(1)?.frames, CHUNK, 'counts stay');
  const { arrayBuffers } = process.memoryUsage();
  t.ok(arrayBuffers < 160 * MEGABYTE, `${Math.round(arrayBuffers / MEGABYTE)} MB`);
  t.end();
});

t.test('one connection keeps its newest frames, by their numbers', (t) => {
  const log = createSentLog();
  const { summary, add } = log.open('okx', '/', 0);
  for (let i = 0; i < 300 * CHUNK; i++) add('trade', DIGEST, i);
  const [first] = log.frames(summary.connection, 0);
  t.match(first, { index: 44 * CHUNK, at: 44 * CHUNK * 1_000 });
  t.equal([...log.frames(summary.connection, 300 * CHUNK - 1)].at(-1)?.index, 300 * CHUNK - 1);
  t.end();
});
