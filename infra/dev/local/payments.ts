// Payments of a local run: USDC on its own chain, a facilitator over it, and a buyer with funds. All of it is worthless.
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { Engines } from '../engines/engines.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';
import { placeUsdc, USDC } from '../facilitator/local-usdc.ts';
import { listSmallProcessArguments } from './processes.ts';

/** Members of `.local/endpoints.json`; null: this run has no payments of its own. */
export type LocalPayments = {
  readonly facilitator_url: string | null;
  readonly pay_to: string | null;
  readonly usdc: string | null;
  /** Has 1,000 dollars of the local chain, new with each start (AC-06). */
  readonly payer: { readonly address: string; readonly private_key: string } | null;
  /** The key of the same payer. */
  readonly buyer_private_key: string | null;
};

type RunSource = { readonly source: 'live' | 'simulated'; readonly env?: NodeJS.ProcessEnv };

const NONE: LocalPayments = { facilitator_url: null, pay_to: null, usdc: null, payer: null, buyer_private_key: null };

/** Account 1 of every development chain. */
const PAY_TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
/** 1,000 dollars. */
const FUNDS = 1_000_000_000n;

/** Environment of the API. */
export const toPaymentEnv = ({ facilitator_url: url, pay_to: payTo }: LocalPayments, rpcUrl: string | null) =>
  url === null || payTo === null || rpcUrl === null
    ? {}
    : { FACILITATOR_URL: url, PAYMENT_PAY_TO: payTo, PAYMENT_RPC_URL: rpcUrl };

/** Only for simulated venues on the embedded chain: for live venues, or an external chain, the environment configures payments. */
export const startLocalPayments = async (
  { endpoints, ports }: Pick<Engines, 'endpoints' | 'ports'>,
  { options, begin }: { readonly options: RunSource; readonly begin: (spec: ProcessSpec) => Promise<void> },
): Promise<LocalPayments> => {
  const { rpc_url: rpcUrl } = endpoints;
  const { RPC_URL: outside } = options.env ?? process.env;
  if (options.source === 'live' || outside || rpcUrl === null) return NONE;
  const url = `http://127.0.0.1:${ports.FACILITATOR_PORT}`;
  await begin({
    name: 'facilitator',
    command: process.execPath,
    args: listSmallProcessArguments('infra/dev/facilitator/main.ts'),
    env: { RPC_URL: rpcUrl, FACILITATOR_PORT: String(ports.FACILITATOR_PORT) },
    isReady: async () => (await fetch(`${url}/supported`, { signal: AbortSignal.timeout(2_000) })).ok,
  });
  const buyer = generatePrivateKey();
  const { mint } = await placeUsdc(rpcUrl);
  const { address } = privateKeyToAccount(buyer);
  await mint(address, FUNDS);
  const payer = { address, private_key: buyer };
  return { facilitator_url: url, pay_to: PAY_TO, usdc: USDC, payer, buyer_private_key: buyer };
};

/** Lines to paste: the stock client pays for a call. */
export const listPayingExample = (baseUrl: string, buyer: string): readonly string[] => [
  `node --input-type=module <<'END'`,
  `import { ExactEvmScheme } from '@x402/evm';`,
  `import { wrapFetchWithPayment, x402Client } from '@x402/fetch';`,
  `import { privateKeyToAccount } from 'viem/accounts';`,
  `const buyer = privateKeyToAccount('${buyer}');`,
  `const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(buyer)));`,
  `const body = JSON.stringify({ where: 'base = BTC', layers: ['mark'] });`,
  `const headers = { 'content-type': 'application/json' };`,
  `const answer = await pay('${baseUrl}/v2/snapshots', { method: 'POST', headers, body });`,
  `console.log(answer.status, answer.headers.get('x-service-receipt'), await answer.text());`,
  'END',
];
