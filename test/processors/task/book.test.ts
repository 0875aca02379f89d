// The book: levels in, exact figures out; compared with a simple book of maps and big rational sums over recorded sessions.
import avro from 'avsc';
import fc from 'fast-check';
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import { type BookSync, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import {
  applySnapshot,
  applyUpdate,
  countLevels,
  createBook,
  isCrossed,
  makeBandValues,
  makeBookValues,
  type QuantityRule,
  sumBookBands,
} from '../../../processors/task/book.ts';
import { type Book, listTopLevels } from '../../../processors/task/book-levels.ts';
import { writeLevels } from '../../../schemas/avro/write-levels.ts';
import { BANDS } from '../../../schemas/layers/book-bands.ts';
import type { BookRecord, Level } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';

const LINEAR: QuantityRule = { venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' };
const INVERSE: QuantityRule = { venue_kind: 'inverse', contract_size: '100', quantity_unit: 'contracts' };

const levels = (
  bids: readonly Level[],
  asks: readonly Level[],
  sequence = '1',
): { bids: readonly Level[]; asks: readonly Level[]; sequence: string } => ({
  bids,
  asks,
  sequence,
});
const makeBook = (bids: readonly Level[], asks: readonly Level[]): Book => {
  const book = createBook();
  applySnapshot(book, levels(bids, asks));
  return book;
};

t.test('a price that a snapshot has twice is one level, of its last size', (t) => {
  const twice = makeBook(
    [
      ['10', '1'],
      ['10', '2'],
      ['9', '1'],
    ],
    [['11', '1']],
  );
  t.same(listTopLevels(twice, 3).bids, [
    ['10', '2'],
    ['9', '1'],
  ]);
  t.end();
});

t.test('the top of the book with its exact middle and spread', (t) => {
  const book = makeBook(
    [
      ['63120.4', '1.25'],
      ['63120.3', '0.4'],
    ],
    [
      ['63120.5', '2'],
      ['63120.6', '0.15'],
    ],
  );
  t.same(makeBookValues(book), {
    values: {
      bid: '63120.4',
      bid_size: '1.25',
      ask: '63120.5',
      ask_size: '2',
      mid: '63120.45',
      spread: '0.00000158427260895636834',
    },
    null_reasons: {},
  });
  t.same(listTopLevels(book, 1), { bids: [['63120.4', '1.25']], asks: [['63120.5', '2']] });
  t.same(countLevels(book), { bids: 2, asks: 2 });
  t.equal(book.sequence, '1');
  t.end();
});

t.test('an empty side leaves out what needs it, with the reason', (t) => {
  const book = makeBook([['5', '2']], []);
  t.same(makeBookValues(book), {
    values: { bid: '5', bid_size: '2' },
    null_reasons: { ask: 'no_value', ask_size: 'no_value', mid: 'no_value', spread: 'no_value' },
  });
  t.same(sumBookBands(book, LINEAR), {});
  const { values, null_reasons } = makeBandValues(sumBookBands(book, LINEAR));
  t.same(values, {});
  t.equal(Object.keys(null_reasons).length, 1 + 6 * BANDS.length);
  t.ok(Object.values(null_reasons).every((reason) => reason === 'no_value'));
  t.end();
});

t.test('updates set, change and remove levels; what is not there is removed without a trace', (t) => {
  const book = makeBook(
    [
      ['10', '1'],
      ['9', '2'],
    ],
    [['11', '3']],
  );
  applyUpdate(
    book,
    levels(
      [
        ['10', '0'],
        ['9.5', '4'],
        ['7', '0'],
      ],
      [
        ['11', '5'],
        ['12.25', '0.001'],
      ],
      '2',
    ),
  );
  t.same(listTopLevels(book, 9), {
    bids: [
      ['9.5', '4'],
      ['9', '2'],
    ],
    asks: [
      ['11', '5'],
      ['12.25', '0.001'],
    ],
  });
  t.equal(book.sequence, '2');
  applySnapshot(book, levels([['1', '1']], [['2', '2']], '3'));
  t.same(listTopLevels(book, 9), { bids: [['1', '1']], asks: [['2', '2']] });
  t.end();
});

t.test('crossed and locked books are known as such', (t) => {
  t.notOk(isCrossed(makeBook([['10', '1']], [['10.1', '1']])));
  t.ok(isCrossed(makeBook([['10', '1']], [['10', '1']])), 'locked');
  t.ok(isCrossed(makeBook([['10.2', '1']], [['10.1', '1']])), 'crossed');
  t.notOk(isCrossed(makeBook([], [['10', '1']])));
  t.end();
});

t.test('band edges are included, and a side is complete only when known beyond the edge (L-03)', (t) => {
  // mid 1000: 10 bps reach from 999 to 1001.
  const book = makeBook(
    [
      ['999.5', '1'],
      ['999', '2'],
      ['998.9', '4'],
    ],
    [
      ['1000.5', '1'],
      ['1001', '2'],
    ],
  );
  t.same(sumBookBands(book, LINEAR)['10bps'], {
    reference: '1000',
    bid: '3',
    ask: null,
    bid_value: '2997.5',
    ask_value: null,
    bid_levels: 2,
    ask_levels: null,
    complete: { bid: true, ask: false },
  });
  t.same(sumBookBands(book, LINEAR)['25bps']?.complete, { bid: false, ask: false });
  const full = createBook();
  applySnapshot(full, {
    ...levels(
      [['999.5', '1']],
      [
        ['1000.5', '1'],
        ['1001', '2'],
      ],
    ),
    full: { bids: true, asks: true },
  });
  t.match(sumBookBands(full, LINEAR)['100bps'], {
    bid: '1',
    ask: '3',
    bid_value: '999.5',
    ask_value: '3002.5',
    complete: { bid: true, ask: true },
  });
  t.end();
});

t.test('a level beyond the edge completes a band, also when a diff brought it (L-03 by its letter)', (t) => {
  const book = makeBook(
    [
      ['999.5', '1'],
      ['999', '2'],
      ['998.9', '4'],
    ],
    [
      ['1000.5', '1'],
      ['1002', '1'],
    ],
  );
  t.equal(sumBookBands(book, LINEAR)['25bps']?.bid, null);
  applyUpdate(book, levels([['900', '1']], []));
  t.equal(sumBookBands(book, LINEAR)['25bps']?.bid, '7');
  t.equal(sumBookBands(book, LINEAR)['10bps']?.bid, '3');
  t.equal(countLevels(book).bids, 4);
  t.end();
});

t.test('values in quote follow the kind of the listing (H-16e)', (t) => {
  const book = makeBook(
    [
      ['99.95', '3'],
      ['90', '1'],
    ],
    [
      ['100.05', '5'],
      ['110', '1'],
    ],
  );
  const value = (rule: QuantityRule): unknown => sumBookBands(book, rule)['10bps']?.ask_value;
  t.equal(value(LINEAR), '500.25', 'amounts: price × quantity');
  t.equal(
    value({ venue_kind: 'linear', contract_size: '0.01', quantity_unit: 'contracts' }),
    '5.0025',
    'contracts: × their size',
  );
  t.equal(value(INVERSE), '500', 'inverse: contracts × their size');
  t.equal(value({ venue_kind: 'inverse', contract_size: '1', quantity_unit: 'quote' }), '5', 'amounts of quote');
  t.equal(value({ venue_kind: 'quanto', contract_size: '1', quantity_unit: 'contracts' }), null);
  t.equal(value({ venue_kind: 'inverse', contract_size: null, quantity_unit: 'contracts' }), null);
  const { values, null_reasons } = makeBandValues(sumBookBands(book, { ...INVERSE, contract_size: null }));
  t.match(values, { mid: '100', depth_ask_10bps: '5', levels_ask_10bps: '1' });
  t.match(null_reasons, { depth_ask_value_10bps: 'unit_unknown' });
  t.end();
});

t.test('figures too wide for the book are refused and change nothing', (t) => {
  const book = makeBook([['10.5', '1']], [['11', '3']]);
  const before = JSON.stringify(book);
  for (const wide of ['12345678901234567890', `0.${'0'.repeat(30)}1`, '1234567890123.1234']) {
    t.throws(
      () =>
        applyUpdate(
          book,
          levels(
            [
              ['10', '2'],
              ['9', wide],
            ],
            [],
          ),
        ),
      VenueError,
    );
    t.throws(() => applySnapshot(book, levels([['10', '2']], [[wide, '1']])), VenueError);
  }
  t.same(listTopLevels(book, 9), listTopLevels(JSON.parse(before) as Book, 9));
  t.equal((JSON.parse(before) as Book).sequence, book.sequence);
  t.end();
});

t.test('decimals of levels that are gone make no other figure too wide', (t) => {
  const book = makeBook([['10.5', '0.000000000001']], [['11', '3']]);
  applyUpdate(book, levels([['10.5', '0']], []));
  applyUpdate(book, levels([['10.4', '12345.5']], []));
  t.same(listTopLevels(book, 9), { bids: [['10.4', '12345.5']], asks: [['11', '3']] });
  applyUpdate(book, levels([['10.40000000001', '1']], []));
  const mixed = makeBook([['11.2', '5']], [['11.25', '0.75']]);
  applyUpdate(mixed, levels([], [['12.0000000001', '0.0000000001']]));
  applyUpdate(mixed, levels([], [['12.0000000001', '0']]));
  applyUpdate(mixed, levels([], [['123456789', '123456789']]));
  const kept: readonly Level[] = [
    ['11.25', '0.75'],
    ['123456789', '123456789'],
  ];
  t.same(listTopLevels(mixed, 9), { bids: [['11.2', '5']], asks: kept }, 'decimals of any level that is left stay');
  t.match(sumBookBands(mixed, LINEAR)['50bps'], { ask: '0.75', ask_value: '8.4375' });
  const wide: Level = ['10.4', '1234567890123.5'];
  t.throws(() => applyUpdate(makeBook([['10.5', '0.000001']], []), levels([wide], [])), VenueError);
  applySnapshot(book, levels([wide], [['1000000', '3']]));
  t.same(listTopLevels(book, 9), { bids: [wide], asks: [['1000000', '3']] });
  t.end();
});

t.test(
  'a whole side is no longer known to be whole when it has all the levels that its channel reaches (L-03)',
  (t) => {
    const book = createBook();
    applySnapshot(book, { ...levels([['100', '1']], [['101', '1']]), full: { bids: true, asks: true } });
    const complete = () => sumBookBands(book, LINEAR)['100bps']?.complete;
    applyUpdate(book, { ...levels([['99.9', '1']], []), depth: 3 });
    t.same(complete(), { bid: true, ask: true });
    applyUpdate(book, { ...levels([['99.8', '1']], []), depth: 3 });
    t.same(complete(), { bid: false, ask: true });
    applyUpdate(book, { ...levels([['99.8', '0']], []), depth: 3 });
    t.same(complete(), { bid: false, ask: true }, 'levels beyond may have been there before');
    applyUpdate(
      book,
      levels(
        [],
        [
          ['101.1', '1'],
          ['101.2', '1'],
          ['101.3', '1'],
        ],
      ),
    );
    t.same(complete(), { bid: false, ask: true }, 'a channel without a depth brings every change');
    t.end();
  },
);

t.test('sums beyond 2^53 keep every digit', (t) => {
  const bids = Array.from({ length: 40 }, (_, i): Level => [`${999_999 - i}`, `${1_999_999_999_990_000 + i}`]);
  const book = makeBook(
    [...bids, ['1', '1']],
    [
      ['1000001', '1999999999999999'],
      ['2000000', '1'],
    ],
  );
  const expected = bids.reduce((sum, [, size]) => sum + BigInt(size), 0n);
  const value = bids.reduce((sum, [price, size]) => sum + BigInt(price) * BigInt(size), 0n);
  t.match(sumBookBands(book, LINEAR)['10bps'], { bid: String(expected), bid_value: String(value), bid_levels: 40 });
  t.end();
});

type Simple = { readonly bids: Map<string, string>; readonly asks: Map<string, string> };

const applySimple = (book: Simple, { kind, bids, asks }: BookRecord['values']): void => {
  for (const [side, changes] of [
    [book.bids, bids],
    [book.asks, asks],
  ] as const) {
    if (kind === 'snapshot') side.clear();
    for (const [price, size] of changes) {
      if (size === '0') side.delete(price);
      else side.set(price, size);
    }
  }
};
const sorted = (side: ReadonlyMap<string, string>, sign: 1 | -1): (readonly [string, string])[] =>
  [...side].sort(([a], [b]) => sign * (Number(a) - Number(b)));

/** Price and size as integers over 10^12: enough decimals for every recording. */
const big = (digits: string): bigint => {
  const [whole = '', fraction = ''] = digits.split('.');
  return BigInt(whole + fraction.padEnd(12, '0'));
};
const plain = (scaled: bigint, scale: number): string => {
  const text = String(scaled).padStart(scale + 1, '0');
  const fraction = text.slice(-scale).replace(/0+$/, '');
  return fraction === '' ? text.slice(0, -scale) : `${text.slice(0, -scale)}.${fraction}`;
};

const simpleBand = (
  book: Simple,
  bps: number,
): { readonly bid: string; readonly ask: string; readonly bidValue: string; readonly askLevels: number } => {
  const bids = sorted(book.bids, -1);
  const asks = sorted(book.asks, 1);
  const twiceMid = big(bids[0]?.[0] ?? '0') + big(asks[0]?.[0] ?? '0');
  const inBids = bids.filter(([price]) => 20_000n * big(price) >= twiceMid * BigInt(10_000 - bps));
  const inAsks = asks.filter(([price]) => 20_000n * big(price) <= twiceMid * BigInt(10_000 + bps));
  const size = (side: readonly (readonly [string, string])[]): string =>
    plain(
      side.reduce((sum, [, s]) => sum + big(s), 0n),
      12,
    );
  return {
    bid: size(inBids),
    ask: size(inAsks),
    bidValue: plain(
      inBids.reduce((sum, [p, s]) => sum + big(p) * big(s), 0n),
      24,
    ),
    askLevels: inAsks.length,
  };
};

type Session = { readonly files: readonly string[]; readonly symbol: string; readonly rule: QuantityRule };
const SESSIONS: readonly Session[] = [
  { files: ['hftbacktest-usdm-btcusdt-20240808.ndjson.gz'], symbol: 'BTCUSDT', rule: LINEAR },
  { files: ['hftbacktest-coinm-btcusd_perp-20240808.ndjson.gz'], symbol: 'BTCUSD_PERP', rule: INVERSE },
  {
    files: ['cryptofeed-usdm-rest-http.ndjson.gz', 'cryptofeed-usdm-ws-1.ndjson.gz'],
    symbol: 'AKROUSDT',
    rule: LINEAR,
  },
  {
    files: ['cryptofeed-coinm-rest-http.ndjson.gz', 'cryptofeed-coinm-ws-1.ndjson.gz'],
    symbol: 'XRPUSD_PERP',
    rule: { ...INVERSE, contract_size: '10' },
  },
];

/** The book records of a symbol in the order they are applied. */
const applyAll = ({ files, symbol }: Session): readonly BookRecord['values'][] => {
  let sync: BookSync<BookRecord['values']> = makeBookSync();
  return files.flatMap((file) =>
    readRecording(`binance/${file}`).flatMap((line) => {
      if (line.dir !== 'in' || !(line.raw.includes('depthUpdate') || line.raw.includes('lastUpdateId'))) return [];
      const isOurs =
        line.kind === 'ws' ||
        line.url === undefined ||
        !line.url.startsWith('http') ||
        line.url.includes(`symbol=${symbol}&`);
      if (!isOurs) return [];
      const message = toVenueMessage(line);
      const asked =
        line.kind === 'rest' && !line.url?.startsWith('http')
          ? { ...message, request: `/fapi/v1/depth?symbol=${symbol}` }
          : message;
      return binance.map({}, asked, { listings: new Map() }).flatMap(({ record, chain }) => {
        if (record.layer !== 'book' || record.venue_symbol !== symbol || !chain) return [];
        const step = stepBookSync(binance.bookRule, sync, { chain, payload: record.values });
        sync = step.state;
        return step.apply;
      });
    }),
  );
};

t.test('recorded sessions give the same book as a simple one, level by level and band by band', (t) => {
  for (const session of SESSIONS) {
    const book = createBook();
    const simple: Simple = { bids: new Map(), asks: new Map() };
    const applied = applyAll(session);
    let wrong = 0;
    let bands = 0;
    for (const [i, values] of applied.entries()) {
      (values.kind === 'snapshot' ? applySnapshot : applyUpdate)(book, values);
      applySimple(simple, values);
      if (i % 200 !== 0 && i !== applied.length - 1) continue;
      const top = listTopLevels(book, 1e9);
      if (JSON.stringify(top) !== JSON.stringify({ bids: sorted(simple.bids, -1), asks: sorted(simple.asks, 1) }))
        wrong++;
      if (isCrossed(book)) wrong++;
      for (const [name, band] of Object.entries(sumBookBands(book, session.rule))) {
        const expected = simpleBand(simple, Number.parseInt(name, 10));
        if (band.bid !== null && band.bid !== expected.bid) wrong++;
        if (band.ask !== null && (band.ask !== expected.ask || band.ask_levels !== expected.askLevels)) wrong++;
        if (band.bid_value !== null && session.rule === LINEAR && band.bid_value !== expected.bidValue) wrong++;
        bands += Number(band.complete.bid) + Number(band.complete.ask);
      }
    }
    t.equal(wrong, 0, `${session.symbol}: ${applied.length} messages, ${bands} complete sides of bands`);
    t.ok(bands > 0);
    const restored = JSON.parse(JSON.stringify(book)) as Book;
    t.same(sumBookBands(restored, session.rule), sumBookBands(book, session.rule), 'a restored book is the same');
    t.equal(JSON.stringify(restored), JSON.stringify(book));
  }
  t.end();
});

/** Levels asked for, one after the other: a print of few must not spoil that of many. */
const COUNTS = [25, 1, 3, 1e9, 2];

const LEVELS = avro.Type.forSchema(
  {
    type: 'array',
    items: { type: 'record', name: 'Level', fields: ['price', 'size'].map((name) => ({ name, type: 'string' })) },
  },
  { typeHook: writeLevels },
);

/** Whether a list has the first of all levels, and is written as a list is that no book printed. */
const isTop = (list: readonly Level[], all: readonly Level[], count: number): boolean =>
  JSON.stringify(list) === JSON.stringify(all.slice(0, count)) &&
  LEVELS.toBuffer(list).equals(LEVELS.toBuffer(list.map(([price, size]) => [price, size])));

t.test('any sequence of changes gives the same book as a simple one', (t) => {
  const price = fc.oneof(
    fc.integer({ min: 1, max: 60 }).map(String),
    fc.integer({ min: 1, max: 599 }).map((n) => `${Math.floor(n / 10)}.${(n % 9) + 1}`),
  );
  const size = fc.oneof(
    fc.constant('0'),
    fc.integer({ min: 1, max: 999 }).map(String),
    fc.integer({ min: 1, max: 99 }).map((n) => `0.0${(n % 9) + 1}`),
  );
  const side = fc.array(fc.tuple(price, size), { maxLength: 8 });
  const change = fc.record({
    kind: fc.constantFrom('update' as const, 'update' as const, 'snapshot' as const),
    bids: side,
    asks: side,
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const book = createBook();
      const simple: Simple = { bids: new Map(), asks: new Map() };
      return changes.every((values, i) => {
        const record = { ...values, sequence: '1' };
        (values.kind === 'snapshot' ? applySnapshot : applyUpdate)(book, record);
        applySimple(simple, record);
        const count = COUNTS[i % COUNTS.length] as number;
        const top = listTopLevels(book, count);
        const bids = sorted(simple.bids, -1);
        const asks = sorted(simple.asks, 1);
        const { bid, ask } = makeBookValues(book).values;
        return (
          isTop(top.bids, bids, count) && isTop(top.asks, asks, count) && bid === bids[0]?.[0] && ask === asks[0]?.[0]
        );
      });
    }),
    { numRuns: 500 },
  );
  t.end();
});

t.test('printed levels are written as plain ones, however many and long they are', (t) => {
  for (const count of [0, 1, 62, 63, 64, 200]) {
    const bids = Array.from(
      { length: count },
      (_, i): Level => [`${count - i}.00000000000${i % 9}1`, `0.0000000000${i}1`],
    );
    const { bids: printed } = listTopLevels(makeBook(bids, []), 1e9);
    t.ok(isTop(printed, bids, 1e9), `${count} levels`);
  }
  t.end();
});
