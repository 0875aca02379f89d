// Records that another producer wrote to a topic of ours: which are passed over, what is logged, what is counted.
import t from 'tap';
import { ForeignRecords } from '../../../../infra/runtime/kafka/foreign-records.ts';
import { codecs, SUBJECT_IDS } from '../../../../schemas/avro/codec.ts';

const NEWEST = Math.max(...Object.values(SUBJECT_IDS).flat());
const MARK = codecs.rows.encode({ offset: 7, index: 0, kind: 'watermark', row: null, watermark: 5 });

const makeFrame = (id: number): Buffer => {
  const bytes = Buffer.alloc(5);
  bytes.writeInt32BE(id, 1);
  return bytes;
};

const openForeign = () => {
  const lines: Record<string, unknown>[] = [];
  const foreign = new ForeignRecords({ error: (line: object) => void lines.push({ ...line }) } as never);
  const read = (bytes: Buffer, place: { partition?: number; offset?: number } = {}) =>
    foreign.passOver({ topic: 'rows.binance', partition: 0, offset: 4, ...place }, () => codecs.rows.decode(bytes));
  return { foreign, lines, read };
};

t.test('a record of ours is read, and nothing is said', (t) => {
  const { foreign, lines, read } = openForeign();
  t.match(read(MARK), { offset: 7, kind: 'watermark', watermark: 5 });
  t.equal(foreign.count, 0);
  t.same(lines, []);
  t.end();
});

const FOREIGN: readonly (readonly [string, Buffer])[] = [
  ['text', Buffer.from('not Avro')],
  ['no bytes', Buffer.alloc(0)],
  ['an id that no version has', makeFrame(NEWEST + 10_000)],
  [
    'an id of another subject',
    codecs.watermark.encode({ task: 'binance/0', kind: 'task', watermark: 1, offset: 1, positions: {} }),
  ],
  ['a truncated record', MARK.subarray(0, -1)],
  ['a record with a byte too many', Buffer.concat([MARK, Buffer.alloc(1)])],
];

for (const [name, bytes] of FOREIGN)
  t.test(`passed over: ${name}`, (t) => {
    const { foreign, lines, read } = openForeign();
    t.equal(read(bytes), null);
    t.equal(foreign.count, 1);
    t.match(lines, [{ topic: 'rows.binance', partition: 0, offset: 4, err: { name: 'AvroError' } }]);
    t.end();
  });

t.test('one line for each partition, however many there are', (t) => {
  const { foreign, lines, read } = openForeign();
  for (const partition of [0, 1])
    for (let offset = 0; offset < 1_000; offset++) read(Buffer.from('x'), { partition, offset });
  t.equal(foreign.count, 2_000);
  t.match(lines, [
    { partition: 0, offset: 0 },
    { partition: 1, offset: 0 },
  ]);
  t.equal(lines.length, 2);
  t.end();
});

t.test('a record of a later version is not passed over, nor is a failure that is no matter of bytes', (t) => {
  const { foreign, read } = openForeign();
  t.throws(() => read(makeFrame(NEWEST + 1)), { name: 'LaterSchema' });
  const fail = (): never => {
    throw new RangeError('a fault of ours');
  };
  t.throws(() => foreign.passOver({ topic: 'live.binance', partition: 0, offset: 0 }, fail), { name: 'RangeError' });
  t.equal(foreign.count, 0);
  t.end();
});
