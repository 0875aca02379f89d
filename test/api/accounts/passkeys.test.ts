// Passkeys over a real PostgreSQL, made by an authenticator in software.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import t from 'tap';
import {
  addPasskey,
  listPasskeys,
  type RelyingParty,
  removePasskey,
  removePassword,
  requestNewPasskey,
} from '../../../api/accounts/passkeys.ts';
import { beginSession, endOtherSessions, listSessions } from '../../../api/accounts/sessions.ts';
import { enterWithPasskey } from '../../../api/accounts/signing-in.ts';
import { startSite } from '../../support/apps/site-fixture.ts';
import { waitFor } from '../../support/wait.ts';

t.setTimeout(300_000);

const RP: RelyingParty = { id: 'localhost', origin: 'http://localhost:8082', name: 'test' };
const FLAGS = 0b0100_0101; // Present, verified, with a new credential.

/** The answer of a browser whose authenticator attests nothing. */
const makeResponse = (challenge: string) => {
  const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const [id, clientData] = [randomBytes(32), { type: 'webauthn.create', challenge, origin: RP.origin }];
  // A key of COSE: kind, algorithm, curve, coordinates (RFC 9053).
  const publicKey = isoCBOR.encode(
    new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  );
  const authData = Buffer.concat([
    createHash('sha256').update(RP.id).digest(),
    Buffer.of(FLAGS),
    Buffer.alloc(4),
    Buffer.alloc(16),
    Buffer.of(0, id.length),
    id,
    publicKey,
  ]);
  const attestation = new Map<string, string | Map<string, never> | Uint8Array>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, never>()],
    ['authData', authData],
  ]);
  return {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: Buffer.from(JSON.stringify(clientData)).toString('base64url'),
      attestationObject: Buffer.from(isoCBOR.encode(attestation)).toString('base64url'),
    },
  };
};

t.test('an account has twenty passkeys, also when more are added at once; a closed one gets none', async (t) => {
  const { pool } = await startSite(t);
  await pool.query("insert into accounts (account_id) values ('acc_a'), ('acc_closed')");
  await pool.query(
    `insert into account_passkeys select 'cred' || i, 'acc_a', 'x', 0, '{}', 'held' from generate_series(1, 17) i`,
  );
  const add = async (accountId: string): Promise<boolean> => {
    const { sessionId } = await beginSession(pool, { accountId, agent: 'test' });
    const adding = { accountId, email: 'a@example.com', sessionId };
    const { challenge } = await requestNewPasskey(pool, adding, RP);
    return addPasskey(pool, { ...adding, response: makeResponse(challenge), name: 'new', rp: RP });
  };
  const added = await Promise.all(Array.from({ length: 6 }, () => add('acc_a')));
  t.equal(added.filter(Boolean).length, 3);
  t.equal((await listPasskeys(pool, 'acc_a')).length, 20);
  await pool.query("update accounts set closed_at = now() where account_id = 'acc_closed'");
  t.notOk(await add('acc_closed'));
});

t.test('a session that has ended meanwhile adds no passkey (D-512)', async (t) => {
  const { pool } = await startSite(t);
  const accountId = 'acc_a';
  await pool.query('insert into accounts (account_id) values ($1)', [accountId]);
  const { sessionId } = await beginSession(pool, { accountId, agent: 'test' });
  const adding = { accountId, email: 'a@example.com', sessionId };
  const { challenge } = await requestNewPasskey(pool, adding, RP);
  await endOtherSessions(pool, accountId, null);
  t.notOk(await addPasskey(pool, { ...adding, response: makeResponse(challenge), name: 'new', rp: RP }));
  t.same(await listPasskeys(pool, accountId), []);
});

t.test('a passkey that is removed while it is being shown begins no session (D-512)', async (t) => {
  const { pool } = await startSite(t);
  const accountId = 'acc_a';
  await pool.query('insert into accounts (account_id) values ($1)', [accountId]);
  await pool.query(
    "insert into account_passkeys select c, 'acc_a', 'x', 0, '{}', 'held' from unnest(array['c1', 'c2']) c",
  );
  const enter = (credentialId: string) => enterWithPasskey(pool, { accountId, credentialId, agent: 'test' });
  t.match(await enter('c2'), { is: 'in', accountId });
  t.equal(await removePasskey(pool, accountId, 'c1'), 'removed');
  await endOtherSessions(pool, accountId, null);
  t.equal(await enter('c1'), null);
  t.same(await listSessions(pool, accountId), []);
  await pool.query('update accounts set closed_at = now() where account_id = $1', [accountId]);
  t.equal(await enter('c2'), null, 'of a closed account');
});

t.test('of two ways to sign in that are removed at once the last stays', async (t) => {
  const { pool } = await startSite(t);
  await pool.query("insert into accounts (account_id, password_hash) values ('acc_two', null), ('acc_both', 'hash')");
  await pool.query(
    "insert into account_passkeys select c, a, 'x', 0, '{}', 'held' from (values ('c1', 'acc_two'), ('c2', 'acc_two'), ('c3', 'acc_both')) v (c, a)",
  );
  /** Both begin before either ends: the row of the account is held meanwhile. */
  const runTogether = async <T>(accountId: string, works: readonly (() => Promise<T>)[]): Promise<readonly T[]> => {
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('select 1 from accounts where account_id = $1 for update', [accountId]);
    const ended: Promise<T>[] = [];
    for (const work of works) {
      ended.push(work());
      await waitFor('the work waits', async () => {
        // Not by the holder: within a transaction the view stays as it was first read.
        const { rows } = await pool.query<{ waiting: number }>(
          "select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return rows[0]?.waiting === ended.length;
      });
    }
    await holder.query('commit');
    holder.release();
    return Promise.all(ended);
  };
  const removed = await runTogether(
    'acc_two',
    ['c1', 'c2'].map((id) => () => removePasskey(pool, 'acc_two', id)),
  );
  t.same([...removed].sort(), ['last', 'removed']);
  t.equal((await listPasskeys(pool, 'acc_two')).length, 1);
  const read = async () =>
    (await pool.query("select password_hash is not null as has from accounts where account_id = 'acc_both'")).rows[0];
  await runTogether<unknown>('acc_both', [
    () => removePasskey(pool, 'acc_both', 'c3'),
    () => removePassword(pool, 'acc_both'),
  ]);
  t.same([await read(), (await listPasskeys(pool, 'acc_both')).length], [{ has: true }, 0]);
});
