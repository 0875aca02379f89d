// Proofs over a store that is silent: those that wait for their turn do not wait for one silence after the other (E-07).
import { Readable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { type Anchors, openAnchors } from '../../../api/anchors/anchors.ts';
import type { ClosedDays } from '../../../api/anchors/closed-days.ts';
import type { ProofQuestion } from '../../../api/anchors/proof.ts';
import type { ObjectStore } from '../../../infra/runtime/files/object-store.ts';
import type { QuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { ANCHORED_TABLES } from '../../../schemas/anchored.ts';
import { MICROS_PER_DAY } from '../../../schemas/instants.ts';
import { waitFor } from '../../support/wait.ts';

const table = ANCHORED_TABLES.find((one) => one.table === 'mark') as (typeof ANCHORED_TABLES)[number];
const QUESTION = {
  ...{
    table,
    venue: 'binance',
    venueSymbol: 'BTCUSDT',
    at: 1_768_000_000_000_000,
    seq: null,
    id: null,
    priceType: null,
  },
  day: {
    day: '2026-01-10',
    closedAt: 1_768_600_000_000_000,
    partitions: [{ table: 'mark', changed: false, treeKey: 'k' }],
  },
  evaluatedAt: 1_768_700_000_000_000,
} as unknown as ProofQuestion;
const AWAY = { errors: [{ code: 'UNAVAILABLE' }] };

const readCode = (proof: Promise<unknown>): Promise<unknown> =>
  proof.then(
    () => 'proved',
    (error: unknown) => error,
  );

/** Every statement waits until it is given up, as the driver does after the time that the server has. */
const createSilentStore = () => {
  const waiting: ((error: Error) => void)[] = [];
  const query = () => new Promise<never>((_settle, fail) => waiting.push(fail));
  const giveUp = (): void => {
    for (const fail of waiting.splice(0)) fail(new Error('Query read timeout'));
  };
  return { reader: { query } as unknown as QuestdbReader, waiting, giveUp };
};

const open = (reader: QuestdbReader, patienceMs: number): Anchors => {
  const days = { leavesOf: async () => ({ first: 0, rows: 1, instrument: 'BTC-PERP', fileKey: 'f' }) };
  return openAnchors(
    { days: days as unknown as ClosedDays, store: {} as ObjectStore, stored: { questdb: reader, namespace: '' } },
    { verifyUrl: 'http://api.test/docs/verify', patienceMs },
  );
};

t.test('one silence ends a proof, and the proofs that wait behind it', async (t) => {
  const { reader, waiting, giveUp } = createSilentStore();
  const anchors = open(reader, 50);
  const proofs = Array.from({ length: 5 }, () => readCode(anchors.prove(QUESTION)));
  await waitFor('two are at work', () => waiting.length === 4);
  const begun = performance.now();
  await waitFor('the others have waited for longer than they have patience', () => performance.now() - begun > 100);
  giveUp();
  for (const proof of proofs) t.match(await proof, AWAY);
  t.same(waiting, [], 'nothing more is asked');
});

t.test('an object store that begins an answer and does not go on is given up', async (t) => {
  const begun = new Readable({ read: () => undefined });
  begun.push(zstdCompressSync(Buffer.alloc(100)).subarray(0, 4));
  const days = { leavesOf: async () => ({ first: 0, rows: 1, instrument: 'BTC-PERP', fileKey: 'f' }) };
  const anchors = openAnchors(
    { days: days as unknown as ClosedDays, store: { read: async () => begun } as unknown as ObjectStore, stored: null },
    { verifyUrl: 'http://api.test/docs/verify', idleMs: 50 },
  );
  const evaluatedAt = QUESTION.evaluatedAt + 500 * MICROS_PER_DAY;
  t.match(await readCode(anchors.prove({ ...QUESTION, evaluatedAt })), AWAY, 'past retention rows are read of a file');
  t.equal(begun.destroyed, true, 'and its connection is closed');
});

t.test('a proof that comes to its turn in time is begun', async (t) => {
  const { reader, waiting, giveUp } = createSilentStore();
  const anchors = open(reader, 60_000);
  const proofs = Array.from({ length: 3 }, () => readCode(anchors.prove(QUESTION)));
  await waitFor('two are at work', () => waiting.length === 4);
  giveUp();
  await waitFor('the third is at work', () => waiting.length === 2);
  giveUp();
  for (const proof of proofs) t.match(await proof, AWAY);
});
