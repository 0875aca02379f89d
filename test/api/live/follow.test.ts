// What a node does while the log cannot be read as it starts: it tries again, but for what it could never read.
import t from 'tap';
import { retryUntilDone } from '../../../api/live/follow.ts';
import { codecs, SUBJECT_IDS } from '../../../schemas/avro/codec.ts';

const NEWEST = Math.max(...Object.values(SUBJECT_IDS).flat());

/** Reads a record with this schema id the first time, nothing afterwards. */
const readOnce = (id: number) => {
  const bytes = Buffer.alloc(5);
  bytes.writeInt32BE(id, 1);
  const failures: unknown[] = [];
  let tries = 0;
  const work = async (): Promise<number> => {
    tries += 1;
    if (tries === 1) codecs.listing.decode(bytes);
    return tries;
  };
  const { signal } = new AbortController();
  return { done: retryUntilDone(work, { signal, onFailure: (error) => failures.push(error) }), failures };
};

t.test('a node ends where a later version wrote what it starts from: waiting would not help', async (t) => {
  const { done, failures } = readOnce(NEWEST + 1);
  await t.rejects(done, { name: 'LaterSchema', message: /update this process first/ });
  t.same(failures, []);
});

t.test('any other failure is told, and the node tries again', async (t) => {
  const { done, failures } = readOnce(NEWEST + 10_000);
  t.equal(await done, 2);
  t.match(failures, [{ name: 'AvroError' }]);
});
