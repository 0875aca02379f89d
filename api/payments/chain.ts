// Reads an authorisation from the chain itself, which decides wherever a settlement's outcome is unknown (P-04).
import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  ExecutionRevertedError,
  type Hex,
  hashMessage,
  type PublicClient,
  parseAbi,
  parseEventLogs,
} from 'viem';
import { openChainTransport } from '../../infra/runtime/network/chain-transport.ts';
import type { Settleable } from './facilitator.ts';

const ANSWERS_WITHIN_MS = 5_000;
/** Blocks per query to a node: public nodes refuse more. */
const WINDOW = 2_000n;
/** How far before its presentation an authorisation may have been used, for clocks that differ. */
const ALLOWANCE_S = 60;
/** No node is behind for so long: what it does not find of an authorisation that had ended before, there is not. */
const BEHIND_S = 600n;

const TOKEN = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** ERC-1271. */
const WALLET = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
const ACCEPTED = '0x1626ba7e';

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

type Search = { readonly presentedMs: number; readonly newest: bigint };

/** The transaction with an event of the nonce, newest blocks first; null when none is found since the payment was presented. */
const findEvent = async (
  client: PublicClient,
  eventName: 'AuthorizationUsed' | 'AuthorizationCanceled',
  { payload, offer, presentedMs, newest }: Settleable & Search,
): Promise<Hex | null> => {
  const { from, nonce } = payload.authorization;
  const oldestS = BigInt(Math.floor(presentedMs / 1_000) - ALLOWANCE_S);
  let to = newest;
  for (;;) {
    const first = to >= WINDOW ? to - WINDOW + 1n : 0n;
    const [log] = await client.getContractEvents({
      ...{ address: toHex(offer.asset), abi: TOKEN, eventName },
      args: { authorizer: from as Hex, nonce: nonce as Hex },
      ...{ fromBlock: first, toBlock: to },
    });
    if (log !== undefined) return log.transactionHash;
    if (first === 0n || (await client.getBlock({ blockNumber: first })).timestamp < oldestS) return null;
    to = first - 1n;
  }
};

/**
 * A nonce serves every kind of authorisation of its payer, and one transaction may use several: the token writes the use of each directly before
 * the transfer that it authorises, and only that one shows that it was ours.
 */
const hasPaid = async (client: PublicClient, hash: Hex, { payload, offer }: Settleable): Promise<boolean> => {
  const { from, nonce } = payload.authorization;
  const { status, logs } = await client.getTransactionReceipt({ hash });
  const token = logs.filter(({ address }) => address.toLowerCase() === offer.asset.toLowerCase());
  const used = parseEventLogs({ abi: TOKEN, eventName: 'AuthorizationUsed', logs: token }).find(
    ({ args }) => args.authorizer.toLowerCase() === from && args.nonce.toLowerCase() === nonce,
  );
  // A receipt of other blocks than those with the event: a reorganisation, or another node.
  if (used === undefined) throw new Error('the receipt of a used nonce does not show its use');
  const transfers = parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: token });
  return (
    status === 'success' &&
    transfers.some(
      ({ args, logIndex }) =>
        logIndex === used.logIndex + 1 &&
        args.from.toLowerCase() === from &&
        args.to.toLowerCase() === offer.payTo.toLowerCase() &&
        args.value === BigInt(offer.amount),
    )
  );
};

/** What became of a nonce that the token holds for used. */
const findOutcome = async (
  client: PublicClient,
  payment: Settleable,
  { timestamp, ...search }: Search & { readonly timestamp: bigint },
): Promise<Looked> => {
  const hash = await findEvent(client, 'AuthorizationUsed', { ...payment, ...search });
  if (hash !== null)
    return (await hasPaid(client, hash, payment)) ? { is: 'paid', transaction: hash.toLowerCase() } : { is: 'spent' };
  if ((await findEvent(client, 'AuthorizationCanceled', { ...payment, ...search })) !== null) return { is: 'spent' };
  // A node that is behind finds no event in blocks that it does not have, and returns the same empty list.
  if (timestamp < BigInt(payment.payload.authorization.validBefore) + BEHIND_S)
    throw new Error('the event of a used nonce was not found');
  return { is: 'spent' };
};

/** Refusals of the contract itself, as nodes word them; everything else is a failure of the node. */
const REFUSALS = [ContractFunctionRevertedError, ContractFunctionZeroDataError, ExecutionRevertedError] as const;
const isAnswerOfContract = (error: unknown): boolean =>
  error instanceof BaseError && error.walk((one) => REFUSALS.some((refusal) => one instanceof refusal)) !== null;

/** The answer of the contract; false when there is none. */
const askWallet = async (client: PublicClient, address: Hex, [hash, signature]: readonly [Hex, Hex]) => {
  if ((await client.getCode({ address })) === undefined) return false;
  try {
    const args = [hash, signature] as const;
    return (await client.readContract({ address, abi: WALLET, functionName: 'isValidSignature', args })) === ACCEPTED;
  } catch (error) {
    if (isAnswerOfContract(error)) return false;
    throw error;
  }
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
      return findOutcome(client, payment, { presentedMs, newest, timestamp });
    },
    async canPay(payment) {
      const { from } = payment.payload.authorization;
      return (await read<bigint>(payment, 'balanceOf', { args: [from as Hex] })) >= BigInt(payment.offer.amount);
    },
    async isContract(payer) {
      const code = await client.getCode({ address: payer as Hex });
      return code !== undefined && code !== '0x';
    },
    async isMessageOf(payer, message, given) {
      const [address, signature] = [payer as Hex, given as Hex];
      if (await client.verifyMessage({ address, message, signature })) return true;
      // The library also returns false for a node that does not respond.
      return askWallet(client, address, [hashMessage(message), signature]);
    },
  };
};
