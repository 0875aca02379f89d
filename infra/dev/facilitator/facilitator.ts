// An x402 facilitator over a local chain: the stock library with its own account that pays the gas. For local runs and tests only.
import { InMemoryPendingSettlementStore, x402Facilitator } from '@x402/core/facilitator';
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { BaseError, createClient, http, publicActions, type Transport, walletActions } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { isUnansweredByNode } from '../../runtime/network/chain-transport.ts';
import { giveEther, makeLocalBase } from './local-usdc.ts';

const NETWORK = 'eip155:8453';
/** After this time a settlement is returned as pending, with its transaction. */
const CONFIRMATION_TIMEOUT_MS = 20_000;

/** The chain did not respond, so the outcome of a call is unknown. */
export class ChainAwayError extends Error {
  override readonly name = 'ChainAwayError';
}

export type Facilitator = {
  readonly verify: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<VerifyResponse>;
  readonly settle: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<SettleResponse>;
  readonly supported: () => object;
};

/** Throws what the library throws for an unknown scheme or network, and ChainAwayError, which the library would return as a refusal. */
export const createFacilitator = async (rpcUrl: string): Promise<Facilitator> => {
  const account = privateKeyToAccount(generatePrivateKey());
  await giveEther(rpcUrl, account.address);
  const inTurn = createTurns();
  const pendingSettlementStore = new InMemoryPendingSettlementStore();
  const schemeOver = (transport: Transport): x402Facilitator => {
    const client = createClient({
      account,
      chain: makeLocalBase(rpcUrl),
      transport,
      pollingInterval: 20,
      // On a chain that mines only when a transaction is sent, the newest block may be old: at its time, a payment that was signed later is not yet valid.
      experimental_blockTag: 'pending',
    })
      .extend(publicActions)
      .extend(walletActions);
    const signer = toFacilitatorEvmSigner(
      {
        address: account.address,
        readContract: (args) => client.readContract(args as never),
        verifyTypedData: (args) => client.verifyTypedData(args as never),
        // One after the other: the next transaction gets its nonce when the chain has this one.
        writeContract: (args) => inTurn(() => client.writeContract(args as never)),
        sendTransaction: (args) => inTurn(() => client.sendTransaction(args)),
        waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
        getCode: (args) => client.getCode(args),
      },
      { confirmationTimeoutMs: CONFIRMATION_TIMEOUT_MS },
    );
    const scheme = new ExactEvmScheme(signer, { simulateInSettle: true, pendingSettlementStore });
    return new x402Facilitator().register(NETWORK, scheme);
  };
  const asked = async <T>(ask: (facilitator: x402Facilitator) => Promise<T>): Promise<T> => {
    const { transport, wasAway } = watchTransport(rpcUrl);
    const outcome = await ask(schemeOver(transport)).catch((error: unknown) => {
      throw wasAway() ? new ChainAwayError('the chain does not answer') : error;
    });
    if (wasAway()) throw new ChainAwayError('the chain does not answer');
    return outcome;
  };
  return {
    verify: (payload, requirements) => asked((facilitator) => facilitator.verify(payload, requirements)),
    settle: (payload, requirements) => asked((facilitator) => facilitator.settle(payload, requirements)),
    supported: () => schemeOver(http(rpcUrl)).getSupported(),
  };
};

const createTurns = (): (<T>(send: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (send) => {
    const sent = last.then(send);
    last = sent.catch(() => undefined);
    return sent;
  };
};

/** The library turns every error into a refusal; a connection error is remembered here. */
const watchTransport = (rpcUrl: string): { readonly transport: Transport; readonly wasAway: () => boolean } => {
  let isAway = false;
  const open = http(rpcUrl, { retryCount: 0 });
  const transport: Transport = (options) => {
    const opened = open(options);
    const request: typeof opened.request = async (...args) => {
      try {
        return await opened.request(...args);
      } catch (error) {
        isAway ||= error instanceof BaseError && isUnansweredByNode(error);
        throw error;
      }
    };
    return { ...opened, request };
  };
  return { transport, wasAway: () => isAway };
};
