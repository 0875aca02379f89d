// Which failures of PostgreSQL mean that it is away, and the answer that reports it.
import { createServer } from 'node:net';
import t from 'tap';
import { prepareDatabase } from '../../../../infra/postgres/prepare-database.ts';
import { guardAway, isAway, isOutOfService } from '../../../../infra/runtime/postgres/away.ts';
import { openPostgres } from '../../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { useEngines } from '../../../support/engines/engines.ts';
import { waitFor } from '../../../support/wait.ts';

type Asked = Parameters<typeof guardAway>[0];
const coded = (code: string): Error => Object.assign(new Error('said'), { code });
const failing = (error: Error): Asked => ({ query: (() => Promise.reject(error)) as unknown as Asked['query'] });

t.test('a connection that fails and a server that starts or stops are away, everything else is not', async (t) => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', '57P03', '08006', '53300'])
    t.equal(isAway(coded(code)), true, code);
  for (const message of ['Connection terminated unexpectedly', 'timeout exceeded when trying to connect'])
    t.equal(isAway(new Error(message)), true, message);
  for (const code of ['28P01', '3D000', '42601', '23505']) t.equal(isAway(coded(code)), false, code);
  t.equal(isAway(new Error('migration 0001 failed')), false);
  t.equal(isAway(new Error('migration 0001 failed', { cause: coded('57P01') })), true, 'by its cause');
  t.equal(isAway(new Error('migration 0001 failed', { cause: coded('42601') })), false, 'by its cause');
  t.equal(isAway('text'), false);
});

t.test(
  'a server that cannot do its work for now is out of service, and is not away: a migration that it refuses is not waited for',
  async (t) => {
    for (const code of ['53100', '53200', '40P01', '40001', '25006', '57014', '55P03', '25P03', '58030']) {
      t.equal(isOutOfService(coded(code)), true, code);
      t.equal(isOutOfService(new Error('said', { cause: coded(code) })), true, `${code}, by its cause`);
      t.equal(isAway(coded(code)), false, code);
      const refused = guardAway(failing(coded(code)), 'Nothing.').query('select 1');
      await t.rejects(refused, { errors: [{ code: 'UNAVAILABLE' }] }, code);
    }
    for (const code of ['ECONNREFUSED', '57P01', '53300']) t.equal(isOutOfService(coded(code)), true, code);
    for (const code of ['28P01', '42601', '23505', '25P02', '25001', 'XX001'])
      t.equal(isOutOfService(coded(code)), false, code);
    t.equal(isOutOfService('text'), false);
  },
);

t.test('a database that has become read only and one that cancels statements answer 503, and say so', async (t) => {
  const url = await (await useEngines(t, ['postgres'])).database();
  const pool = openPostgres(url, { max: 1 });
  t.teardown(() => pool.end());
  await pool.query('create table kept (n integer)');
  const guarded = guardAway(pool, 'Nothing can be kept now.');
  const away = { errors: [{ code: 'UNAVAILABLE', message: 'Nothing can be kept now.' }] };
  await pool.query('set default_transaction_read_only = on');
  await t.rejects(guarded.query('insert into kept values (1)'), away, 'as after a failover');
  await pool.query("set default_transaction_read_only = off; set statement_timeout = '50ms'");
  await t.rejects(guarded.query('select pg_sleep(60)'), away, 'a statement that the server ends');
  t.equal((await guarded.query('insert into kept values (1)')).rowCount, 1, 'the connection serves the next one');
});

t.test('an answer is 503 for a database that is away or has no tables yet, and hides no fault', async (t) => {
  for (const code of ['ECONNREFUSED', '42P01']) {
    const refused = guardAway(failing(coded(code)), 'The archive cannot be read now.').query('select 1');
    await t.rejects(refused, { errors: [{ code: 'UNAVAILABLE', message: 'The archive cannot be read now.' }] }, code);
  }
  await t.rejects(guardAway(failing(coded('42601')), 'Nothing.').query('selct 1'), { code: '42601' });
});

t.test('a start continues without the database when it is away, and ends when it refuses us', async (t) => {
  const log = createLog('test', 'silent');
  const { hostname, port, pathname } = new URL(await (await useEngines(t, ['postgres'])).database());
  const wrong = new URL(`postgres://${hostname}:${port}${pathname}_that_is_not_there`);
  const refused = openPostgres(wrong.href, { max: 1 });
  await t.rejects(prepareDatabase(refused, log), { code: /^(28...|3D000)$/ });
  await refused.end();

  const closed = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => closed.once('listening', done));
  const address = closed.address();
  await new Promise((done) => closed.close(done));
  wrong.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  const pool = openPostgres(wrong.href, { max: 1 });
  const database = await prepareDatabase(pool, log);
  t.equal(database.isReady(), false);
  await database.stop();
  await pool.end();
});

t.test(
  'a connection that is ended between two statements of a transaction rejects the next one and ends nothing else',
  async (t) => {
    const pool = openPostgres(await (await useEngines(t, ['postgres'])).database(), { max: 2 });
    t.teardown(() => pool.end());
    const held = await pool.connect();
    const { rows } = await held.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => held.once('end', resolve));
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    const failure: unknown = await held.query('select 1').then(
      () => null,
      (error: unknown) => error,
    );
    t.ok(failure instanceof Error, 'the statement rejects');
    held.release(failure instanceof Error ? failure : undefined);
    t.same((await pool.query('select 1 as one')).rows, [{ one: 1 }], 'the pool opens another');
  },
);

t.test('a database that is lost in the middle of a migration is waited for, and nothing of it is left', async (t) => {
  const url = await (await useEngines(t, ['postgres'])).database();
  const [pool, other] = [openPostgres(url), openPostgres(url, { max: 2 })];
  t.teardown(() => Promise.all([pool.end(), other.end()]));
  const holder = await other.connect();
  await holder.query('create table migrations (name text primary key, applied_at timestamptz not null default now())');
  // The note of the first file waits for this lock: the file is done, and its transaction is open.
  await holder.query('begin; lock table migrations in share mode');
  const begun = prepareDatabase(pool, createLog('test', 'silent'));
  const { pid } = await waitFor('the migration waits', async () => {
    const { rows } = await other.query<{ pid: number }>(
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows[0];
  });
  await other.query('select pg_terminate_backend($1)', [pid]);
  const database = await begun;
  t.equal(database.isReady(), false, 'the start goes on');
  await holder.query('commit');
  holder.release();
  await waitFor('it is done when the database is there', () => database.isReady());
  await database.stop();
});
