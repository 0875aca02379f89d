// One window over every kind of failure: each row of its answer has the reason why there is nothing, or the received value (L-08, H-06, H-07).
import t from 'tap';
import { useEngines } from '../../support/engines/engines.ts';
import { SECOND, START } from '../../support/tasks/task-driver.ts';
import { begin, COVERS, reference, SPEC } from '../../support/tasks/task-logs.ts';
import { workLog } from '../../support/tasks/worked-log.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb']);

/** Seconds of the log in which something is wrong. */
const FAULTS = {
  dead: [62, 88],
  outage: [112, 141],
  /** A diff is missing; the next snapshot comes at the end. */
  broken: [165, 187],
  quiet: [202, 228],
  delisted: 262,
} as const;
const END = 330;

const isIn = (second: number, [from, to]: readonly [number, number]): boolean => second >= from && second < to;

/** Marks and changes of the book every second, on connections that come and go. */
const faultyLog = () => {
  const log = begin();
  let connection: string | null = 'k1';
  let id = 100;
  const send = (body: Record<string, unknown>): void => {
    if (connection !== null) log.json('frame', 'market', connection, body);
  };
  const snapshot = (): void => {
    const body = { lastUpdateId: id, E: 1, T: Math.floor(log.now / 1_000), bids: [['99', '1']], asks: [['101', '2']] };
    const request = 'GET https://fapi.binance.com/fapi/v1/depth?symbol=BTCUSDT&limit=1000';
    if (connection !== null) log.json('response', 'market', connection, body, { request });
  };
  const open = (name: string): void => {
    connection = name;
    log.open(name, 'market', COVERS);
    snapshot();
  };
  snapshot();
  for (let second = 0; second < END; second++) {
    log.now = START + second * SECOND;
    const isDead = isIn(second, FAULTS.dead);
    if (second === FAULTS.dead[0]) connection = null;
    if (second === FAULTS.dead[1]) open('k2');
    if (second === FAULTS.outage[0] && connection !== null) {
      log.json('lost', 'market', connection, { lost_at: log.now, cause: 'venue_down', detail: '' });
      connection = null;
    }
    if (second === FAULTS.outage[1]) open('k3');
    if (second === FAULTS.broken[0]) id += 7;
    if (second === FAULTS.broken[1]) snapshot();
    if (second === FAULTS.delisted) reference(log, ['ETHUSDT']);
    log.tick(connection === null ? [] : [connection], isDead ? null : 'c1');
    if (isIn(second, FAULTS.quiet) || second >= FAULTS.delisted) continue;
    log.now += 300_000;
    const T = Math.floor(log.now / 1_000);
    send({ e: 'markPriceUpdate', E: T, s: 'BTCUSDT', p: `${100 + (second % 7)}`, i: '100', P: '1', r: '0.0001', T });
    const ids = { U: id + 1, u: id + 2, pu: id };
    send({ e: 'depthUpdate', E: T, T, s: 'BTCUSDT', ...ids, b: [['99', `${1 + (second % 5)}`]], a: [] });
    id += 2;
  }
  log.now = START + END * SECOND;
  log.run(140 * SECOND, connection === null ? [] : [connection]);
  return log;
};

type AnswerRow = {
  readonly at: string;
  readonly status: string;
  readonly gap_cause?: string;
  readonly received_at: string | null;
};
type Answer = {
  readonly settled: boolean;
  readonly items: readonly { readonly layers: Readonly<Record<string, { readonly rows: readonly AnswerRow[] }>> }[];
};

/** Causes of runs of rows, with the number of each run. */
const listRuns = (rows: readonly AnswerRow[]): string[] => {
  const runs: { cause: string; count: number }[] = [];
  for (const { gap_cause, received_at, status } of rows) {
    const cause = gap_cause ?? (received_at !== null && status !== 'missing' ? 'heard' : status);
    const last = runs.at(-1);
    if (last?.cause === cause) last.count++;
    else runs.push({ cause, count: 1 });
  }
  return runs.map(({ cause, count }) => `${count} ${cause}`);
};

t.test('each row of one window has its own cause', async (t) => {
  const { ask } = await workLog(t, engines, { log: faultyLog(), spec: SPEC });
  const instant = (second: number): string => new Date(START / 1_000 + second * 1_000).toISOString();
  const window = {
    where: 'symbol = "BTCUSDT"',
    from: instant(0),
    to: instant(300),
    layers: ['mark', 'book', 'venue_depth'],
  };
  const { items, settled } = await ask<Answer>('/v2/snapshots/history', { ...window, interval: '10s' });
  t.equal(settled, true);
  const [item] = items;
  const before = ['7 heard', '1 collector_down', '4 heard', '2 venue_down'];
  const after = ['1 no_update', '5 heard', '3 not_listed'];
  t.same(listRuns(item?.layers['mark']?.rows ?? []), [...before, '7 heard', ...after]);
  for (const layer of ['book', 'venue_depth']) {
    const found = listRuns(item?.layers[layer]?.rows ?? []);
    t.same(found, [...before, '2 heard', '2 sequence_break', '3 heard', ...after], layer);
  }

  const minutes = await ask<Answer>('/v2/snapshots/history', { ...window, interval: '1m' });
  t.same(
    listRuns(minutes.items[0]?.layers['mark']?.rows ?? []),
    ['5 heard'],
    'a longer period is answered by its last reading, whatever was missing before',
  );
  const raw = await ask<Answer>('/v2/snapshots/history', { ...window, from: instant(1), raw: true });
  t.same(
    listRuns(raw.items[0]?.layers['mark']?.rows ?? []),
    [...before, '7 heard', '1 no_update', '5 heard', '2 not_listed'],
    'raw rows name the same causes; the last window ends where a raw answer does',
  );
});
