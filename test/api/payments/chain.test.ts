// What a chain is asked about a payment, over a service of several nodes of which not all have the newest block.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { encodeEventTopics, type Hex, numberToHex, parseAbi } from 'viem';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import type { Settleable } from '../../../api/payments/facilitator.ts';

const HEAD = 10_000;
const NOW_S = 1_800_000_000;
const TOKEN = `0x${'aa'.repeat(20)}` as const;
const PAYER = `0x${'bb'.repeat(20)}` as const;

const PAY_TO = `0x${'dd'.repeat(20)}` as const;
const NONCE = `0x${'cc'.repeat(32)}` as const;
const EVENTS = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);
const USED = { result: `0x${'0'.repeat(63)}1` };

const makePayment = (validBefore: number, nonce: Hex = NONCE): Settleable =>
  ({
    payload: { authorization: { from: PAYER, nonce, validBefore: String(validBefore) } },
    offer: { asset: TOKEN, payTo: PAY_TO, amount: '5000' },
  }) as unknown as Settleable;

type Asked = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
const toHex = (n: number): string => `0x${n.toString(16)}`;

type Log = { readonly address?: Hex; readonly topics: readonly unknown[]; readonly data: Hex };
/** Events of one transaction, which succeeded unless it says otherwise; `receipt`: those that its receipt has, when they are others. */
type Written = { readonly events: readonly Log[]; readonly receipt?: readonly Log[]; readonly status?: Hex };
const writeUse = (nonce: Hex, eventName: 'AuthorizationUsed' | 'AuthorizationCanceled' = 'AuthorizationUsed'): Log => ({
  topics: encodeEventTopics({ abi: EVENTS, eventName, args: { authorizer: PAYER, nonce } }),
  data: '0x',
});
const writeTransfer = (to: Hex, value: bigint, from: Hex = PAYER): Log => ({
  topics: encodeEventTopics({ abi: EVENTS, eventName: 'Transfer', args: { from, to } }),
  data: numberToHex(value, { size: 32 }),
});

const HASH = `0x${'ee'.repeat(32)}` as const;
const MINED = { blockHash: HASH, blockNumber: toHex(HEAD), transactionHash: HASH, transactionIndex: '0x0' };

/** What one transaction of the newest block wrote: its events, and its receipt. */
const answerOfLogs = ({ events, receipt = events, status = '0x1' }: Written, { method, params }: Asked): object => {
  const place = (log: Log, i: number) => ({ ...MINED, address: TOKEN, ...log, logIndex: toHex(i), removed: false });
  if (method === 'eth_getTransactionReceipt')
    return { result: { ...MINED, status, type: '0x2', logs: receipt.map(place) } };
  const logs = events.map(place);
  const { topics, toBlock } = params[0] as { readonly topics: readonly unknown[]; readonly toBlock: string };
  const isAsked = (log: Log): boolean => topics.every((topic, i) => topic === log.topics[i]);
  return { result: Number(toBlock) === HEAD ? logs.filter(isAsked) : [] };
};

/** Answers `latest` with its newest block, and every other call by a node that is behind it. */
const startNodes = async (
  t: { teardown: (end: () => void) => void },
  answerCall: (block: unknown) => object,
  written: Written = { events: [] },
) => {
  const asked: Asked[] = [];
  const answer = (one: Asked): object => {
    const { method, params } = one;
    if (method === 'eth_call') return answerCall(params[1]);
    if (method === 'eth_blockNumber') return { result: toHex(HEAD) };
    if (method === 'eth_getLogs' || method === 'eth_getTransactionReceipt') return answerOfLogs(written, one);
    const at = params[0] === 'latest' ? HEAD : Number(params[0]);
    // A block every two seconds.
    return { result: { number: toHex(at), timestamp: toHex(NOW_S - 2 * (HEAD - at)), transactions: [] } };
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const one = JSON.parse(text) as Asked;
    asked.push(one);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: one.id, ...answer(one) }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return { chain: openPaymentChain(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), asked };
};

t.test('a node that has not seen the newest block does not decide that a payment has expired unused', async (t) => {
  const unused = { result: `0x${'0'.repeat(64)}` };
  const { chain } = await startNodes(t, (block) =>
    // The node behind knows what it has, and not the block that the others have.
    block === toHex(HEAD) ? { error: { code: -32_000, message: 'header not found' } } : unused,
  );
  await t.rejects(chain.look(makePayment(NOW_S - 1), NOW_S * 1_000), 'whether it was used is not known');
});

t.test(
  'a node that does not have the block of the use does not decide that a nonce was spent for another',
  async (t) => {
    const { chain } = await startNodes(t, () => USED);
    await t.rejects(chain.look(makePayment(NOW_S + 60), NOW_S * 1_000), 'it was paid or spent, and nobody knows which');
    await t.rejects(chain.look(makePayment(NOW_S - 60), NOW_S * 1_000), 'nor a little later');
    t.same(
      await chain.look(makePayment(NOW_S - 3_600), NOW_S * 1_000),
      { is: 'spent' },
      'no node is behind for an hour',
    );
  },
);

t.test('a cancelled nonce is spent at once', async (t) => {
  const { chain } = await startNodes(t, () => USED, { events: [writeUse(NONCE, 'AuthorizationCanceled')] });
  t.same(await chain.look(makePayment(NOW_S + 60), NOW_S * 1_000), { is: 'spent' });
});

t.test('of several authorisations in one transaction each is paid by its own transfer', async (t) => {
  const OTHER = `0x${'c1'.repeat(32)}` as const;
  const ELSEWHERE = `0x${'d1'.repeat(20)}` as const;
  const paid = [writeUse(NONCE), writeTransfer(PAY_TO, 5_000n)];
  const spent = [writeUse(OTHER), writeTransfer(ELSEWHERE, 5_000n)];
  for (const events of [
    [...paid, ...spent],
    [...spent, ...paid],
  ]) {
    const { chain } = await startNodes(t, () => USED, { events });
    const look = (nonce: Hex) => chain.look(makePayment(NOW_S + 60, nonce), NOW_S * 1_000);
    t.same(await look(NONCE), { is: 'paid', transaction: HASH });
    t.same(await look(OTHER), { is: 'spent' }, 'the transfer of another authorisation pays nothing of it');
  }
});

t.test(
  'a nonce that was used has paid only by the transfer that was offered, in a transaction that succeeded',
  async (t) => {
    const ELSEWHERE = `0x${'99'.repeat(20)}` as const;
    const look = async (transfer: Log, status: Hex = '0x1') => {
      const { chain } = await startNodes(t, () => USED, { events: [writeUse(NONCE), transfer], status });
      return chain.look(makePayment(NOW_S + 60), NOW_S * 1_000);
    };
    const offered = writeTransfer(PAY_TO, 5_000n);
    t.same(await look(offered), { is: 'paid', transaction: HASH });
    const spent = { is: 'spent' };
    t.same(await look(writeTransfer(ELSEWHERE, 5_000n)), spent, 'to another');
    t.same(await look(writeTransfer(PAY_TO, 5_000n, ELSEWHERE)), spent, 'of another');
    t.same(await look(writeTransfer(PAY_TO, 4_999n)), spent, 'less');
    t.same(await look({ ...offered, address: ELSEWHERE }), spent, 'another token');
    t.same(await look(offered, '0x0'), spent, 'reverted');
  },
);

t.test('a receipt without the use of the nonce is of other blocks than its event, and decides nothing', async (t) => {
  const events = [writeUse(NONCE), writeTransfer(PAY_TO, 5_000n)];
  const others = [writeUse(`0x${'c1'.repeat(32)}`), writeTransfer(PAY_TO, 5_000n)];
  // After a reorganisation the transaction reverts, and another one with the same authorisation may have paid.
  for (const [status, receipt] of [
    ['0x0', []],
    ['0x1', []],
    ['0x1', others],
  ] as const) {
    const { chain } = await startNodes(t, () => USED, { events, receipt, status });
    await t.rejects(chain.look(makePayment(NOW_S + 60), NOW_S * 1_000), `${receipt.length} events, status ${status}`);
  }
});

t.test('what is unused has expired from the second of its end on; a balance of the amount pays', async (t) => {
  const startWith = (amount: number) => startNodes(t, () => ({ result: numberToHex(amount, { size: 32 }) }));
  const [{ chain }, { chain: poor }, { chain: unused }] = [
    await startWith(5_000),
    await startWith(4_999),
    await startWith(0),
  ];
  t.same([await chain.canPay(makePayment(NOW_S)), await poor.canPay(makePayment(NOW_S))], [true, false]);
  for (const [validBefore, isExpired] of [
    [NOW_S, true],
    [NOW_S + 1, false],
  ] as const)
    t.same(await unused.look(makePayment(validBefore), NOW_S * 1_000), { is: 'unused', isExpired });
});

t.test('no query for the use of a nonce covers more blocks than public nodes answer for', async (t) => {
  const { chain, asked } = await startNodes(t, () => USED);
  t.same(await chain.look(makePayment(NOW_S - 3_600), (NOW_S - 8_000) * 1_000), { is: 'spent' });
  const uses = encodeEventTopics({ abi: EVENTS, eventName: 'AuthorizationUsed' })[0];
  const ranges = asked
    .filter(({ method }) => method === 'eth_getLogs')
    .map(
      ({ params }) => params[0] as { readonly fromBlock: string; readonly toBlock: string; readonly topics: unknown[] },
    )
    .filter(({ topics }) => topics[0] === uses)
    .map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)] as const);
  t.equal(ranges.length, 3, 'back to a minute before the payment was presented, and no further');
  for (const [from, to] of ranges) t.ok(to - from + 1 <= 2_000, `${from} to ${to}`);
  t.equal(ranges[0]?.[1], HEAD);
  for (const [i, [from]] of ranges.slice(0, -1).entries()) t.equal(ranges[i + 1]?.[1], from - 1, 'none is left out');
});
