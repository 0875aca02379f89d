// What is delivered of a response to a fetch: each offset once, whatever the batches begin and end with; and the epoch of its leader.
import t from 'tap';
import type { PartitionAnswer, RawMessage } from '../../../../infra/runtime/kafka/cluster.ts';
import { cutBefore, findFirstEpoch, readEpoch, toDelivery } from '../../../../infra/runtime/kafka/delivery.ts';

type Batch = {
  readonly from: number;
  /** Offsets that compaction left. */
  readonly left: readonly number[];
  readonly last: number;
  readonly epoch?: number;
  /** The offset of a marker of a transaction. */
  readonly control?: number;
};

const toMessages = ({ from, left, last, epoch = 0, control }: Batch): RawMessage[] =>
  left.map((offset) => ({
    offset: String(offset),
    key: null,
    value: Buffer.from(String(offset)),
    timestamp: '1700000000000',
    headers: {},
    isControlRecord: offset === control,
    batchContext: { firstOffset: String(from), lastOffsetDelta: last - from, partitionLeaderEpoch: epoch },
  }));

const answerOf = (...batches: readonly Batch[]): PartitionAnswer => ({
  partition: 0,
  highWatermark: '90',
  messages: batches.flatMap(toMessages),
});

const shown = (answer: PartitionAnswer, from: number): unknown => {
  const delivery = toDelivery(answer, from);
  return delivery === null ? null : [delivery.messages.map(({ offset }) => offset), delivery.next];
};

t.test('a response gives its records from the position on, and the position after its last batch', (t) => {
  t.equal(shown(answerOf(), 5), null, 'nothing');
  t.same(shown(answerOf({ from: 5, left: [5, 6], last: 6 }), 5), [[5, 6], 7]);
  t.same(shown(answerOf({ from: 3, left: [3, 4, 5, 6], last: 6 }), 5), [[5, 6], 7], 'a batch begins below');
  t.same(shown(answerOf({ from: 5, left: [5, 6], last: 9 }), 5), [[5, 6], 10], 'compaction removed its end');
  t.same(shown(answerOf({ from: 3, left: [3], last: 8 }), 5), [[], 9], 'and all that was asked for');
  for (const last of [3, 4])
    t.equal(shown(answerOf({ from: 3, left: [3], last }), 5), null, `a batch that ends at ${last} takes nothing back`);
  t.same(
    shown(answerOf({ from: 5, left: [5], last: 5 }, { from: 6, left: [6], last: 7, control: 6 }), 5),
    [[5], 8],
    'markers are passed over',
  );
  t.equal(toDelivery(answerOf({ from: 5, left: [5], last: 5 }), 5)?.highWatermark, 90);
  t.end();
});

t.test('the epoch that is checked is that of the first record from the position on', (t) => {
  const moved = answerOf({ from: 3, left: [3, 4], last: 4, epoch: 1 }, { from: 5, left: [5, 7], last: 8, epoch: 2 });
  t.equal(findFirstEpoch(moved, 3), 1);
  t.equal(findFirstEpoch(moved, 4), 1);
  t.equal(findFirstEpoch(moved, 5), 2);
  t.equal(findFirstEpoch(moved, 6), 2);
  t.equal(findFirstEpoch(moved, 8), 2, 'of its batch, where compaction removed the record');
  t.equal(findFirstEpoch(answerOf(), 3), null);
  t.same(moved.messages.map(readEpoch), [1, 1, 2, 2]);
  t.end();
});

t.test(
  'a cut log is answered with what keeps the history: of a replay its recordings, beside the topics of the service',
  (t) => {
    t.match(cutBefore('raw.okx/0', 5, 'it ends at 4').message, /^raw\.okx\/0 ends .* delete all topics of the service/);
    const { message } = cutBefore('replay.mab12.raw.okx/0', 5, 'it ends at 4');
    t.match(message, /^replay\.mab12\.raw\.okx\/0 ends .* in another TOPIC_NAMESPACE/);
    t.notMatch(message, /delete/);
    t.end();
  },
);
