// Posting of day roots on a real chain and a real PostgreSQL: once, by us, confirmed, for any node and chain (AN-02 to AN-04, AN-08, AN-12).
import { Registry } from 'prom-client';
import t from 'tap';
import type { Hex } from 'viem';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { runCommand } from '../../../processors/nightly/command.ts';
import { addDays, findDayStart } from '../../../processors/nightly/day.ts';
import { openLedger } from '../../../processors/nightly/ledger.ts';
import { createNightlyMetrics } from '../../../processors/nightly/metrics.ts';
import { runDue } from '../../../processors/nightly/runner.ts';
import type { NightlyContext } from '../../../processors/nightly/step.ts';
import { anchor } from '../../../processors/nightly/steps/anchor/anchor.ts';
import { type AnchorChain, openAnchorChain } from '../../../processors/nightly/steps/anchor/chain.ts';
import type { AnchorSettings } from '../../../processors/nightly/steps/anchor/config.ts';
import { ANCHOR_ABI, encodePost } from '../../../processors/nightly/steps/anchor/contract.ts';
import { STUCK_MS } from '../../../processors/nightly/steps/anchor/decide.ts';
import { deployContract } from '../../../processors/nightly/steps/anchor/deploy.ts';
import { advanceDay, readClosedDay } from '../../../processors/nightly/steps/anchor/post-day.ts';
import type { Poster } from '../../../processors/nightly/steps/anchor/posting.ts';
import { toDayNumber } from '../../../schemas/anchor-chain.ts';
import { addClosedDay, createPoster, openAnchors, openNode } from '../../support/days/anchor-chain.ts';
import { ownEngines, useEngines } from '../../support/engines/engines.ts';

t.setTimeout(900_000);
const log = createLog('anchor-test', 'silent');
const shared = await useEngines(t, ['postgres']);
const chains = await ownEngines(t, ['anvil']);
const rpcUrl = chains.endpoints.rpc_url;
const pool = openPostgres(await shared.database(), { max: 6 });
await migrate(pool);
t.teardown(() => pool.end());
const { node, chain, owner, contract, settings } = await openAnchors(pool, rpcUrl);

const registry = new Registry();
const metrics = createNightlyMetrics(registry);
const makeContext = (
  anchors: AnchorSettings | undefined = settings,
  over: Partial<NightlyContext> = {},
): NightlyContext => ({
  ...{ database: pool, namespace: '', api: null, store: null, log, metrics },
  // The step reads no stored history.
  questdb: {
    query: () => Promise.reject(new Error('not requested')),
    close: async () => undefined,
  } as unknown as NightlyContext['questdb'],
  ...(anchors === undefined ? {} : { anchors }),
  historyWatermark: async () => ({ at: 0, of: 'binance/0' }),
  isBinding: async () => false,
  nowMs: Date.now,
  progress: () => undefined,
  ...over,
});

let days = 0;
/** A closed day that no other test has. */
const newDay = async (): Promise<{ readonly day: string; readonly root: string }> => {
  days += 1;
  const day = addDays('2026-01-10', days);
  return { day, root: await addClosedDay(pool, day) };
};
const readRow = async (day: string) =>
  (
    await pool.query(
      'select status, network, binding, contract, tx_hash, block::int as block, anchored_at, confirmed_at, problem from anchor_days where day = $1',
      [day],
    )
  ).rows[0];
const readTransactions = async (day: string) =>
  (
    await pool.query<{ hash: Hex; nonce: string; state: string; sends: number; fee: string }>(
      'select tx_hash as hash, nonce, state, sends, max_fee_per_gas as fee from anchor_transactions where day = $1 order by signed_at, max_fee_per_gas',
      [day],
    )
  ).rows;
const postedTimes = async (day: string): Promise<number> =>
  (
    await node.reader.getContractEvents({
      address: contract,
      abi: ANCHOR_ABI,
      eventName: 'Anchored',
      args: { day: toDayNumber(day) },
      fromBlock: 0n,
    })
  ).length;

/** One round of a day, by a poster of the test. */
const advanceOnce = async (day: string, poster: Poster = createPoster(chain, owner)) => {
  const closed = await readClosedDay(pool, day);
  if (closed === null) throw new Error(`${day} is not closed`);
  return advanceDay(closed, { poster, contract, queries: pool });
};
/** Confirmed as on Base itself: 64 blocks deep. */
const deepChain: AnchorChain = { ...chain, confirmations: 64 };

t.test('a closed day is posted once and reports it; a second run changes nothing', async (t) => {
  const { day, root } = await newDay();
  t.match(
    await anchor.run(day, makeContext()),
    new RegExp(`^${root} in block \\d+ of eip155:8453, not binding: 0x[0-9a-f]{64}$`),
  );
  const row = await readRow(day);
  const [sent, ...others] = await readTransactions(day);
  t.same(others, []);
  t.match(sent, { state: 'mined', sends: 1 });
  const receipt = await node.reader.getTransactionReceipt({ hash: row.tx_hash });
  const { timestamp } = await node.reader.getBlock({ blockNumber: receipt.blockNumber });
  t.match(row, {
    status: 'confirmed',
    network: 'eip155:8453',
    binding: false,
    contract,
    tx_hash: sent?.hash,
    block: Number(receipt.blockNumber),
    problem: null,
  });
  t.equal(row.anchored_at.getTime(), Number(timestamp) * 1_000, 'the time of the block');
  t.match(await anchor.run(day, makeContext()), /^confirmed before in block/);
  t.same(await readRow(day), row);
  t.equal(await postedTimes(day), 1);
});

t.test('a day that is not closed waits, one without rows has no root, an early one is refused', async (t) => {
  await t.rejects(anchor.run('2025-01-01', makeContext()), /2025-01-01 is not closed yet/);
  await pool.query("insert into nightly_steps (day, step, state) values ('2025-01-01', 'close', 'done')");
  t.equal(await anchor.run('2025-01-01', makeContext()), 'no rows: the day has no root');
  const { day } = await newDay();
  const nowMs = (): number => findDayStart(day) + 7 * 86_400_000 + 7_199_999;
  const run = (more: readonly string[], over: Partial<NightlyContext> = {}) =>
    runCommand(['--step', 'anchor', '--day', day, ...more], {
      steps: [anchor],
      ledger: openLedger(pool),
      context: makeContext(settings, { nowMs, ...over }),
    });
  await t.rejects(run([]), new RegExp(`anchor of ${day} is due at ${addDays(day, 7)}T02:00:00.000Z`));
  await t.rejects(run(['--early'], { isBinding: async () => true }), /the anchor binds/);
  t.equal(await postedTimes(day), 0);
  t.match(await run(['--early']), /not binding/);
});

t.test('confirmed is 64 blocks deep where it binds; until then it is submitted, with its block', async (t) => {
  const { day } = await newDay();
  const poster = createPoster(deepChain, owner);
  t.match(await advanceOnce(day, poster), { kind: 'waiting', moved: true });
  t.match(await readRow(day), { status: 'submitted', block: null, anchored_at: null });
  await advanceOnce(day, poster);
  const { block } = await readRow(day);
  t.match(await readRow(day), { status: 'submitted', block, confirmed_at: null });
  await node.mine(62);
  t.match(await advanceOnce(day, poster), { kind: 'waiting', moved: false }, '63 blocks');
  await node.mine();
  t.match(await advanceOnce(day, poster), { kind: 'confirmed' }, '64 blocks');
  t.match(await readRow(day), { status: 'confirmed', block });
  t.same(poster.events, ['signed', 'sent', 'mined']);
});

t.test('a reorganisation of five blocks removes the transaction: the very same bytes are sent again', async (t) => {
  const { day } = await newDay();
  const poster = createPoster(deepChain, owner);
  await advanceOnce(day, poster);
  await advanceOnce(day, poster);
  const before = await readRow(day);
  await node.mine(3);
  await node.request('anvil_reorg', 5, []);
  t.equal(await postedTimes(day), 0, 'it is gone');
  t.match(await advanceOnce(day, poster), { kind: 'waiting', moved: true });
  t.match(await readRow(day), { status: 'submitted', tx_hash: before.tx_hash, block: null, anchored_at: null });
  await advanceOnce(day, poster);
  t.not((await readRow(day)).block, before.block, 'in another block');
  await node.mine(64);
  t.match(await advanceOnce(day, poster), { kind: 'confirmed', landed: { hash: before.tx_hash } });
  t.match(await readTransactions(day), [{ state: 'mined', sends: 2 }]);
  t.equal(await postedTimes(day), 1);
});

t.test('a day whose block was removed keeps its nonce, whatever day is posted next', async (t) => {
  const [a, b] = [await newDay(), await newDay()];
  const poster = createPoster(deepChain, owner);
  await advanceOnce(a.day, poster);
  await advanceOnce(a.day, poster);
  const [first] = await readTransactions(a.day);
  t.match(first, { state: 'mined' });
  await node.request('anvil_reorg', 1, []);
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  // Nodes take the transactions of removed blocks into their pool again (Ethereum's Geth; anvil forgets them).
  const { rows } = await pool.query<{ raw: Hex }>('select raw from anchor_transactions where day = $1', [a.day]);
  await node.reader.request({ method: 'eth_sendRawTransaction', params: [rows[0]?.raw as Hex] });
  await advanceOnce(b.day, poster);
  t.match(await readTransactions(b.day), [{ state: 'open', nonce: String(Number(first?.nonce) + 1) }]);
  await node.mine();
  await node.mine(64);
  t.match(await advanceOnce(a.day, poster), { kind: 'confirmed', landed: { hash: first?.hash } });
  t.match(await advanceOnce(b.day, poster), { kind: 'confirmed' });
});

t.test('a transaction that is stuck is replaced by one of the same nonce with a higher fee', async (t) => {
  const { day } = await newDay();
  let nowMs = Date.now();
  const asked = await chain.market();
  let factor = 1n;
  const dearer: AnchorChain = {
    ...chain,
    market: async () => ({ ...asked, maxFee: asked.maxFee * factor, priorityFee: asked.priorityFee * factor }),
  };
  const poster = createPoster(dearer, owner, { nowMs: () => nowMs });
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  await advanceOnce(day, poster);
  nowMs += STUCK_MS;
  await advanceOnce(day, poster);
  t.equal((await readTransactions(day)).length, 1, 'not while it offers enough');
  factor = 3n;
  nowMs -= 1;
  await advanceOnce(day, poster);
  t.equal((await readTransactions(day)).length, 1, 'not before it is stuck');
  nowMs += 1;
  await advanceOnce(day, poster);
  const [first, second] = await readTransactions(day);
  t.equal(second?.nonce, first?.nonce);
  t.equal(second?.fee, String(asked.maxFee * 3n), 'the market price');
  t.equal((await readRow(day)).tx_hash, second?.hash);
  await node.mine();
  t.match(await advanceOnce(day, poster), { kind: 'confirmed', landed: { hash: second?.hash } });
  t.match(await readTransactions(day), [{ state: 'replaced' }, { state: 'mined' }]);
  t.same(poster.events, ['signed', 'sent', 'signed', 'sent', 'fee_raised', 'mined']);
  t.equal(await postedTimes(day), 1);
});

t.test('a transaction that the node dropped because the base fee passed it is replaced at once', async (t) => {
  const { day } = await newDay();
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  await advanceOnce(day);
  const [first] = await readTransactions(day);
  await node.setBaseFee(BigInt(first?.fee ?? 0) * 3n);
  await node.mine();
  await advanceOnce(day);
  const [, second] = await readTransactions(day);
  t.equal(second?.nonce, first?.nonce);
  t.ok(BigInt(second?.fee ?? 0) >= BigInt(first?.fee ?? 0) * 3n);
  await node.mine();
  t.match(await advanceOnce(day), { kind: 'confirmed', landed: { hash: second?.hash } });
  t.equal(await postedTimes(day), 1);
});

t.test('a nonce that another transaction of the owner took is given up, and the day is signed again', async (t) => {
  const { day } = await newDay();
  let aheadMs = 0;
  const poster = createPoster(chain, owner, { nowMs: () => Date.now() + aheadMs });
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  await advanceOnce(day, poster);
  const [first] = await readTransactions(day);
  await node.request('anvil_dropTransaction', first?.hash);
  const nonce = Number(first?.nonce);
  await node.wallet(owner.account).sendTransaction({ to: owner.account.address, value: 1n, nonce, gas: 21_000n });
  await node.mine();
  t.match(
    await advanceOnce(day, poster),
    { kind: 'waiting', moved: false },
    'for a while it may be ours that was mined',
  );
  aheadMs = STUCK_MS;
  await advanceOnce(day, poster);
  t.match(await readTransactions(day), [{ state: 'replaced' }, { state: 'open', nonce: String(nonce + 1) }]);
  await node.mine();
  t.match(await advanceOnce(day, poster), { kind: 'confirmed' });
  t.same(poster.events, ['signed', 'sent', 'nonce_lost', 'signed', 'sent', 'mined']);
  t.equal(await postedTimes(day), 1);
});

t.test(
  'a transaction of an earlier day that the node lost is sent again before a later one waits for it',
  async (t) => {
    const [a, b] = [await newDay(), await newDay()];
    await node.holdBlocks();
    t.teardown(() => node.releaseBlocks());
    await advanceOnce(a.day);
    const [lost] = await readTransactions(a.day);
    await node.request('anvil_dropTransaction', lost?.hash);
    await advanceOnce(b.day);
    await node.mine();
    t.match(await advanceOnce(b.day), { kind: 'confirmed' });
    t.match(await readTransactions(a.day), [{ state: 'mined', sends: 2 }]);
    t.match(await advanceOnce(a.day), { kind: 'confirmed' });
  },
);

t.test('a root that is ours already is found by its event, without a new transaction', async (t) => {
  const { day, root } = await newDay();
  const hash = await node.wallet(owner.account).sendTransaction({ to: contract, data: encodePost(day, root) });
  await anchor.run(day, makeContext());
  t.match(await readRow(day), { status: 'confirmed', tx_hash: hash });
  t.same(await readTransactions(day), []);
  t.equal(await postedTimes(day), 1);
});

t.test('another root is a failure and an incident, nothing is sent, and other days continue', async (t) => {
  const [foreign, next] = [await newDay(), await newDay()];
  const other = 'f'.repeat(64);
  const hash = await node.wallet(owner.account).sendTransaction({ to: contract, data: encodePost(foreign.day, other) });
  await node.reader.waitForTransactionReceipt({ hash });
  const nonce = await node.reader.getTransactionCount({ address: owner.account.address });
  for (const attempt of [1, 2])
    await t.rejects(anchor.run(foreign.day, makeContext()), /holds another root/, `attempt ${attempt}`);
  t.match(await readRow(foreign.day), {
    status: 'failed',
    tx_hash: null,
    problem: `the contract holds another root for ${foreign.day}`,
  });
  t.equal(await node.reader.getTransactionCount({ address: owner.account.address }), nonce);
  const { rows } = await pool.query("select subject, state from incidents where kind = 'anchor_foreign_root'");
  t.same(rows, [{ subject: foreign.day, state: 'open' }], 'one incident');
  await pool.query("insert into nightly_steps (day, step, state, ended_at) values ($1, 'anchor', 'failed', now())", [
    foreign.day,
  ]);
  const nowMs = (): number => findDayStart(next.day) + 7 * 86_400_000 + 7_200_000;
  await runDue([anchor], openLedger(pool), makeContext(settings, { nowMs }));
  t.match(await readRow(next.day), { status: 'confirmed' });
  t.match(await registry.metrics(), /nightly_anchor_days\{status="failed"\} 1/);
  await runDue([], openLedger(pool), makeContext(settings, { nowMs: () => Date.now() + 86_460_000 }));
  t.match(await registry.metrics(), /nightly_late_anchor_days 1/);
});

t.test('a transaction that the chain refused is a failure; the next attempt begins again', async (t) => {
  const { day } = await newDay();
  const poster = createPoster(chain, owner);
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  await advanceOnce(day, poster);
  const code = await node.reader.getCode({ address: contract });
  await node.request('anvil_setCode', contract, '0x60006000fd');
  await node.mine();
  await node.request('anvil_setCode', contract, code);
  await node.releaseBlocks();
  await t.rejects(anchor.run(day, makeContext()), /the chain refused transaction 0x/);
  t.match(await readRow(day), { status: 'failed' });
  await anchor.run(day, makeContext());
  t.match(await readTransactions(day), [{ state: 'reverted' }, { state: 'mined' }]);
  t.match(await readRow(day), { status: 'confirmed', problem: null });
});

t.test('a stop while a day waits for its blocks is no problem of the day', async (t) => {
  const { day } = await newDay();
  await node.holdBlocks();
  t.teardown(() => node.releaseBlocks());
  const signal = AbortSignal.timeout(1_000);
  await t.rejects(anchor.run(day, makeContext(settings, { signal })), { name: /AbortError|TimeoutError/ });
  t.match(await readRow(day), { status: 'submitted', problem: null });
  await node.releaseBlocks();
  await node.mine();
  t.match(await anchor.run(day, makeContext()), /in block/);
});

t.test('two posters at once post a day once', async (t) => {
  const many = [await newDay(), await newDay(), await newDay()];
  await Promise.all([1, 2].flatMap(() => many.map(({ day }) => anchor.run(day, makeContext()))));
  for (const { day } of many) {
    t.equal(await postedTimes(day), 1);
    t.equal((await readTransactions(day)).length, 1);
    t.match(await readRow(day), { status: 'confirmed' });
  }
});

t.test('what is not set or not right is named, and no message shows the key', async (t) => {
  const { day } = await newDay();
  const stranger = await node.newOwner();
  const elsewhere = owner.account.address;
  const rows: readonly (readonly [Partial<AnchorSettings>, RegExp])[] = [
    [{ ownerKey: null }, /^set ANCHOR_OWNER_KEY/],
    [{ ownerKey: `${owner.key}0` }, /^ANCHOR_OWNER_KEY is not a private key: 0x and 64 hex digits$/],
    [{ ownerKey: `0x${'0'.repeat(64)}` }, /^ANCHOR_OWNER_KEY is not a private key of this curve$/],
    [{ ownerKey: stranger.key }, /^ANCHOR_OWNER_KEY is of 0x.*, the contract 0x.* belongs to 0x/],
    [{ contract: null }, /^set ANCHOR_CONTRACT/],
    [{ contract: 'AnchorRoots' }, /^ANCHOR_CONTRACT is not an address$/],
    [{ contract: elsewhere }, /has no contract at 0x/],
    [{ rpcUrl: null }, /^set RPC_URL/],
  ];
  for (const [over, message] of rows) {
    const error = await anchor.run(day, makeContext({ ...settings, ...over })).catch((error: Error) => error);
    t.match(error, { message });
    t.notMatch(String(error), owner.key.slice(2, 20));
    t.match(await readRow(day), { status: 'failed', problem: message });
  }
  t.equal((await readTransactions(day)).length, 0);
  const { rows: incidents } = await pool.query(
    "select kind, subject from incidents where kind = 'anchor_misconfigured'",
  );
  t.same(incidents, [{ kind: 'anchor_misconfigured', subject: 'settings' }], 'settings are wrong once');
  const poor = await node.newOwner();
  const { contract: own } = await deployContract(pool, createPoster(chain, poor));
  await node.request('anvil_setBalance', poor.account.address, '0x1');
  await t.rejects(anchor.run(day, makeContext({ rpcUrl, contract: own, ownerKey: poor.key })), /[Ff]unds/);
  t.match(await readRow(day), { status: 'failed', contract: own });
  await node.request('anvil_setBalance', poor.account.address, '0xde0b6b3a7640000');
  await anchor.run(day, makeContext({ rpcUrl, contract: own, ownerKey: poor.key }));
  t.match(await readRow(day), { status: 'confirmed', contract: own, problem: null });
});

t.test('the contract is deployed once for an owner on a chain', async (t) => {
  const other = await node.newOwner();
  const first = await deployContract(pool, createPoster(chain, other));
  t.same(await deployContract(pool, createPoster(chain, other)), { ...first, isNew: false });
  const { rows } = await pool.query(
    'select network, binding, block::int as block from anchor_contracts where contract = $1',
    [first.contract],
  );
  t.same(
    rows,
    [{ network: 'eip155:8453', binding: false, block: first.block }],
    'an id of Base without its first block does not bind',
  );
});

t.test('a day that was sent to Base is not posted on another chain', async (t) => {
  const { day } = await newDay();
  const base = `0x${'b'.repeat(64)}`;
  await pool.query(
    "insert into anchor_contracts (genesis_hash, contract, network, binding, owner) values ($1, $2, 'eip155:8453', true, $2)",
    [base, contract],
  );
  await pool.query(
    "update anchor_days set status = 'submitted', tx_hash = $2, network = 'eip155:8453', binding = true, genesis_hash = $2, contract = $3 where day = $1",
    [day, base, contract],
  );
  await t.rejects(anchor.run(day, makeContext()), /was sent to Base/);
  t.match(await readRow(day), { status: 'failed', binding: true, tx_hash: base });
  await t.rejects(anchor.run(day, makeContext()), /was sent to Base/, 'nor at a later attempt');
  t.equal(await postedTimes(day), 0);
  await pool.query('delete from anchor_days where day = $1', [day]);
});

t.test('a day that Base has confirmed stays so, whatever the settings and the node are later', async (t) => {
  const { day } = await newDay();
  const base = `0x${'c'.repeat(64)}`;
  await pool.query(
    "insert into anchor_contracts (genesis_hash, contract, network, binding, owner) values ($1, $2, 'eip155:8453', true, $2)",
    [base, contract],
  );
  await pool.query(
    `update anchor_days set status = 'confirmed', tx_hash = $2, block = 7, block_hash = $2, anchored_at = now(), confirmed_at = now(), network = 'eip155:8453', binding = true,
      genesis_hash = $2, contract = $3 where day = $1`,
    [day, base, contract],
  );
  const before = await readRow(day);
  for (const over of [{ rpcUrl: null }, { contract: null }, { ownerKey: null }, { rpcUrl: 'http://127.0.0.1:1' }])
    t.equal(await anchor.run(day, makeContext({ ...settings, ...over })), 'confirmed before in block 7');
  const { anchors: _, ...without } = makeContext();
  t.equal(await anchor.run(day, without), 'confirmed before in block 7');
  t.same(await readRow(day), before);
  await pool.query('delete from anchor_days where day = $1', [day]);
});

t.test('while the node is away nothing changes but the problem; back with its state it continues', async (t) => {
  const { day } = await newDay();
  const poster = createPoster(deepChain, owner);
  await advanceOnce(day, poster);
  await advanceOnce(day, poster);
  const before = await readRow(day);
  const head = await chain.head();
  await chains.hold('anvil');
  const error = await anchor.run(day, makeContext()).catch((error: Error) => error);
  t.match(error, { name: 'ChainError' });
  t.notMatch(String(error), rpcUrl, 'no address');
  t.match(await readRow(day), { ...before, problem: /^identity of the chain: / });
  await chains.restart('anvil');
  t.equal((await openAnchorChain(rpcUrl)).genesisHash, chain.genesisHash, 'the same chain');
  t.equal(await chain.head(), head);
  await anchor.run(day, makeContext());
  t.match(await readRow(day), { status: 'confirmed', tx_hash: before.tx_hash, block: before.block, problem: null });
  t.equal(await postedTimes(day), 1);
});

t.test('requests to a node that is away for an hour become rarer; then the day is posted once', async (t) => {
  const day = '2026-05-01';
  const root = await addClosedDay(pool, day);
  const ledger = openLedger(pool);
  let nowMs = findDayStart(day) + anchor.dueMs;
  const look = async () => {
    await runDue([anchor], ledger, makeContext(settings, { nowMs: () => nowMs }));
    // The clock of the database, which does not know this hour, sets the end of an attempt.
    const ended = "update nightly_steps set ended_at = $2 where step = 'anchor' and day = $1 and ended_at > $2";
    await pool.query(ended, [day, new Date(nowMs)]);
    return (await ledger.states(day)).find((state) => state.day === day);
  };
  await chains.hold('anvil');
  for (const endMs = nowMs + 3_600_000; nowMs < endMs; nowMs += 60_000) await look();
  t.match(await look(), { state: 'failed', attempts: 6 }, 'after 0, 1, 3, 7, 15 and 31 minutes');
  t.match(await readRow(day), { status: 'pending', tx_hash: null, problem: /^identity of the chain: / });
  await chains.restart('anvil');
  nowMs += 30 * 60_000;
  t.match(await look(), { state: 'done', attempts: 7, report: new RegExp(`^${root} in block`) });
  t.match(await readRow(day), { status: 'confirmed', problem: null });
  t.equal(await postedTimes(day), 1);
  t.same((await pool.query('select 1 from incidents where subject = $1', [day])).rows, [], 'no incident');
});

t.test('days of a chain that began again are posted again on the new one', async (t) => {
  const { day, root } = await newDay();
  await anchor.run(day, makeContext());
  const fresh = await ownEngines(t, ['anvil']);
  const anew = await openAnchors(pool, fresh.endpoints.rpc_url);
  t.match(await anchor.run(day, makeContext(anew.settings)), new RegExp(`^${root} in block`));
  t.match(await readRow(day), { status: 'confirmed', contract: anew.contract });
  t.same((await openNode(fresh.endpoints.rpc_url).postings(anew.contract)).length, 1);
});
