// Versions that change between a reading and its seal: readings of a collected layer count, and uncollected ones have no rows (N-11, H-06).
import fc from 'fast-check';
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { beginRound, createRestorer, makeMarker, saveSome } from '../../../processors/runner/checkpoint.ts';
import type { Outputs } from '../../../processors/task/outputs.ts';
import { formatSeries, type Recovery } from '../../../processors/task/recovery.ts';
import { createState } from '../../../processors/task/state.ts';
import { Task } from '../../../processors/task/task.ts';
import type { Policy } from '../../../schemas/freshness.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import type { ListingRecord, PriceType } from '../../../schemas/records.ts';
import type { CheckpointEntry, Row } from '../../../schemas/topics.ts';
import { listingValues } from '../../support/apps/live-fixture.ts';
import { paperVenue } from '../../support/tasks/paper-log.ts';
import { listReadings, listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import {
  allLayers,
  SPEC as BINANCE,
  begin,
  diff,
  findGapFaults,
  kline,
  mark,
  reference,
  snapshot,
} from '../../support/tasks/task-logs.ts';

const MINUTE = 60 * SECOND;
const LAYERS = ['mark', 'funding', 'candles'] as const;
type Layer = (typeof LAYERS)[number];
const WINDOW: Readonly<Record<Layer, number>> = { mark: 10 * SECOND, funding: MINUTE, candles: MINUTE };
const TABLE: Readonly<Record<Layer, string>> = { mark: 'mark', funding: 'funding', candles: 'candles' };

/** Layers that the venue does not publish of its one listing, or that its limits exclude (V-03a), and since when it is gone. */
type ListingState = { readonly lacks: readonly Layer[]; readonly isOff?: boolean; readonly goneFor: number | null };

const toListing = ({ lacks, isOff, goneFor }: ListingState, receivedAt: number): ListingRecord => {
  const unpublished = isOff === true ? [] : lacks;
  const priceTypes: readonly PriceType[] = unpublished.includes('candles') ? [] : ['trade'];
  const gone = goneFor === null ? {} : { status: 'delisted', delisted_at: receivedAt - goneFor };
  const candles = { base_timeframe: '1m', price_types: priceTypes, timeframes: ['1m'] } as const;
  const values = listingValues({ venue_symbol: 'LIN', instrument: 'LIN-PERP', base: 'LIN', ...gone, candles });
  const not_published = unpublished.filter((layer) => layer !== 'candles');
  const stamps = { layer: 'listing', venue: 'paper', venue_symbol: 'LIN', venue_ts: null } as const;
  const record = { ...stamps, received_at: receivedAt, values: { ...values, not_published } };
  return isOff === true ? { ...record, off: lacks } : record;
};

const venue: Venue = {
  ...paperVenue,
  mapReference: (_state, { payload, received_at }) => ({
    scope: 'paper',
    listings: [toListing(JSON.parse(Buffer.from(payload).toString()) as ListingState, received_at)],
    elements: () => new Map(),
  }),
};
const SPEC = { venue, partition: 0, shards: 1 };

const makeCapability = (off: readonly Layer[]) => {
  const { name, layers } = toCapability(venue);
  const findPolicy = (layer: string): 'on' | 'off' => ((off as readonly string[]).includes(layer) ? 'off' : 'on');
  return {
    name,
    layers: Object.fromEntries(Object.entries(layers).map(([l, of]) => [l, { ...of, policy: findPolicy(l) }])),
  };
};

type Action =
  | { readonly kind: 'reading'; readonly layer: Layer }
  | { readonly kind: 'capability'; readonly off: readonly Layer[] }
  | { readonly kind: 'listing'; readonly answer: ListingState };
type Step = { readonly afterMs: number; readonly action: Action };

/** A reading by its window, and when collection of a layer began or ended. */
type Truth = {
  readonly readings: Map<string, string>;
  readonly changes: { readonly at: number; readonly on: ReadonlySet<Layer> }[];
};

/** The log of the steps, and what its rows must be, worked out without the task. */
const write = (steps: readonly Step[]): { readonly log: TestLog; readonly truth: Truth } => {
  const log = new TestLog();
  const truth: Truth = { readings: new Map(), changes: [] };
  let [off, lacks]: [readonly Layer[], readonly Layer[]] = [[], []];
  const change = (recordedAt: number): void => {
    truth.changes.push({ at: recordedAt, on: new Set(LAYERS.filter((l) => !off.includes(l) && !lacks.includes(l))) });
  };
  const sendListing = (answer: ListingState): void => {
    lacks = answer.lacks;
    change(
      log.json('response', 'reference', 'r', answer, { request: 'GET https://paper/listings' }).timestampMs * 1_000,
    );
  };
  const sendReading = (layer: Layer, n: number): void => {
    const open = Math.floor((log.now - 1) / MINUTE) * MINUTE - MINUTE;
    const price = String(100 + n);
    const bar = { open, o: price, h: price, lo: price, c: price, q: '1', m: '1', n: 1 };
    const values = {
      mark: { mark: price, index: '100' },
      funding: { funding: price, next_funding_at: null },
      candles: bar,
    };
    const l = layer === 'candles' ? 'candle' : layer;
    log.json('frame', 'a', 'a1', { l, s: 'LIN', t: null, v: values[layer] });
    if (truth.changes.at(-1)?.on.has(layer) !== true) return;
    const end = layer === 'candles' ? open + MINUTE : Math.ceil(log.now / WINDOW[layer]) * WINDOW[layer];
    // What is told of a minute that ended while it was not collected repeats that time (D-225).
    if (layer === 'candles' && !isOn(truth, layer, end)) return;
    if (end > START) truth.readings.set(`${layer} ${end}`, price);
  };
  log.json('capability', 'collector', 'c1', makeCapability([]));
  sendListing({ lacks: [], goneFor: null });
  log.open('a1', 'a', [{ layers: ['mark', 'funding', 'candles'], symbols: null }]);
  for (const [n, { afterMs, action }] of steps.entries()) {
    log.run(afterMs * 1_000, ['a1'], SECOND);
    if (action.kind === 'reading') sendReading(action.layer, n);
    else if (action.kind === 'listing') sendListing(action.answer);
    else {
      off = action.off;
      change(log.json('capability', 'collector', 'c1', makeCapability(off)).timestampMs * 1_000);
    }
  }
  log.run(240 * SECOND, ['a1'], SECOND);
  return { log, truth };
};

const isOn = ({ changes }: Truth, layer: Layer, at: number): boolean =>
  changes.findLast((change) => change.at <= at)?.on.has(layer) === true;

const findEnd = (layer: Layer, row: Row): number => (layer === 'candles' ? row.at + MINUTE : row.at);
const findPrice = (layer: Layer, row: Row): string | undefined => row.figures[layer === 'candles' ? 'close' : layer];

/** Values in rows of a layer, by the end of each window they cover; null for a gap, and for a minute proved empty. */
const listValues = (outputs: readonly Outputs[], layer: Layer): Map<number, string | null> => {
  const found = new Map<number, string | null>();
  const rows = listRows(outputs, TABLE[layer]).filter(
    ({ texts, flags }) => !flags['late'] && (layer !== 'candles' || texts['timeframe'] === '1m'),
  );
  for (const row of rows) {
    const end = findEnd(layer, row);
    for (let at = (row.instants['from_at'] ?? end - WINDOW[layer]) + WINDOW[layer]; at <= end; at += WINDOW[layer]) {
      if (found.has(at)) throw new Error(`${layer} ${at} is published twice`);
      found.set(at, findPrice(layer, row) ?? null);
    }
  }
  return found;
};

const layersOff = fc.subarray([...LAYERS]);
const step: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 1, max: 12_000 }), fc.integer({ min: 1, max: 150_000 })),
  action: fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('reading' as const), layer: fc.constantFrom(...LAYERS) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('capability' as const), off: layersOff }) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(layersOff, fc.boolean())
        .map(([lacks, isOff]) => ({ kind: 'listing' as const, answer: { lacks, isOff, goneFor: null } })),
    },
  ),
});
const ending: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.integer({ min: 1, max: 30_000 }),
  action: fc
    .integer({ min: 0, max: 200 })
    .map((seconds) => ({ kind: 'listing' as const, answer: { lacks: [], goneFor: seconds * SECOND } })),
});
const RUNS = { numRuns: 150, seed: 21 };

t.test('whatever changes before the seal, readings count, and windows collected at their end are published', (t) => {
  let readings = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 3, maxLength: 25 }), (steps) => {
      const { log, truth } = write(steps);
      const task = new Task(SPEC);
      const outputs = log.records.map((record) => task.process(record));
      const sealedTo = task.watermark - 100 * SECOND - 1_000;
      for (const layer of LAYERS) {
        const found = listValues(outputs, layer);
        const expected = new Map<number, string | null>();
        for (let at = START + WINDOW[layer]; at <= sealedTo; at += WINDOW[layer]) {
          const price = truth.readings.get(`${layer} ${at}`);
          if (price !== undefined) readings += 1;
          if (price !== undefined || isOn(truth, layer, at)) expected.set(at, price ?? null);
        }
        if (JSON.stringify([...found]) === JSON.stringify([...expected])) continue;
        throw new Error(`${layer}: ${JSON.stringify([...found])} instead of ${JSON.stringify([...expected])}`);
      }
      const held = [...task.state.listings.values()].map(({ before }) => before.length);
      return Math.max(0, ...held) === 0 && task.state.capabilitiesBefore.length === 0;
    }),
    RUNS,
  );
  t.ok(readings > 300, `${readings} readings`);
  t.end();
});

t.test('a listing that turns out to have ended long ago keeps its values until then', (t) => {
  let readings = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 15 }), ending, (steps, last) => {
      const { log, truth } = write([...steps, last]);
      const task = new Task(SPEC);
      const outputs = log.records.map((record) => task.process(record));
      for (const [key, price] of truth.readings) {
        const [layer, end] = key.split(' ') as [Layer, string];
        if (listValues(outputs, layer).get(Number(end)) !== price) throw new Error(`${key} is lost`);
        readings += 1;
      }
    }),
    RUNS,
  );
  t.ok(readings > 300, `${readings} readings`);
  t.end();
});

/** The task as it is restored from a checkpoint taken now. */
const restored = (task: Task): Task => {
  const entries: CheckpointEntry[] = [];
  const save = (entry: CheckpointEntry): void => void entries.push(entry);
  const round = beginRound(task, save);
  const all = { most: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY };
  while (!saveSome(round, all, save));
  save(makeMarker(round));
  const restorer = createRestorer();
  for (const entry of entries) restorer.add(JSON.parse(JSON.stringify(entry)) as CheckpointEntry);
  const state = restorer.state();
  if (!state) throw new Error('no state restored');
  return new Task({ ...SPEC, state });
};

t.test('a life that begins between a change and the seal publishes the same', (t) => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 5, maxLength: 15 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (steps, share) => {
        const { records } = write(steps).log;
        const cut = Math.floor(records.length * share);
        const whole = new Task(SPEC);
        const expected = records.map((record) => whole.process(record));
        let task = new Task(SPEC);
        const outputs = records.map((record, i) => {
          if (i === cut) task = restored(task);
          return task.process(record);
        });
        return JSON.stringify(outputs) === JSON.stringify(expected);
      },
    ),
    { ...RUNS, numRuns: 40 },
  );
  t.pass('40 logs');
  t.end();
});

const switchTo = (log: TestLog, layer: string, policy: Policy): void => {
  const { name, layers } = toCapability(binance);
  const held = layers[layer];
  if (held === undefined) throw new Error(`no layer "${layer}"`);
  log.json('capability', 'collector', 'c1', { name, layers: { ...layers, [layer]: { ...held, policy } } });
};

t.test('what was read before a layer was off neither joins nor explains what comes after (F-04, D-74)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  snapshot(log, 100);
  diff(log, { U: 101, u: 102, pu: 100 }, { b: [['200', '1']] });
  log.run(30 * SECOND, ['k1']);
  for (const layer of ['mark', 'book']) {
    switchTo(log, layer, 'off');
    log.run(SECOND, ['k1']);
  }
  const on = log.now + SECOND;
  log.run(SECOND, ['k1']);
  log.capability(binance);
  log.run(20 * SECOND, ['k1']);
  const at = Math.floor(log.now / 1000);
  log.json('frame', 'market', 'k1', {
    e: 'markPriceUpdate',
    E: at,
    s: 'BTCUSDT',
    p: '102',
    i: '',
    P: '1',
    r: '',
    T: 0,
  });
  log.run(150 * SECOND, ['k1']);
  const { outputs } = runTask({ venue: binance, partition: 0, shards: 1 }, log.records);
  const [before, after] = listReadings(outputs, 'mark');
  t.same([before?.values['mark'], before?.values['index']], ['101', '100']);
  t.same([after?.values, after?.rev], [{ mark: '102' }, 2], 'no index from before');
  const causes = (from: number, to: number) =>
    new Set(listRows(outputs, 'book').flatMap((row) => (row.at > from && row.at <= to ? row.texts['gap_cause'] : [])));
  t.ok(causes(START, on - 5 * SECOND).has('crossed_book'));
  t.same([...causes(on + 10 * SECOND, log.now)], ['no_update'], 'the book of then is not crossed for ever');
  t.end();
});

/** What the lives that processed these records leave to one that has neither their checkpoint nor their log. */
const leave = (outputs: readonly Outputs[]): Recovery => {
  const revs: Record<string, Partial<Record<ReadingLayer, number>>> = {};
  const readAt: Record<string, Partial<Record<ReadingLayer, number>>> = {};
  for (const { symbol, reading } of outputs.flatMap(({ live }) => live)) {
    if (symbol === null || reading === null) continue;
    revs[symbol] = { ...revs[symbol], [reading.layer]: reading.rev };
    readAt[symbol] = { ...readAt[symbol], [reading.layer]: reading.recorded_at };
  }
  const versions = {
    listings: outputs.flatMap(({ listings }) => listings),
    capabilities: outputs.flatMap(({ capabilities }) => capabilities),
  };
  return { spokenTo: outputs.length - 1, watermark: START, covered: {}, revs, readAt, spans: [], ...versions };
};

t.test(
  'a layer that was off has no value either when checkpoint and log are lost, and is numbered on (F-04, ST-03)',
  (t) => {
    const log = begin();
    log.now += SECOND;
    mark(log, '101');
    log.run(5 * SECOND, ['k1']);
    const beforeIt = log.records.length;
    switchTo(log, 'mark', 'off');
    log.run(5 * SECOND, ['k1']);
    const meanwhile = log.records.length;
    log.capability(binance);
    log.run(5 * SECOND, ['k1']);
    const published = log.records.length;
    log.run(5 * SECOND, ['k1']);
    mark(log, '102');
    for (const [start, name] of [
      [beforeIt, 'before it'],
      [meanwhile, 'while it was off'],
      [published, 'after it'],
    ] as const) {
      const recovery = leave(runTask(BINANCE, log.records.slice(0, published)).outputs);
      const { outputs } = runTask({ ...BINANCE, state: createState(start, recovery) }, log.records.slice(start));
      const told = (layer: string) =>
        listReadings(outputs.slice(published - start), layer).map(({ rev, gap_cause, values }) => [
          rev,
          gap_cause ?? Object.values(values)[0],
        ]);
      t.same(told('mark'), [[2, '102']], `the log begins ${name}`);
      t.same(
        told('funding'),
        [
          [2, 'pipeline_restart'],
          [3, '0.0001'],
        ],
        'a layer that was on is invalid until its next reading',
      );
    }
    t.end();
  },
);

t.test('the rev of a layer that is off when its task starts anew goes on (ST-03)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  switchTo(log, 'mark', 'off');
  log.run(5 * SECOND, ['k1']);
  const published = log.records.length;
  log.run(5 * SECOND, ['k1']);
  log.capability(binance);
  log.now += SECOND;
  mark(log, '102');
  const recovery = leave(runTask(BINANCE, log.records.slice(0, published)).outputs);
  const { outputs } = runTask(
    { ...BINANCE, state: createState(published - 2, recovery) },
    log.records.slice(published - 2),
  );
  t.same(
    listReadings(outputs, 'mark').map(({ rev, values }) => [rev, values['mark']]),
    [[2, '102']],
  );
  t.end();
});

t.test('of a lost log, too, only windows at whose ends a layer was collected have rows (H-06, L-08)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  log.run(130 * SECOND, ['k1']);
  const [off, on] = [START + 180 * MINUTE, START + 300 * MINUTE];
  log.now = off;
  switchTo(log, 'mark', 'off');
  log.now = on;
  log.capability(binance);
  const published = log.records.length;
  const { outputs } = runTask(BINANCE, log.records);
  log.now = START + 480 * MINUTE + 4 * SECOND;
  const lost = log.now;
  log.run(150 * SECOND, ['k1'], SECOND);
  const recovery = { ...leave(outputs), watermark: START + 130 * SECOND };
  const rest = log.records.slice(published);
  const rows = listRows(runTask({ ...BINANCE, state: createState(published, recovery) }, rest).outputs);
  const listSpans = (table: string) =>
    rows
      .filter((row) => row.table === table && row.texts['gap_cause'] === 'storage_failure' && row.at < lost)
      .map(({ instants, at }) => [instants['from_at'], at]);
  const sealed = lost - 104 * SECOND;
  t.same(listSpans('mark').slice(0, 2), [
    [START + 20 * SECOND, off],
    [on, sealed],
  ]);
  t.same(listSpans('liquidations')[0], [START + 20 * SECOND, sealed], 'one that was on throughout has one row');
  t.end();
});

t.test('windows whose log is lost are covered once, as lost, by rows that cross no midnight (N-11, AN-07)', (t) => {
  const log = begin();
  log.now += SECOND;
  mark(log, '101');
  log.run(130 * SECOND, ['k1']);
  const published = log.records.length;
  const { outputs } = runTask(BINANCE, log.records);
  log.now = START + 38 * 60 * MINUTE + 4 * SECOND;
  const lost = log.now;
  log.run(150 * SECOND, ['k1'], SECOND);
  const recovery = { ...leave(outputs), watermark: START + 130 * SECOND };
  const rest = log.records.slice(published);
  const rows = listRows(runTask({ ...BINANCE, state: createState(published, recovery) }, rest).outputs);
  t.same(findGapFaults(rows), []);
  const midnights = [12, 36].map((hour) => START + hour * 60 * MINUTE);
  t.same(
    rows
      .filter(({ table, texts }) => table === 'mark' && texts['gap_cause'] === 'storage_failure')
      .map(({ instants, at }) => [instants['from_at'], at])
      .slice(0, 3),
    [
      [START + 20 * SECOND, midnights[0]],
      [midnights[0], midnights[1]],
      [midnights[1], lost - 104 * SECOND],
    ],
    'from what was sealed to what the first record seals',
  );
  const later = rows.filter(({ table, at }) => table === 'mark' && at > lost);
  t.ok(later.length > 1);
  t.ok(
    later.every(({ texts }) => texts['gap_cause'] === 'storage_failure'),
    'a layer that had a reading stays so until its next one',
  );
  t.end();
});

t.test(
  'rows that earlier lives wrote after their last published W are not written again, the others once (N-11)',
  (t) => {
    const log = new TestLog();
    log.capability(allLayers);
    reference(log);
    log.open('k1', 'market', [{ layers: ['mark', 'candles'], symbols: null }]);
    const startsAt: number[] = [];
    for (let minute = 0; minute < 12; minute += 1) {
      startsAt.push(log.records.length);
      log.run(30 * SECOND, ['k1'], SECOND);
      mark(log, `${100 + minute}`);
      log.run(31 * SECOND, ['k1'], SECOND);
      if (minute !== 6) kline(log, minute);
      log.now -= SECOND;
    }
    const of = { venue: allLayers, partition: 0, shards: 1 };
    const whole = runTask(of, log.records).outputs;
    const [start, published] = [startsAt[3] ?? 0, startsAt[9] ?? 0];
    const series = (row: Row): string =>
      row.table === 'candles'
        ? formatSeries('candles', 'BTCUSDT', `${row.texts['price_type']}|${row.texts['timeframe']}`)
        : formatSeries(row.table, 'BTCUSDT');
    const known = (outputs: readonly Outputs[]): Row[] =>
      listRows(outputs).filter(({ table, texts }) => table === 'mark' || texts['timeframe'] === '1m');
    const written = known(whole.slice(0, published));
    const covered = Object.fromEntries(written.map((row) => [series(row), row.at]));
    const recovery = { ...leave(whole.slice(0, published)), covered, watermark: START + 6 * MINUTE };
    const { outputs } = runTask({ ...of, state: createState(start, recovery) }, log.records.slice(start));
    const name = (row: Row): string => `${series(row)} ${row.at}`;
    t.same(known(outputs).map(name), known(whole.slice(published)).map(name));
    t.ok(written.some(({ table }) => table === 'candles'));
    t.end();
  },
);
