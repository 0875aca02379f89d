// Links a bought key to an account: the signer with the wallet that paid gets a replacement with the same expiry; the lost key is revoked (P-06).
import type { Pool } from 'pg';
import type { Purchase } from '../payments/purchases.ts';
import { type MessageChain, type Recovery, recoverKey } from '../payments/recover-key.ts';
import { lockAccount } from './accounts.ts';
import { recordEvent } from './events.ts';

const MOVE = `update api_keys set account_id = $2 where key_id = $1`;

type LinkDeps = {
  readonly pool: Pool;
  readonly chain: MessageChain;
  readonly baseUrl: string;
  readonly nowMs: number;
};

/**
 * The key in plain, this once; null: there is no such purchase, the message is old or was used, another wallet signed, or the account is closed.
 */
export const linkKey = (recovery: Recovery, accountId: string, deps: LinkDeps): Promise<Purchase | null> =>
  recoverKey(recovery, deps, {
    before: (client) => lockAccount(client, accountId),
    after: async (client, { keyId, plan, transaction }) => {
      await client.query(MOVE, [keyId, accountId]);
      await recordEvent(client, { accountId, action: 'key_linked', details: { key_id: keyId, plan, transaction } });
    },
  });
