// What is compared before a record is applied: no record between, and the last applied one is still that of its offset.
import t from 'tap';
import type { Message } from '../../../infra/runtime/kafka/kafka.ts';
import { readRaw, refuseHole, refuseOther } from '../../../processors/runner/continuity.ts';
import { encodeOwnerTick } from '../../../processors/runner/owner-tick.ts';
import { SUBJECT_IDS } from '../../../schemas/avro/codec.ts';

const RECORDED_MS = 1_700_000_000_123;
const APPLIED = { offset: 7, recordedAt: RECORDED_MS * 1_000, startedAt: 1 };
const found = (offset: number, timestampMs = RECORDED_MS): Message => ({
  ...{ offset, timestampMs, key: null, value: null, headers: {} },
});

t.test('a task that has begun refuses a hole in its log, and a first life may begin anywhere', (t) => {
  for (const offset of [6, 7, 8]) t.doesNotThrow(() => refuseHole('raw/0', APPLIED, found(offset)));
  t.throws(() => refuseHole('raw/0', APPLIED, found(9)), {
    name: 'RangeError',
    message: /^raw\/0: offsets 8 to 8 are gone/,
  });
  t.throws(() => refuseHole('raw/0', APPLIED, found(20)), {
    message: /^raw\/0: offsets 8 to 19 are gone: .* records the loss/,
  });
  t.doesNotThrow(() => refuseHole('raw/0', { ...APPLIED, startedAt: null }, found(20)));
  t.end();
});

t.test('the record at the applied offset was appended when it was applied, or before', (t) => {
  for (const ms of [-1_000, -1, 0]) t.doesNotThrow(() => refuseOther('raw/0', APPLIED, found(7, RECORDED_MS + ms)));
  t.throws(() => refuseOther('raw/0', APPLIED, found(7, RECORDED_MS + 1)), {
    name: 'LogCut',
    message:
      /^raw\/0 has another record at 7 .*: the log was truncated or recreated\..* delete all topics .* continues with its history/,
  });
  for (const offset of [6, 8]) t.doesNotThrow(() => refuseOther('raw/0', APPLIED, found(offset, RECORDED_MS + 1)));
  t.end();
});

t.test('bytes of another producer are no message; the tick of an owner is one', (t) => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('{"a":1}'), Buffer.alloc(40, 0xff)]) t.equal(readRaw(bytes), null);
  t.match(readRaw(encodeOwnerTick(RECORDED_MS)), {
    ...{ slot: 'owner', conn_id: 'owner', seq: 0, kind: 'tick', received_at: RECORDED_MS * 1_000 },
  });
  t.end();
});

t.test(
  'a message of a later version of the service is not passed over: it waits for a process that can read it',
  (t) => {
    const withId = (id: number): Buffer => {
      const bytes = Buffer.from(encodeOwnerTick(RECORDED_MS));
      bytes.writeInt32BE(id, 1);
      return bytes;
    };
    const newest = Math.max(...Object.values(SUBJECT_IDS).flat());
    t.throws(() => readRaw(withId(newest + 1)), { name: 'LaterSchema', message: /update this process first/ });
    t.equal(readRaw(withId(newest)), null, 'an id of another topic');
    t.equal(readRaw(withId(100_001)), null, 'an id of another registry');
    t.end();
  },
);
