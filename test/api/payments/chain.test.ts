// What a chain is asked about a payment, over a service of several nodes of which not all have the newest block.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import type { Settleable } from '../../../api/payments/facilitator.ts';

const HEAD = 10_000;
const NOW_S = 1_800_000_000;
const TOKEN = `0x${'aa'.repeat(20)}`;
const PAYER = `0x${'bb'.repeat(20)}`;

const makePayment = (validBefore: number): Settleable =>
  ({
    payload: { authorization: { from: PAYER, nonce: `0x${'cc'.repeat(32)}`, validBefore: String(validBefore) } },
    offer: { asset: TOKEN, payTo: `0x${'dd'.repeat(20)}`, amount: '5000' },
  }) as unknown as Settleable;

type Asked = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
const toHex = (n: number): string => `0x${n.toString(16)}`;

/** Answers `latest` with its newest block, and every other call by a node that is behind it. */
const startNodes = async (t: { teardown: (end: () => void) => void }, answerCall: (block: unknown) => object) => {
  const asked: Asked[] = [];
  const answer = ({ method, params }: Asked): object => {
    if (method === 'eth_call') return answerCall(params[1]);
    if (method === 'eth_blockNumber') return { result: toHex(HEAD) };
    if (method === 'eth_getLogs') return { result: [] };
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

t.test('no query for the use of a nonce covers more blocks than public nodes answer for', async (t) => {
  const { chain, asked } = await startNodes(t, () => ({ result: `0x${'0'.repeat(63)}1` }));
  t.same(await chain.look(makePayment(NOW_S + 60), (NOW_S - 8_000) * 1_000), { is: 'spent' });
  const ranges = asked
    .filter(({ method }) => method === 'eth_getLogs')
    .map(({ params }) => params[0] as { readonly fromBlock: string; readonly toBlock: string })
    .map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)] as const);
  t.ok(ranges.length > 1);
  for (const [from, to] of ranges) t.ok(to - from + 1 <= 2_000, `${from} to ${to}`);
  t.equal(ranges[0]?.[1], HEAD);
  for (const [i, [from]] of ranges.slice(0, -1).entries()) t.equal(ranges[i + 1]?.[1], from - 1, 'none is left out');
});
