// Minutes proved empty by answers of candles, compared with the trades of a venue on paper: whatever is lost, cut or late (H-12).
import fc from 'fast-check';
import t from 'tap';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import type { CoveredMinutes, Mapped } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { giveReadable } from '../../../ingest/venues/shared/map-each.ts';
import { bindMapped } from '../../../ingest/venues/shared/mapped.ts';
import { makeBadFigure } from '../../../ingest/venues/shared/wire.ts';
import { TIMEFRAME_MINUTES, type Timeframe } from '../../../schemas/layers/candle.ts';
import type { CandleRecord, ListingRecord } from '../../../schemas/records.ts';
import { listingValues } from '../../support/apps/live-fixture.ts';
import { paperVenue } from '../../support/tasks/paper-log.ts';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';

const MINUTE = 60 * SECOND;
const toMapped = bindMapped('paper');

/** `[open, trades]`: a venue leaves out minutes without any. */
type Bar = readonly [open: number, trades: number];
/** `odd`: it has one more bar, which cannot be read. */
type Answer = { readonly asked: CoveredMinutes | null; readonly bars: readonly Bar[]; readonly odd?: true };

const toCandle = ([open, trades]: Bar, receivedAt: number): Mapped => {
  const figures = { open: '1', high: '1', low: '1', close: '1', volume: String(trades), turnover: null, trades };
  const values = {
    open_time: open,
    price_type: 'trade',
    timeframe: '1m',
    ...figures,
    volume_unit: 'base',
    closed: null,
  };
  return toMapped<CandleRecord>(
    { symbol: 'LIN', venueTs: null, receivedAt, element: open },
    'candle',
    values as CandleRecord['values'],
  );
};

const values = listingValues({
  venue_symbol: 'LIN',
  candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: ['1m'] },
});
const LISTING: ListingRecord = {
  ...{ layer: 'listing', venue: 'paper', venue_symbol: 'LIN', venue_ts: null, received_at: START, values },
};
const parse = (payload: Uint8Array): Answer => JSON.parse(Buffer.from(payload).toString()) as Answer;
const venue: Venue = {
  ...paperVenue,
  mapReference: () => ({ scope: 'paper', listings: [LISTING], elements: () => new Map() }),
  map: (_state, { payload, received_at }) => {
    const { bars, odd } = parse(payload);
    const mapped = bars.map((bar) => toCandle(bar, received_at));
    return giveReadable(mapped, odd ? makeBadFigure('open', 'odd') : null);
  },
  askedMinutes: ({ payload }) => parse(payload).asked,
};
const SPEC = { venue, partition: 0, shards: 1 };

type World = {
  /** Instants of trades, ascending. */
  readonly trades: readonly number[];
  /** Delay until the venue publishes an event. */
  readonly lag: number;
};

/** The bars of minutes in `[from, to]` as the venue publishes them at an instant. */
const barsAt = ({ trades, lag }: World, now: number, { from, to }: { from: number; to: number }): Bar[] => {
  const bars = new Map<number, number>();
  for (const at of trades) {
    const open = Math.floor(at / MINUTE) * MINUTE;
    if (at + lag <= now && open >= from && open <= to) bars.set(open, (bars.get(open) ?? 0) + 1);
  }
  return [...bars];
};

/** The request at an instant and its answer: cut at either end, in either order. */
const ask = (world: World, now: number, draw: () => number): Answer => {
  const running = Math.floor(now / MINUTE) * MINUTE;
  const limit = 1 + Math.floor(draw() * 4);
  if (draw() < 0.25) {
    const bars = barsAt(world, now, { from: START - 10 * MINUTE, to: running }).slice(-limit);
    return { asked: { symbols: ['LIN'], price_type: 'trade', from: null, to: null, limit }, bars };
  }
  const from = running - Math.floor(draw() * 4) * MINUTE;
  const to = draw() < 0.3 ? null : from + Math.floor(draw() * 4) * MINUTE;
  const all = barsAt(world, now, { from, to: to ?? running });
  const bars = draw() < 0.5 ? all.slice(0, limit) : all.slice(-limit);
  const asked = { symbols: ['LIN'], price_type: 'trade' as const, from, to, limit };
  return { asked: draw() < 0.1 ? null : asked, bars: draw() < 0.5 ? bars : bars.toReversed() };
};

/** From `at` on candles are collected, or are not. */
type Turn = { readonly at: number; readonly isOn: boolean };
type Written = { readonly log: TestLog; readonly world: World; readonly turns: readonly Turn[] };

const turn = (log: TestLog, isOn: boolean): Turn => {
  const candles = { policy: isOn ? 'on' : 'off', cadence_ms: null, horizon_ms: null, horizon_source: null };
  const { timestampMs } = log.json('capability', 'collector', 'c1', { name: 'Paper', layers: { candles } });
  return { at: timestampMs * 1_000, isOn };
};

/** A log of this many minutes: a socket that sends each trade's bar while it lives, and answers under its connection. */
const write = (seed: number, minutes: number, turnsAtRate = 0): Written => {
  const draw = createRandom(seed).next;
  const log = new TestLog();
  const trades: number[] = [];
  for (let at = START; at < START + minutes * MINUTE; at += Math.floor(draw() * draw() * 200) * SECOND + 1_000_000)
    trades.push(at);
  const world = { trades, lag: Math.floor(draw() * 9) * SECOND };
  const turns = [turn(log, true)];
  log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
  let [opened, n, published]: [string | null, number, number] = [null, 0, 0];
  for (let second = 1; second < minutes * 60; second++) {
    log.now = START + second * SECOND;
    log.tick(opened === null ? [] : [opened]);
    if (turnsAtRate > 0 && draw() < turnsAtRate) turns.push(turn(log, turns.at(-1)?.isOn === false));
    const isTurned = draw() < (opened === null ? 0.1 : 0.006);
    if (isTurned && opened !== null) {
      log.json('lost', 'a', opened, { lost_at: log.now, cause: 'connection_lost', detail: '' });
      opened = null;
    } else if (isTurned) {
      opened = `a${++n}`;
      log.open(opened, 'a', [{ layers: ['candles'], symbols: null }]);
    }
    // The live socket sends, once, what became known this second.
    const known = trades.filter((at) => at + world.lag <= log.now).length;
    const changed = new Set(trades.slice(published, known).map((at) => Math.floor(at / MINUTE) * MINUTE));
    for (const open of opened === null ? [] : changed) {
      log.json('frame', 'a', opened ?? '', { asked: null, bars: barsAt(world, log.now, { from: open, to: open }) });
    }
    published = known;
    if (opened !== null && draw() < 0.03) {
      log.json('response', 'a', opened, ask(world, log.now, draw), { request: 'GET https://paper/candles' });
    }
  }
  log.run(200 * SECOND, opened === null ? [] : [opened], SECOND);
  return { log, world, turns };
};

t.test('no minute that had a trade is proved empty, and a published minute is complete', (t) => {
  const found = { empty: 0, whole: 0, gaps: 0 };
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const { log, world } = write(seed, 12);
      const truth = new Map(barsAt(world, Number.POSITIVE_INFINITY, { from: START, to: log.now }));
      for (const { at, texts, figures, flags } of listRows(runTask(SPEC, log.records).outputs, 'candles')) {
        if (texts['timeframe'] !== '1m' || flags['late'] || at >= START + 12 * MINUTE) continue;
        const trades = truth.get(at) ?? 0;
        if (texts['status'] === 'missing') found.gaps += 1;
        else if (figures['volume'] !== String(trades)) {
          throw new Error(`minute ${(at - START) / MINUTE}: ${figures['volume']} of ${trades}`);
        } else if (trades === 0) found.empty += 1;
        else found.whole += 1;
      }
    }),
    { numRuns: 150, seed: 21 },
  );
  t.comment(JSON.stringify(found));
  t.ok(found.empty > 100 && found.whole > 300 && found.gaps > 50, JSON.stringify(found));
  t.end();
});

t.test('no candle contains a minute that ended while it was not collected, or was read in part (D-225)', (t) => {
  const found = { candles: 0, longer: 0, turns: 0 };
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const { log, world, turns } = write(seed, 12, 0.01);
      const truth = new Map(barsAt(world, Number.POSITIVE_INFINITY, { from: START, to: log.now }));
      const isOn = (at: number): boolean => turns.findLast((one) => one.at <= at)?.isOn ?? false;
      const { outputs } = runTask(SPEC, log.records);
      const announced = outputs.flatMap(({ live }) => live.flatMap(({ row }) => row ?? []));
      for (const { at, table, texts, figures, flags } of [...listRows(outputs), ...announced]) {
        if (table !== 'candles' || texts['status'] !== 'present' || flags['late']) continue;
        const minutes = TIMEFRAME_MINUTES[texts['timeframe'] as Timeframe];
        const name = `${texts['timeframe']} from minute ${(at - START) / MINUTE}`;
        let trades = 0;
        for (let open = at; open < at + minutes * MINUTE; open += MINUTE) {
          if (!isOn(open + MINUTE)) throw new Error(`${name} contains minute ${(open - START) / MINUTE}`);
          trades += truth.get(open) ?? 0;
        }
        if (figures['volume'] !== String(trades)) throw new Error(`${name}: ${figures['volume']} of ${trades}`);
        found.candles += 1;
        if (minutes > 1) found.longer += 1;
      }
      found.turns += turns.length - 1;
    }),
    { numRuns: 50, seed: 5 },
  );
  t.comment(JSON.stringify(found));
  t.ok(found.candles > 500 && found.longer > 100 && found.turns > 200, JSON.stringify(found));
  t.end();
});

t.test('a quiet minute after a reconnect is one without trades when an answer that covers it lacks it', (t) => {
  const log = new TestLog();
  log.json('capability', 'collector', 'c1', {
    name: 'Paper',
    layers: { candles: { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: null } },
  });
  log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
  log.run(90 * SECOND, [], SECOND, null);
  log.open('a1', 'a', [{ layers: ['candles'], symbols: null }]);
  log.run(5 * SECOND, ['a1'], SECOND);
  const answer = (asked: Omit<CoveredMinutes, 'symbols' | 'price_type' | 'limit'>, bars: readonly Bar[]): void => {
    const limit = 3;
    const body = { asked: { symbols: ['LIN'], price_type: 'trade', ...asked, limit }, bars };
    log.json('response', 'a', 'a1', body, { request: 'GET https://paper/candles' });
  };
  answer({ from: START, to: START + MINUTE }, []);
  log.run(30 * SECOND, ['a1'], SECOND);
  // Too early for the second minute; the last row of the next answer is whole.
  answer({ from: START + MINUTE, to: START + 2 * MINUTE }, []);
  log.run(70 * SECOND, ['a1'], SECOND);
  answer({ from: START + MINUTE, to: START + 2 * MINUTE }, [[START + 2 * MINUTE, 4]]);
  log.run(250 * SECOND, ['a1'], SECOND);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'candles').filter((r) => r.texts['timeframe'] === '1m');
  t.same(
    rows.slice(0, 4).map((r) => [(r.at - START) / MINUTE, r.texts['status'], r.figures['volume'] ?? null]),
    [
      [0, 'present', '0'],
      [1, 'present', '0'],
      [2, 'present', '4'],
      [3, 'missing', null],
    ],
  );
  t.end();
});

/** A log whose candles are served from 22 s into the third minute on. */
const openLate = (): TestLog => {
  const log = new TestLog();
  turn(log, true);
  log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
  log.run(3 * MINUTE + 20 * SECOND, [], SECOND, null);
  log.open('a1', 'a', [{ layers: ['candles'], symbols: null }]);
  log.run(2 * SECOND, ['a1'], SECOND);
  return log;
};

t.test('an answer covers what was asked for; one that was cut, what lies between its minutes (H-12)', (t) => {
  const told: string[] = [];
  /** Of the minutes 1 to 3 after an answer that comes 22 s into the third, in time for the first: `-` a gap, `0` empty, else its trades. */
  const covered = (asked: Pick<CoveredMinutes, 'from' | 'to' | 'limit'> | null, ...bars: readonly Bar[]): string => {
    const log = openLate();
    const about = asked === null ? null : { symbols: ['LIN'], price_type: 'trade', ...asked };
    log.json('response', 'a', 'a1', { asked: about, bars }, { request: 'GET https://paper/candles' });
    const answered = log.records.length - 1;
    log.run(270 * SECOND, ['a1'], SECOND);
    const { outputs } = runTask(SPEC, log.records);
    for (const { row } of outputs[answered]?.live ?? [])
      if (row?.texts['timeframe'] === '1m') told.push(`${(row.at - START) / MINUTE}: ${row.figures['volume']}`);
    return listRows(outputs, 'candles')
      .filter(({ texts, flags }) => texts['timeframe'] === '1m' && !flags['late'])
      .slice(1, 4)
      .map(({ texts, figures }) => (texts['status'] === 'missing' ? '-' : (figures['volume'] ?? '?')))
      .join(' ');
  };
  const at = (n: number): number => START + n * MINUTE;
  const [whole, newest] = [
    { from: at(1), to: at(2), limit: 9 },
    { from: null, to: null },
  ];
  t.equal(covered(whole), '0 0 -');
  t.same(told.splice(0), ['1: 0', '2: 0'], 'told before they are sealed (H-16k)');
  t.equal(covered(whole, [at(1), 4]), '4 0 -');
  t.equal(covered({ ...whole, from: at(2) }), '- 0 -');
  t.equal(covered({ ...whole, to: at(1) }), '0 - -');
  t.equal(covered({ ...whole, to: at(9) }), '0 0 -', 'the third runs');
  t.equal(covered({ ...whole, to: null }, [at(1), 4]), '4 0 -');
  t.equal(covered({ ...whole, from: at(0), limit: 2 }, [at(2), 4], [at(3), 1]), '- 4 -', 'cut before its oldest');
  t.equal(covered({ ...whole, from: at(0), limit: 3 }, [at(2), 4], [at(3), 1]), '0 4 -', 'not cut');
  t.equal(covered({ ...whole, from: at(0), limit: 2 }, [at(0), 1], [at(1), 4]), '4 - -', 'cut after its newest');
  t.equal(covered({ ...newest, limit: 2 }, [at(0), 1], [at(1), 4]), '4 0 -', 'the newest reach to the end');
  t.equal(covered({ ...newest, limit: 9 }, [at(1), 4]), '4 0 -');
  t.equal(covered({ ...newest, limit: 9 }), '- - -', 'without a minute nobody knows since when');
  t.equal(covered({ ...newest, from: at(1), limit: 2 }, [at(0), 1], [at(1), 4]), '4 - -');
  t.equal(covered(null, [at(1), 4]), '4 - -');
  t.equal(covered(null, [at(1), 4], [at(3), 1]), '4 0 -', 'what was asked for is not known');
  t.end();
});

t.test('an answer with a minute that cannot be read proves none empty, and its other minutes are recorded', (t) => {
  const at = (n: number): number => START + n * MINUTE;
  for (const [odd, expected] of [
    [{}, '4 0 -'],
    [{ odd: true }, '4 - -'],
  ] as const) {
    const log = openLate();
    const asked = { symbols: ['LIN'], price_type: 'trade', from: at(1), to: at(2), limit: 9 };
    log.json('response', 'a', 'a1', { asked, bars: [[at(1), 4]], ...odd }, { request: 'GET https://paper/candles' });
    log.run(200 * SECOND, ['a1'], SECOND);
    const rows = listRows(runTask(SPEC, log.records).outputs, 'candles').filter((r) => r.texts['timeframe'] === '1m');
    t.equal(
      rows
        .slice(1, 4)
        .map(({ texts, figures }) => (texts['status'] === 'missing' ? '-' : figures['volume']))
        .join(' '),
      expected,
    );
  }
  t.end();
});

t.test(
  'the minute that runs at its receipt is no record of an answer, as far as the clock of the collector may be off',
  (t) => {
    const recorded = (seconds: number, ...opens: readonly number[]): readonly number[] => {
      const log = new TestLog();
      turn(log, true);
      log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
      log.open('a1', 'a', [{ layers: ['candles'], symbols: null }]);
      log.run(START + seconds * SECOND - log.now, ['a1'], SECOND);
      const bars = opens.map((open): Bar => [START + open * MINUTE, 1]);
      log.json('response', 'a', 'a1', { asked: null, bars }, { request: 'GET https://paper/candles' });
      return runTask(SPEC, log.records).outputs.flatMap(({ md }) =>
        md.flatMap((one) =>
          one.layer === 'candle' ? ((one.values as CandleRecord['values']).open_time - START) / MINUTE : [],
        ),
      );
    };
    t.same(recorded(100, 0, 1), [0]);
    t.same(recorded(124, 0, 1), [0], 'by another clock it may run still');
    t.same(recorded(125, 0, 1), [0, 1]);
    t.same(recorded(124, 1, 2), [1], 'a newer one follows it');
    t.end();
  },
);

t.test(
  'after the first answer of a connection, proofs continue from the last minute that it leaves open (H-12)',
  (t) => {
    const at = (n: number): number => START + n * MINUTE;
    /** Of the minutes 1 to 4: a connection opened so many seconds after the start, an answer 25 s into the third, then the frame of the fifth. */
    const proved = (opened: number, [from, to]: readonly [number, number], ...opens: readonly number[]): string => {
      const log = new TestLog();
      turn(log, true);
      log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
      log.run(START + opened * SECOND - log.now, [], SECOND, null);
      log.open('a1', 'a', [{ layers: ['candles'], symbols: null }]);
      log.run(at(3) + 25 * SECOND - log.now, ['a1'], SECOND);
      const about = { symbols: ['LIN'], price_type: 'trade', from: at(from), to: at(to), limit: 9 };
      const bars = opens.map((open): Bar => [at(open), 1]);
      log.json('response', 'a', 'a1', { asked: about, bars }, { request: 'GET https://paper/candles' });
      log.run(at(5) + 10 * SECOND - log.now, ['a1'], SECOND);
      log.json('frame', 'a', 'a1', { asked: null, bars: [[at(5), 1]] });
      log.run(240 * SECOND, ['a1'], SECOND);
      return listRows(runTask(SPEC, log.records).outputs, 'candles')
        .filter(({ texts, flags }) => texts['timeframe'] === '1m' && !flags['late'])
        .slice(1, 5)
        .map(({ texts, figures }) => (texts['status'] === 'missing' ? '-' : (figures['volume'] ?? '?')))
        .join(' ');
    };
    t.equal(proved(200, [1, 2]), '0 0 - 0', 'the third began before the connection');
    t.equal(proved(200, [1, 3]), '0 0 - 0', 'and ran at the answer');
    t.equal(proved(200, [1, 2], 1), '1 0 - 0');
    t.equal(proved(181, [1, 2]), '0 0 - 0');
    t.equal(proved(179, [1, 2]), '0 0 0 0', 'read from its beginning on');
    t.equal(proved(10, [1, 2]), '0 0 0 0');
    t.equal(proved(10, [1, 2], 2), '0 1 0 0');
    t.end();
  },
);

t.test('proofs reach across no stretch in which candles were off, with an answer behind it either (D-225)', (t) => {
  const at = (n: number): number => START + n * MINUTE;
  /** Of the minutes 1 to 4: off for ten seconds within the third, or from within the second, then an answer, and the frame of the fifth. */
  const proved = (off: number, to: number): string => {
    const log = new TestLog();
    const reach = (instant: number): void => log.run(instant - log.now, ['a1'], SECOND);
    turn(log, true);
    log.json('response', 'reference', 'r', {}, { request: 'GET https://paper/listings' });
    log.open('a1', 'a', [{ layers: ['candles'], symbols: null }]);
    reach(off - 5 * SECOND);
    log.json('frame', 'a', 'a1', { asked: null, bars: [[Math.floor(off / MINUTE) * MINUTE, 1]] });
    reach(off);
    turn(log, false);
    reach(at(3) + 20 * SECOND);
    turn(log, true);
    reach(at(3) + 25 * SECOND);
    const asked = { symbols: ['LIN'], price_type: 'trade', from: at(1), to, limit: 9 };
    log.json('response', 'a', 'a1', { asked, bars: [] }, { request: 'GET https://paper/candles' });
    reach(at(5) + 10 * SECOND);
    log.json('frame', 'a', 'a1', { asked: null, bars: [[at(5), 1]] });
    log.run(240 * SECOND, ['a1'], SECOND);
    const rows = listRows(runTask(SPEC, log.records).outputs, 'candles').filter(
      ({ texts, flags }) => texts['timeframe'] === '1m' && !flags['late'],
    );
    return [1, 2, 3, 4]
      .map((n) => rows.find((row) => row.at === at(n)))
      .map((row) => (row?.texts['status'] === 'missing' ? '-' : (row?.figures['volume'] ?? 'none')))
      .join(' ');
  };
  t.equal(proved(at(3) + 10 * SECOND, at(3)), '0 0 - 0', 'the frame from before may be a part of the minute');
  t.equal(proved(at(2) + 10 * SECOND, at(2)), '0 none - 0', 'what came before the answer was not read');
  t.end();
});
