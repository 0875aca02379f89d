// Stores that take connections and answer nothing: every wait has an end, and leaves no connection behind.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import t from 'tap';
import { createWebMetrics } from '../../../api/account-app/web-metrics.ts';
import { openPaymentChain } from '../../../api/payments/chain.ts';
import { openS3Store } from '../../../infra/runtime/files/s3-store.ts';
import { openKafka } from '../../../infra/runtime/kafka/kafka.ts';
import { isAway } from '../../../infra/runtime/postgres/away.ts';
import { guardPool } from '../../../infra/runtime/postgres/connection.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { createMetrics, serveMetrics } from '../../../infra/runtime/process/metrics.ts';
import { openQuestdbReader } from '../../../infra/runtime/questdb/reader.ts';
import { createRowSender } from '../../../infra/runtime/questdb/row-sender.ts';
import { readHistoryWatermark } from '../../../processors/nightly/history-watermark.ts';
import { identifyChain } from '../../../processors/nightly/steps/anchor/chain.ts';
import { startSilentPostgres } from '../../support/engines/silent-postgres.ts';
import { waitFor } from '../../support/wait.ts';

const log = createLog('deadlines-test', 'silent');
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

t.test(
  'QuestDB: a read is given up after the time that the server has for it, and its connection with it',
  async (t) => {
    const { url, clients } = await startSilentPostgres(t);
    const reader = openQuestdbReader(url, { max: 1, timeoutMs: 50, log });
    await t.rejects(reader.query({ text: 'SELECT 1' }), /timeout/);
    await t.rejects(reader.ping(), /timeout/, 'the next one has a connection of its own');
    await reader.close();
    await waitFor('no connection is left', () => clients().length === 0);
  },
);

t.test('QuestDB: rows and reads that a frozen one holds do not hold up the end of their process', async (t) => {
  const { promise: held, resolve: hold } = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/settings')) response.end('{"config":{}}');
    else hold(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  const sender = createRowSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { log });
  const row = { table: 'mark', at: 1, texts: {}, instants: {}, integers: { n: 1 }, figures: {}, flags: {} };
  const sent = sender.send('mark', [row]).then(
    () => 'written',
    () => 'given up',
  );
  const response = await held;
  t.equal(await Promise.race([sent, sender.close().then(() => 'closed')]), 'closed', 'before the request has failed');
  response.writeHead(204).end();
  const { url } = await startSilentPostgres(t);
  const reader = openQuestdbReader(url, { max: 1, timeoutMs: 2_500, log });
  const read = reader.ping().then(
    () => 'read',
    () => 'given up',
  );
  t.equal(await Promise.race([read, reader.close().then(() => 'closed')]), 'closed', 'the same with a read');
  await Promise.all([sent, read]);
});

t.test(
  'PostgreSQL: a statement is given up after the deadline of its pool, and counts as a database that is away',
  async (t) => {
    const { url, clients } = await startSilentPostgres(t);
    const pool = openPostgres(url, { max: 1, answerMs: 50 });
    for (const statement of ['select 1', 'select 2']) {
      const failure: unknown = await pool.query(statement).catch((error: unknown) => error);
      t.equal(isAway(failure), true, String(failure));
    }
    await pool.end();
    await waitFor('no connection is left', () => clients().length === 0);
  },
);

/** Rows of /proc/net/tcp are `sl local remote st queues tr:when …`; tr 2 is the timer of keepalive (Linux, proc_net_tcp). */
const hasKeepAlive = (from: number, to: number): boolean => {
  const toText = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n');
  const found = rows.map((row) => row.trim().split(/\s+/));
  return found.some(([, local, remote, , , timer = '']) => {
    return local === toText(from) && remote === toText(to) && timer.startsWith('02:');
  });
};

t.test(
  'the line of a connection that waits is tested, so that a machine that is gone is noticed',
  { skip: existsSync('/proc/net/tcp') ? false : 'the timers of connections are in /proc/net/tcp' },
  async (t) => {
    const { url, clients, cut } = await startSilentPostgres(t);
    const pool = openPostgres(url, { max: 1 });
    const reader = openQuestdbReader(url, { max: 1, timeoutMs: 60_000, log });
    const asked = [pool.query('select 1'), reader.ping()].map((wait) => wait.catch(() => undefined));
    await waitFor('both wait', () => clients().length === 2);
    await waitFor('both lines are tested', () =>
      clients().every((port) => hasKeepAlive(port, Number(new URL(url).port))),
    );
    cut();
    await Promise.all([...asked, pool.end(), reader.close()]);
  },
);

t.test('figures and readiness are told while the database of the process is silent', async (t) => {
  const { url, cut } = await startSilentPostgres(t);
  const pool = openPostgres(url, { max: 1 });
  const registry = createMetrics();
  createWebMetrics(registry, pool);
  const server = await serveMetrics(registry, 0, { unready: async () => ['PostgreSQL is silent'] });
  const get = async (path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [answer.status, await answer.text()];
  };
  t.strictSame(await get('/readyz'), [503, 'PostgreSQL is silent\n']);
  t.match(await get('/metrics'), [200, /perp_web_passwords_waiting 0/]);
  await server.close();
  cut();
  await pool.end();
});

t.test('a figure that cannot be read is the answer of that request, not the end of the process', async (t) => {
  const registry = createMetrics();
  registry.metrics = () => Promise.reject(new Error('no figures now'));
  const server = await serveMetrics(registry, 0, { unready: () => Promise.reject(new Error('nobody knows')) });
  const get = async (path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [answer.status, await answer.text()];
  };
  t.strictSame(await get('/metrics'), [500, 'no figures now\n']);
  t.strictSame(await get('/readyz'), [500, 'nobody knows\n']);
  t.strictSame(await get('/healthz'), [200, 'ok\n']);
  await server.close();
});

t.test(
  'object store: an answer that does not begin is given up, one that has begun may take as long as its reader',
  { timeout: 60_000 },
  async (t) => {
    const begun = Promise.withResolvers<ServerResponse>();
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/slow') !== true) return;
      response.write('first');
      begun.resolve(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const names = { bucket: 'b', region: 'r', accessKeyId: 'a', secretAccessKey: 's', workFolder: '.' };
    const store = openS3Store({ endpoint, ...names, headMs: 1_000 });
    const slow = text(await store.read('slow'));
    // A signal follows another one only while nothing between them is collected.
    const collecting = setInterval(collectGarbage, 50);
    t.teardown(() => clearInterval(collecting));
    await t.rejects(store.read('silent'), /no answer within 1000 ms/);
    await t.rejects(store.size('silent'), { name: 'TimeoutError' });
    (await begun.promise).end(', last');
    t.equal(await slow, 'first, last', 'two deadlines later');
  },
);

t.test(
  'a node of a chain: an answer that has begun and does not end is given up, for payments and for roots',
  { timeout: 60_000 },
  async (t) => {
    let asked = 0;
    const server = createServer((request, response) => {
      asked += 1;
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.write('{"jsonrpc":"2.0",');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const rpcUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await t.rejects(openPaymentChain(rpcUrl, 100).isContract(`0x${'bb'.repeat(20)}`));
    t.equal(asked, 2, 'once more');
    await t.rejects(identifyChain(rpcUrl, 100), { name: 'ChainError', fault: 'unreachable' });
  },
);

t.test('a lost connection is logged without its client, which has the password and the key to cancel', async (t) => {
  const lines: unknown[] = [];
  const pool = new pg.Pool({ password: 'hidden' });
  guardPool(pool, { warn: (...line: unknown[]) => void lines.push(line) }, 'lost');
  const client = new pg.Client({ password: 'hidden' });
  pool.emit('error', Object.assign(new Error('ended'), { client }), client);
  t.match(lines, [[{ err: { message: 'ended' } }, 'lost']]);
  t.strictSame(Object.keys((lines as [[{ err: object }]])[0][0].err), ['message', 'stack']);
  await pool.end();
});

t.test('Kafka: a nightly step that it does not answer names it', async (t) => {
  const kafka = openKafka({ brokers: ['127.0.0.1:1'], clientId: 'deadlines' }, log);
  await t.rejects(
    readHistoryWatermark(kafka, { namespace: '', venues: null, withinMs: 100 }),
    /^Kafka does not give watermark/,
  );
  await kafka.close();
});
