// How the outputs of a record go out: what belongs together is never parted by other work.
import t from 'tap';
import type { Publisher } from '../../infra/runtime/kafka/kafka.ts';
import { publishOutputs } from '../../processors/publish-outputs.ts';
import { decodeLiveHead } from '../../schemas/avro/codec.ts';
import { nameTopics } from '../../schemas/topics.ts';
import { runTask, SECOND } from '../support/task-driver.ts';
import { begin, diff, SPEC, snapshot } from '../support/task-logs.ts';

t.test('the readings that a record makes of one listing are published without a pause', (t) => {
  const log = begin();
  log.now += SECOND;
  snapshot(log, 10);
  log.now += SECOND;
  diff(log, { U: 11, u: 12, pu: 10 }, { b: [['99.8', '3']] });
  let published: string[] = [];
  const publisher = {
    publish: ({ value }) => {
      const { layer, symbol } = decodeLiveHead(value as Buffer);
      published.push(`${symbol} ${layer}`);
    },
  } as Pick<Publisher, 'publish'> as Publisher;
  const kept = { publish: () => undefined } as Pick<Publisher, 'publish'> as Publisher;
  const outlets = { live: publisher, kept, checkpoints: kept };
  const destination = { venue: 'binance', partition: 0, names: nameTopics(''), outlets };
  const steps: string[][] = [];
  for (const outputs of runTask(SPEC, log.records).outputs) {
    for (const _ of publishOutputs(destination, outputs)) {
      steps.push(published);
      published = [];
    }
  }
  const books = steps.filter((step) => step.some((entry) => entry.endsWith(' book')));
  t.equal(books.length, 2);
  for (const step of books) t.same(step, ['BTCUSDT book', 'BTCUSDT venue_depth']);
  t.end();
});
