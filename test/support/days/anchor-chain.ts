// A chain of a test of its own, an owner with funds and the contract deployed; what a node does to a poster is done by hand.
import type { Pool } from 'pg';
import { createWalletClient, type Hex, type PrivateKeyAccount } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { TransactionEvent } from '../../../processors/nightly/metrics.ts';
import { type AnchorChain, openAnchorChain } from '../../../processors/nightly/steps/anchor/chain.ts';
import { ANCHOR_ABI } from '../../../processors/nightly/steps/anchor/contract.ts';
import { deployContract } from '../../../processors/nightly/steps/anchor/deploy.ts';
import type { PostingPlace } from '../../../processors/nightly/steps/anchor/posting.ts';
import { connectChain } from '../engines/local-chain.ts';

/** One Ether. */
const FUNDS = '0xde0b6b3a7640000';

type TestOwner = { readonly account: PrivateKeyAccount; readonly key: Hex };

/** Requests of the node that viem does not name. */
export const openNode = (rpcUrl: string) => {
  const { reader, transport, chain } = connectChain(rpcUrl);
  const request = (method: string, ...params: unknown[]): Promise<unknown> =>
    reader.request({ method: method as never, params: params as never });
  return {
    ...{ reader, request },
    /** A new account with one Ether, and its key. */
    newOwner: async (): Promise<TestOwner> => {
      const key = generatePrivateKey();
      const account = privateKeyToAccount(key);
      await request('anvil_setBalance', account.address, FUNDS);
      return { account, key };
    },
    /** Blocks are mined only by `mine`. */
    holdBlocks: () => request('evm_setAutomine', false),
    releaseBlocks: () => request('evm_setAutomine', true),
    mine: (blocks = 1) => request('anvil_mine', `0x${blocks.toString(16)}`),
    setBaseFee: (wei: bigint) => request('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`),
    wallet: (account: PrivateKeyAccount) => createWalletClient({ account, transport, chain }),
    /** Hashes of the transactions that posted a day. */
    postings: async (contract: Hex): Promise<readonly Hex[]> => {
      const events = await reader.getContractEvents({
        address: contract,
        abi: ANCHOR_ABI,
        eventName: 'Anchored',
        fromBlock: 0n,
      });
      return events.map(({ transactionHash }) => transactionHash);
    },
  };
};

/** A poster of the owner; `events` are those of its transactions, in order. */
export const createPoster = (
  chain: AnchorChain,
  { account }: TestOwner,
  {
    nowMs = Date.now,
    reached = () => undefined,
  }: { readonly nowMs?: () => number; readonly reached?: (place: PostingPlace) => void } = {},
) => {
  const events: TransactionEvent[] = [];
  return { chain, owner: account, nowMs, reached, events, count: (event: TransactionEvent) => void events.push(event) };
};

/** A contract of a new owner on the chain at `rpcUrl`. */
export const openAnchors = async (pool: Pool, rpcUrl: string) => {
  const node = openNode(rpcUrl);
  const chain = await openAnchorChain(rpcUrl);
  const owner = await node.newOwner();
  const { contract } = await deployContract(pool, createPoster(chain, owner));
  return { node, chain, owner, contract, settings: { rpcUrl, contract, ownerKey: owner.key } };
};

/** A closed day with a root, as the closing leaves it; the root is made of the day. */
export const addClosedDay = async (
  pool: Pool,
  day: string,
  root = day.replaceAll('-', '').padStart(64, '7'),
): Promise<string> => {
  await pool.query(
    "insert into archive_days (day, tiers, closed_at) values ($1, '{}', $1::date + interval '7 days') on conflict do nothing",
    [day],
  );
  await pool.query('insert into anchor_days (day, schema_version, day_root) values ($1, 1, $2)', [day, root]);
  return root;
};
