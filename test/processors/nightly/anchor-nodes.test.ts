// Posting over several nodes behind one address, of which some have not seen the newest blocks yet (AN-03).
import t from 'tap';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import type { AnchorChain } from '../../../processors/nightly/steps/anchor/chain.ts';
import { encodePost } from '../../../processors/nightly/steps/anchor/contract.ts';
import { STUCK_MS } from '../../../processors/nightly/steps/anchor/decide.ts';
import { advanceDay, readClosedDay, recordProblem } from '../../../processors/nightly/steps/anchor/post-day.ts';
import {
  type Kept,
  readUndecided,
  recordState,
  storeSigned,
} from '../../../processors/nightly/steps/anchor/transactions.ts';
import { addClosedDay, createPoster, openAnchors } from '../../support/days/anchor-chain.ts';
import { ownEngines, useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const shared = await useEngines(t, ['postgres']);
const chains = await ownEngines(t, ['anvil']);
const pool = openPostgres(await shared.database(), { max: 6 });
await migrate(pool);
t.teardown(() => pool.end());
const { node, chain, owner, contract } = await openAnchors(pool, chains.endpoints.rpc_url);

/** What is read comes from a node that has nothing of a day; what is sent goes to one that has all. */
const seenFromBehind = async (): Promise<AnchorChain> => {
  const nonce = await chain.nonceOf(owner.account.address);
  return {
    ...chain,
    nonceOf: async () => nonce,
    rootOf: async () => null,
    receiptOf: async () => null,
    isKnown: async () => false,
  };
};

const advanceOver = async (day: string, over: AnchorChain, aheadMs = 0) => {
  const closed = await readClosedDay(pool, day);
  if (closed === null) throw new Error(`${day} is not closed`);
  const poster = createPoster(over, owner, { nowMs: () => Date.now() + aheadMs });
  return advanceDay(closed, { poster, contract, queries: pool });
};

t.test('a node that is behind makes no failure of a day that is posted', async (t) => {
  const day = '2026-01-10';
  await addClosedDay(pool, day);
  const behind = await seenFromBehind();
  await advanceOver(day, chain);
  const waiting = await advanceOver(day, behind);
  t.match(waiting, { kind: 'waiting', hash: /^0x/, moved: false }, 'it is looked for again after a pause');
  t.match(await advanceOver(day, chain), { kind: 'confirmed' });
  t.equal((await node.postings(contract)).length, 1);
});

t.test('nor one that counts a block of which another has no receipts', async (t) => {
  const day = '2026-01-13';
  await addClosedDay(pool, day);
  const posted = (await node.postings(contract)).length;
  await advanceOver(day, chain);
  const { nonceOf } = chain;
  t.match(await advanceOver(day, { ...(await seenFromBehind()), nonceOf }), { kind: 'waiting', moved: false });
  t.match(await advanceOver(day, chain), { kind: 'confirmed' });
  t.equal((await node.postings(contract)).length, posted + 1);
});

t.test('nor of one that it has sign a nonce that is used: the day is signed again', async (t) => {
  const [first, second] = ['2026-01-11', '2026-01-12'] as const;
  for (const day of [first, second]) await addClosedDay(pool, day);
  const posted = (await node.postings(contract)).length;
  const behind = await seenFromBehind();
  await advanceOver(first, chain);
  t.match(await advanceOver(first, chain), { kind: 'confirmed' });
  t.match(await advanceOver(second, behind), { kind: 'waiting' }, 'signed with a nonce of before');
  t.match(await advanceOver(second, behind), { kind: 'waiting', moved: false });
  await advanceOver(second, chain, STUCK_MS);
  t.match(await advanceOver(second, chain), { kind: 'confirmed' });
  t.equal((await node.postings(contract)).length, posted + 2, 'each day once');
});

t.test('a root that one node does not show and another refuses to replace needs nobody', async (t) => {
  const day = '2026-01-14';
  const root = await addClosedDay(pool, day);
  const hash = await node.wallet(owner.account).sendTransaction({ to: contract, data: encodePost(day, root) });
  await node.reader.waitForTransactionReceipt({ hash });
  const behind = await advanceOver(day, { ...chain, rootOf: async () => null }).catch((error: unknown) => error);
  t.match(behind, { name: 'ChainError', fault: 'posted', message: /the contract has a root of the day by now/ });
  t.match(await advanceOver(day, chain), { kind: 'confirmed', landed: { hash } });
});

t.test('a node that takes a transaction and never shows it is asked once a block', async (t) => {
  const day = '2026-01-16';
  await addClosedDay(pool, day);
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  // The pool of Base's sequencer is private: other nodes pass on what they are sent, and do not show it before it is mined.
  const silent: AnchorChain = {
    ...chain,
    isKnown: async () => false,
    send: (raw) => chain.send(raw).catch(() => undefined),
  };
  t.match(await advanceOver(day, silent), { kind: 'waiting', moved: true }, 'signed and sent');
  t.match(await advanceOver(day, silent), { kind: 'waiting', moved: false }, 'sent again, which shows nothing at once');
  await node.mine();
  t.match(await advanceOver(day, silent), { kind: 'confirmed' });
});

t.test('what a node says is recorded, whatever characters it has', async (t) => {
  const day = '2026-01-15';
  await addClosedDay(pool, day);
  // Anvil repeats the bytes with which a contract refused.
  await recordProblem(pool, day, new Error('execution reverted: custom error 0xe29e659c: \0\0\u0001%'));
  const { rows } = await pool.query('select problem, status from anchor_days where day = $1', [day]);
  t.same(rows, [{ problem: 'execution reverted: custom error 0xe29e659c: \uFFFD\uFFFD\u0001%', status: 'pending' }]);
});

t.test('bytes that were replaced are open again when they are signed once more', async (t) => {
  const sender = { genesisHash: `0x${'1'.repeat(64)}`, sender: `0x${'2'.repeat(40)}` } as const;
  const kept: Kept = {
    ...{ hash: `0x${'3'.repeat(64)}`, raw: '0x02', day: null, contract, nonce: 7, state: 'open' },
    ...{ maxFee: 418n, priorityFee: 3n, signedAtMs: Date.now() },
  };
  await storeSigned(pool, sender, kept);
  await recordState(pool, sender, { hashes: [kept.hash], state: 'replaced' });
  // The block of what replaced it was removed, and the market asks for the same fees.
  await storeSigned(pool, sender, kept);
  t.match(await readUndecided(pool, sender, { day: null, contract: null, mined: 7 }), [
    { hash: kept.hash, state: 'open' },
  ]);
});
