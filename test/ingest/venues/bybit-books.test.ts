// Bybit: books by id, and what their frames close.
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { type BookSync, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { watchUnexpected } from '../../../ingest/venues/shared/unexpected.ts';
import { fixturePath, readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';
import { REST, TARDIS, WS } from './bybit.messages.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };

const { frame, lineOf, map } = venueBench(bybit);

const bookFrame = (type: string, u: number, depth = 1000, levels = { b: [['5', '6']], a: [['7', '8']] }): string =>
  JSON.stringify({
    topic: `orderbook.${depth}.AUSDT`,
    type,
    ts: 1700000000002,
    data: { s: 'AUSDT', ...levels, u, seq: 99 },
    cts: 1700000000001,
  });

t.test('the stamp of a book is the matching engine, before the sending', (t) => {
  t.equal(map(frame(bookFrame('delta', 2)))[0]?.venue_ts, 1700000000001_000);
  t.end();
});

t.test('a book continues by one, breaks on a hole, and is whole again at a snapshot or at u 1', (t) => {
  const steps: readonly (readonly [string, number, string])[] = [
    ['delta', 4, 'waits'],
    ['snapshot', 10, 'applies'],
    ['delta', 11, 'applies'],
    ['delta', 11, 'waits'],
    ['delta', 12, 'applies'],
    ['delta', 14, 'breaks'],
    ['delta', 15, 'waits'],
    ['snapshot', 20, 'applies'],
    ['delta', 21, 'applies'],
    ['delta', 1, 'applies'],
    ['delta', 2, 'applies'],
    ['snapshot', 2, 'applies'],
    ['delta', 3, 'applies'],
  ];
  let sync: BookSync<null> = makeBookSync();
  for (const [type, u, expected] of steps) {
    const chain = bybit.sequence(bookFrame(type, u));
    if (!chain) throw new Error('no chain');
    const step = stepBookSync(bybit.bookRule, sync, { chain, payload: null });
    sync = step.state;
    t.equal(step.broke ? 'breaks' : step.apply.length > 0 ? 'applies' : 'waits', expected, `${type} ${u}`);
  }
  t.equal(map(frame(bookFrame('delta', 1)))[0]?.layer, 'book');
  t.match(map(frame(bookFrame('delta', 1)))[0]?.values, { kind: 'snapshot' }, 'u 1 is the whole book');
  t.end();
});

t.test('one level of REST confirms the id of a book, and joins none', (t) => {
  const { url } = bybit.bookConfirmation?.({ venue_symbol: 'BTCUSDT' }, bybit.endpoints) ?? {};
  t.equal(url, 'https://api.bybit.com/v5/market/orderbook?category=linear&symbol=BTCUSDT&limit=1');
  const recorded = toVenueMessage(lineOf(REST, 11));
  const asked = (request: string) => bybit.map({}, { ...recorded, request }, NO_LISTINGS)[0]?.chain;
  t.match(asked(`GET ${url}`), { symbol: 'BTCUSDT', kind: 'confirmation', last: 243781n });
  t.equal(asked(String(recorded.request)), undefined);
  t.match(bybit.sequence(lineOf(REST, 11).raw), { symbol: 'BTCUSDT', kind: 'snapshot', last: 243781n });
  t.equal(bybit.sequence(lineOf(REST, 6).raw), null, 'another answer');
  t.end();
});

t.test(
  'a side of a snapshot with fewer levels than its depth is all there is; the best level alone has no chain',
  (t) => {
    const levels = {
      b: [
        ['5', '6'],
        ['4', '6'],
      ],
      a: [['7', '8']],
    };
    const findChain = (type: string, depth: number) =>
      bybit.map({}, frame(bookFrame(type, 9, depth, levels)), NO_LISTINGS)[0]?.chain;
    t.same(findChain('snapshot', 2)?.full, { bids: false, asks: true });
    t.equal(findChain('delta', 50)?.full, undefined);
    t.equal(findChain('delta', 50)?.depth, 50, 'a delta reaches as far as its topic');
    t.equal(findChain('snapshot', 1), undefined);
    t.equal(bybit.sequence(bookFrame('snapshot', 9, 1)), null);
    t.end();
  },
);

t.test('books with retail orders and whole books are other channels: none is read, each is counted', (t) => {
  const counted: string[] = [];
  const watched = venueBench(watchUnexpected(bybit, (kind) => counted.push(kind)));
  for (const depth of ['rpi', 'full']) {
    // The levels of `rpi` have three figures (bybit-exchange/docs, `v5/websocket/public/orderbook-rpi.mdx`).
    const levels = { b: [['5', '6', '7']], a: [] };
    const book = { s: 'AUSDT', ...levels, u: 9, seq: 99 };
    const text = { topic: `orderbook.${depth}.AUSDT`, type: 'snapshot', ts: 1700000000002, data: book };
    t.same(watched.map(frame(text)), []);
    t.equal(bybit.sequence(JSON.stringify(text)), null);
  }
  t.same(counted, ['unread_channel', 'unread_channel']);
  t.end();
});

t.test('the quick check of a frame agrees with the mapper', (t) => {
  for (const file of [WS, TARDIS]) {
    for (const line of readRecording(`bybit/${file}`).filter(({ dir }) => dir === 'in')) {
      const mapped = bybit.map({}, toVenueMessage(line), NO_LISTINGS).find(({ chain }) => chain)?.chain ?? null;
      const { full: _full, depth: _depth, ...ids } = mapped ?? { full: undefined, depth: undefined };
      t.same(bybit.sequence(line.raw) ?? {}, ids, line.raw.slice(0, 60));
    }
  }
  t.equal(
    bybit.sequence('{"topic":"orderbook.50.X","type":"delta","data":{"s":"X","u":9007199254740993}}')?.last,
    9007199254740993n,
  );
  t.end();
});

t.test('the assembled book joins the recorded snapshot and its delta', async (t) => {
  const lines: string[] = [];
  await normalise({
    venue: bybit,
    files: [fixturePath(`bybit/${TARDIS}`)],
    assembled: true,
    write: (line) => void lines.push(line),
  });
  const books = lines.map((line) => JSON.parse(line)).filter(({ layer }) => layer === 'book');
  t.match(books, [
    { venue_symbol: 'BTCPERP', values: { bids: [['28555.2', '0.597']], asks: [['28555.3', '0.225']] } },
    { venue_symbol: 'BTCPERP', values: { bids: [['28555.2', '0.677']], asks: [['28555.3', '0.029']] } },
  ]);
  t.equal(books.length, 2);
});
