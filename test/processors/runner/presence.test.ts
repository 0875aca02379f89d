// The share of present values as operators see it: what counts, and when a low share is an alarm.
import { Registry } from 'prom-client';
import t from 'tap';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import { createProcessorMetrics } from '../../../processors/metrics.ts';
import { createPresenceWatch } from '../../../processors/runner/presence-watch.ts';
import type { Policy } from '../../../schemas/freshness.ts';
import { runTask, SECOND } from '../../support/tasks/task-driver.ts';
import { begin, mark, reference, SPEC, symbolInfo } from '../../support/tasks/task-logs.ts';

t.test('a value counts while it holds as of the log, of listings that are there', (t) => {
  const log = begin(['BTCUSDT', 'ETHUSDT']);
  log.now += SECOND;
  mark(log, '101');
  const one = runTask(SPEC, log.records).task.presences();
  t.same(one.get('mark'), { present: 1, of: 2 }, 'the other has none yet');
  t.same(one.get('book'), { present: 0, of: 2 });
  mark(log, '102', { symbol: 'ETHUSDT' });
  t.same(runTask(SPEC, log.records).task.presences().get('mark'), { present: 2, of: 2 });
  log.run(3 * SECOND, ['k1']);
  t.same(runTask(SPEC, log.records).task.presences().get('mark'), { present: 0, of: 2 }, 'past the stated horizon');
  t.ok([...one.keys()].every((layer) => binance.layers[layer === 'venue_depth' ? 'book' : layer]?.policy === 'on'));
  t.end();
});

t.test(
  'neither a value from before its layer was off counts, nor one of a listing that has ended, nor a layer that is off (F-04)',
  (t) => {
    const log = begin(['BTCUSDT', 'ETHUSDT']);
    const switchMark = (policy: Policy): void => {
      const { name, layers } = toCapability(binance);
      log.json('capability', 'collector', 'c1', { name, layers: { ...layers, mark: { ...layers['mark'], policy } } });
    };
    const count = () => runTask(SPEC, log.records).task.presences().get('mark');
    log.now += SECOND;
    mark(log, '101');
    switchMark('not_published');
    t.equal(count(), undefined);
    log.capability(binance);
    t.same(count(), { present: 1, of: 2 }, 'published again: back to the reading that was');
    switchMark('off');
    log.capability(binance);
    t.same(count(), { present: 0, of: 2 });
    mark(log, '102');
    mark(log, '102', { symbol: 'ETHUSDT' });
    t.same(count(), { present: 2, of: 2 });
    const announce = (deliveryDate: number): void => {
      const symbols = ['BTCUSDT', 'ETHUSDT'].map((symbol) => ({ ...symbolInfo(symbol), deliveryDate }));
      const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
      log.json('response', 'reference', 'c1.reference', { symbols }, { request });
    };
    announce(log.now / 1_000 + 60_000);
    t.same(count(), { present: 2, of: 2 }, 'an end that is announced has not come');
    announce(log.now / 1_000);
    t.equal(count(), undefined);
    announce(log.now / 1_000 + 60_000);
    reference(log, ['ETHUSDT']);
    t.same(count(), { present: 1, of: 1 });
    log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
    t.same(runTask(SPEC, log.records).task.presences().get('book'), { present: 0, of: 1 });
    t.end();
  },
);

t.test(
  'a share that stays low for a minute is one alarm, over all tasks of the venue, until it has recovered',
  async (t) => {
    const registry = new Registry();
    const watch = createPresenceWatch(0.95, createProcessorMetrics(registry), createLog('presence', 'silent'));
    const look = (present: readonly number[], atSeconds: number): void =>
      watch.look(
        'binance',
        present.map((n) => new Map([['mark', { present: n, of: 50 }]])),
        atSeconds * 1000,
      );
    const value = async (name: string): Promise<number | undefined> => {
      const [found] = (await registry.getSingleMetric(name)?.get())?.values ?? [];
      return found?.value;
    };
    look([50, 46], 0);
    t.equal(await value('processor_present_share'), 0.96);
    look([50, 40], 5);
    look([50, 40], 60);
    t.equal(await value('processor_present_alarm'), 0, 'not for a moment');
    look([50, 45], 62);
    look([50, 40], 63);
    look([50, 40], 122);
    t.equal(await value('processor_present_alarm'), 0, 'it recovered in between');
    look([50, 40], 123);
    look([50, 40], 200);
    t.equal(await value('processor_present_alarm'), 1);
    t.equal(await value('processor_present_alarms_total'), 1, 'one alarm while it lasts');
    look([50, 50], 201);
    t.equal(await value('processor_present_alarm'), 0);
  },
);
