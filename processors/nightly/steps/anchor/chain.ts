// Client of the chain that day roots are posted on. Its errors never contain the address of the node, which may include a key.
import {
  BaseError,
  createPublicClient,
  getAbiItem,
  type Hex,
  type PublicClient,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  toFunctionSelector,
} from 'viem';
import { isUnansweredByNode, openChainTransport } from '../../../../infra/runtime/network/chain-transport.ts';
import { type ChainIdentity, isBinding, toDayNumber } from '../../../../schemas/anchor-chain.ts';
import { describeError } from '../../../../schemas/thrown.ts';
import type { Day } from '../../day.ts';
import { ANCHOR_ABI } from './contract.ts';

const ANSWERS_WITHIN_MS = 10_000;
/** Depth of a confirmed block (AN-03). */
const BINDING_DEPTH = 64;
/** Nodes limit the block range of one query for events; the smallest known limit is 10,000. */
const PAGE_BLOCKS = 9_000;
/** A block of Base lasts 2 s and its base fee rises by at most a tenth of itself: twice the fee holds for several blocks. */
const BASE_FEE_FACTOR = 2n;
const NO_ROOT = '0'.repeat(64);

/**
 * `refused`: the node was reached and refused the request; `unreachable`: it does not respond; `posted`: the contract has a root of the day that is
 * to be posted, which another node of the same address did not show.
 */
type ChainFault = 'refused' | 'unreachable' | 'posted';

/** The node does not respond, or responds with an error. */
export class ChainError extends Error {
  override readonly name = 'ChainError';
  readonly fault: ChainFault;
  constructor(message: string, fault: ChainFault) {
    super(message);
    this.fault = fault;
  }
}

/** Wei per unit of gas. */
export type Fees = { readonly maxFee: bigint; readonly priorityFee: bigint };
/** The current market fees. */
export type Market = Fees & { readonly baseFee: bigint };
export type Receipt = {
  readonly succeeded: boolean;
  readonly block: number;
  readonly blockHash: Hex;
  readonly minedAt: Date;
};
type Call = { readonly from: Hex; readonly to: Hex | null; readonly data: Hex };

export type AnchorChain = ChainIdentity & {
  readonly chainId: number;
  readonly binding: boolean;
  /** Head - block + 1 of a confirmed transaction (AN-03). */
  readonly confirmations: number;
  readonly head: () => Promise<number>;
  /** `0x` without a contract. */
  readonly codeAt: (address: Hex) => Promise<Hex>;
  /** In lower case. */
  readonly ownerOf: (contract: Hex) => Promise<Hex>;
  /** 64 hex digits; null: the day is not posted. */
  readonly rootOf: (contract: Hex, day: Day) => Promise<string | null>;
  /** Number of the address's mined transactions. */
  readonly nonceOf: (address: Hex) => Promise<number>;
  readonly market: () => Promise<Market>;
  /** Rejects with a refusal and its reason when the transaction would revert or cannot be paid. */
  readonly gasFor: (call: Call) => Promise<bigint>;
  /** Null while no block of the chain contains the transaction. */
  readonly receiptOf: (hash: Hex) => Promise<Receipt | null>;
  /** Whether the node has the transaction, mined or pending. */
  readonly isKnown: (hash: Hex) => Promise<boolean>;
  readonly send: (raw: Hex) => Promise<void>;
  /** The transaction that posted the day, found by its event; searches back from the head to `fromBlock`. */
  readonly findAnchored: (contract: Hex, day: Day, fromBlock: number) => Promise<Hex | null>;
};

/** The first cause that viem names, without the lines of its long message. */
const describeChainError = (error: unknown): string => {
  if (!(error instanceof BaseError)) return describeError(error);
  const cause = error.walk((one) => one instanceof BaseError && !(one.cause instanceof BaseError));
  const { shortMessage, details } = cause instanceof BaseError ? cause : error;
  return details === '' || shortMessage.includes(details) ? shortMessage : `${shortMessage} ${details}`;
};

const isAway = (error: unknown): boolean => !(error instanceof BaseError) || isUnansweredByNode(error);

const ALREADY_ANCHORED = toFunctionSelector('AlreadyAnchored(uint32)');

/** Whether the contract refused because the day has its root. */
const isPosted = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk((one) => {
    const { data } = one as { readonly data?: unknown };
    return typeof data === 'string' && data.startsWith(ALREADY_ANCHORED);
  }) !== null;

/** Runs a query; rejects with ChainError only. */
const ask = async <T>(what: string, question: () => Promise<T>): Promise<T> => {
  try {
    return await question();
  } catch (error) {
    if (isPosted(error)) throw new ChainError(`${what}: the contract has a root of the day by now`, 'posted');
    const text = describeChainError(error).replaceAll(/\bhttps?:\/\/\S+/g, 'the node');
    throw new ChainError(`${what}: ${text}`, isAway(error) ? 'unreachable' : 'refused');
  }
};

/** Null for objects unknown to the node. */
const findOrNull = async <T>(question: Promise<T>): Promise<T | null> => {
  try {
    return await question;
  } catch (error) {
    if (error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError) return null;
    throw error;
  }
};

const connect = (rpcUrl: string, withinMs: number): PublicClient =>
  createPublicClient({ transport: openChainTransport(rpcUrl, withinMs), cacheTime: 0 });

const identify = (client: PublicClient): Promise<ChainIdentity & { readonly chainId: number }> =>
  ask('identity of the chain', async () => {
    const [chainId, { hash: genesisHash }] = await Promise.all([
      client.getChainId(),
      client.getBlock({ blockNumber: 0n, includeTransactions: false }),
    ]);
    return { chainId, network: `eip155:${chainId}`, genesisHash };
  });

const readReceipt = async (client: PublicClient, hash: Hex): Promise<Receipt | null> => {
  const receipt = await findOrNull(client.getTransactionReceipt({ hash }));
  if (receipt === null) return null;
  const block = await client.getBlock({ blockNumber: receipt.blockNumber, includeTransactions: false });
  // A node may still return the receipt of a block that a reorganisation has removed.
  if (block.hash !== receipt.blockHash) return null;
  return {
    succeeded: receipt.status === 'success',
    block: Number(receipt.blockNumber),
    blockHash: receipt.blockHash,
    minedAt: new Date(Number(block.timestamp) * 1_000),
  };
};

const searchAnchored = async (
  client: PublicClient,
  { contract, day, fromBlock }: { readonly contract: Hex; readonly day: Day; readonly fromBlock: number },
): Promise<Hex | null> => {
  const event = getAbiItem({ abi: ANCHOR_ABI, name: 'Anchored' });
  for (let to = Number(await client.getBlockNumber()); to >= fromBlock; to -= PAGE_BLOCKS) {
    const from = Math.max(fromBlock, to - PAGE_BLOCKS + 1);
    const blocks = { fromBlock: BigInt(from), toBlock: BigInt(to) };
    const [found] = await client.getLogs({ address: contract, event, args: { day: toDayNumber(day) }, ...blocks });
    if (found !== undefined) return found.transactionHash;
  }
  return null;
};

const readMarket = async (client: PublicClient): Promise<Market> => {
  const [{ baseFeePerGas: baseFee }, priorityFee] = await Promise.all([
    client.getBlock({ includeTransactions: false }),
    client.estimateMaxPriorityFeePerGas(),
  ]);
  return { baseFee: baseFee ?? 0n, maxFee: (baseFee ?? 0n) * BASE_FEE_FACTOR + priorityFee, priorityFee };
};

/** Identifies the node's chain by its first block (AN-04). Rejects with ChainError while the node does not answer. */
export const identifyChain = async (rpcUrl: string, withinMs = ANSWERS_WITHIN_MS): Promise<ChainIdentity> => {
  const { network, genesisHash } = await identify(connect(rpcUrl, withinMs));
  return { network, genesisHash };
};

/** Rejects with ChainError while the node does not answer; so does every method. */
export const openAnchorChain = async (rpcUrl: string): Promise<AnchorChain> => {
  const client = connect(rpcUrl, ANSWERS_WITHIN_MS);
  const identity = await identify(client);
  const binding = isBinding(identity);
  return {
    ...identity,
    binding,
    confirmations: binding ? BINDING_DEPTH : 1,
    head: () => ask('head of the chain', async () => Number(await client.getBlockNumber())),
    codeAt: (address) => ask('code of the contract', async () => (await client.getCode({ address })) ?? '0x'),
    ownerOf: (address) =>
      ask('owner of the contract', async () => {
        const owner = await client.readContract({ address, abi: ANCHOR_ABI, functionName: 'owner' });
        return owner.toLowerCase() as Hex;
      }),
    rootOf: (address, day) =>
      ask('root of the day', async () => {
        const args = [toDayNumber(day)] as const;
        const root = await client.readContract({ address, abi: ANCHOR_ABI, functionName: 'roots', args });
        return root.slice(2) === NO_ROOT ? null : root.slice(2).toLowerCase();
      }),
    nonceOf: (address) => ask('transactions of the owner', () => client.getTransactionCount({ address })),
    market: () => ask('fees', () => readMarket(client)),
    gasFor: ({ from, to, data }) =>
      ask('trial of the transaction', () => client.estimateGas({ account: from, to, data })),
    receiptOf: (hash) => ask('receipt', () => readReceipt(client, hash)),
    isKnown: (hash) => ask('transaction', async () => (await findOrNull(client.getTransaction({ hash }))) !== null),
    send: (raw) =>
      ask('sending the transaction', async () => {
        await client.sendRawTransaction({ serializedTransaction: raw });
      }),
    findAnchored: (contract, day, fromBlock) =>
      ask('event of the day', () => searchAnchored(client, { contract, day, fromBlock })),
  };
};
