// Reads an authorisation from the chain itself, which decides wherever a settlement's outcome is unknown (P-04).
import { createPublicClient, type Hex, type PublicClient, parseAbi, parseEventLogs } from 'viem';
import { openChainTransport } from '../../infra/runtime/chain-transport.ts';
import type { Settleable } from './facilitator.ts';

const ANSWERS_WITHIN_MS = 5_000;
/** Blocks per query to a node: public nodes refuse more. */
const WINDOW = 2_000n;
/** How far before its presentation an authorisation may have been used, for clocks that differ. */
const ALLOWANCE_S = 60;

const TOKEN = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** In lower case viem requires no checksum. */
const toHex = (address: string): Hex => address.toLowerCase() as Hex;

export type Looked =
  | { readonly is: 'paid'; readonly transaction: string }
  /** The nonce was cancelled, or used for another transfer. */
  | { readonly is: 'spent' }
  | { readonly is: 'unused'; readonly isExpired: boolean };

/** Each rejects when the chain does not answer. */
export type PaymentChain = {
  readonly look: (payment: Settleable, presentedMs: number) => Promise<Looked>;
  readonly canPay: (payment: Settleable) => Promise<boolean>;
  /** Whether the payer is a contract, which alone can decide whether its signature is good. */
  readonly isContract: (payer: string) => Promise<boolean>;
  /** Whether a contract wallet takes the message for its own (ERC-1271). */
  readonly isMessageOf: (payer: string, message: string, signature: string) => Promise<boolean>;
};

/** The transaction that used the nonce, newest blocks first; null when there is none since the payment was presented. */
const findUse = async (
  client: PublicClient,
  { payload, offer }: Settleable,
  { presentedMs, newest }: { readonly presentedMs: number; readonly newest: bigint },
): Promise<Hex | null> => {
  const { from, nonce } = payload.authorization;
  const oldestS = BigInt(Math.floor(presentedMs / 1_000) - ALLOWANCE_S);
  let to = newest;
  for (;;) {
    const first = to >= WINDOW ? to - WINDOW + 1n : 0n;
    const [log] = await client.getContractEvents({
      ...{ address: toHex(offer.asset), abi: TOKEN, eventName: 'AuthorizationUsed' },
      args: { authorizer: from as Hex, nonce: nonce as Hex },
      ...{ fromBlock: first, toBlock: to },
    });
    if (log !== undefined) return log.transactionHash;
    if (first === 0n || (await client.getBlock({ blockNumber: first })).timestamp < oldestS) return null;
    to = first - 1n;
  }
};

/** A nonce serves every kind of authorisation of its payer: only the transfer shows that it was ours. */
const hasPaid = async (client: PublicClient, hash: Hex, { payload, offer }: Settleable): Promise<boolean> => {
  const { status, logs } = await client.getTransactionReceipt({ hash });
  const token = logs.filter(({ address }) => address.toLowerCase() === offer.asset.toLowerCase());
  const transfers = parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: token });
  return (
    status === 'success' &&
    transfers.some(
      ({ args }) =>
        args.from.toLowerCase() === payload.authorization.from &&
        args.to.toLowerCase() === offer.payTo.toLowerCase() &&
        args.value === BigInt(offer.amount),
    )
  );
};

export const openPaymentChain = (rpcUrl: string, withinMs = ANSWERS_WITHIN_MS): PaymentChain => {
  const client = createPublicClient({ transport: openChainTransport(rpcUrl, withinMs) });

  const read = <T>(
    payment: Settleable,
    functionName: 'authorizationState' | 'balanceOf',
    { args, blockNumber }: { readonly args: readonly Hex[]; readonly blockNumber?: bigint },
  ): Promise<T> =>
    client.readContract({
      address: toHex(payment.offer.asset),
      abi: TOKEN,
      functionName,
      args: args as never,
      ...(blockNumber === undefined ? {} : { blockNumber }),
    }) as Promise<T>;

  return {
    async look(payment, presentedMs) {
      const { from, nonce, validBefore } = payment.payload.authorization;
      // What is unused in a block after it has expired can never be used. Of several nodes behind one address another may answer next:
      // one that does not have this block rejects, and its older state decides nothing.
      const { timestamp, number: newest } = await client.getBlock();
      const asked = { args: [from as Hex, nonce as Hex], blockNumber: newest };
      const isUsed = await read<boolean>(payment, 'authorizationState', asked);
      if (!isUsed) return { is: 'unused', isExpired: timestamp >= BigInt(validBefore) };
      const hash = await findUse(client, payment, { presentedMs, newest });
      if (hash === null || !(await hasPaid(client, hash, payment))) return { is: 'spent' };
      return { is: 'paid', transaction: hash.toLowerCase() };
    },
    async canPay(payment) {
      const { from } = payment.payload.authorization;
      return (await read<bigint>(payment, 'balanceOf', { args: [from as Hex] })) >= BigInt(payment.offer.amount);
    },
    async isContract(payer) {
      const code = await client.getCode({ address: payer as Hex });
      return code !== undefined && code !== '0x';
    },
    isMessageOf: (payer, message, signature) =>
      client.verifyMessage({ address: payer as Hex, message, signature: signature as Hex }),
  };
};
