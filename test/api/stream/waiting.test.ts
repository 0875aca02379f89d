// Streams that come back to a node that has just begun, and wait for what they have missed.
import t from 'tap';
import { printEventId, printPlaces } from '../../../api/stream/positions.ts';
import { Bench } from './bench.ts';

t.test('an entry costs the same however many streams wait for what they have missed', async (t) => {
  const { feed, now, test } = await Bench.open(t);
  const venues = ['binance', 'okx'];
  const tasks = venues.map((venue) => `${venue}/0`);
  const places = printPlaces(tasks, new Map(tasks.map((task) => [task, { offset: 0, index: -1 }])));
  const selection = 'A'.repeat(11);
  const missed = printEventId({ selection, sentAt: now, lagging: false }, places);
  const measure = (): number => {
    const { user } = process.cpuUsage();
    for (let i = 0; i < 3_000; i++) feed.watermark('binance', now - 190_000 + i);
    return process.cpuUsage().user - user;
  };
  measure();
  const alone = measure();
  feed.memory.expectPast();
  const waits = Array.from({ length: 2_000 }, () => test.hub.awaitMissed(missed, { selection, venues } as never));
  t.ok(waits.every((wait) => wait !== null));
  const crowded = measure();
  test.hub.close();
  await Promise.all(waits);
  t.ok(crowded < 4 * alone + 100_000, `${crowded} instead of ${alone} µs`);
});
