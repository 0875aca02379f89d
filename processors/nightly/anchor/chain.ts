// Which chain a node serves: its CAIP-2 id and the hash of its first block (AN-04).
import { createPublicClient, http } from 'viem';
import type { ChainIdentity } from '../../../schemas/anchor-chain.ts';

const ANSWERS_WITHIN_MS = 10_000;

/** Rejects while the node does not answer. */
export const identifyChain = async (rpcUrl: string): Promise<ChainIdentity> => {
  const client = createPublicClient({ transport: http(rpcUrl, { timeout: ANSWERS_WITHIN_MS, retryCount: 1 }) });
  const [id, { hash: genesisHash }] = await Promise.all([
    client.getChainId(),
    client.getBlock({ blockNumber: 0n, includeTransactions: false }),
  ]);
  return { network: `eip155:${id}`, genesisHash };
};
