// Opens a poster on the configured chain, and grants its rounds to one process at a time.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Hex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { runLocked } from '../../../../infra/runtime/postgres/advisory-lock.ts';
import { type AnchorChain, openAnchorChain } from './chain.ts';
import type { AnchorSettings } from './config.ts';
import { DEPLOYED_CODE } from './contract.ts';
import { type Poster, PostingError, toSender } from './posting.ts';
import type { Queries } from './transactions.ts';

/** Kind of the locks of posting, one for each chain and owner. */
const LOCK = 7_305_122;
/** Block time of Base. */
const LOOK_EVERY_MS = 2_000;
/** The runner has other steps: a longer posting continues at its next attempt. */
const PATIENCE_MS = 600_000;

const KEY = /^0x[0-9a-fA-F]{64}$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** The account of a private key. No message contains the key. */
export const openOwner = (ownerKey: string | null): PrivateKeyAccount => {
  if (ownerKey === null) throw new PostingError('misconfigured', 'set ANCHOR_OWNER_KEY: nobody can sign');
  if (!KEY.test(ownerKey))
    throw new PostingError('misconfigured', 'ANCHOR_OWNER_KEY is not a private key: 0x and 64 hex digits');
  try {
    return privateKeyToAccount(ownerKey as Hex);
  } catch {
    throw new PostingError('misconfigured', 'ANCHOR_OWNER_KEY is not a private key of this curve');
  }
};

export const openChain = ({ rpcUrl }: AnchorSettings): Promise<AnchorChain> => {
  if (rpcUrl === null) throw new PostingError('misconfigured', 'set RPC_URL: the chain of the anchors is not known');
  return openAnchorChain(rpcUrl);
};

/** The configured contract in lower case, once the chain has our code there. */
export const checkContract = async (chain: AnchorChain, { contract }: AnchorSettings): Promise<Hex> => {
  if (contract === null)
    throw new PostingError('misconfigured', 'set ANCHOR_CONTRACT: `npm run anchors -- deploy` makes one');
  if (!ADDRESS.test(contract)) throw new PostingError('misconfigured', 'ANCHOR_CONTRACT is not an address');
  const address = contract.toLowerCase() as Hex;
  const code = await chain.codeAt(address);
  if (code === DEPLOYED_CODE) return address;
  const found = code === '0x' ? 'no contract' : 'the code of another contract';
  throw new PostingError('misconfigured', `${chain.network} (genesis ${chain.genesisHash}) has ${found} at ${address}`);
};

/** Records a contract with our code that was found on the chain. */
export const recordContract = async (
  queries: Queries,
  { network, genesisHash, binding }: AnchorChain,
  { contract, owner, block }: { readonly contract: Hex; readonly owner: Hex; readonly block: number | null },
): Promise<void> => {
  await queries.query(
    `insert into anchor_contracts (genesis_hash, contract, network, binding, owner, block) values ($1, $2, $3, $4, $5, $6)
     on conflict (genesis_hash, contract) do update set block = coalesce(anchor_contracts.block, excluded.block)`,
    [genesisHash, contract, network, binding, owner, block],
  );
};

/** Throws unless the key belongs to the contract's owner, who alone may post (AN-08). */
export const checkOwner = async ({ chain, owner }: Poster, contract: Hex): Promise<void> => {
  const entitled = await chain.ownerOf(contract);
  const own = owner.address.toLowerCase();
  if (entitled !== own)
    throw new PostingError(
      'misconfigured',
      `ANCHOR_OWNER_KEY is of ${own}, the contract ${contract} belongs to ${entitled}`,
    );
};

/** Runs `work` while this process is the only one that posts for the owner on the chain; null: another process is posting. */
const runInTurn = <T>(database: Pool, poster: Poster, work: (queries: Queries) => Promise<T>): Promise<T | null> => {
  const { genesisHash, sender } = toSender(poster);
  return runLocked(database, { kind: LOCK, name: `${genesisHash} ${sender}` }, (client) => {
    poster.reached('locked');
    return work(client);
  });
};

type Turn = { readonly isDone: boolean; readonly moved: boolean; readonly state: string };

/** Repeats `round` until it is done. Rejects with the last state when that takes longer than the runner can wait. */
export const repeatInTurn = async (
  database: Pool,
  { poster, signal }: { readonly poster: Poster; readonly signal: AbortSignal | undefined },
  round: (queries: Queries) => Promise<Turn>,
): Promise<void> => {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    signal?.throwIfAborted();
    const turn = await runInTurn(database, poster, round);
    if (turn?.isDone === true) return;
    if (performance.now() > deadline)
      throw new Error(`not confirmed yet: ${turn?.state ?? 'another process is posting'}`);
    if (turn?.moved !== true) await pause(LOOK_EVERY_MS, undefined, signal === undefined ? {} : { signal });
  }
};
