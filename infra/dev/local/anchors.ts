// Anchors of a local run: an owner with funds, the contract deployed once on the local chain, days posted again after the chain was recreated.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { createPublicClient, type Hex, http } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import type { AnchorChain } from '../../../processors/nightly/steps/anchor/chain.ts';
import { deployContract } from '../../../processors/nightly/steps/anchor/deploy.ts';
import { isSettled, readClosedDays } from '../../../processors/nightly/steps/anchor/post-day.ts';
import { openChain, openOwner } from '../../../processors/nightly/steps/anchor/poster.ts';
import { openPostgres } from '../../runtime/postgres/postgres.ts';
import { writePrivateFile } from '../engines/private-file.ts';

/** Settings of the nightly process, also members of `.local/endpoints.json`. */
export type LocalAnchors = { readonly anchor_contract: string | null; readonly anchor_owner_key_file: string | null };

export const toAnchorEnv = ({ anchor_contract: contract, anchor_owner_key_file: file }: LocalAnchors) => ({
  ...(contract === null ? {} : { ANCHOR_CONTRACT: contract }),
  // A key and a file of a key are refused together.
  ...(file === null ? {} : { ANCHOR_OWNER_KEY: '', ANCHOR_OWNER_KEY_FILE: file }),
});

/** 1,000 Ether of the local chain, which are worthless. */
const FUNDS = '0x3635c9adc5dea00000';
const REOPEN = `update nightly_steps set state = 'failed', ended_at = null, report = 'the chain began anew'
  where step = 'anchor' and state = 'done' and day = any($1)`;

/** The key of an earlier run, or a new one; only its owner may read the file. */
const ensureOwnerKey = async (file: string): Promise<string> => {
  const held = await readFile(file, 'utf8').catch(() => null);
  if (held !== null) return held.trim();
  const key = generatePrivateKey();
  writePrivateFile(file, `${key}\n`);
  return key;
};

const fund = async (rpcUrl: string, address: Hex): Promise<void> => {
  const client = createPublicClient({ transport: http(rpcUrl) });
  await client.request({ method: 'anvil_setBalance' as never, params: [address, FUNDS] as never });
};

/** Days that were posted on a chain that is gone are due again. */
const reopenLost = async (database: Pool, chain: AnchorChain): Promise<void> => {
  const lost: string[] = [];
  for (const closed of await readClosedDays(database))
    if (closed.status === 'confirmed' && !(await isSettled(closed, chain))) lost.push(closed.day);
  await database.query(REOPEN, [lost]);
};

/** On an embedded chain only: an external chain has its own contract, owner and funds, set in the environment. */
export const ensureLocalAnchors = async (
  {
    rpc_url: rpcUrl,
    database_url: databaseUrl,
  }: { readonly rpc_url: string | null; readonly database_url: string | null },
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<LocalAnchors> => {
  if (env['RPC_URL'] || rpcUrl === null || databaseUrl === null)
    return {
      anchor_contract: env['ANCHOR_CONTRACT'] || null,
      anchor_owner_key_file: env['ANCHOR_OWNER_KEY_FILE'] || null,
    };
  const file = join(folder, 'anchor-owner.key');
  const ownerKey = await ensureOwnerKey(file);
  const database = openPostgres(databaseUrl, { max: 2 });
  try {
    const owner = openOwner(ownerKey);
    await fund(rpcUrl, owner.address);
    const chain = await openChain({ rpcUrl, contract: null, ownerKey });
    const silent = { reached: () => undefined, count: () => undefined, nowMs: Date.now };
    const { contract } = await deployContract(database, { chain, owner, ...silent });
    await reopenLost(database, chain);
    return { anchor_contract: contract, anchor_owner_key_file: file };
  } finally {
    await database.end();
  }
};
