// Spans of a connection as the log tells them: pauses, standstills, and the minutes at their boundary.
import { Registry } from 'prom-client';
import t from 'tap';
import type { ClosedMinutes } from '../../../ingest/feed/candle-watch.ts';
import { createConnectionLog } from '../../../ingest/feed/connection-log.ts';
import { createLinkWatch } from '../../../ingest/feed/link-watch.ts';
import { createMeters } from '../../../ingest/feed/meters.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { openMemory, paper, readBody, type Written } from '../../support/venues/paper-venue.ts';

t.test('a connection is alive again after a pause that may be the end of a span to the task (F-02)', async (t) => {
  const memory = openMemory();
  let now = 1_000_000_000;
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: () => now,
    collector: 'c1',
    shards: 2,
    meters: createMeters(new Registry()).venue('paper'),
  });
  const open = () => connections.open({ slot: 's', shards: [0, 1], url: 'ws://test', covers: [] });
  const after = (ms: number): void => {
    now += ms * 1_000;
  };
  const [receiving, quiet] = [open(), open()];
  const openedAt = now;
  after(1_000);
  connections.tick();
  after(1_000);
  receiving.frame(Buffer.from('{}'));
  quiet.response('GET /one', Buffer.from('{}'), [1]);
  after(200);
  const unblock = memory.block();
  connections.tick();
  unblock();
  t.same([receiving.aliveFrom(), quiet.aliveFrom()], [openedAt, openedAt]);
  after(100);
  connections.tick();
  t.equal(receiving.aliveFrom(), openedAt);
  t.equal(quiet.aliveFrom(), now, 'nothing named it in the other shard');
  after(3_100);
  receiving.frame(Buffer.from('{}'));
  t.equal(receiving.aliveFrom(), now, 'the frame itself is the first of the new span');
  memory.setAway(true);
  for (let i = 0; i < 4; i += 1) {
    after(1_000);
    receiving.frame(Buffer.from('{}'));
    connections.tick();
  }
  memory.setAway(false);
  after(100);
  connections.tick();
  t.equal(receiving.aliveFrom(), now, 'what waits on disk names nobody now, and ticks were left out');
  // Kafka stops here, and it takes 1.6 s to notice: what was written since comes with what follows.
  after(1_600);
  receiving.frame(Buffer.from('{}'));
  memory.setAway(true);
  after(1_450);
  memory.setAway(false);
  connections.tick();
  t.equal(receiving.aliveFrom(), now, 'the log has 3.05 s without a record that names it');
  receiving.lost('connection_lost', '');
  t.equal(receiving.aliveFrom(), null);
  const countWritten = (): number =>
    memory.of('frame').length + memory.of('response').length + memory.of('lost').length;
  const written = countWritten();
  receiving.frame(Buffer.from('{}'));
  receiving.response('GET /late', Buffer.from('{}'));
  receiving.lost('venue_down', '');
  t.equal(countWritten(), written, 'nothing of a connection is recorded after its end');
});

t.test('a connection that ends after a standstill ended by it, whatever notices first', async (t) => {
  const memory = openMemory();
  let now = 1_000_000_000;
  const connections = createConnectionLog({
    writer: memory,
    nowMicros: () => now,
    collector: 'c1',
    shards: 1,
    meters: createMeters(new Registry()).venue('paper'),
    onStandstill: () => {
      for (const source of sources) source.lost('collector_down', 'stood still');
    },
  });
  const sources = ['a', 'b'].map((slot) => connections.open({ slot, shards: [0], url: 'ws://test', covers: [] }));
  now += 60_000_000;
  sources[0]?.lost('venue_rate_limit', 'no answer for 60 s');
  t.same(
    memory.of('lost').map((lost) => [lost.slot, readBody(lost).cause]),
    [
      ['a', 'collector_down'],
      ['b', 'collector_down'],
    ],
  );
  now += 1_000_000;
  const next = connections.open({ slot: 'a', shards: [0], url: 'ws://test', covers: [] });
  now += 1_500_000;
  next.lost('venue_rate_limit', '');
  t.equal(readBody(memory.of('lost')[2] as Written).cause, 'venue_rate_limit');
});

t.test('a minute on the boundary of two spans is requested, and frames after the end are ignored', async (t) => {
  const minute = (n: number): number => n * 60_000;
  const venue: Venue = {
    ...paper,
    newestMinute: (text) => ({ symbol: 'AAA', openMs: minute(Number(text)) }),
    candles: (_listing, { fromMs, toMs }) => ({ method: 'GET', url: `${fromMs / 60_000}-${toMs / 60_000}`, weight: 1 }),
  };
  const closed: ClosedMinutes = new Map();
  let span: number | null = 1;
  let nowMs = minute(8) + 5_000;
  const aliveFrom = (): number | null => span;
  const link = { venue, endpoints: {}, watched: [], closed, aliveFrom, wallMs: () => nowMs };
  const watch = createLinkWatch({ ...link, candles: ['AAA'] });
  for (const frame of ['6', '7', '8', '9']) watch.take(frame);
  nowMs = minute(10) + 20_000;
  span = 2;
  watch.take('10');
  const asked = watch.next('candle');
  t.equal(asked?.request.url, '8-9', 'the ninth was published before the pause only');
  asked?.filled();
  watch.take('11');
  nowMs = minute(11) + 20_000;
  t.equal(watch.next('candle'), null);

  nowMs = minute(13) + 20_000;
  const late = watch.next('candle');
  t.equal(late?.request.url, '11-12');
  span = null;
  late?.filled();
  watch.take('13');
  t.equal(watch.next('candle'), null);
  span = 3;
  t.equal(createLinkWatch({ ...link, candles: ['AAA'] }).next('candle')?.request.url, '11-12');
});
