// Candles of the task: what a minute keeps, proved empty minutes, gaps, exact roll-ups.
import { Decimal } from 'decimal.js';
import t from 'tap';
import { formatListingId } from '../../../schemas/tables.ts';
import type { Row } from '../../../schemas/topics.ts';
import { begin, COVERS, listCandles, reach, SPEC, toMinute } from '../../support/tasks/minute-logs.ts';
import { listRows, runTask, SECOND, START, type TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, BAR, type Bar, kline, MINUTE, reference } from '../../support/tasks/task-logs.ts';

t.test('a closed minute is a row with the venue digits; an open one is nothing', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0, { ...BAR, c: '105.10' });
  kline(log, 1, BAR, { closed: false });
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  const [first, second] = listCandles(log);
  t.same(first?.figures, { open: '100', high: '110', low: '90', close: '105.1', volume: '2.5', turnover: '250.1' });
  t.equal(first?.integers['trades'], 7);
  t.same([second?.texts['status'], second?.texts['gap_cause']], ['missing', 'no_update']);
  for (const [n, row] of [first, second].entries()) {
    t.equal(row?.instants['close_time'], START + (n + 1) * MINUTE);
    t.match(row?.integers, { minutes_expected: 1, minutes_present: 1 - n, minutes_no_trades: 0 });
  }
  t.end();
});

t.test('minutes that an unbroken connection left out are proved empty, those across a loss are gaps (H-12)', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  reach(log, 2);
  kline(log, 2);
  log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(2 * MINUTE, [], 2 * SECOND);
  log.json('open', 'market', 'k2', { opened_at: log.now, url: 'wss://test', covers: COVERS });
  kline(log, 4, BAR, { connId: 'k2' });
  log.run(230 * SECOND, ['k2'], 2 * SECOND);
  const rows = listCandles(log).slice(0, 5);
  t.same(
    rows.map((r) => [toMinute(r), r.texts['status'], r.texts['gap_cause'] ?? null, r.figures['volume'] ?? null]),
    [
      [0, 'present', null, '2.5'],
      [1, 'present', null, '0'],
      [2, 'present', null, '2.5'],
      [3, 'missing', 'venue_down', null],
      [4, 'present', null, '2.5'],
    ],
  );
  t.equal(rows[1]?.texts['null_reasons'], '{"open":"no_value","high":"no_value","low":"no_value","close":"no_value"}');
  t.same(rows[1]?.integers, {
    minutes_expected: 1,
    minutes_present: 0,
    minutes_no_trades: 1,
    src_offset: rows[1]?.integers['src_offset'],
  });
  t.end();
});

t.test(
  'a candle that cannot be a minute is a dead letter; it proves and delays nothing, and no minute that it may be of is proved empty',
  (t) => {
    const log = begin();
    reach(log, 0);
    kline(log, 0);
    // Minutes to a stamp decades ahead would be proved one by one.
    for (const impossible of [70 * 525_600, 3, 0.5]) kline(log, impossible);
    for (const minute of [2, 4]) {
      reach(log, minute);
      kline(log, minute);
    }
    log.run(230 * SECOND, ['k1'], 2 * SECOND);
    const { outputs, task } = runTask(SPEC, log.records);
    t.same(
      outputs.flatMap((out) => out.deadLetters.map(({ code }) => code)),
      ['VENUE_BAD_FRAME', 'VENUE_BAD_FRAME', 'VENUE_BAD_FRAME'],
    );
    t.same(
      listCandles(log)
        .slice(0, 5)
        .map((row) => [toMinute(row), row.texts['gap_cause'] ?? row.figures['volume']]),
      [
        [0, '2.5'],
        [1, 'parse_error'],
        [2, '2.5'],
        [3, '0'],
        [4, '2.5'],
      ],
    );
    t.same(task.state.listings.get('BTCUSDT')?.candles.trade?.minutes, {}, 'nothing is kept for it');
    t.end();
  },
);

t.test(
  'of several counting records the last in the log wins; one recorded 100 s after the close is late (H-13, N-11)',
  (t) => {
    const log = begin();
    reach(log, 0);
    kline(log, 0);
    kline(log, 0, { ...BAR, c: '106' });
    log.run(120 * SECOND, ['k1'], 2 * SECOND);
    kline(log, 0, { ...BAR, c: '107' });
    log.run(60 * SECOND, ['k1'], 2 * SECOND);
    const rows = listCandles(log).filter((r) => toMinute(r) === 0);
    t.same(
      rows.map((r) => [r.figures['close'], r.flags['late']]),
      [
        ['106', false],
        ['107', true],
      ],
    );
    t.end();
  },
);

t.test(
  'longer candles are exact and exist only when every base minute does, for every timeframe of an hour and below',
  (t) => {
    for (const missing of [null, 0, 7, 59]) {
      const log = begin();
      const bars: (Bar | null)[] = [];
      for (let m = 0; m < 60; m++) {
        reach(log, m);
        const bar = {
          o: `${100 + (m % 7)}.1`,
          h: `${120 + (m % 11)}.25`,
          l: `${80 - (m % 5)}.5`,
          c: `${101 + (m % 3)}`,
          v: `0.${1000001 + m}`,
        };
        const isMissing = m === missing;
        // A gap, not a proved empty minute: the connection breaks around it.
        if (isMissing) log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
        const after = missing !== null && m >= missing;
        if (after) log.json('open', 'market', `n${m}`, { opened_at: log.now, url: 'wss://test', covers: COVERS });
        if (!isMissing) kline(log, m, bar, after ? { connId: `n${m}` } : {});
        bars.push(isMissing ? null : bar);
      }
      log.run(230 * SECOND, ['k1'], 2 * SECOND);
      for (const [timeframe, n] of [
        ['2m', 2],
        ['3m', 3],
        ['5m', 5],
        ['15m', 15],
        ['30m', 30],
        ['1h', 60],
      ] as const) {
        for (const row of listCandles(log, timeframe).filter((r) => toMinute(r) < 60)) {
          const part = bars.slice(toMinute(row), toMinute(row) + n);
          const whole = part.filter((b) => b !== null);
          const label = `${timeframe} at minute ${toMinute(row)}, missing ${missing}`;
          if (whole.length < n) {
            t.same([row.texts['status'], row.figures], ['missing', {}], label);
            t.equal(row.integers['minutes_present'], whole.length, label);
            continue;
          }
          const { volume, open, high, low, close } = row.figures;
          t.equal(
            volume,
            Decimal.sum(...whole.map((b) => b.v))
              .toFixed()
              .replace(/\.?0+$/, ''),
            label,
          );
          t.same(
            { open, high, low, close },
            {
              open: whole[0]?.o,
              high: Decimal.max(...whole.map((b) => b.h)).toString(),
              low: Decimal.min(...whole.map((b) => b.l)).toString(),
              close: whole.at(-1)?.c,
            },
            label,
          );
        }
      }
      t.equal(listCandles(log, '1h').filter((r) => toMinute(r) === 0).length, 1);
    }
    t.end();
  },
);

t.test(
  'before the seal, minutes and the longer candles that are whole with them are announced as they will be sealed',
  (t) => {
    const log = begin();
    for (let minute = 0; minute < 7; minute++) {
      reach(log, minute);
      // The second minute has no trades.
      if (minute !== 1) kline(log, minute, { ...BAR, c: `${100 + minute}`, v: '0.1' });
    }
    log.run(230 * SECOND, ['k1'], 2 * SECOND);
    const { outputs } = runTask(SPEC, log.records);
    const findCandle = (kind: 'provisional' | 'sealed') => {
      const rows = new Map<string, Row>();
      for (const { live } of outputs) {
        for (const { kind: of, row } of live) {
          if (of !== kind || row?.table !== 'candles' || row.texts['price_type'] !== 'trade') continue;
          rows.set(`${row.texts['timeframe']} ${toMinute(row)}`, row);
        }
      }
      return rows;
    };
    const [announced, sealed] = [findCandle('provisional'), findCandle('sealed')];
    t.same(
      [...announced.keys()],
      ['1m 0', '1m 1', '2m 0', '3m 0', '1m 2', '1m 3', '2m 2', '1m 4', '5m 0', '1m 5', '2m 4', '3m 3', '1m 6'],
    );
    for (const [key, { figures, texts, integers }] of announced) {
      const final = sealed.get(key);
      t.same(figures, final?.figures, key);
      t.same(texts, final?.texts, key);
      t.same({ ...integers, src_offset: 0 }, { ...final?.integers, src_offset: 0 }, key);
    }
    t.end();
  },
);

/** An answer about minutes, oldest first, received `afterMs` after the last of them began. */
const answer = (log: TestLog, connId: string, minutes: readonly (readonly [number, Bar])[], path = 'klines'): void => {
  const rows = minutes.map(([minute, { o, h, l, c, v }]) => {
    const openMs = (START + minute * MINUTE) / 1000;
    return [openMs, o, h, l, c, v, openMs + 59_999, '250.1', 7, '1', '1', '0'];
  });
  const query = path === 'indexPriceKlines' ? 'pair=BTCUSDT' : 'symbol=BTCUSDT';
  const request = `GET https://fapi.binance.com/fapi/v1/${path}?${query}&interval=1m&limit=3`;
  log.json('response', 'market', connId, rows, { request });
};

const summarise = (rows: readonly Row[]) =>
  rows.map((r) => [toMinute(r), r.texts['status'], r.texts['gap_cause'] ?? r.figures['close'], r.flags['late']]);

t.test('an answer fills the minutes before a connection, and the minute that runs is none of them (H-12)', (t) => {
  const log = begin();
  log.run(2 * MINUTE + 20 * SECOND, ['k1'], 2 * SECOND);
  answer(log, 'k1', [
    [0, { ...BAR, c: '101' }],
    [1, { ...BAR, c: '102' }],
    [2, { ...BAR, c: '103' }],
  ]);
  reach(log, 2);
  kline(log, 2, { ...BAR, c: '104' });
  reach(log, 3);
  kline(log, 3);
  // Candles of a second request come after newer minutes, and are still whole.
  answer(log, 'k1', [[2, { ...BAR, c: '104' }]]);
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  t.same(summarise(listCandles(log).slice(0, 4)), [
    [0, 'present', '101', false],
    [1, 'present', '102', false],
    [2, 'present', '104', false],
    [3, 'present', '105', false],
  ]);
  t.end();
});

t.test('a minute whose frame was lost is not made of what ran when an answer came', (t) => {
  const log = begin();
  log.run(80 * SECOND, ['k1'], 2 * SECOND);
  answer(log, 'k1', [
    [0, BAR],
    [1, { ...BAR, c: '99' }],
  ]);
  log.run(310 * SECOND, ['k1'], 2 * SECOND);
  t.same(summarise(listCandles(log).slice(0, 2)), [
    [0, 'present', '105', false],
    [1, 'missing', 'no_update', false],
  ]);
  t.end();
});

t.test('a minute that an answer may have in part never replaces the whole one', (t) => {
  const log = begin();
  reach(log, 0);
  kline(log, 0);
  log.run(6 * SECOND, ['k1'], SECOND);
  answer(log, 'k1', [[0, { ...BAR, c: '99' }]]);
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  t.same(summarise(listCandles(log).slice(0, 1)), [[0, 'present', '105', false]]);
  t.end();
});

t.test('a newer minute proves an empty one when it is recorded in time, to the millisecond (H-12, N-11)', (t) => {
  for (const [afterUs, status] of [
    [100 * SECOND, 'present'],
    [100 * SECOND + 1_000, 'missing'],
  ] as const) {
    const log = begin();
    reach(log, 0);
    kline(log, 0);
    log.run(START + 219 * SECOND - log.now, ['k1'], SECOND);
    kline(log, 2, BAR, { recordedAt: START + 2 * MINUTE + afterUs });
    log.run(120 * SECOND, ['k1'], 2 * SECOND);
    t.same(
      listCandles(log)
        .slice(0, 3)
        .map((row) => row.texts['status']),
      ['present', status, 'present'],
      `${afterUs} us after its end`,
    );
  }
  t.end();
});

t.test('overlapping polls publish each minute, and each correction, once; a correction is late (H-13)', (t) => {
  const log = begin();
  log.json('open', 'prices', 'p1', {
    opened_at: log.now,
    url: 'https://test',
    covers: [{ layers: ['price_candles'], symbols: null }],
  });
  const bar = (minute: number): readonly [number, Bar] => [minute, { ...BAR, c: String(100 + minute) }];
  const connections = ['k1', 'p1'];
  log.run(140 * SECOND, connections, 2 * SECOND);
  answer(log, 'p1', [bar(0), bar(1), bar(2)], 'markPriceKlines');
  log.run(75 * SECOND, connections, 2 * SECOND);
  answer(log, 'p1', [bar(1), bar(2), bar(3)], 'markPriceKlines');
  log.run(45 * SECOND, connections, 2 * SECOND);
  answer(log, 'p1', [bar(2), bar(3), bar(4)], 'markPriceKlines');
  log.run(30 * SECOND, connections, 2 * SECOND);
  answer(log, 'p1', [bar(2), bar(3), bar(4)], 'markPriceKlines');
  for (const close of ['1', '1', '102', '102'])
    answer(log, 'p1', [[2, { ...BAR, c: close }], bar(3)], 'markPriceKlines');
  log.run(150 * SECOND, connections, 2 * SECOND);
  t.same(summarise(listCandles(log, '1m', 'mark')).slice(0, 6), [
    [0, 'present', '100', false],
    [1, 'present', '101', false],
    [2, 'present', '102', false],
    [2, 'present', '1', true],
    [2, 'present', '102', true],
    [3, 'present', '103', false],
  ]);
  t.end();
});

t.test('a refusal after the end of a minute explains its candle of mark prices, not that of trades', (t) => {
  const log = begin();
  const covers = [{ layers: ['price_candles'], symbols: null }];
  log.json('open', 'prices', 'p1', { opened_at: log.now, url: 'https://test', covers });
  log.run(70 * SECOND, ['k1', 'p1'], 2 * SECOND);
  log.json('lost', 'prices', 'p1', { lost_at: log.now, cause: 'venue_rate_limit', detail: '' });
  log.run(230 * SECOND, ['k1'], 2 * SECOND);
  t.equal(listCandles(log, '1m', 'mark')[0]?.texts['gap_cause'], 'venue_rate_limit');
  t.equal(listCandles(log)[0]?.texts['gap_cause'], 'no_update');
  t.end();
});

t.test(
  'after hours of silence minutes are sealed over several records, and no watermark vouches for them before',
  (t) => {
    const log = begin();
    log.now = START + 5 * 60 * MINUTE;
    for (let i = 0; i < 8; i++) {
      log.now += 250_000;
      log.tick(['k1']);
    }
    const { outputs } = runTask(SPEC, log.records);
    const sealed = outputs.map((o) => listRows([o], 'candles').filter((row) => row.texts['timeframe'] === '1m').length);
    t.ok(Math.max(...sealed) <= 180, 'an hour of three price types a record');
    const last = sealed.findLastIndex((rows) => rows > 0);
    const sealedBy = outputs.findIndex((o) => o.watermark !== null && o.watermark > START + MINUTE);
    t.ok(sealedBy >= last, `sealed by record ${last}, W published at ${sealedBy}`);
    const opens = listCandles(log).map(toMinute);
    t.same(
      opens,
      Array.from({ length: opens.length }, (_, i) => i),
      'every minute once',
    );
    t.equal(opens.length, 298);
    t.end();
  },
);

t.test(
  'a minute that another connection, or the time before a break, left open is not whole by the next one (H-12)',
  (t) => {
    const flagless: typeof allLayers = {
      ...allLayers,
      map: (state, message, context) =>
        allLayers.map(state, message, context).map((mapped) => {
          const { record } = mapped;
          if (record.layer !== 'candle') return mapped;
          return { ...mapped, record: { ...record, values: { ...record.values, closed: null } } };
        }),
    };
    const statusOf = (write: (log: TestLog) => void): string | undefined => {
      const log = begin();
      log.run(30 * SECOND, ['k1'], SECOND);
      kline(log, 0);
      write(log);
      log.run(START + 65 * SECOND - log.now, ['k1'], SECOND);
      kline(log, 1);
      log.run(240 * SECOND, ['k1'], SECOND);
      const rows = listRows(runTask({ ...SPEC, venue: flagless }, log.records).outputs, 'candles');
      return rows.find(
        ({ at, texts }) => at === START && texts['timeframe'] === '1m' && texts['price_type'] === 'trade',
      )?.texts['status'];
    };
    t.equal(
      statusOf(() => undefined),
      'present',
      'its own next minute closes it',
    );
    const another = (log: TestLog): void => {
      log.open('k2', 'market', COVERS);
      log.run(20 * SECOND, ['k1', 'k2'], SECOND);
      kline(log, 0, { ...BAR, c: '106' }, { connId: 'k2' });
      log.json('lost', 'market', 'k2', { lost_at: log.now, cause: 'connection_lost', detail: '' });
    };
    t.equal(statusOf(another), 'missing', 'what another one told last may be a part');
    const broken = (log: TestLog): void => {
      log.run(10 * SECOND, [], SECOND, 'c2');
      const back = log.now;
      log.tick(['k1']);
      log.now = back - 5 * SECOND;
      kline(log, 0, { ...BAR, c: '106' }, { recordedAt: back + 2_000 });
      log.now = back + 2_000;
    };
    t.equal(statusOf(broken), 'missing', 'so may what it told before it was out');
    t.end();
  },
);

/** The minutes of trades of BTCUSDT: their status, without trades or not, or the cause of their gap. */
const findMinutes = (log: TestLog): readonly string[] =>
  listRows(runTask(SPEC, log.records).outputs, 'candles')
    .filter(({ texts }) => texts['timeframe'] === '1m' && texts['price_type'] === 'trade')
    .filter(({ texts }) => texts['listing'] === formatListingId('binance', 'BTCUSDT'))
    .map(({ texts, integers }) => texts['gap_cause'] ?? (integers['minutes_no_trades'] === 1 ? 'empty' : 'traded'));

t.test('the minute before a candle is proved empty by it however long the connection was silent before (H-12)', (t) => {
  for (const silent of [1, 2, 3, 4, 8]) {
    const log = begin();
    log.open('k1', 'market', COVERS);
    log.run(MINUTE + SECOND, ['k1']);
    kline(log, 0);
    log.run((silent + 1) * MINUTE, ['k1'], SECOND);
    kline(log, silent + 1);
    log.run(110 * SECOND, ['k1'], SECOND);
    const expected = ['traded', ...Array.from({ length: silent - 1 }, () => 'no_update'), 'empty', 'traded'];
    t.same(findMinutes(log), expected, `silent for ${silent} minutes`);
  }
  t.end();
});

t.test('a listing that ends explains nothing of the minutes before, and has none after (L-08, H-07)', (t) => {
  const ended = (afterUs: number): readonly string[] => {
    const log = begin();
    log.open('k1', 'market', COVERS);
    log.run(MINUTE + SECOND, ['k1']);
    kline(log, 0);
    log.run(START + afterUs - log.now, ['k1']);
    reference(log, ['ETHUSDT']);
    log.run(5 * MINUTE, ['k1']);
    return findMinutes(log);
  };
  t.same(ended(2 * MINUTE + 31 * SECOND), ['traded', 'no_update', 'not_listed']);
  t.same(ended(2 * MINUTE + 1), ['traded', 'no_update', 'not_listed']);
  t.same(
    ended(2 * MINUTE),
    ['traded', 'no_update'],
    'on the minute, as deliveries are: it was listed in all of the one before',
  );
  t.same(ended(2 * MINUTE - 1), ['traded', 'not_listed']);
  t.end();
});

t.test(
  'a longer candle is told before its seal once each of its minutes is known, in whatever order they come (H-16k)',
  (t) => {
    const log = begin();
    log.open('p1', 'prices', COVERS);
    log.run(2 * MINUTE + SECOND, ['k1', 'p1'], SECOND);
    kline(log, 1);
    log.run(10 * SECOND, ['k1', 'p1'], SECOND);
    answer(log, 'p1', [[0, BAR]]);
    const told = runTask(SPEC, log.records).outputs.map(({ live }) =>
      live.flatMap(({ kind, row }) =>
        kind === 'provisional' && row?.table === 'candles' ? row.texts['timeframe'] : [],
      ),
    );
    t.same(
      told.filter(({ length }) => length > 0),
      [['1m'], ['1m', '2m']],
    );
    t.end();
  },
);

t.test('what a connection has told last is kept for as long as it is alive', (t) => {
  const listSpans = (isLost: boolean): readonly string[] => {
    const log = begin();
    log.open('p1', 'prices', COVERS);
    log.run(MINUTE + SECOND, ['k1', 'p1'], SECOND);
    kline(log, 0, BAR, { connId: 'p1' });
    if (isLost) log.json('lost', 'prices', 'p1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
    log.run(6 * MINUTE, isLost ? ['k1'] : ['k1', 'p1'], SECOND);
    const { state } = runTask(SPEC, log.records).task;
    return Object.keys(state.listings.get('BTCUSDT')?.candles.trade?.newest ?? {});
  };
  t.same(listSpans(false), [`p1@${START}`]);
  t.same(listSpans(true), []);
  t.end();
});
