// The anchor contract on the anvil of a test: an owner that deploys it and posts roots, and the record of a posted day.
import { readFileSync } from 'node:fs';
import type { Pool } from 'pg';
import { type Abi, createWalletClient, type Hex } from 'viem';
import { toDayNumber } from '../../../schemas/anchor-chain.ts';
import { connectChain } from '../engines/local-chain.ts';

const ARTEFACT = JSON.parse(
  readFileSync(new URL('../../../infra/contract/AnchorRoots.json', import.meta.url), 'utf8'),
) as {
  readonly abi: Abi;
  readonly bytecode: Hex;
};
/** CAIP-2 of every anvil of a test. */
const NETWORK = 'eip155:8453';

/** A root on the chain, as answers state it. */
export type PostedFacts = {
  readonly network: string;
  readonly contract: Hex;
  readonly tx_hash: Hex;
  readonly block: number;
  readonly anchored_at: string;
};

/** A chain with an owner that deploys contracts and posts roots. */
export const openAnchorChain = async (url: string) => {
  const { transport, chain, reader, fund } = connectChain(url);
  const owner = await fund();
  const wallet = createWalletClient({ chain, transport, account: owner });
  const deploy = async (): Promise<Hex> => {
    const hash = await wallet.deployContract({ abi: ARTEFACT.abi, bytecode: ARTEFACT.bytecode, args: [owner.address] });
    return (await reader.waitForTransactionReceipt({ hash })).contractAddress as Hex;
  };
  /** Gas is given, so that a call which reverts is mined too. */
  const post = async (address: Hex, day: string, root: Hex): Promise<PostedFacts> => {
    const call = { address, abi: ARTEFACT.abi, functionName: 'post', args: [toDayNumber(day), root] } as const;
    const hash = await wallet.writeContract({ ...call, gas: 200_000n });
    const { blockNumber } = await reader.waitForTransactionReceipt({ hash });
    const { timestamp } = await reader.getBlock({ blockNumber });
    return {
      ...{ network: NETWORK, contract: address, tx_hash: hash, block: Number(blockNumber) },
      anchored_at: new Date(Number(timestamp) * 1_000).toISOString(),
    };
  };
  const setCode = (address: Hex, code: string): Promise<unknown> =>
    reader.request({ method: 'anvil_setCode' as never, params: [address, code] as never });
  return { deploy, post, setCode };
};

const GENESIS = `0x${'0'.repeat(64)}`;

/** Records what a posting step records of a confirmed day. */
export const recordPosted = async (
  pool: Pool,
  day: string,
  facts: PostedFacts,
  { binding = false } = {},
): Promise<void> => {
  const { network, contract, tx_hash, block, anchored_at } = facts;
  await pool.query(
    `insert into anchor_contracts (genesis_hash, contract, network, binding, owner) values ($1, $2, $3, $4, $2)
     on conflict (genesis_hash, contract) do nothing`,
    [GENESIS, contract, network, binding],
  );
  await pool.query(
    `update anchor_days set status = 'confirmed', network = $2, binding = $3, genesis_hash = $4, contract = $5, tx_hash = $6,
       block = $7, anchored_at = $8, confirmed_at = $8 where day = $1`,
    [day, network, binding, GENESIS, contract, tx_hash, block, anchored_at],
  );
};
