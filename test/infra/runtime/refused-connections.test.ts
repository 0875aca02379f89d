// A store that refuses our connections, by its password, its name or its certificate, is one that cannot be used now: 503, never a fault of ours (D-84).
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { pino } from 'pino';
import t from 'tap';
import { explainStore } from '../../../api/history/store.ts';
import { prepareDatabase } from '../../../infra/postgres/prepare-database.ts';
import { guardAway, isAway, isOutOfService } from '../../../infra/runtime/postgres/away.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createAuthority } from '../../support/engines/certificates.ts';
import { pemFolder } from '../../support/engines/secure-engines.ts';
import { waitFor } from '../../support/wait.ts';

type Answer = (socket: Socket) => void;

/** A server of the PostgreSQL protocol that treats every first message alike. */
const startServer = async (answer: Answer): Promise<string> => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** ErrorResponse (PostgreSQL, "Message Formats"). */
const refuse =
  (code: string, message: string): Answer =>
  (socket) => {
    const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
    const head = Buffer.alloc(5);
    head.write('E');
    head.writeInt32BE(fields.length + 4, 1);
    socket.end(Buffer.concat([head, fields]));
  };

const catchError = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const UNAVAILABLE = { errors: [{ code: 'UNAVAILABLE' }] };

t.test('PostgreSQL that lets nobody in', async (t) => {
  const cases = [
    ['28P01', 'password authentication failed for user "market"'],
    ['28000', 'no pg_hba.conf entry for host "127.0.0.1", user "market", database "market", no encryption'],
    ['3D000', 'database "market" does not exist'],
    ['42501', 'permission denied for database "market"'],
  ] as const;
  for (const [code, message] of cases) {
    const pool = openPostgres(`postgres://u:p@${await startServer(refuse(code, message))}/db`, { max: 1 });
    const error = await catchError(pool.query('select 1'));
    t.match(error, { code, message: new RegExp(message.slice(0, 20)) });
    t.equal(isOutOfService(error), true, message);
    t.equal(isOutOfService(new Error('said', { cause: error })), true, 'by its cause');
    t.equal(isAway(error), false, 'a start ends with it');
    await t.rejects(guardAway(pool, 'Nothing.').query('select 1'), UNAVAILABLE, message);
    await pool.end();
  }
});

t.test('PostgreSQL that is away at the start and then refuses the login is one error of the log', async (t) => {
  let attempts = 0;
  const address = await startServer((socket) => {
    attempts += 1;
    if (attempts === 1) return void socket.destroy();
    refuse('28P01', 'password authentication failed for user "market"')(socket);
  });
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
  const pool = openPostgres(`postgres://u:p@${address}/db`, { max: 1 });
  const database = await prepareDatabase(pool, log);
  await waitFor('it is tried again', () => attempts >= 4);
  await database.stop();
  await pool.end();
  const away = 'PostgreSQL is unavailable: requests that need it are answered with 503 until it is available';
  t.same(lines, [away, 'PostgreSQL cannot be prepared, trying again']);
});

t.test('PostgreSQL with a certificate of another authority', async (t) => {
  const [trusted, other] = [createAuthority(), createAuthority()];
  const secureContext = createSecureContext(other.issue({ name: 'here', hosts: ['127.0.0.1'] }));
  const address = await startServer((socket) => {
    socket.write('S');
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
  });
  const file = pemFolder(t).write('ca.pem', trusted.cert);
  const pool = openPostgres(`postgres://u:p@${address}/db?sslmode=verify-full&sslrootcert=${file}`, { max: 1 });
  t.teardown(() => pool.end());
  await t.rejects(pool.query('select 1'), /not that of sslrootcert in DATABASE_URL/);
  await t.rejects(guardAway(pool, 'Nothing.').query('select 1'), UNAVAILABLE);
});

t.test('QuestDB whose password was changed', async (t) => {
  const address = await startServer(refuse('00000', 'invalid username/password'));
  const reader = openQuestdbReader(`postgres://${address}/qdb`, { max: 1, timeoutMs: 1_000 });
  t.teardown(() => reader.close());
  const error = await catchError(reader.query({ text: 'select 1' }));
  t.match(error, { message: /look at QUESTDB_USER and QUESTDB_PASSWORD/ });
  t.match(explainStore(error), UNAVAILABLE);
});
