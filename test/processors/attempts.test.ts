// Attempts to open a connection that would have brought listings that none has brought yet: what their gaps say.
import t from 'tap';
import { listRows, runTask, SECOND, TestLog } from '../support/task-driver.ts';
import { allLayers, reference } from '../support/task-logs.ts';

for (const before of ['lost', 'alive'] as const)
  t.test(
    `a listing that no connection has brought yet is down by the attempts for it: the one before is ${before} (L-08)`,
    (t) => {
      const log = new TestLog();
      log.capability(allLayers);
      reference(log, ['BTCUSDT']);
      const cover = (...symbols: string[]) => [{ layers: ['mark'], symbols }];
      log.open('k1', 'market', cover('BTCUSDT'));
      log.run(20 * SECOND, ['k1']);
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
      t.end();
    },
  );
