// What a task publishes about a time that is long past: everything to followers, otherwise only what is still valid.
import t from 'tap';
import { createBacklog, NO_BACKLOG } from '../../../processors/runner/backlog.ts';
import { createOutputs, type Outputs, pushLive } from '../../../processors/task/outputs.ts';
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import { LIVE_KINDS, type StateEntry } from '../../../schemas/topics.ts';

const NOW_MS = Date.parse('2026-01-15T12:00:00Z');
const ENTRY: StateEntry = {
  ...{ round: 1, kind: 'listing', symbol: 'BTCUSDT' },
  ...{ reading: null, span: null, listing: null, capability: null, marker: null },
};

/** One entry of every kind of `live`, and a state round. */
const outputsAt = (recordedAt: number): Outputs => {
  const outputs = createOutputs(1);
  for (const kind of LIVE_KINDS) pushLive({ out: outputs, state: { recordedAt } }, { kind });
  outputs.stateRound = [ENTRY];
  return outputs;
};
type Published = { readonly kinds: readonly string[]; readonly round: boolean };
const createCheck =
  (backlog: ReturnType<typeof createBacklog>) =>
  (agoMs: number, wallMs: number): Published => {
    const recordedAt = (NOW_MS + wallMs - agoMs) * 1_000;
    const { live, stateRound } = backlog.selectOutputs(outputsAt(recordedAt), recordedAt, NOW_MS + wallMs);
    return { kinds: live.map(({ kind }) => kind), round: stateRound !== null };
  };
const HOLDS = LIVE_KINDS.filter((kind) => ['reading', 'connection', 'listing', 'capability'].includes(kind));

t.test('a first life publishes of the distant past only what still holds, and a round a minute of wall time', (t) => {
  const check = createCheck(createBacklog({ isFirst: true }));
  t.same(check(9 * 86_400_000, 0), { kinds: HOLDS, round: true }, 'a reader that begins now finds a round');
  t.same(check(8 * 86_400_000, 1_000), { kinds: HOLDS, round: false });
  t.same(check(16 * MS_PER_MINUTE, 59_999), { kinds: HOLDS, round: false });
  t.same(check(16 * MS_PER_MINUTE, 60_000), { kinds: HOLDS, round: true });
  t.same(
    check(15 * MS_PER_MINUTE, 60_001),
    { kinds: LIVE_KINDS, round: true },
    'of the last quarter of an hour everything',
  );
  t.same(check(14 * MS_PER_MINUTE, 60_002), { kinds: LIVE_KINDS, round: true });
  t.end();
});

t.test('a task that was followed before publishes every entry of `live`: streams may continue from there', (t) => {
  const check = createCheck(createBacklog({ isFirst: false }));
  t.same(check(2 * 3_600_000, 0), { kinds: LIVE_KINDS, round: true });
  t.same(check(2 * 3_600_000, 1), { kinds: LIVE_KINDS, round: false });
  t.end();
});

t.test('rounds go on when wall time is set back', (t) => {
  const check = createCheck(createBacklog({ isFirst: true }));
  t.same(check(2 * 3_600_000, 0).round, true);
  t.same(check(2 * 3_600_000, -3_600_000).round, true);
  t.same(check(2 * 3_600_000, -3_600_000 + 59_999).round, false);
  t.same(check(2 * 3_600_000, -3_600_000 + 60_000).round, true);
  t.end();
});

t.test('of a finished log everything is published', (t) => {
  const check = createCheck(NO_BACKLOG);
  for (const wallMs of [0, 1]) t.same(check(300 * 86_400_000, wallMs), { kinds: LIVE_KINDS, round: true });
  t.end();
});
