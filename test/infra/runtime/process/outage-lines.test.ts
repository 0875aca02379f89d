// An outage of an engine is one line of the log for each reason, however often it is tried again meanwhile, and the next one another (conventions: log once).
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { Pool } from 'pg';
import { pino } from 'pino';
import t from 'tap';
import { sendLetters } from '../../../../api/accounts/mail.ts';
import { PLANS } from '../../../../api/contract/plans.ts';
import { keepSettledSample } from '../../../../api/history/settled-sample.ts';
import { openMoves } from '../../../../api/rules/moves.ts';
import { createPublisher, openKafka, readPartitions } from '../../../../infra/runtime/kafka/kafka.ts';
import type { Logger } from '../../../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../../../infra/runtime/process/outage-log.ts';
import { createRowSender } from '../../../../infra/runtime/questdb/row-sender.ts';
import { waitFor } from '../../../support/wait.ts';

const createLines = () => {
  const lines: string[] = [];
  const log = { warn: (_about: unknown, line: string) => void lines.push(line) } as unknown as Logger;
  return { lines, log };
};

/** A database that fails as long as it is told to. */
const createPool = () => {
  const state = { isAway: true, asked: 0 };
  const query = async () => {
    state.asked += 1;
    if (state.isAway) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    return { rows: [], rowCount: 0 };
  };
  return { state, pool: { query } as unknown as Pool };
};

t.test('another reason is another line of the same outage; texts that differ each time end after five', (t) => {
  const { lines, log } = createLines();
  const outages = createOutageLog(log, 'away');
  for (const reason of ['refused', 'wrong password', 'refused', 'wrong password'])
    outages.noteFailure(new Error(reason));
  t.equal(lines.splice(0).length, 2);
  outages.noteSuccess();
  for (let n = 0; n < 100; n++) outages.noteFailure(new Error(`attempt ${n}`));
  t.equal(lines.length, 5);
  t.end();
});

t.test('a sender and a reader that wait for Kafka', async (t) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
  const brokers = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
  const handle = openKafka({ brokers, clientId: 'outages' }, log);
  const publisher = createPublisher(handle);
  publisher.publish({ topic: 'away', key: null, value: null });
  const sent = t.rejects(publisher.flush());
  const stop = new AbortController();
  const read = readPartitions(handle, {
    topic: 'away',
    from: () => 'latest',
    onBatch: () => undefined,
    signal: stop.signal,
  });
  await waitFor('each was tried several times', () => connections >= 24);
  await publisher.abandon();
  stop.abort();
  await Promise.all([sent, t.rejects(read)]);
  await handle.close();
  t.ok(lines.length <= 4, `${connections} connections, ${lines.length} lines: ${[...new Set(lines)].join('; ')}`);
  t.ok(lines.includes('Kafka cannot be read, trying again'));
  t.ok(lines.includes('Kafka did not accept a batch, trying again'));
});

t.test('rows that wait for QuestDB', async (t) => {
  let [isAway, isRefused, asked] = [true, false, 0];
  const server = createServer((request, response) => {
    asked += 1;
    if (isAway) return void request.socket.destroy();
    if (isRefused) return void response.writeHead(401).end('Unauthorized\n');
    request
      .resume()
      .once('end', () => (request.url === '/settings' ? response.end('{"config":{}}') : response.writeHead(204).end()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { lines, log } = createLines();
  const sender = createRowSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { log });
  t.teardown(() => sender.close());
  const row = { table: 'mark', at: 1, texts: {}, instants: {}, integers: { n: 1 }, figures: {}, flags: {} };
  const sent = ['mark', 'book'].map((table) => sender.send(table, [{ ...row, table }]));
  await waitFor('both tables were tried several times', () => asked >= 6);
  t.ok(sender.problem(), 'readiness says so');
  t.same(lines, ['QuestDB did not answer, trying again']);
  [isAway, isRefused] = [false, true];
  await waitFor('it is refused', () => /^[^\n]*look at QUESTDB_USER[^\n]*$/.test(sender.problem() ?? ''));
  await waitFor('the log has the new reason', () => lines.length >= 2);
  isRefused = false;
  await Promise.all(sent);
  t.equal(sender.problem(), null);
});

t.test('letters, moves of rules and sampled requests that wait for PostgreSQL', async (t) => {
  const { state, pool } = createPool();
  const { lines, log } = createLines();
  const mail = sendLetters(
    { url: 'smtp://127.0.0.1:1', from: 'a@example.com' },
    { pool, log, count: () => undefined },
    { everyMs: 5 },
  );
  const again = async (times: number) => {
    const before = state.asked;
    await waitFor('it is asked', () => state.asked >= before + times);
  };
  await again(5);
  t.equal(lines.splice(0).length, 1, 'letters');
  state.isAway = false;
  await again(3);
  state.isAway = true;
  await again(3);
  t.equal(lines.splice(0).length, 1, 'of the next outage');
  mail.stop();

  const moves = openMoves(pool, log);
  const leave = moves.follow('key', () => undefined);
  await again(3);
  leave();
  t.equal(lines.splice(0).length, 1, 'moves');

  const sample = keepSettledSample(pool, log);
  const input = { from: '2026-01-10T00:00:00Z' };
  for (let turn = 0; turn < 2; turn++) {
    sample.note({ path: '/v2/candles', input: { ...input, turn }, items: '[]', plan: PLANS.pro_plus });
    await again(1);
  }
  await sample.stop();
  t.equal(lines.length, 1, 'sampled requests');
});
