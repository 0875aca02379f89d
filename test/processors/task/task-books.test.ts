// Books of a task: whole or not published, broken and crossed ones, quiet ones, and how often one goes out.
import t from 'tap';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import { gate } from '../../../ingest/venues/gate/index.ts';
import { type BookMessage, type BookState, createBookState, feedBook } from '../../../processors/task/books.ts';
import { listReadings, listRows, runTask, SECOND, START, type TestLog } from '../../support/tasks/task-driver.ts';
import { begin, COVERS, diff, SPEC, snapshot, symbolInfo } from '../../support/tasks/task-logs.ts';

t.test('a book is not published until it is whole, breaks at a hole and returns with the next snapshot', (t) => {
  const log = begin();
  const step = (us = 150_000) => {
    log.now += us;
  };
  step();
  diff(log, { U: 5, u: 10, pu: 4 }, { b: [['99.8', '3']] });
  step();
  diff(log, { U: 11, u: 20, pu: 10 }, { b: [['99.7', '4']] });
  step();
  snapshot(log, 15);
  step();
  diff(log, { U: 21, u: 30, pu: 20 }, { a: [['100.2', '5']] });
  step();
  diff(log, { U: 41, u: 50, pu: 40 }, { a: [['100.3', '5']] });
  step();
  diff(log, { U: 51, u: 60, pu: 50 }, { a: [['100.4', '5']] });
  step();
  snapshot(log, 55);
  const books = listReadings(runTask(SPEC, log.records).outputs, 'book');
  t.same(
    books.map((r) => [r.valid, r.gap_cause, r.book?.bids.length ?? null, r.book?.asks.length ?? null]),
    [
      [true, null, 2, 1],
      [true, null, 2, 2],
      [false, 'sequence_break', null, null],
      [true, null, 1, 2],
    ],
  );
  t.equal(books[0]?.values['mid'], '100');
  t.same(
    books.map((r) => ((r.venue_ts ?? 0) - START) / 150_000),
    [2, 4, 5, 6],
    'a snapshot that joins newer diffs has the sequence and the stamp of the last of them',
  );
  t.end();
});

t.test(
  'a restarted numbering is a gap also in a book without a diff since its snapshot, and the next one ends it',
  (t) => {
    const log = begin();
    log.now += 150_000;
    snapshot(log, 1_000);
    for (let id = 1; id <= 14; id++) {
      log.now += SECOND;
      diff(log, { U: id, u: id, pu: id - 1 }, { b: [['99.8', `${id}`]] });
    }
    log.now += SECOND;
    snapshot(log, 12);
    log.now += SECOND;
    diff(log, { U: 15, u: 15, pu: 14 }, { b: [['99.8', '15']] });
    const books = listReadings(runTask(SPEC, log.records).outputs, 'book');
    t.same(
      books.map((r) => [(r.received_at - START - 150_000) / SECOND, r.gap_cause, r.book?.sequence]),
      [
        [0, null, '1000'],
        [11, 'sequence_break', undefined],
        [15, null, '14'],
        [16, null, '15'],
      ],
    );
    t.end();
  },
);

t.test('a lost connection leaves no book behind, and the change in its bucket is published', (t) => {
  const log = begin();
  log.now += 150_000;
  snapshot(log, 15);
  log.now += 10_000;
  diff(log, { U: 16, u: 20, pu: 15 }, { b: [['99.8', '4']] });
  log.now += 10_000;
  log.json('lost', 'market', 'k1', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  const { outputs, task } = runTask(SPEC, log.records);
  t.same(
    listReadings(outputs, 'book').map((r) => r.book?.sequence),
    ['15', '20'],
  );
  t.equal(task.state.books.size, 0);
  t.end();
});

t.test('a quiet book that its venue confirms by the id alone is published again unchanged (F-03)', (t) => {
  const log = begin();
  log.now += 150_000;
  snapshot(log, 15);
  const short = (id: number): void => {
    log.now += 20 * SECOND;
    const body = { lastUpdateId: id, E: 1, T: Math.floor(START / 1000), bids: [['99.9', '7']], asks: [['100.1', '7']] };
    const request = 'GET https://fapi.binance.com/fapi/v1/depth?symbol=BTCUSDT&limit=5';
    log.json('response', 'market', 'k1', body, { request });
  };
  short(15);
  short(16);
  log.run(SECOND, ['k1']);
  const books = listReadings(runTask(SPEC, log.records).outputs, 'book');
  t.same(
    books.map((r) => [r.received_at - START, r.venue_ts, r.rev, r.values['bid_size'], r.book?.sequence]),
    [
      [150_000, START + 150_000, 1, '1', '15'],
      [150_000 + 20 * SECOND, START, 2, '1', '15'],
    ],
    'another id confirms nothing: its diffs are on their way',
  );
  t.end();
});

t.test('a crossed book is an invalidation of both layers made from it, never served', (t) => {
  const log = begin();
  log.now += 150_000;
  snapshot(log, 15);
  log.now += 150_000;
  diff(log, { U: 16, u: 20, pu: 15 }, { b: [['100.5', '1']] });
  const outputs = runTask(SPEC, log.records).outputs;
  for (const layer of ['book', 'venue_depth']) {
    const last = listReadings(outputs, layer).at(-1);
    t.same([last?.valid, last?.gap_cause, last?.values], [false, 'crossed_book', {}]);
  }
  t.end();
});

t.test('every window that ends while the book is crossed is stored as a gap with that cause (H-06, L-08)', (t) => {
  const log = begin();
  log.now += 150_000;
  snapshot(log, 15);
  log.now += 4 * SECOND;
  diff(log, { U: 16, u: 20, pu: 15 }, { b: [['100.5', '1']] });
  for (let i = 0; i < 20; i++) {
    log.run(SECOND, ['k1']);
    diff(log, { U: 21 + i, u: 21 + i, pu: 20 + i }, { a: [['100.9', `${1 + i}`]] });
  }
  diff(log, { U: 41, u: 41, pu: 40 }, { b: [['100.5', '0']] });
  log.run(140 * SECOND, ['k1']);
  const { outputs } = runTask(SPEC, log.records);
  for (const table of ['book', 'book_bands']) {
    t.same(
      listRows(outputs, table)
        .filter((row) => row.at <= START + 30 * SECOND)
        .map((row) => [(row.at - START) / SECOND, row.texts.status, row.texts.gap_cause]),
      [
        [10, 'missing', 'crossed_book'],
        [20, 'missing', 'crossed_book'],
        [30, 'present', undefined],
      ],
      table,
    );
  }
  t.end();
});

t.test(
  'a change keeps the depth of its channel, whether it is applied at once, waits, or waits in a checkpoint',
  (t) => {
    const levelOf = (p: number) => ({ p: String(p), s: 1 });
    const read = (kind: 'frame' | 'response', body: object): BookMessage => {
      const payload = Buffer.from(JSON.stringify(body));
      const request =
        kind === 'frame'
          ? null
          : 'GET https://api.gateio.ws/api/v4/futures/usdt/order_book?contract=BTC_USDT&limit=100';
      return gate.map({}, { kind, received_at: START, request, payload }, { listings: new Map() })[0] as BookMessage;
    };
    const whole = read('response', { id: 10, bids: [levelOf(9), levelOf(8)], asks: [levelOf(11)] });
    const result = { t: START / 1000, s: 'BTC_USDT', U: 11, u: 11, b: [levelOf(7)], l: '3' };
    const change = read('frame', { channel: 'futures.order_book_update', event: 'update', result });
    const keep = (book: BookState): BookState => book;
    const restart = (book: BookState): BookState => JSON.parse(JSON.stringify(book)) as BookState;
    for (const [messages, between] of [
      [[whole, change], keep],
      [[change, whole], keep],
      [[change, whole], restart],
    ] as const) {
      let book = createBookState('BTC_USDT', 'k1');
      for (const message of messages) {
        book = between(book);
        feedBook(book, gate.bookRule, message);
      }
      const { bids, asks } = book.levels;
      t.same([bids.keys.length, bids.full, asks.full], [3, false, true]);
    }
    t.end();
  },
);

t.test('a book goes out at the first change of a 100 ms bucket and once more at its end', (t) => {
  const log = begin();
  log.now = START + SECOND + 10_000;
  snapshot(log, 1);
  for (let i = 0; i < 5; i++) {
    log.now += 10_000;
    diff(log, { U: 2 + i, u: 2 + i, pu: 1 + i }, { b: [['99.8', `${1 + i}`]] });
  }
  log.now = START + SECOND + 250_000;
  log.tick(['k1']);
  const books = listReadings(runTask(SPEC, log.records).outputs, 'book');
  t.same(
    books.map((r) => r.received_at - START - SECOND),
    [10_000, 60_000],
  );
  t.same(books[1]?.book?.bids, [
    ['99.9', '1'],
    ['99.8', '5'],
  ]);
  t.end();
});

t.test('changes of one bucket that are recorded after its end are one more reading, not one each', (t) => {
  const log = begin();
  log.now = START + SECOND + 10_000;
  snapshot(log, 1);
  for (let i = 0; i < 5; i++) {
    log.now += 10_000;
    const recordedAt = START + SECOND + 150_000 + i * 10_000;
    diff(log, { U: 2 + i, u: 2 + i, pu: 1 + i }, { b: [['99.8', `${1 + i}`]] }, { recordedAt });
  }
  log.now = START + SECOND + 290_000;
  log.tick(['k1']);
  const { outputs } = runTask(SPEC, log.records);
  const told = [10_000, 60_000].map((after) => START + SECOND + after);
  t.same(
    listReadings(outputs, 'book').map((r) => r.received_at),
    told,
  );
  t.same(
    outputs.flatMap(({ md }) => md.filter(({ layer }) => layer === 'book').map(({ received_at }) => received_at)),
    told,
    'on the topic too (records.md)',
  );
  t.end();
});

t.test('a change that is recorded at the last moment at which it counts is in the row of its window', (t) => {
  const log = begin();
  log.now = START + 9_910_000;
  log.tick(['k1']);
  snapshot(log, 15);
  log.run(START + 109_800_000 - log.now, ['k1']);
  log.now = START + 9_950_000;
  diff(log, { U: 16, u: 20, pu: 15 }, { b: [['99.8', '4']] }, { recordedAt: START + 109_950_000 });
  for (log.now = START + 109_960_000; log.now < START + 110_300_000; log.now += 10_000) log.tick(['k1']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'book').filter(({ at }) => at === START + 10 * SECOND);
  t.same(
    rows.map(({ instants, flags }) => [instants.received_at, flags.late ?? false]),
    [[START + 9_950_000, false]],
  );
  t.end();
});

t.test('a book that is stamped ahead of the log does not keep another one from its window', (t) => {
  const log = begin(['BTCUSDT', 'ETHUSDT']);
  log.open('k2', 'ahead', COVERS);
  const other = (id: number, at: { readonly received: number; readonly recorded: number }): void => {
    const ms = Math.floor(at.received / 1000);
    const body = {
      e: 'depthUpdate',
      E: ms,
      T: ms,
      s: 'ETHUSDT',
      U: id,
      u: id,
      pu: id - 1,
      b: [['99.8', `${id}`]],
      a: [],
    };
    const payload = Buffer.from(JSON.stringify(body));
    const frame = { kind: 'frame', slot: 'ahead', conn_id: 'k2', request: null, payload } as const;
    log.append({ ...frame, received_at: at.received }, at.recorded);
  };
  const first = { lastUpdateId: 1, E: 1, T: 1, bids: [['99.9', '1']], asks: [['100.1', '2']] };
  const request = 'GET https://fapi.binance.com/fapi/v1/depth?symbol=ETHUSDT&limit=1000';
  log.json('response', 'ahead', 'k2', first, { request });
  log.now = START + 9_910_000;
  log.tick(['k1', 'k2']);
  snapshot(log, 15);
  log.run(START + 109_800_000 - log.now, ['k1', 'k2']);
  for (const [id, after] of [
    [2, 0],
    [3, 10_000],
  ] as const)
    other(id, { received: START + 114_810_000 + after, recorded: START + 109_900_000 + after });
  log.now = START + 9_950_000;
  diff(log, { U: 16, u: 20, pu: 15 }, { b: [['99.8', '4']] }, { recordedAt: START + 109_950_000 });
  log.now = START + 110_200_000;
  log.run(SECOND, ['k1', 'k2']);
  const row = listRows(runTask(SPEC, log.records).outputs, 'book').find(
    ({ at, texts }) => at === START + 10 * SECOND && texts.listing === 'binance:BTCUSDT',
  );
  t.equal(row?.instants.received_at, START + 9_950_000, 'the last one that was recorded in time');
  t.end();
});

/** The next version of the capability, without the book; and of the listing. */
const TURNS: Readonly<Record<string, (log: TestLog) => void>> = {
  capability: (log) => {
    const { name, layers } = toCapability(SPEC.venue);
    const book = { ...layers['book'], policy: 'off' };
    log.json('capability', 'collector', 'c1', { name, layers: { ...layers, book } });
  },
  listing: (log) => {
    const symbols = [{ ...symbolInfo('BTCUSDT'), status: 'BREAK' }];
    const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
    log.json('response', 'reference', 'c1.reference', { symbols }, { request });
  },
};

for (const [kind, turn] of Object.entries(TURNS)) {
  t.test(`a change that waits for the end of its bucket is told before the next ${kind}`, (t) => {
    const log = begin();
    log.now += 20_000;
    snapshot(log, 10);
    log.now += 20_000;
    diff(log, { U: 11, u: 11, pu: 10 }, { b: [['99.8', '3']] });
    log.now += 20_000;
    turn(log);
    log.run(SECOND, ['k1']);
    const { outputs } = runTask(SPEC, log.records);
    const told = outputs
      .flatMap(({ live }) => live)
      .filter((entry) => entry.kind === kind || entry.reading?.layer === 'book')
      .map((entry) => entry.reading?.book?.sequence ?? entry.kind);
    t.same(told, [kind, '10', '11', kind]);
    t.end();
  });
}
