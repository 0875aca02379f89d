// Absences of all collectors, for hours or days: their gaps are those of each window, and the work of the first record after them grows with days alone (L-08).
import fc from 'fast-check';
import t from 'tap';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { createStore } from '../../../processors/task/store.ts';
import { type LogRecord, Task } from '../../../processors/task/task.ts';
import { MICROS_PER_DAY } from '../../../schemas/instants.ts';
import type { Row } from '../../../schemas/topics.ts';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, MINUTE, mark, symbolInfo } from '../../support/tasks/task-logs.ts';

const HOUR = 60 * MINUTE;
const COVERS = [{ layers: ['mark', 'candles', 'trades', 'liquidation'], symbols: null }];
/** Minutes are sealed over many records (`candles.test.ts`). */
const OFF = { policy: 'off', cadence: 'live', horizonMs: null, horizonSource: null } as const;
const venue: Venue = { ...allLayers, layers: { ...allLayers.layers, candles: OFF } };
const SPEC = { venue, partition: 0, shards: 1 };

type Story = {
  readonly hours: number;
  /** Seconds before the absence at which the connection is lost; null: it is not. */
  readonly lostBefore: number | null;
  /** Seconds before it at which an attempt to connect fails. */
  readonly failedBefore: number | null;
  readonly isUnreadable: boolean;
  /** Minutes from the beginning of the absence to the delivery of BTCUSDT; null: it is not delivered. */
  readonly delivered: number | null;
  /** Minutes to the record of a reading that was received before it. */
  readonly late: number | null;
  /** Minutes to a record of the collector. */
  readonly alive: number | null;
};

const listInstruments = (log: TestLog, deliveryMs: number | null): void => {
  const ended = deliveryMs === null ? {} : { deliveryDate: deliveryMs };
  const symbols = [{ ...symbolInfo('BTCUSDT'), ...ended }, symbolInfo('ETHUSDT')];
  const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
  log.json('response', 'reference', 'c1.reference', { symbols }, { request });
};

/** Two minutes of collecting, the absence, and six minutes; with `ownerEvery` the log moves in the absence, so that windows are sealed in short ranges. */
const tell = (story: Story, ownerEvery: number | null): readonly LogRecord[] => {
  const log = new TestLog();
  const goneAt = START + 2 * MINUTE;
  const backAt = goneAt + story.hours * HOUR;
  // Never at the instant of an owner's record, which would be one millisecond before it in the log.
  const within = (minutes: number): number => goneAt + minutes * MINUTE + 7 * SECOND;
  const toDelivery = story.delivered === null ? null : within(story.delivered) / 1_000;
  const at = (instant: number, act: () => void): void => {
    log.now = instant;
    act();
  };
  const events: [number, () => void][] = [];
  const { lostBefore, failedBefore, isUnreadable, late, alive } = story;
  const lose = (connId: string, cause: string): void =>
    void log.json('lost', 'market', connId, { lost_at: log.now, cause, detail: '' });
  if (lostBefore !== null) events.push([goneAt - lostBefore * SECOND, () => lose('k1', 'venue_maintenance')]);
  if (failedBefore !== null) events.push([goneAt - failedBefore * SECOND, () => lose('k9', 'venue_rate_limit')]);
  if (isUnreadable)
    events.push([goneAt - 7 * SECOND, () => void log.json('frame', 'market', 'k1', { e: 'markPriceUpdate' })]);
  for (let now = START + SECOND; now < goneAt; now += 2 * SECOND)
    events.push([
      now,
      () => {
        log.tick(['k1']);
        if (now % (8 * SECOND) === SECOND) mark(log, '100');
      },
    ]);
  if (ownerEvery !== null)
    for (let now = goneAt + ownerEvery; now < backAt; now += ownerEvery)
      events.push([now, () => void log.tick([], null)]);
  if (late !== null && within(late) < backAt)
    events.push([
      within(late),
      () => {
        const recordedAt = log.now;
        log.now = goneAt - 15 * SECOND;
        mark(log, '101', { recordedAt });
        log.now = recordedAt;
      },
    ]);
  if (alive !== null && within(alive) < backAt) events.push([within(alive), () => void log.tick([])]);
  log.capability(venue);
  listInstruments(log, toDelivery);
  log.open('k1', 'market', COVERS);
  for (const [instant, act] of events.sort(([a], [b]) => a - b)) at(instant, act);
  at(backAt, () => {
    log.capability(venue);
    listInstruments(log, toDelivery);
    log.open('k2', 'market', COVERS);
    log.run(6 * MINUTE, ['k2'], 2 * SECOND);
  });
  return log.records;
};

type Line = {
  readonly series: string;
  readonly from: number;
  at: number;
  readonly text: string;
  readonly isGap: boolean;
};

const toLine = ({ table, at, texts, instants, integers, figures }: Row): Line => {
  const { id, ...told } = texts;
  const { src_offset, ...counted } = integers;
  const isGap = texts['status'] === 'missing' && texts['timeframe'] === undefined;
  const text = JSON.stringify([told, isGap ? [] : [id, instants, counted, figures]]);
  const series = [table, texts['listing'], texts['timeframe'], texts['price_type']].join('|');
  return { series, from: instants['from_at'] ?? at, at, text, isGap };
};

/** Adjacent gaps of a day with one cause are one, regardless of the records that sealed them. */
const joinLines = (rows: readonly Row[]): readonly Line[] => {
  const lines = rows.filter(({ table }) => table !== 'connections').map(toLine);
  const joined: Line[] = [];
  for (const line of lines.sort((a, b) => (a.series < b.series ? -1 : a.series > b.series ? 1 : a.from - b.from))) {
    const last = joined.at(-1);
    const isSameDay =
      last !== undefined && Math.floor((last.at - 1) / MICROS_PER_DAY) === Math.floor((line.at - 1) / MICROS_PER_DAY);
    if (last?.isGap && isSameDay && last.series === line.series && last.at === line.from && last.text === line.text)
      last.at = line.at;
    else joined.push({ ...line });
  }
  return joined;
};

const MINUTES = fc.option(fc.integer({ min: 1, max: 1_500 }));
const STORIES: fc.Arbitrary<Story> = fc.record({
  hours: fc.integer({ min: 2, max: 30 }),
  lostBefore: fc.option(fc.integer({ min: 1, max: 60 })),
  failedBefore: fc.option(fc.integer({ min: 1, max: 60 })),
  isUnreadable: fc.boolean(),
  delivered: MINUTES,
  late: MINUTES,
  alive: MINUTES,
});

const QUIET: Story = {
  hours: 6,
  lostBefore: null,
  failedBefore: null,
  isUnreadable: false,
  delivered: null,
  late: null,
  alive: null,
};
/** One of each kind, and all of them. */
const EXAMPLES: [Story][] = [
  [{ ...QUIET, lostBefore: 20 }],
  [{ ...QUIET, failedBefore: 40 }],
  [{ ...QUIET, delivered: 150 }],
  [{ ...QUIET, late: 60 }],
  [{ ...QUIET, alive: 180 }],
  [{ hours: 30, lostBefore: 20, failedBefore: 4, isUnreadable: true, delivered: 1_206, late: 120, alive: 1_500 }],
];

t.test('gaps of an absence are those of windows that are sealed as they end', (t) => {
  const sealed = (story: Story, ownerEvery: number | null): readonly Line[] =>
    joinLines(listRows(runTask(SPEC, tell(story, ownerEvery)).outputs));
  let gaps = 0;
  const isSame = (story: Story): void => {
    const atOnce = sealed(story, null);
    gaps += atOnce.filter(({ isGap }) => isGap).length;
    t.strictSame(atOnce, sealed(story, 10 * MINUTE), JSON.stringify(story));
  };
  fc.assert(fc.property(STORIES, isSame), { numRuns: 12, examples: EXAMPLES });
  t.ok(gaps > 100, `${gaps} gaps`);
  t.end();
});

type Work = { readonly windows: number; readonly buckets: number };

/** How often at most the task compares windows with the beginning of its log, and asks of a bucket whether a collector was alive, in the work of one record. */
const countWork = (records: readonly LogRecord[]): Work => {
  let [windows, buckets] = [0, 0];
  const task = new Task({
    ...SPEC,
    openStore: (state) => {
      const store = createStore(state);
      const { collectorAlive } = store.state;
      const has = (end: number): boolean => {
        buckets += 1;
        return collectorAlive.has(end);
      };
      const alive = new Proxy(collectorAlive, {
        get: (of, name) => {
          const member: unknown = Reflect.get(of, name, of);
          if (name === 'has') return has;
          return typeof member === 'function' ? member.bind(of) : member;
        },
      });
      const counting = new Proxy(store.state, {
        get: (of, name) => {
          if (name === 'lostBefore') windows += 1;
          return name === 'collectorAlive' ? alive : Reflect.get(of, name);
        },
      });
      return { ...store, state: counting };
    },
  });
  const counts = records.map((record) => {
    const before = { windows, buckets };
    task.process(record);
    return { windows: windows - before.windows, buckets: buckets - before.buckets };
  });
  return {
    windows: Math.max(...counts.map((count) => count.windows)),
    buckets: Math.max(...counts.map((count) => count.buckets)),
  };
};

t.test('the work of the first record after an absence grows with its days alone', (t) => {
  const [one, five] = [countWork(tell({ ...QUIET, hours: 24 }, null)), countWork(tell({ ...QUIET, hours: 120 }, null))];
  t.ok(one.windows > 100, `${one.windows} windows after a day`);
  t.ok(five.windows < 2 * one.windows, `${five.windows} after five days`);
  t.ok(one.buckets > 100, `${one.buckets} buckets after a day`);
  t.ok(five.buckets < 2 * one.buckets, `${five.buckets} after five days`);
  t.end();
});
