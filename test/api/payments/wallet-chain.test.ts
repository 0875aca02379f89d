// Whose a signed message is, asked of a chain that may not answer: a node that is away is no refusal (P-06, ERC-1271).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import { type RecoveryDeps, recoverKey, WalletUndecided } from '../../../api/payments/recover-key.ts';
import type { Teardown } from '../../support/engines/engines.ts';

const PAYER = `0x${'bb'.repeat(20)}` as const;
const SIGNATURE = `0x${'11'.repeat(97)}`;
const PATIENCE_MS = 300;

type Answer = { readonly status?: number; readonly text?: string; readonly json?: object } | 'nothing' | 'cut';
type Asked = { readonly id: number; readonly method: string; readonly params: readonly { readonly to?: string }[] };

/** Of the library's own contract, which is sent along: it says no to every signature. */
const NO: Answer = { json: { result: '0x00' } };
const isAway = (answer: Answer): boolean => Object.values(AWAY).includes(answer);

/** A node that has the code, and answers calls of the wallet. */
const startNode = async (t: Teardown, { code, call }: { readonly code: Answer; readonly call: Answer }) => {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const { id, method, params } = JSON.parse(text) as Asked;
    const answered = params[0]?.to === undefined && !isAway(call) ? NO : call;
    const answer = method === 'eth_getCode' ? code : answered;
    if (answer === 'nothing') return;
    if (answer === 'cut') return void response.destroy();
    const { status = 200, json } = answer;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(answer.text ?? JSON.stringify({ jsonrpc: '2.0', id, ...json }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return openPaymentChain(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, PATIENCE_MS);
};

const CODE: Answer = { json: { result: '0x6000' } };
const ACCEPTS = `0x1626ba7e${'0'.repeat(56)}`;

/** What a node answers in the place of the contract. */
const AWAY: Readonly<Record<string, Answer>> = {
  'no answer': 'nothing',
  'a cut connection': 'cut',
  'the page of a proxy': { status: 502, text: '<html>bad gateway</html>' },
  'a page with 200': { text: '<html>hello</html>' },
  'too many requests': { status: 429, json: { error: { code: -32_005, message: 'limit exceeded' } } },
  'a block that it does not have': { json: { error: { code: -32_000, message: 'header not found' } } },
};

/** How a contract refuses. */
const REFUSED: Readonly<Record<string, Answer>> = {
  'another value': { json: { result: `0xffffffff${'0'.repeat(56)}` } },
  'nothing: it has no such function': { json: { result: '0x' } },
  'a revert with a reason': { json: { error: { code: 3, message: 'execution reverted', data: '0x' } } },
  'a revert without one': { json: { error: { code: -32_000, message: 'execution reverted' } } },
};

t.test('a wallet that is a contract answers for itself', async (t) => {
  const isMessageOf = async (call: Answer, code: Answer = CODE) =>
    (await startNode(t, { code, call })).isMessageOf(PAYER, 'hello', SIGNATURE);
  t.equal(await isMessageOf({ json: { result: ACCEPTS } }), true);
  for (const [how, answer] of Object.entries(REFUSED)) t.equal(await isMessageOf(answer), false, how);
  t.equal(await isMessageOf({ json: { result: '0x' } }, { json: { result: '0x' } }), false, 'there is no contract');
  for (const [what, answer] of Object.entries(AWAY)) {
    await t.rejects(isMessageOf(answer), `of the contract: ${what}`);
    await t.rejects(isMessageOf(answer, answer), `of its code: ${what}`);
  }
});

t.test('a key is not refused to a wallet that nobody could ask: it may send the same message again', async (t) => {
  const recovery = {
    ...{ transaction: `0x${'1'.repeat(64)}`, payer: PAYER, account: 'owner@example.com', signature: SIGNATURE },
    issuedAt: '2026-01-10T12:00:00.000Z',
  };
  const [nowMs, chain] = [Date.parse(recovery.issuedAt) + 1, await startNode(t, { code: CODE, call: 'cut' })];
  // Nothing is looked up before the signature is known to be good.
  const deps: RecoveryDeps = { pool: {} as RecoveryDeps['pool'], chain, baseUrl: 'http://api.test', nowMs };
  await t.rejects(recoverKey(recovery, deps), WalletUndecided);
  const issuedMs = Date.parse(recovery.issuedAt);
  // The page is of another process, or the clock was set back since.
  await t.rejects(recoverKey(recovery, { ...deps, nowMs: issuedMs - 5_000 }), WalletUndecided);
  t.equal(await recoverKey(recovery, { ...deps, nowMs: issuedMs - 5_001 }), null, 'a message of the future');
});
