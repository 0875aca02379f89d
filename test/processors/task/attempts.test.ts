// Attempts to open a connection that would have brought listings that none has brought yet: what their gaps say, and until when what was read is valid.
import t from 'tap';
import type { Outputs } from '../../../processors/task/outputs.ts';
import { listRows, runTask, SECOND, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, mark, reference } from '../../support/tasks/task-logs.ts';

/** Of the readings of the newest round, from which a node begins, when their connections were lost; undefined where the round does not say. */
const listLosses = (outputs: readonly Outputs[]): Readonly<Record<string, number | null | undefined>> => {
  const round = outputs.findLast(({ stateRound }) => stateRound !== null)?.stateRound ?? [];
  const ends = new Map(round.flatMap(({ span }) => (span === null ? [] : [[span.conn_id, span.to] as const])));
  return Object.fromEntries(
    round.flatMap(({ symbol, reading }) =>
      reading?.layer === 'mark' ? [[symbol ?? '', ends.get(reading.conn_id)]] : [],
    ),
  );
};

for (const before of ['lost', 'alive'] as const)
  t.test(
    `a listing that no connection has brought yet is down by the attempts for it: the one before is ${before} (L-08)`,
    (t) => {
      const log = new TestLog();
      log.capability(allLayers);
      reference(log, ['BTCUSDT']);
      const cover = (...symbols: string[]) => [{ layers: ['mark'], symbols }];
      log.open('k1', 'market', cover('BTCUSDT'));
      mark(log, '100');
      log.run(20 * SECOND, ['k1']);
      const lostAt = before === 'lost' ? log.now : null;
      const ids = before === 'alive' ? ['k1'] : [];
      if (before === 'lost')
        log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
      reference(log, ['BTCUSDT', 'ETHUSDT']);
      for (let n = 0; n < 60; n++) {
        const body = { lost_at: log.now, cause: 'venue_down', detail: '', covers: cover('BTCUSDT', 'ETHUSDT') };
        log.json('lost', 'market', `x${n}`, body);
        log.run(10 * SECOND, ids, SECOND);
      }
      const { task, outputs } = runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records);
      const marks = listRows(outputs, 'mark').filter(({ texts }) => texts['listing'] === 'binance:ETHUSDT');
      t.ok(marks.length > 0);
      t.same([...new Set(marks.map(({ texts }) => texts['gap_cause']))], ['venue_down']);
      t.ok(task.state.connections.size <= 2, 'attempts for the same are one connection');
      t.same(listLosses(outputs), { BTCUSDT: lostAt });
      t.end();
    },
  );

t.test(
  'a listing that the successor of its connection never brings: a round says when that was lost, however long ago (F-01)',
  (t) => {
    const log = new TestLog();
    log.capability(allLayers);
    reference(log, ['BTCUSDT', 'ETHUSDT']);
    log.open('k1', 'market', [{ layers: ['mark'], symbols: null }]);
    mark(log, '100');
    mark(log, '10', { symbol: 'ETHUSDT' });
    log.run(20 * SECOND, ['k1']);
    log.open('k2', 'market', [{ layers: ['mark'], symbols: null }]);
    mark(log, '101', { connId: 'k2' });
    const lostAt = log.now;
    log.json('lost', 'market', 'k1', { lost_at: lostAt, cause: 'connection_lost', detail: '' });
    log.run(900 * SECOND, ['k2'], SECOND);
    const { outputs } = runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records);
    t.same(listLosses(outputs), { BTCUSDT: null, ETHUSDT: lostAt });
    // Once the listing is brought again nothing needs the first connection.
    mark(log, '11', { connId: 'k2', symbol: 'ETHUSDT' });
    log.run(120 * SECOND, ['k2'], SECOND);
    const later = runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records);
    t.same(listLosses(later.outputs), { BTCUSDT: null, ETHUSDT: null });
    t.same([...later.task.state.connections.keys()], ['k2']);
    t.end();
  },
);

t.test(
  'of connections that each leave a listing behind the spans alone are kept, and compared with no reading',
  (t) => {
    const log = new TestLog();
    log.capability(allLayers);
    const left = ['AUSDT', 'BUSDT', 'CUSDT', 'DUSDT', 'EUSDT', 'FUSDT'];
    reference(log, ['BTCUSDT', ...left]);
    for (const [n, symbol] of left.entries()) {
      const connId = `k${n}`;
      log.open(connId, 'market', [{ layers: ['mark'], symbols: null }]);
      for (const brought of ['BTCUSDT', symbol]) mark(log, '1', { connId, symbol: brought });
      log.run(SECOND, [connId]);
      if (n > 0) log.json('lost', 'market', `k${n - 1}`, { lost_at: log.now, cause: 'connection_lost', detail: '' });
      log.run(420 * SECOND, [connId], SECOND);
    }
    const { task, outputs } = runTask({ venue: allLayers, partition: 0, shards: 1 }, log.records);
    const losses = listLosses(outputs);
    t.equal(Object.values(losses).filter((at) => typeof at === 'number').length, left.length - 1);
    t.same([losses['BTCUSDT'], losses[left.at(-1) ?? '']], [null, null]);
    const { connections, mappers, listings } = task.state;
    t.same(
      [...connections.values()].map(({ covers }) => covers.flatMap(({ layers }) => layers)),
      left.map((_, n) => (n < left.length - 1 ? [] : ['mark'])),
    );
    t.ok(mappers.size <= 2);
    t.ok((listings.get('BTCUSDT')?.layers.get('mark')?.delivered.length ?? 0) <= 2);
    t.end();
  },
);
