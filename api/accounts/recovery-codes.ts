// Codes that set a new password: ten that the owner keeps, shown once, and mailed ones that live half an hour. Each is good once.
import { createHash, randomInt } from 'node:crypto';
import type { Db } from './events.ts';

export const KEPT_CODES = 10;
/** By the clock of the database, which also judges it. */
export const MAILED_FOR = '30 minutes';
/** Crockford's: no letter that is read as a digit. 16 of them are 80 bits, so their plain hash reveals nothing. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 16;

const makeCode = (): string => {
  const text = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return (text.match(/.{4}/g) ?? []).join('-');
};

/** As it was made, even when letters were typed for digits. */
const normaliseCode = (text: string): string =>
  text
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');

const hashCode = (code: string): Buffer => createHash('sha256').update(normaliseCode(code)).digest();

const STORE = `insert into recovery_codes (account_id, code_hash, kind, expires_at) select $1, h, $3, now() + $4::interval from unnest($2::bytea[]) h`;
const TAKE = `update recovery_codes set used_at = now()
  where account_id = $1 and code_hash = $2 and used_at is null and (expires_at is null or expires_at > now())
    and ($3::text is null or kind = $3) returning kind`;
const COUNT = `select count(*)::int as left from recovery_codes where account_id = $1 and kind = 'kept' and used_at is null`;

export const dropKeptCodes = async (db: Db, accountId: string): Promise<void> => {
  await db.query("delete from recovery_codes where account_id = $1 and kind = 'kept'", [accountId]);
};

/** Ten new codes in place of all earlier ones. They are in this answer and nowhere else. */
export const renewCodes = async (db: Db, accountId: string): Promise<readonly string[]> => {
  const codes = Array.from({ length: KEPT_CODES }, makeCode);
  await dropKeptCodes(db, accountId);
  await db.query(STORE, [accountId, codes.map(hashCode), 'kept', null]);
  return codes;
};

/** A code for a letter; earlier letters' codes end. */
export const makeMailedCode = async (db: Db, accountId: string): Promise<string> => {
  const code = makeCode();
  await db.query("delete from recovery_codes where account_id = $1 and kind = 'mailed' and used_at is null", [
    accountId,
  ]);
  await db.query(STORE, [accountId, [hashCode(code)], 'mailed', MAILED_FOR]);
  return code;
};

type CodeKind = 'kept' | 'mailed';

/** Uses a code of that kind up, of any when `only` is null; null: it is none of this account's, was used or has expired. */
export const takeCode = async (
  db: Db,
  accountId: string,
  { code, only = null }: { readonly code: string; readonly only?: CodeKind | null },
): Promise<CodeKind | null> => {
  const { rows } = await db.query<{ kind: CodeKind }>(TAKE, [accountId, hashCode(code), only]);
  return rows[0]?.kind ?? null;
};

export const countCodes = async (db: Db, accountId: string): Promise<number> =>
  (await db.query<{ left: number }>(COUNT, [accountId])).rows[0]?.left ?? 0;
