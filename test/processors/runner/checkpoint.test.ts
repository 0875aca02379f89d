// A round of checkpoints is the state after its offset, however much the task does before it is written.
import t from 'tap';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import { beginRound, createRestorer, makeMarker, saveSome } from '../../../processors/runner/checkpoint.ts';
import { STATE_VERSION } from '../../../processors/task/state.ts';
import { Task } from '../../../processors/task/task.ts';
import type { CheckpointEntry } from '../../../schemas/topics.ts';
import { SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import {
  allLayers,
  BAR,
  diff,
  kline,
  MINUTE,
  mark,
  reference,
  snapshot,
  trade,
} from '../../support/tasks/task-logs.ts';

const SPEC = { venue: allLayers, partition: 0, shards: 1 };
const COVERS = [{ layers: ['mark', 'funding', 'book', 'trades', 'liquidation', 'candles'], symbols: null }];

const liquidation = (log: TestLog, connId: string): void => {
  const at = Math.floor(log.now / 1000);
  const order = { o: 'LIMIT', f: 'IOC', q: '0.01', p: '99.1', ap: '99.2', X: 'FILLED', l: '0.01', z: '0.01' };
  log.json('frame', 'market', connId, { e: 'forceOrder', E: at, o: { s: 'BTCUSDT', S: 'SELL', ...order, T: at } });
};

/** Everything a listing holds changes repeatedly: two connections, every kind of message, unreadable figures. */
const fullLog = (): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log, ['BTCUSDT', 'ETHUSDT']);
  log.open('k1', 'market', COVERS);
  snapshot(log, 10);
  for (let i = 0; i < 1_200; i++) {
    log.now += 300_000;
    const connId = i % 3 === 0 && i > 400 ? 'k2' : 'k1';
    if (i === 400) log.open('k2', 'market', COVERS);
    mark(log, i % 97 > 90 ? 'none' : `${100 + (i % 13)}`, { connId, symbol: i % 2 === 0 ? 'BTCUSDT' : 'ETHUSDT' });
    const ids = { U: 11 + i, u: 11 + i, pu: 10 + i };
    // For a while the second connection's book waits for a snapshot, and the first one's has a hole.
    if (i % 400 !== 333) diff(log, ids, { b: [[`99.${i % 9}`, `${i % 5}`]], a: [[`100.${1 + (i % 7)}`, `${i % 4}`]] });
    if (i % 5 === 0) trade(log, Math.floor(i / 10), { connId });
    if (i % 50 === 0) liquidation(log, connId);
    // A minute in three has no trades, which the next one proves.
    const into = log.now - START;
    const closed = into % MINUTE < 2 * SECOND;
    if (i % 7 === 0 && into % (3 * MINUTE) > MINUTE)
      kline(log, Math.floor(into / MINUTE) - (closed ? 1 : 0), { ...BAR, c: `${100 + (i % 9)}` }, { closed, connId });
    if (i % 2 === 0) log.tick(['k1', 'k2']);
  }
  return log;
};

type Bodies = ReadonlyMap<string, string>;

/** When a round is written while its task works on: behind all further records, or an item in each pause within a record. */
type Writing = 'behind' | 'in pauses';

/** A round after `cut` records, written while the task works on `more` others. */
const roundAfter = (
  records: TestLog['records'],
  cut: number,
  { more, writing }: { readonly more: number; readonly writing: Writing },
): Bodies => {
  const task = new Task(SPEC);
  for (const record of records.slice(0, cut)) task.process(record);
  const bodies = new Map<string, string>();
  const save = ({ key, body }: CheckpointEntry): void => {
    if (key !== null && body !== null) bodies.set(key, body);
  };
  const round = beginRound(task, save);
  for (const record of records.slice(cut, cut + more)) {
    const work = task.apply(record);
    while (work.next().done !== true)
      if (writing === 'in pauses') saveSome(round, { most: 1, deadline: Number.POSITIVE_INFINITY }, save);
  }
  saveSome(round, { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY }, save);
  return bodies;
};

t.test('what is written late is what stood at the offset', (t) => {
  const { records } = fullLog();
  const [more, changed] = [900, new Set<string>()];
  for (let cut = 40; cut + more < records.length; cut += 211) {
    const atOnce = roundAfter(records, cut, { more: 0, writing: 'behind' });
    for (const writing of ['behind', 'in pauses'] as const) {
      const later = roundAfter(records, cut, { more, writing });
      t.strictSame([...later.keys()].sort(), [...atOnce.keys()].sort());
      t.ok(
        [...atOnce].every(([key, body]) => later.get(key) === body),
        `the round after ${cut} records, written ${writing}`,
      );
    }
    const next = roundAfter(records, cut + more, { more: 0, writing: 'behind' });
    for (const [key, body] of atOnce) if (next.get(key) !== body) changed.add(key);
  }
  t.ok(changed.has('listing:BTCUSDT') && changed.has('listing:ETHUSDT'), 'listings had changed meanwhile');
  t.ok(
    [...changed].some((key) => key.startsWith('book:')),
    'and books',
  );
  t.end();
});

/** The entries of a whole round of a task after `count` records, its marker last. */
const roundEntries = (records: TestLog['records'], count: number): CheckpointEntry[] => {
  const task = new Task(SPEC);
  for (const record of records.slice(0, count)) task.process(record);
  const entries: CheckpointEntry[] = [];
  const save = (entry: CheckpointEntry): void => void entries.push(entry);
  const round = beginRound(task, save);
  while (!saveSome(round, { most: 1, deadline: Number.POSITIVE_INFINITY }, save));
  return [...entries, makeMarker(round)];
};

const RECORDS = fullLog().records.slice(0, 60);
const [OLD, NEW] = [roundEntries(RECORDS, 40), roundEntries(RECORDS, 60)];
const restoreFrom = (entries: readonly (CheckpointEntry | null)[], below?: number) => {
  const restorer = createRestorer(below);
  for (const entry of entries) restorer.add(entry);
  const offset = restorer.state()?.offset ?? null;
  return { offset, problem: offset === null ? restorer.problem() : null };
};
const offsetOf = (entries: readonly CheckpointEntry[]): number => entries[0]?.offset ?? -1;

t.test('the newest round of which nothing is missing is restored', (t) => {
  const [older, newer] = [offsetOf(OLD), offsetOf(NEW)];
  t.ok(OLD.length > 4 && older < newer);
  const restored = (offset: number | null) => ({ offset, problem: offset === null ? 'lost' : null });
  t.same(restoreFrom([...OLD, ...NEW]), restored(newer));
  t.same(restoreFrom([...NEW, ...OLD]), restored(newer), 'a former owner may write late');
  t.same(restoreFrom([...OLD, ...NEW.slice(0, -1)]), restored(older), 'its marker is not there yet');
  for (let gone = 0; gone < NEW.length - 1; gone += 1)
    t.same(restoreFrom([...OLD, ...NEW.filter((_, i) => i !== gone)]), restored(older), `without entry ${gone}`);
  t.same(restoreFrom([...OLD, ...NEW], newer), restored(older), 'below a round that cannot be used');
  t.same(restoreFrom(OLD, older), restored(null));
  t.same(restoreFrom([]), restored(null));
  t.end();
});

t.test('a round of another version, or one that cannot be read, is not restored', (t) => {
  const ofVersion = (version: number) =>
    NEW.map((entry) => (entry.marker === null ? entry : { ...entry, marker: { ...entry.marker, version } }));
  for (const version of [STATE_VERSION - 1, STATE_VERSION + 1]) {
    t.same(restoreFrom(ofVersion(version)), { offset: null, problem: 'version' });
    t.same(restoreFrom([...OLD, ...ofVersion(version)]), { offset: offsetOf(OLD), problem: null });
  }
  t.same(restoreFrom([null, ...OLD.slice(1)]), { offset: null, problem: 'corrupt' });
  const spoilt = NEW.map((entry) => (entry.key === 'core' ? { ...entry, body: '{' } : entry));
  t.same(restoreFrom(spoilt), { offset: null, problem: 'corrupt' });
  t.end();
});

t.test('a slice of a round ends with its time, and saves one item at least', (t) => {
  const task = new Task(SPEC);
  for (const record of RECORDS) task.process(record);
  let saved = 0;
  const round = beginRound(task, () => void saved++);
  t.equal(
    saveSome(round, { most: Number.POSITIVE_INFINITY, deadline: 0 }, () => void saved++),
    false,
  );
  t.equal(saved, 2, 'the core at once, then one');
  t.end();
});

t.test('a checkpoint does not grow with the log: what no unsealed window needs is forgotten', (t) => {
  const log = new TestLog();
  const { name, layers } = toCapability(allLayers);
  const sizes: number[] = [];
  const task = new Task(SPEC);
  for (let minute = 0; minute < 24; minute++) {
    log.json('capability', 'collector', 'c1', { name: `${name} ${minute % 2}`, layers });
    reference(log, minute % 2 === 0 ? ['BTCUSDT', 'ETHUSDT'] : ['BTCUSDT']);
    log.open(`k${10 + minute}`, 'market', COVERS);
    for (const connId of ['k9', `k${10 + minute}`]) mark(log, 'none', { connId });
    mark(log, '101', { connId: `k${10 + minute}` });
    if (minute > 0) kline(log, minute - 1, BAR, { connId: `k${10 + minute}` });
    log.run(MINUTE, ['k9', `k${10 + minute}`], 2 * SECOND);
    for (const record of log.records.splice(0)) task.process({ ...record, offset: task.state.offset + 1 });
    const bodies: (string | null)[] = [];
    const save = ({ body }: CheckpointEntry): void => void bodies.push(body);
    saveSome(beginRound(task, save), { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY }, save);
    sizes.push(bodies.join('').length);
  }
  const [before = 0, after = 0] = [sizes.at(13), sizes.at(23)];
  t.ok(after < before + 100, `${sizes}`);
  t.end();
});
