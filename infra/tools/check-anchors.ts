// Checks the stored data of closed days for consistency and against the chain: trees, leaves, day roots, statuses, the code of the contract.
import type { Pool } from 'pg';
import type { Hex } from 'viem';
import { type AnchorChain, ChainError } from '../../processors/nightly/steps/anchor/chain.ts';
import type { AnchorSettings } from '../../processors/nightly/steps/anchor/config.ts';
import { DEPLOYED_CODE } from '../../processors/nightly/steps/anchor/contract.ts';
import type { ClosedDay } from '../../processors/nightly/steps/anchor/post-day.ts';
import { openChain, openOwner } from '../../processors/nightly/steps/anchor/poster.ts';
import { formatPartitionLeaf } from '../../schemas/anchored.ts';
import { HASH_BYTES, hashLeaf } from '../../schemas/merkle/hash.ts';
import { createTree } from '../../schemas/merkle/tree.ts';
import type { ObjectStore } from '../runtime/files/object-store.ts';

/** The data to check, and the chain's settings. */
export type Kept = { readonly database: Pool; readonly store: ObjectStore; readonly anchors: AnchorSettings };

/** One line of the report. */
type CheckLine = { readonly text: string; readonly isFault: boolean };

const makeGood = (text: string): CheckLine => ({ text: `ok     ${text}`, isFault: false });
const makeFault = (text: string): CheckLine => ({ text: `FAULT  ${text}`, isFault: true });

type Partition = {
  readonly table: string;
  readonly rows: number;
  readonly root: string;
  readonly leaf: string;
  readonly key: string;
};
const PARTITIONS = `select table_name as "table", rows::int as rows, root, leaf, tree_key as key from anchor_partitions
  where day = $1 order by table_name collate "C"`;

/** The root over the stored hashes of the leaves. */
const computeRoot = async (store: ObjectStore, { key, rows }: Partition): Promise<string | null> => {
  const tree = createTree();
  let held = Buffer.of();
  for await (const piece of await store.read(key, { start: 0, end: rows * HASH_BYTES })) {
    held = Buffer.concat([held, piece as Buffer]);
    const whole = held.length - (held.length % HASH_BYTES);
    for (let at = 0; at < whole; at += HASH_BYTES) tree.append(held.subarray(at, at + HASH_BYTES));
    held = held.subarray(whole);
  }
  return tree.size() === rows ? (tree.root()?.toString('hex') ?? null) : null;
};

const checkTree = async (day: string, partition: Partition, store: ObjectStore): Promise<CheckLine> => {
  const { table, rows, root, leaf } = partition;
  const what = `${day} ${table}`;
  const found = await computeRoot(store, partition).catch((error: Error) => error);
  if (found instanceof Error) return makeFault(`${what}: the kept tree cannot be read: ${found.message}`);
  if (found !== root) return makeFault(`${what}: the ${rows} kept leaves have the root ${found}, recorded is ${root}`);
  const text = formatPartitionLeaf({ day, table, rows, root });
  const isLeaf = hashLeaf(Buffer.from(text)).toString('hex') === leaf;
  return isLeaf
    ? makeGood(`${what}: ${rows} kept leaves give the recorded root`)
    : makeFault(`${what}: the leaf of the table is not that of ${text}`);
};

const checkTrees = async ({ day, root }: ClosedDay, database: Pool, store: ObjectStore): Promise<CheckLine[]> => {
  const { rows: partitions } = await database.query<Partition>(PARTITIONS, [day]);
  const lines: CheckLine[] = [];
  const tree = createTree();
  for (const partition of partitions) {
    lines.push(await checkTree(day, partition, store));
    tree.append(Buffer.from(partition.leaf, 'hex'));
  }
  const found = tree.root()?.toString('hex') ?? null;
  const right = `${day}: ${partitions.length} tables give the day root ${root}`;
  return [
    ...lines,
    found === root ? makeGood(right) : makeFault(`${day}: the tables give the day root ${found}, recorded is ${root}`),
  ];
};

const checkMined = async ({ day, txHash, block }: ClosedDay, chain: AnchorChain): Promise<CheckLine> => {
  const receipt = txHash === null ? null : await chain.receiptOf(txHash);
  if (receipt === null) return makeFault(`${day}: confirmed, but no block holds transaction ${txHash}`);
  if (receipt.block !== block)
    return makeFault(`${day}: transaction ${txHash} is in block ${receipt.block}, recorded is ${block}`);
  const depth = (await chain.head()) - receipt.block + 1;
  const right = `${day}: confirmed, transaction ${txHash} is at a depth of ${depth}`;
  return depth >= chain.confirmations
    ? makeGood(right)
    : makeFault(`${day}: confirmed at a depth of ${depth} blocks, ${chain.confirmations} are needed`);
};

/** The status against the chain: what the contract holds for the day, and the transaction of a confirmed one. */
const checkPosted = async (closed: ClosedDay, chain: AnchorChain): Promise<CheckLine[]> => {
  const { day, root, status, contract, genesisHash } = closed;
  if (contract === null)
    return [
      status === 'pending' || status === 'failed'
        ? makeGood(`${day}: ${status}, not posted`)
        : makeFault(`${day}: ${status} without a contract`),
    ];
  if (genesisHash !== chain.genesisHash)
    return [makeFault(`${day}: ${status} on the chain with first block ${genesisHash}, RPC_URL is another one`)];
  const held = await chain.rootOf(contract, day);
  if (held !== null && held !== root) return [makeFault(`${day}: the contract holds ${held}, the day root is ${root}`)];
  if (status !== 'confirmed') {
    const text = held === null ? 'the contract has no root yet' : 'the contract has the root, `post` ends it';
    return [status !== 'failed' ? makeGood(`${day}: ${status}, ${text}`) : makeFault(`${day}: ${status}, ${text}`)];
  }
  if (held === null) return [makeFault(`${day}: confirmed, but the contract has no root`)];
  return [makeGood(`${day}: the contract holds the day root`), await checkMined(closed, chain)];
};

const checkContracts = async (
  contracts: readonly Hex[],
  chain: AnchorChain,
  ownerKey: string | null,
): Promise<CheckLine[]> => {
  const lines: CheckLine[] = [];
  for (const contract of contracts) {
    const isOurs = (await chain.codeAt(contract)) === DEPLOYED_CODE;
    lines.push(
      isOurs
        ? makeGood(`${contract} has the committed code`)
        : makeFault(`${contract} has other code than infra/contract/AnchorRoots.json`),
    );
    if (!isOurs || ownerKey === null) continue;
    const [owner, own] = [await chain.ownerOf(contract), openOwner(ownerKey).address.toLowerCase()];
    lines.push(
      owner === own
        ? makeGood(`${contract} belongs to ${own}`)
        : makeFault(`${contract} belongs to ${owner}, ANCHOR_OWNER_KEY is of ${own}`),
    );
  }
  return lines;
};

/** A contract with an unexpected response is a fault; a node that is away ends the check. */
const toFault =
  (day: string) =>
  (error: unknown): CheckLine[] => {
    if (error instanceof ChainError && error.fault === 'refused') return [makeFault(`${day}: ${error.message}`)];
    throw error;
  };

/** Everything that holds and everything that does not, by day. */
export const checkAnchors = async (
  days: readonly ClosedDay[],
  { database, store, anchors }: Kept,
): Promise<CheckLine[]> => {
  const chain = await openChain(anchors);
  const binds = chain.binding ? 'Base itself' : 'not Base, nothing binds';
  const ofDays = days.flatMap(({ contract, genesisHash }) =>
    contract !== null && genesisHash === chain.genesisHash ? [contract] : [],
  );
  const current = anchors.contract === null ? [] : [anchors.contract.toLowerCase() as Hex];
  const lines = [makeGood(`${chain.network}, first block ${chain.genesisHash}: ${binds}`)];
  lines.push(...(await checkContracts([...new Set([...current, ...ofDays])], chain, anchors.ownerKey)));
  for (const closed of days) {
    lines.push(...(await checkTrees(closed, database, store)));
    lines.push(...(await checkPosted(closed, chain).catch(toFault(closed.day))));
  }
  return lines;
};
