// Deploys an owner's anchor contract, once on each chain; resumes after a kill at any point (AN-08).
import type { Pool } from 'pg';
import { getContractAddress, type Hex } from 'viem';
import { DEPLOYED_CODE, encodeDeploy } from './contract.ts';
import { recordContract, repeatInTurn } from './poster.ts';
import { advance, type Poster, type Purpose, toSender } from './posting.ts';
import type { Queries } from './transactions.ts';

/** `block` is null for a contract deployed elsewhere. */
type Deployed = { readonly contract: Hex; readonly block: number | null; readonly isNew: boolean };

/** The owner's newest contract that the chain still has. */
const findDeployed = async (queries: Queries, poster: Poster): Promise<Deployed | null> => {
  const { genesisHash, sender } = toSender(poster);
  const { rows } = await queries.query<{ contract: Hex; block: number | null }>(
    `select contract, block::int as block from anchor_contracts where genesis_hash = $1 and owner = $2 order by added_at desc`,
    [genesisHash, sender],
  );
  for (const { contract, block } of rows)
    if ((await poster.chain.codeAt(contract)) === DEPLOYED_CODE) return { contract, block, isNew: false };
  return null;
};

const computeAddress = ({ owner }: Poster, nonce: number): Hex =>
  getContractAddress({ from: owner.address, nonce: BigInt(nonce) }).toLowerCase() as Hex;

const toPurpose = (poster: Poster): Purpose => ({
  ...{ day: null, contract: null },
  data: encodeDeploy(poster.owner.address),
  held: async (kept) => {
    for (const { day, contract } of kept)
      if (day === null && (await poster.chain.codeAt(contract)) === DEPLOYED_CODE) return 'ours';
    return 'nothing';
  },
  find: async () => null,
  computeAddress: (nonce) => computeAddress(poster, nonce),
});

const findContract = async (queries: Queries, poster: Poster, hash: Hex): Promise<Hex> => {
  const { rows } = await queries.query<{ contract: Hex }>(
    'select contract from anchor_transactions where genesis_hash = $1 and tx_hash = $2',
    [poster.chain.genesisHash, hash],
  );
  if (rows[0] === undefined) throw new Error(`transaction ${hash} is not stored`);
  return rows[0].contract;
};

/** Returns this owner's contract on this chain; deploys it if there is none. */
export const deployContract = async (database: Pool, poster: Poster): Promise<Deployed> => {
  let deployed: Deployed | null = null;
  const owner = poster.owner.address.toLowerCase() as Hex;
  await repeatInTurn(database, { poster, signal: undefined }, async (queries) => {
    deployed ??= await findDeployed(queries, poster);
    if (deployed !== null) return { isDone: true, moved: false, state: 'deployed' };
    const progress = await advance(toPurpose(poster), poster, queries);
    const state = `transaction ${progress.kind === 'confirmed' ? progress.landed.hash : progress.hash}`;
    if (progress.kind === 'waiting') return { isDone: false, moved: progress.moved, state };
    const { hash, receipt } = progress.landed;
    const contract = await findContract(queries, poster, hash);
    await recordContract(queries, poster.chain, { contract, owner, block: receipt.block });
    poster.reached('confirmed');
    deployed = { contract, block: receipt.block, isNew: true };
    return { isDone: true, moved: false, state };
  });
  if (deployed === null) throw new Error('the contract is not deployed');
  return deployed;
};
