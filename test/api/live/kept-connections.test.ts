// What a node that begins at a round knows of connections that ended long before: the same as one that received everything (D-601, D-642).
import t from 'tap';
import { LiveMemory } from '../../../api/live/memory.ts';
import { findLoss } from '../../../api/live/partition.ts';
import { deriveVenueState } from '../../../api/live/venue-state.ts';
import { Task } from '../../../processors/task/task.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { StateEntry } from '../../../schemas/topics.ts';
import { type Appended, SECOND, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, mark, reference } from '../../support/tasks/task-logs.ts';

const NO_BODY = { symbol: null, reading: null, span: null, listing: null, capability: null };
const VENUE = allLayers.id;

type Nodes = { readonly whole: LiveMemory; readonly begun: LiveMemory };

/** One node that received everything, and one that began at the newest round. */
const makeNodes = (records: readonly Appended[]): Nodes => {
  const task = new Task({ venue: allLayers, partition: 0, shards: 1 });
  const [whole, begun] = [new LiveMemory([VENUE]), new LiveMemory([VENUE])];
  whole.beginAtStart(VENUE, 0);
  let round: readonly StateEntry[] = [];
  for (const record of records) {
    const { live, stateRound, offset } = task.process(record);
    for (const entry of live) whole.applyLive(VENUE, 0, codecs.live.encode(entry));
    if (stateRound === null) continue;
    const marker = { entries: stateRound.length, watermark: task.watermark, live_offset: 0 };
    round = [...stateRound, { ...NO_BODY, round: offset, kind: 'marker', marker }];
  }
  begun.applyRound(VENUE, 0, round);
  return { whole, begun };
};

const readState = (memory: LiveMemory, at: Micros) => {
  const venue = memory.venue(VENUE);
  return venue && deriveVenueState(memory, venue, at);
};

/** When the connections of the marks were lost. */
const listLosses = (memory: LiveMemory): Readonly<Record<string, Micros | null>> => {
  const { listings, partitions } = memory.venue(VENUE) ?? { listings: new Map(), partitions: new Map() };
  const losses = [...listings.values()].map(({ venueSymbol, readings }) => {
    const reading = readings.get('mark');
    return [venueSymbol, reading && findLoss(partitions, venueSymbol, reading)];
  });
  return Object.fromEntries(losses);
};

const COVERS = [{ layers: ['mark'], symbols: null }];

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log, ['BTCUSDT', 'ETHUSDT']);
  log.open('k1', 'market', COVERS);
  mark(log, '100');
  mark(log, '10', { symbol: 'ETHUSDT' });
  return log;
};

t.test(
  'a connection that was kept for the reading of one listing is no loss of its slot until the present one',
  (t) => {
    const log = begin();
    log.open('o', 'other', [{ layers: ['oi'], symbols: null }]);
    log.run(20 * SECOND, ['k1', 'o']);
    for (const [before, next] of [
      ['k1', 'k2'],
      ['k2', 'k3'],
    ] as const) {
      log.open(next, 'market', COVERS);
      mark(log, '101', { connId: next });
      log.json('lost', 'market', before, { lost_at: log.now, cause: 'connection_lost', detail: '' });
      log.run(600 * SECOND, [next, 'o'], SECOND);
    }
    const { whole, begun } = makeNodes(log.records);
    const at = begun.watermark(VENUE) ?? 0;
    t.equal(readState(whole, at)?.state, 'live');
    t.same(readState(begun, at), readState(whole, at));
    t.same(listLosses(begun), listLosses(whole));
    t.end();
  },
);

t.test(
  'a reading was lost with the span that it came on, however often its connection was silent since (F-01)',
  (t) => {
    const log = begin();
    log.run(20 * SECOND, ['k1']);
    for (let silence = 0; silence < 3; silence++) {
      log.run(10 * SECOND, []);
      mark(log, '101');
      log.run(600 * SECOND, ['k1'], SECOND);
    }
    const { whole, begun } = makeNodes(log.records);
    t.type(listLosses(whole)['ETHUSDT'], 'number');
    t.same(listLosses(begun), listLosses(whole));
    t.end();
  },
);

t.test('a silent connection that returns after others of its slot were forgotten is of its slot again', (t) => {
  const log = begin();
  log.open('o', 'other', [{ layers: ['oi'], symbols: null }]);
  log.run(20 * SECOND, ['k1', 'o']);
  for (const next of ['k2', 'k3']) {
    log.open(next, 'market', COVERS);
    log.run(600 * SECOND, [next, 'o'], SECOND);
    log.json('lost', 'market', next, { lost_at: log.now, cause: 'connection_lost', detail: '' });
  }
  log.run(60 * SECOND, ['o'], SECOND);
  mark(log, '102');
  log.run(420 * SECOND, ['k1', 'o'], SECOND);
  log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.run(420 * SECOND, ['o'], SECOND);
  const { whole, begun } = makeNodes(log.records);
  const at = begun.watermark(VENUE) ?? 0;
  t.equal(readState(whole, at)?.state, 'degraded');
  t.same(readState(begun, at), readState(whole, at));
  t.same(listLosses(begun), listLosses(whole));
  t.end();
});
