// What md.* carries besides readings: what was missed, running minutes, and which raw record a book is of (records.md, design section 5).
import t from 'tap';
import { runTask, SECOND, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers, BAR, diff, kline, MINUTE, mark, reference, snapshot } from '../../support/tasks/task-logs.ts';

const SPEC = { venue: allLayers, partition: 0, shards: 1 };
const COVERS = [
  { layers: ['price_candles', 'candles', 'liquidation', 'trades'], symbols: null },
  { layers: ['book', 'mark', 'ticker'], symbols: ['BTCUSDT'] },
];

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(allLayers);
  reference(log, ['BTCUSDT']);
  log.open('k1', 'market', COVERS);
  return log;
};

t.test('a lost connection is one record with the layers that it brought, in their order', (t) => {
  const log = begin();
  mark(log, '100', { connId: 'k1' });
  log.now += SECOND;
  const lost = { lost_at: log.now, cause: 'venue_maintenance', detail: 'closed' };
  const { offset } = log.json('lost', 'market', 'k1', lost);
  log.json('lost', 'market', 'k1', lost);
  log.json('lost', 'market', 'k9', lost);
  const { outputs } = runTask(SPEC, log.records);
  const gaps = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'gap'));
  t.match(gaps, [
    {
      venue: 'binance',
      venue_symbol: null,
      venue_ts: null,
      received_at: log.now,
      conn_id: 'k1',
      src: { partition: 0, offset },
      values: {
        scope: 'connection',
        cause: 'venue_maintenance',
        of: ['ticker', 'mark', 'book', 'trade', 'liquidation', 'candle'],
      },
    },
  ]);
  t.equal(gaps.length, 1, 'neither a repeat nor a connection that never opened is another');
  t.end();
});

t.test('a crossed book is one record, so that no reader of md.book takes the one before for current', (t) => {
  const log = begin();
  snapshot(log, 10);
  const change = (id: number, levels: Parameters<typeof diff>[2]) => {
    log.now += SECOND;
    return diff(log, { U: id, u: id, pu: id - 1 }, levels);
  };
  const crossed = change(11, { b: [['100.5', '1']] });
  change(12, { a: [['100.9', '1']] });
  change(13, { b: [['100.5', '0']] });
  log.now += 10_000;
  const again = diff(log, { U: 14, u: 14, pu: 13 }, { b: [['100.5', '1']] });
  log.run(SECOND, ['k1']);
  const { outputs } = runTask(SPEC, log.records);
  const told = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'book' || layer === 'gap'));
  const values = { scope: 'symbol', cause: 'crossed_book', of: ['book'] };
  t.match(told, [
    { layer: 'book' },
    { layer: 'gap', venue_symbol: 'BTCUSDT', conn_id: 'k1', src: { offset: crossed.offset }, values },
    { layer: 'book' },
    { layer: 'gap', src: { offset: again.offset }, recorded_at: again.timestampMs * 1_000, values },
  ]);
  t.equal(told.length, 4);
  t.end();
});

t.test('a book that is published later names the record of its last change', (t) => {
  const log = begin();
  snapshot(log, 10);
  log.now += SECOND + 20_000;
  const first = diff(log, { U: 11, u: 11, pu: 10 }, { b: [['99.1', '1']], a: [] });
  log.now += 20_000;
  const last = diff(log, { U: 12, u: 12, pu: 11 }, { b: [['99.1', '2']], a: [] });
  log.now += SECOND;
  log.tick(['k1']);
  const { outputs } = runTask(SPEC, log.records);
  const books = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'book'));
  const named = books.map(({ src, recorded_at }) => [src.offset, recorded_at]);
  for (const record of [first, last])
    t.ok(
      named.some(([offset, at]) => offset === record.offset && at === record.timestampMs * 1_000),
      `${record.offset} is among ${JSON.stringify(named)}`,
    );
  t.notOk(
    named.some(([offset = -1]) => offset > last.offset),
    'none is of the tick that published it',
  );
  t.end();
});

t.test('so does a book that turns out to be crossed as it is published later', (t) => {
  const log = begin();
  snapshot(log, 10);
  log.now += SECOND + 20_000;
  diff(log, { U: 11, u: 11, pu: 10 }, { b: [['99.1', '1']] });
  log.now += 20_000;
  const crossed = diff(log, { U: 12, u: 12, pu: 11 }, { b: [['100.5', '1']] });
  log.now += SECOND;
  log.tick(['k1']);
  const gaps = runTask(SPEC, log.records).outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'gap'));
  t.match(gaps, [{ src: { offset: crossed.offset }, recorded_at: crossed.timestampMs * 1_000 }]);
  t.equal(gaps.length, 1);
  t.end();
});

t.test('a running minute is in md.candle with its flag, and nowhere else', (t) => {
  const log = begin();
  log.now += SECOND;
  kline(log, 0, { ...BAR, c: '101' }, { closed: false });
  log.now += SECOND;
  kline(log, 0, { ...BAR, c: '102' }, { closed: false });
  const { outputs } = runTask(SPEC, log.records);
  const candles = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'candle'));
  t.match(
    candles.map(({ values }) => values),
    [
      { close: '101', closed: false },
      { close: '102', closed: false },
    ],
  );
  t.notOk(outputs.some(({ live }) => live.some(({ row }) => row?.table === 'candles')));
  t.end();
});

t.test('a running minute never comes behind the whole one, and is not published late', (t) => {
  const log = begin();
  log.now += MINUTE;
  kline(log, 0, { ...BAR, c: '103' }, { closed: true });
  kline(log, 0, { ...BAR, c: '101' }, { closed: false });
  log.now += MINUTE;
  kline(log, 1, { ...BAR, c: '104' }, { closed: false, recordedAt: log.now + 400 * SECOND });
  const { outputs } = runTask(SPEC, log.records);
  const candles = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'candle'));
  t.match(
    candles.map(({ values }) => values),
    [{ close: '103', closed: true }],
  );
  t.equal(candles.length, 1);
  t.end();
});

t.test('an event without an id of the venue has none in its record (records.md)', (t) => {
  const log = begin();
  log.now += SECOND;
  const order = {
    s: 'BTCUSDT',
    S: 'SELL',
    o: 'LIMIT',
    f: 'IOC',
    q: '0.01',
    p: '99.1',
    ap: '99.2',
    X: 'FILLED',
    l: '0.01',
    z: '0.01',
  };
  const at = Math.floor(log.now / 1_000);
  log.json('frame', 'market', 'k1', { e: 'forceOrder', E: at, o: { ...order, T: at } });
  const { outputs } = runTask(SPEC, log.records);
  const events = outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'liquidation'));
  t.match(events, [{ values: { id: null, side: 'long' } }]);
  const rows = outputs.flatMap((one) => one.rows.flatMap(({ row }) => (row?.table === 'liquidations' ? [row] : [])));
  t.ok(rows[0]?.texts.id, 'its row has one of ours');
  t.end();
});
