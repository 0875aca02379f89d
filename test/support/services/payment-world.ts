// The environment of paid calls: a chain with USDC, a facilitator over it that can be faulty or stopped, and buyers with funds.
import { randomBytes } from 'node:crypto';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { authorizationTypes, ExactEvmScheme } from '@x402/evm';
import { x402Client } from '@x402/fetch';
import { type Address, type Hex, toHex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type LocalUsdc, placeUsdc, USDC } from '../../../infra/dev/facilitator/local-usdc.ts';
import { type FacilitatorServer, serveFacilitator } from '../../../infra/dev/facilitator/server.ts';
import { openLine } from '../cut-line.ts';
import { type OwnEngines, ownEngines, type Teardown } from '../engines/engines.ts';
import { waitFor } from '../wait.ts';

export const NETWORK = 'eip155:8453';
/** Atomic units of a dollar. */
export const DOLLAR = 1_000_000n;

export type PaymentWorld = Pick<LocalUsdc, 'balanceOf' | 'authorizationState' | 'mint'> & {
  readonly rpcUrl: string;
  /** Stays the same when it is stopped and started again. */
  readonly facilitatorUrl: string;
  /** Receives the payments; its key is unknown. */
  readonly payTo: Address;
  readonly usdc: Address;
  readonly faults: (faults: Parameters<FacilitatorServer['faults']['set']>[0]) => void;
  /** The facilitator that runs now: its calls, and how many of them wait in a fault. */
  readonly facilitator: () => FacilitatorServer;
  readonly stopFacilitator: () => Promise<void>;
  readonly startFacilitator: () => Promise<void>;
  /** The chain is away for the API and the facilitator, and has every reported block when it is back. */
  readonly holdChain: () => Promise<void>;
  readonly restartChain: () => Promise<void>;
  /** A new account; 1,000 dollars by default. */
  readonly newBuyer: (atomicUnits?: bigint) => Promise<PrivateKeyAccount>;
};

const countPending = async (rpcUrl: string): Promise<number> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'txpool_status', params: [] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(rpcUrl, { method: 'POST', headers, body });
  return Number(((await answer.json()) as { readonly result: { readonly pending: Hex } }).result.pending);
};

/** All of it is the test's own, and ends with it. */
export const startPaymentWorld = async (t: Teardown): Promise<PaymentWorld> => {
  const engines: OwnEngines = await ownEngines(t, ['anvil']);
  const { rpc_url: direct } = engines.endpoints;
  const token = await placeUsdc(direct);
  const line = await openLine(t, direct);
  const { url: rpcUrl } = line;
  let server = await serveFacilitator(rpcUrl);
  const { url: facilitatorUrl, port } = server;
  t.teardown(() => server.stop());
  return {
    ...token,
    rpcUrl,
    facilitatorUrl,
    payTo: privateKeyToAccount(generatePrivateKey()).address,
    usdc: USDC,
    faults: (faults) => server.faults.set(faults),
    facilitator: () => server,
    stopFacilitator: () => server.stop(),
    startFacilitator: async () => {
      server = await serveFacilitator(rpcUrl, port);
    },
    // A development chain that is stopped while it mines forgets what it has just reported; no real chain does.
    holdChain: async () => {
      line.cut();
      await waitFor('nothing waits to be mined', async () => (await countPending(direct)) === 0);
      await engines.hold('anvil');
    },
    restartChain: async () => {
      await engines.restart('anvil');
      line.mend();
    },
    newBuyer: async (atomicUnits = 1_000n * DOLLAR) => {
      const account = privateKeyToAccount(generatePrivateKey());
      if (atomicUnits > 0n) await token.mint(account.address, atomicUnits);
      return account;
    },
  };
};

/** The stock client of a buyer, who may also buy the dearest plan: it picks the offer of this amount, else the first. */
export const stockClient = (account: PrivateKeyAccount, amount?: string): x402Client => {
  const client = new x402Client((_, offers) => offers.find((offer) => offer.amount === amount) ?? (offers[0] as never));
  client.setSpendControls({ maxAmountPerPayment: '$300' });
  return client.register('eip155:*', new ExactEvmScheme(account));
};

export type Authorization = {
  readonly from: Address;
  readonly to: Address;
  readonly value: string;
  /** Seconds. */
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: Hex;
};

/** A payment of an offer signed by hand, so that any part of it can be wrong. */
export const signPayment = async (
  account: PrivateKeyAccount,
  accepted: PaymentRequirements,
  changed: Partial<Authorization> = {},
): Promise<PaymentPayload> => {
  const authorization: Authorization = {
    from: account.address,
    to: accepted.payTo as Address,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + accepted.maxTimeoutSeconds),
    nonce: toHex(randomBytes(32)),
    ...changed,
  };
  const { value, validAfter, validBefore } = authorization;
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: accepted.asset as Address },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(validBefore),
    },
  });
  return { x402Version: 2, accepted, payload: { signature, authorization } };
};
