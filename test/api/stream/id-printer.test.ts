// Ids of streams in the present: what streams share is printed once a moment, and each id is of its own stream (ST-02).
import t from 'tap';
import { IdPrinter } from '../../../api/stream/id-printer.ts';
import { parseEventId } from '../../../api/stream/positions.ts';

const NOW = 1_768_478_400_500_000;

t.test('ids of one moment are of the tasks, the instant and the lag of each stream', (t) => {
  const places = new Map(['binance/0', 'okx/0'].map((task, i) => [task, { offset: 7 + i, index: 0 }] as const));
  const printer = new IdPrinter(places);
  for (const [names, sentAt, lagging] of [
    ['binance/0', NOW, false],
    ['okx/0', NOW, false],
    ['okx/0', NOW + 1, false],
    ['okx/0', NOW + 1, true],
    ['binance/0,okx/0', NOW + 1, true],
  ] as const) {
    const tasks = names.split(',');
    const stream = { tasks, tasksKey: names, request: { selection: 'abcdefghijk' } } as never;
    const own = new Map([...places].filter(([task]) => tasks.includes(task)));
    const id = parseEventId(printer.print(stream, { sentAt, lagging }), 'abcdefghijk', tasks);
    t.same(id, { selection: 'abcdefghijk', sentAt, lagging, places: own });
  }
  t.end();
});
