// A lost answer is not theft: a renewal that is repeated within ten seconds, before what it gave was used, is answered once more (T-09).
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import { hashToken } from '../accounts/token-hash.ts';
import type { Connections } from './connections.ts';
import type { Units } from './units.ts';

const REPEAT_MS = 10_000;
const CIPHER = 'aes-256-gcm';
const [IV_BYTES, TAG_BYTES] = [12, 16];

export type TokenBody = Readonly<Record<string, unknown>> & {
  readonly refresh_token: string;
  readonly expires_in: number;
};

const CONNECTION_OF =
  "select connection_id from oidc_items where model = 'RefreshToken' and id_hash = $1 and expires_at > $2";
const KEPT = `
  select r.sealed, r.answered_at from oidc_renewals r
  join oidc_items used on used.model = 'RefreshToken' and used.id_hash = r.used_hash
  join oidc_items given on given.model = 'RefreshToken' and given.id_hash = r.replacement_hash
  where r.used_hash = $1 and used.payload ->> 'clientId' = $2 and given.consumed_at is null and r.answered_at > $3`;
const KEEP = `
  insert into oidc_renewals (used_hash, replacement_hash, connection_id, answered_at, sealed)
  select $1::bytea, $2::bytea, connection_id, $3::timestamptz, $4::bytea from oidc_items where model = 'RefreshToken' and id_hash = $1`;
/** Ends the repeat of an earlier renewal, since its token is used now. */
const FORGET = 'delete from oidc_renewals where replacement_hash = $1';

const deriveSealingKey = (token: string): Buffer =>
  Buffer.from(hkdfSync('sha256', token, '', 'perp sign-in: renewal', 32));

/** Only the holder of the used token can read it. */
const seal = (text: string, token: string): Buffer => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, deriveSealingKey(token), iv);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
};

const unseal = (sealed: Buffer, token: string): string => {
  const decipher = createDecipheriv(CIPHER, deriveSealingKey(token), sealed.subarray(0, IV_BYTES));
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
};

type KeptRow = { readonly sealed: Buffer; readonly answered_at: Date };

/** Both are part of the transaction of their request. */
export const openRenewals = (
  { query, alone }: Units,
  { connections, nowMs }: { readonly connections: Connections; readonly nowMs: () => number },
) => ({
  /** The answer of before with the seconds that are left; null: this is no repetition, or one too late. */
  repeat: async (token: string, clientId: string): Promise<TokenBody | null> => {
    if (!isStorable(clientId)) return null;
    const { rows: held } = await alone<{ connection_id: string }>(CONNECTION_OF, [hashToken(token), new Date(nowMs())]);
    if (held[0] === undefined) return null;
    // Waits for a renewal at the same instant.
    await connections.lock(held[0].connection_id);
    const { rows } = await query<KeptRow>(KEPT, [hashToken(token), clientId, new Date(nowMs() - REPEAT_MS)]);
    if (rows[0] === undefined) return null;
    const body = JSON.parse(unseal(rows[0].sealed, token)) as TokenBody;
    // Of a process whose clock is ahead, it was answered in what is the future here.
    const passed = Math.max(0, Math.floor((nowMs() - rows[0].answered_at.getTime()) / 1_000));
    return { ...body, expires_in: body.expires_in - passed };
  },
  keep: async (token: string, body: TokenBody): Promise<void> => {
    await query(FORGET, [hashToken(token)]);
    const sealed = seal(JSON.stringify(body), token);
    await query(KEEP, [hashToken(token), hashToken(body.refresh_token), new Date(nowMs()), sealed]);
  },
});
export type Renewals = ReturnType<typeof openRenewals>;
