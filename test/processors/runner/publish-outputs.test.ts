// How the outputs of a record go out: what belongs together is never parted by other work.
import t from 'tap';
import type { Publisher } from '../../../infra/runtime/kafka/kafka.ts';
import { publishOutputs } from '../../../processors/runner/publish-outputs.ts';
import type { Outputs } from '../../../processors/task/outputs.ts';
import { decodeLiveHead } from '../../../schemas/avro/codec.ts';
import { nameTopics } from '../../../schemas/topics.ts';
import { runTask, SECOND } from '../../support/tasks/task-driver.ts';
import { begin, diff, mark, SPEC, snapshot, trade } from '../../support/tasks/task-logs.ts';

/** What is published before each pause. */
const listSteps = (all: readonly Outputs[]): readonly string[][] => {
  let published: string[] = [];
  const publisher = {
    publish: ({ value }) => {
      const { kind, layer, symbol } = decodeLiveHead(value as Buffer);
      published.push(`${symbol} ${layer ?? kind}`);
    },
  } as Pick<Publisher, 'publish'> as Publisher;
  const kept = { publish: () => undefined } as Pick<Publisher, 'publish'> as Publisher;
  const publishers = { live: publisher, kept, checkpoints: kept };
  const destination = { venue: 'binance', partition: 0, names: nameTopics(''), publishers };
  const steps: string[][] = [];
  for (const outputs of all) {
    for (const _ of publishOutputs(destination, outputs)) {
      steps.push(published);
      published = [];
    }
  }
  return steps;
};

t.test('the readings that a record makes of one listing are published without a pause', (t) => {
  const log = begin();
  log.now += SECOND;
  snapshot(log, 10);
  log.now += SECOND;
  diff(log, { U: 11, u: 12, pu: 10 }, { b: [['99.8', '3']] });
  const steps = listSteps(runTask(SPEC, log.records).outputs);
  const books = steps.filter((step) => step.some((entry) => entry.endsWith(' book')));
  t.equal(books.length, 2);
  for (const step of books) t.same(step, ['BTCUSDT book', 'BTCUSDT venue_depth']);
  t.end();
});

t.test('trades and sealed rows of one listing are published with pauses, however many a record has', (t) => {
  const log = begin();
  for (let id = 1; id <= 3; id++) {
    log.now += SECOND;
    trade(log, id);
    mark(log, '100');
  }
  log.now += 600 * SECOND;
  mark(log, '100');
  const { outputs } = runTask(SPEC, log.records);
  const [last] = outputs.slice(-1) as [Outputs];
  for (const kind of ['event', 'sealed']) {
    const entries = outputs.flatMap(({ live }) => live).filter((entry) => entry.kind === kind);
    const live = entries.map((entry, index) => ({ ...entry, offset: last.offset, index }));
    t.ok(live.length >= 3, `${live.length} entries`);
    t.same(listSteps([{ ...last, live, rows: [], md: [] }]), Array(live.length).fill([`BTCUSDT ${kind}`]));
  }
  t.end();
});
