// The offset of a clock from the broker, from the time of a request, its acknowledgement and the append.
import t from 'tap';
import { computeClockOffsetMs } from '../../ingest/clock-guard.ts';

t.test('the clock is off only by what the broker time lies outside of sending and answer', async (t) => {
  const at = (sentMs: number, ackedMs: number, appendedMs: number) =>
    computeClockOffsetMs({ sentAt: sentMs * 1_000, ackedAt: ackedMs * 1_000, appendedMs });
  t.equal(at(1_000, 1_040, 1_020), 0);
  t.equal(at(1_000.4, 1_000.9, 1_000), 0, 'the broker cuts off at whole milliseconds');
  t.equal(at(3_000, 3_010, 1_000), 1_999, 'ahead');
  t.equal(at(1_000, 1_010, 7_010), -6_000, 'behind');
});
