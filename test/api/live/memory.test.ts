// The memory copy: repeats, rounds, connections, versions, watermarks (design section 5, "An API node").
import t from 'tap';
import { ConnectionBook } from '../../../api/live/connection-book.ts';
import { addVersion, findVersionAt } from '../../../api/live/listing-book.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { makeEventGapRow } from '../../../processors/task/rows.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { makeLiveEntry, type StateEntry } from '../../../schemas/topics.ts';
import { Feed, LISTED, listing, listingValues, markReading, NOW } from '../../support/apps/live-fixture.ts';

const BTC = { venue: 'okx', venueSymbol: 'BTCUSDT' };

const readMark = (memory: LiveMemory) =>
  memory.venue('okx')?.listings.get('BTCUSDT')?.readings.get('mark')?.values.mark;

t.test('drops what is not above the highest place of its partition', (t) => {
  const feed = new Feed(['okx']);
  const put = (mark: string, offset: number, index: number) =>
    feed.entry('okx', { kind: 'reading', symbol: 'BTCUSDT', reading: markReading(mark) }, { offset, index });
  put('1', 10, 0);
  put('2', 10, 1);
  put('0', 10, 1);
  put('0', 10, 0);
  put('0', 9, 5);
  t.equal(readMark(feed.memory), '2');
  put('3', 11, 0);
  t.equal(readMark(feed.memory), '3');
  t.end();
});

const toBytes = (published: Parameters<typeof makeLiveEntry>[0]): Buffer =>
  codecs.live.encode(makeLiveEntry(published));
/** The end of the span on which a reading was received. */
const findEnd = (book: ConnectionBook, connId: string, receivedAt: number): number | null =>
  book.spanOf(connId, receivedAt)?.to ?? null;
const none = { symbol: null, reading: null, span: null, listing: null, capability: null, marker: null };
const round = (offset: number, watermark: number): StateEntry[] => [
  { ...none, round: offset, kind: 'listing', symbol: 'BTCUSDT', listing: listing('okx', listingValues()) },
  { ...none, round: offset, kind: 'reading', symbol: 'BTCUSDT', reading: markReading('7') },
  { ...none, round: offset, kind: 'marker', marker: { entries: 2, watermark, live_offset: 3 } },
];

t.test('a round covers everything up to its offset', (t) => {
  const memory = new LiveMemory(['okx']);
  memory.expectPartitions('okx', [0]);
  t.notOk(memory.isReady());
  t.equal(memory.watermark('okx'), null);
  memory.applyRound('okx', 0, round(50, NOW - 60_000_000));
  t.equal(memory.watermark('okx'), NOW - 60_000_000);
  t.ok(memory.isBehind('okx', NOW));
  t.notOk(memory.isBehind('okx', NOW - 55_000_000), 'by five seconds: not by more (L-07)');
  t.ok(memory.isBehind('okx', NOW - 54_999_999));
  const entry = { recorded_at: NOW, kind: 'reading', symbol: 'BTCUSDT' } as const;
  memory.applyLive('okx', 0, toBytes({ ...entry, offset: 50, index: 9, reading: markReading('0') }));
  t.equal(readMark(memory), '7');
  memory.applyLive('okx', 0, toBytes({ ...entry, offset: 51, index: 0, reading: markReading('8') }));
  t.equal(readMark(memory), '8');
  memory.markReady('okx', 0);
  t.ok(memory.isReady());
  t.end();
});

t.test('of the stretch after a round the present is applied, and nothing kept', (t) => {
  const memory = new LiveMemory(['okx']);
  memory.observe(({ message }) => t.equal(message.offset, 54, 'observers receive later entries only'));
  memory.applyRound('okx', 0, round(50, NOW - 60_000_000));
  const entry = { recorded_at: NOW - 1_000, index: 0, symbol: 'BTCUSDT' } as const;
  const row = { table: 'mark', at: NOW, texts: {}, instants: {}, integers: {}, figures: {}, flags: {} };
  for (const bytes of [
    toBytes({ ...entry, offset: 51, kind: 'reading', reading: markReading('8') }),
    toBytes({ ...entry, offset: 52, kind: 'provisional', row }),
    toBytes({ ...entry, offset: 53, kind: 'watermark', watermark: NOW - 2_000 }),
  ])
    memory.applyTail('okx', 0, bytes);
  memory.markReady('okx', 0);
  t.equal(readMark(memory), '8');
  t.equal(memory.watermark('okx'), NOW - 2_000);
  t.equal(memory.recentFrom(BTC), NOW - 1_000, 'rows are known from the last entry on');
  t.same([...memory.recentRows('okx', 'mark', 'BTCUSDT')], []);
  memory.applyLive('okx', 0, toBytes({ ...entry, offset: 54, kind: 'provisional', row }));
  t.equal([...memory.recentRows('okx', 'mark', 'BTCUSDT')].length, 1);
  t.end();
});

t.test('rows of one instant are rows of their own: candles by price and timeframe, events by id', (t) => {
  const feed = new Feed(['okx']);
  const row = { table: 'candles', at: NOW, instants: {}, integers: {}, figures: {}, flags: {} };
  const kinds = [
    { price_type: 'trade', timeframe: '1m' },
    { price_type: 'mark', timeframe: '1m' },
    { price_type: 'trade', timeframe: '5m' },
    { id: '1' },
    { id: '2' },
  ];
  for (const texts of [...kinds, ...kinds])
    feed.entry('okx', { kind: 'sealed', symbol: 'BTCUSDT', row: { ...row, texts } });
  t.same(
    [...feed.memory.recentRows('okx', 'candles', 'BTCUSDT')].map((held) => held.row.texts),
    kinds,
  );
  t.end();
});

t.test('the watermark of a venue is that of its slowest task', (t) => {
  const feed = new Feed(['okx']);
  feed.watermark('okx', 100);
  feed.memory.expectPartitions('okx', [1]);
  t.equal(feed.memory.watermark('okx'), null, 'a task that has published nothing holds it back');
  const published = { recorded_at: NOW, offset: 1, index: 0, kind: 'watermark', watermark: 60 } as const;
  feed.memory.applyLive('okx', 1, toBytes(published));
  t.equal(feed.memory.watermark('okx'), 60);
  t.end();
});

t.test('a reading is lost with the alive span it came on', (t) => {
  const book = new ConnectionBook();
  const span = { conn_id: 'c', slot: 's', cause: null };
  book.apply({ ...span, from: 10, to: null });
  t.equal(findEnd(book, 'c', 15), null);
  book.apply({ ...span, from: 10, to: 20, cause: 'collector_down' });
  book.apply({ ...span, from: 30, to: null });
  t.equal(findEnd(book, 'c', 15), 20, 'a silent collector that came back does not bring old readings back (F-04)');
  t.equal(findEnd(book, 'c', 30), null);
  t.equal(findEnd(book, 'unknown', 1), null);
  t.end();
});

t.test('an earlier book adds the spans that are not known; what is known may have ended since', (t) => {
  const span = { slot: 's', cause: null };
  const [book, past] = [new ConnectionBook(), new ConnectionBook()];
  past.apply({ ...span, conn_id: 'gone', from: 1, to: 5 });
  past.apply({ ...span, conn_id: 'c', from: 6, to: 8 });
  past.apply({ ...span, conn_id: 'c', from: 10, to: null });
  book.apply({ ...span, conn_id: 'c', from: 10, to: 20 });
  book.join(past);
  t.equal(findEnd(book, 'gone', 3), 5);
  t.equal(findEnd(book, 'c', 7), 8);
  t.equal(findEnd(book, 'c', 15), 20, 'its end is not taken back');
  t.end();
});

t.test('past ten thousand connections, ended ones that no reading came on are forgotten', (t) => {
  const book = new ConnectionBook();
  const add = (connId: string, to: number | null): void =>
    book.apply({ conn_id: connId, slot: connId, from: 1, to, cause: null });
  add('open', null);
  add('read', 5);
  for (let i = 0; i < 9_998; i++) add(`c${i}`, 5);
  book.prune(() => new Set(['read']));
  t.equal(book.size, 10_000);
  add('one more', 5);
  book.prune(() => new Set(['read']));
  t.same(
    [...book.spans()].map(({ conn_id }) => conn_id),
    ['open', 'read'],
  );
  t.end();
});

t.test('of a connection whose collector is silent again and again the newest spans are kept', (t) => {
  const book = new ConnectionBook();
  const sizes: number[] = [];
  for (let i = 0; i < 30_000; i++) {
    const span = { conn_id: 'c', slot: 's', from: 10 * i, cause: null };
    book.apply({ ...span, to: null });
    book.apply({ ...span, to: 10 * i + 5, cause: 'collector_down' });
    book.prune(() => new Set(['c']));
    if (i % 997 === 0) sizes.push([...book.spans()].length);
  }
  t.ok(Math.max(...sizes) <= 10_001, 'a week of them costs as much as a day');
  t.equal(findEnd(book, 'c', 299_990), 299_995);
  t.equal(findEnd(book, 'c', 299_500), 299_505);
  t.end();
});

t.test('versions are kept in order, and a repeat replaces', (t) => {
  const versions: { written_at: number; name?: string }[] = [];
  for (const written_at of [5, 1, 3, 5]) addVersion(versions, { written_at });
  addVersion(versions, { written_at: 3, name: 'again' });
  t.same(
    versions.map((v) => v.written_at),
    [1, 3, 5],
  );
  t.equal(findVersionAt(versions, 4)?.name, 'again');
  t.equal(findVersionAt(versions, 0), null);
  t.end();
});

t.test('keeps windows until the history store shows them, at most fifteen minutes', (t) => {
  const feed = new Feed(['okx']);
  const row = (at: number, late = false) => ({
    table: 'mark',
    at,
    texts: {},
    instants: late ? { recorded_at: LISTED + 200_000_000 } : {},
    integers: { src_offset: late ? 7 : 3 },
    figures: { mark: String(at) },
    flags: { late },
  });
  const put = (kind: 'provisional' | 'sealed', at: number, late = false) =>
    feed.entry('okx', { kind, symbol: 'BTCUSDT', row: row(at, late) });
  const held = () => [...feed.memory.recentRows('okx', 'mark', 'BTCUSDT')];
  put('provisional', LISTED);
  put('provisional', LISTED);
  put('sealed', LISTED);
  put('provisional', LISTED + 10);
  t.same(
    held().map((r) => [r.row.at, r.sealed]),
    [
      [LISTED, true],
      [LISTED + 10, false],
    ],
  );
  t.same([...feed.memory.recentRows('okx', 'mark', 'ETHUSDT'), ...feed.memory.recentRows('okx', 'oi', 'BTCUSDT')], []);
  put('sealed', LISTED, true);
  t.equal(held().length, 3, 'a late row does not take the place of its window');

  feed.watermark('okx', LISTED + 300_000_000);
  feed.memory.applyHistoryWatermark('okx', 0, LISTED + 100_000_999);
  t.equal(held().length, 3, 'a window is not in the store before the watermark that seals it is visible');
  feed.memory.applyHistoryWatermark('okx', 0, LISTED + 100_001_000);
  t.same(
    held().map((r) => [r.row.at, r.row.flags.late]),
    [
      [LISTED + 10, false],
      [LISTED, true],
    ],
  );
  feed.memory.applyHistoryWatermark('okx', 0, LISTED + 200_000_000);
  t.same(held(), [], 'also what was never seen sealed: the store has what its window became');
  t.equal(feed.memory.historyWatermark('okx'), LISTED + 200_000_000);
  feed.memory.applyHistoryWatermark('okx', 0, LISTED);
  t.equal(feed.memory.historyWatermark('okx'), LISTED + 200_000_000, 'it is never taken back');

  put('sealed', LISTED + 150_000_000);
  t.equal(held().length, 1);
  feed.watermark('okx', LISTED + 1_050_000_000);
  t.same(held(), []);
  t.equal(feed.memory.recentFrom(BTC), LISTED + 150_000_000, 'fifteen minutes are kept');
  t.equal(feed.memory.sizes().rows, 0);
  t.end();
});

t.test('a gap between events stays until the history store shows its window (H-15)', (t) => {
  const feed = new Feed(['okx']);
  const END = LISTED + 10_000_000;
  const gap = { from: LISTED + 2_000_000, at: LISTED + 3_000_000, cause: 'connection_lost', srcOffset: 3 } as const;
  const held = () => [...feed.memory.recentRows('okx', 'liquidations', 'BTCUSDT')].length;
  const row = makeEventGapRow('liquidations', { venue: 'okx', symbol: 'BTCUSDT' }, gap);
  feed.watermark('okx', END + 100_001_000);
  feed.entry('okx', { kind: 'sealed', symbol: 'BTCUSDT', row });
  feed.memory.applyHistoryWatermark('okx', 0, END + 100_000_999);
  t.equal(held(), 1, 'its row is sealed with the window, which ends later than the gap');
  feed.memory.applyHistoryWatermark('okx', 0, END + 100_001_000);
  t.equal(held(), 0);
  t.end();
});

t.test('what is kept begins once, with the first watermark, and where the copy was ready', (t) => {
  const memory = new LiveMemory(['okx']);
  memory.expectPartitions('okx', [0]);
  const say = (offset: number, watermark: number): void =>
    memory.applyLive('okx', 0, toBytes({ recorded_at: watermark, kind: 'watermark', index: 2, offset, watermark }));
  say(7, NOW - 60_000_000);
  t.equal(memory.recentFrom(BTC), NOW - 60_000_000);
  memory.markReady('okx', 0);
  say(8, NOW);
  t.equal(memory.recentFrom(BTC), NOW - 60_000_000, 'a later watermark moves no beginning');
  t.same(memory.venue('okx')?.partitions.get(0)?.readyAt, { offset: 7, index: 2 }, 'nor what comes that place');
  t.end();
});

t.test('bytes that are no entry throw before anything has changed: the entry at that place is then applied', (t) => {
  const entry = { offset: 51, index: 0, recorded_at: NOW, kind: 'listing', symbol: 'BTCUSDT' } as const;
  const whole = toBytes({ ...entry, listing: listing('okx', listingValues()) });
  for (const apply of ['applyLive', 'applyTail'] as const) {
    const memory = new LiveMemory(['okx']);
    memory.expectPartitions('okx', [0]);
    for (const bytes of [whole.subarray(0, -1), Buffer.concat([whole, Buffer.alloc(1)]), Buffer.from('not Avro')])
      t.throws(() => memory[apply]('okx', 0, bytes), { name: 'AvroError' });
    t.equal(memory.logTime, 0);
    t.equal(memory.version, 0);
    memory[apply]('okx', 0, whole);
    t.equal(memory.version, 1);
  }
  t.end();
});
