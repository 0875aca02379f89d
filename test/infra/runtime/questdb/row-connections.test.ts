// A connection to QuestDB carries the rows of one table: it keeps a writer with some 50 open files for each table that came over it.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import t, { type Test } from 'tap';
import { createLog } from '../../../../infra/runtime/process/log.ts';
import { createRowSender } from '../../../../infra/runtime/questdb/row-sender.ts';

const TABLES = ['ticker', 'mark', 'funding', 'book', 'candles', 'trades'];

const readBody = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('latin1');
};

/** Answers the writes of a round together, so that each is under way beside the others. */
const openStore = async (t: Test) => {
  const tables = new Map<Socket, Set<string>>();
  const waiting: (() => void)[] = [];
  const round = { of: 1 };
  const answerTogether = (answer: () => void): void => {
    waiting.push(answer);
    if (waiting.length === round.of) for (const each of waiting.splice(0)) each();
  };
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      if (request.url === '/settings') return response.end('{"config":{}}');
      const [table = ''] = body.split(' ');
      tables.set(request.socket, (tables.get(request.socket) ?? new Set()).add(table));
      return answerTogether(() => response.writeHead(204).end());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { tables, round, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

t.test('whatever tables are written beside each other, and in whatever order', async (t) => {
  const { tables, round, url } = await openStore(t);
  const sender = createRowSender(url, { log: createLog('questdb', 'silent') });
  t.teardown(() => sender.close());
  const row = { at: 1, texts: {}, instants: {}, integers: { n: 1 }, figures: {}, flags: {} };
  for (let turn = 0; turn < TABLES.length; turn++) {
    const order = [...TABLES.slice(turn), ...TABLES.slice(0, turn)].slice(0, TABLES.length - (turn % 3));
    round.of = order.length;
    await Promise.all(order.map((table) => sender.send(table, [{ ...row, table }])));
  }
  const carried = [...tables.values()].map((names) => [...names].join());
  t.same(carried.sort(), [...TABLES].sort(), 'as many connections as tables, one each');
});

t.test('a sender may be closed twice: no failure is left that nobody handles', async (t) => {
  const { url } = await openStore(t);
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  t.teardown(() => process.off('unhandledRejection', note));
  const sender = createRowSender(url, { log: createLog('questdb', 'silent') });
  await sender.send('ticker', [
    { table: 'ticker', at: 1, texts: {}, instants: {}, integers: { n: 1 }, figures: {}, flags: {} },
  ]);
  await sender.close();
  await sender.close();
  // A rejection that nobody handles is reported once the promises that are settled have run.
  await new Promise(setImmediate);
  t.same(unhandled, []);
});
