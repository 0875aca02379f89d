// The key with which a page calls the data API for the signed-in user: derived for each account, stored as its hash, valid for an hour.
import { openDerivedKeys } from '../access/derived-keys.ts';
import { hashKey, shortenKey } from '../access/keys.ts';
import { makeKeyId } from '../contract/ids.ts';
import type { Db } from './events.ts';

/** Written again when its plan is another one, or half of its hour is over. The lock waits for a closing that is under way. */
const KEEP = `
  insert into api_keys as k (key_id, account_id, hash, display, name, plan, kind, expires_at)
  select $1, account_id, $3, $4, 'page', best_plan(account_id), 'page', now() + interval '1 hour'
  from accounts where account_id = $2 and closed_at is null for share
  on conflict (hash) do update set plan = excluded.plan, expires_at = excluded.expires_at,
    plan_since = case when k.plan = excluded.plan then k.plan_since else now() end
  where k.revoked_at is null and (k.plan <> excluded.plan or k.expires_at < now() + interval '30 minutes')`;

/** The key of this account's pages. It goes to the data API and nowhere else. */
export const preparePageKey = async (db: Db, secret: Buffer, accountId: string): Promise<string> => {
  const key = openDerivedKeys(secret, 'perp account site: page keys')(accountId);
  await db.query(KEEP, [makeKeyId(Date.now()), accountId, hashKey(key), shortenKey(key)]);
  return key;
};
