// OKX: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { type BookSync, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { applySnapshot, applyUpdate, createBook } from '../../../processors/task/book.ts';
import { listTopLevels } from '../../../processors/task/book-levels.ts';
import type { BookRecord, ListingRecord } from '../../../schemas/records.ts';
import { readRecording, recordingsIn, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { answer, codeOf, frame, lineOf, listingsOf, map, mapLine, record } = venueBench(okx);

const SESSION = 'cryptofeed-v5-ws-1.ndjson.gz';

const INSTRUMENTS = 'cryptofeed-v5-rest-instruments.ndjson.gz';

const SWAP = 'tardis-tests-okex-swap-okexSwapV5Messages.ndjson';

const FUTURES = 'tardis-tests-okex-futures-okexFuturesV5Messages.ndjson';

const REST = 'jkorf-rest-examples.ndjson';

const WS = 'jkorf-ws-examples.ndjson';

const REST_URL = 'GET https://www.okx.com/api/v5';

const NO_LISTINGS: MapContext = { listings: new Map() };

type Case = { readonly name: string; readonly from: readonly [file: string, line: number]; readonly records: unknown };

const CASES: readonly Case[] = [
  {
    name: 'a ticker gives last, then a volume in contracts; what counts base is no turnover',
    from: [SESSION, 24],
    records: [
      record('ticker', 'UNI-USD-SWAP', [1652459223143, 1652459225506], { last: '5.123' }),
      record('stats', 'UNI-USD-SWAP', [1652459223143, 1652459225506], {
        volume_24h: '289425',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: null,
      }),
    ],
  },
  {
    name: 'a trade counts contracts',
    from: [SESSION, 27],
    records: [
      record('trade', 'UNI-USD-SWAP', [1652459215150, 1652459225507], {
        id: '12883020',
        side: 'sell',
        price: '5.123',
        quantity: '100',
        quantity_unit: 'contracts',
      }),
    ],
  },
  {
    name: 'an update keeps its levels in order, sizes of zero and an empty side',
    from: [SESSION, 366],
    records: [
      record('book', 'UNI-USD-SWAP', [1652459234826, 1652459235002], {
        kind: 'update',
        bids: [],
        asks: [
          ['5.142', '0'],
          ['5.148', '311'],
          ['5.152', '36'],
        ],
        sequence: null,
      }),
    ],
  },
  {
    name: 'books by tick are read like the slower ones',
    from: [SWAP, 1],
    records: [
      record('book', 'REN-USDT-SWAP', [1640131236035, null], {
        kind: 'update',
        bids: [
          ['0.65441', '1'],
          ['0.65418', '0'],
        ],
        asks: [['0.65442', '14']],
        sequence: null,
      }),
    ],
  },
  {
    name: 'an old funding message has no stamp and no interval; the rate after the next one is not ours',
    from: [SWAP, 2],
    records: [
      record('funding', 'WNCG-USDT-SWAP', [null, null], {
        funding: '0.00048105',
        funding_interval_ms: null,
        next_funding_at: 1640131200000_000,
      }),
    ],
  },
  {
    name: 'a funding message without a rate has the settlement alone',
    from: [SWAP, 8],
    records: [
      record('funding', 'SOS-USDT-SWAP', [null, null], {
        funding: null,
        funding_interval_ms: null,
        next_funding_at: 1640851200000_000,
      }),
    ],
  },
  {
    name: 'the coming settlement and the one after it define the funding interval; the data names the instrument, not the argument',
    from: [WS, 6],
    records: [
      record('funding', 'BTC-USD-SWAP', [1700724675402, null], {
        funding: '0.0001875391284828',
        funding_interval_ms: 28_800_000,
        next_funding_at: 1700726400000_000,
      }),
    ],
  },
  {
    name: 'a REST funding rate loses its insignificant zeros only',
    from: [REST, 3],
    records: [
      record('funding', 'BTC-USDT-SWAP', [1703070685309, null], {
        funding: '0.000079238688534',
        funding_interval_ms: 28_800_000,
        next_funding_at: 1703088000000_000,
      }),
    ],
  },
  {
    name: 'a mark carries no index',
    from: [SWAP, 6],
    records: [record('mark', 'WNCG-USDT-SWAP', [1640131259180, null], { mark: '2.1729', index: null })],
  },
  {
    name: 'an index carries no mark',
    from: [SWAP, 5],
    records: [record('mark', 'WNCG-USDT-SWAP', [1640131290649, null], { mark: null, index: '2.1675' })],
  },
  {
    name: 'a REST mark price',
    from: [REST, 11],
    records: [record('mark', 'BTC-USDT-SWAP', [1597026383085, null], { mark: '200', index: null })],
  },
  {
    name: 'a REST index goes to the perpetual of its name while no listing is known',
    from: [REST, 6],
    records: [record('mark', 'BTC-USDT-SWAP', [1649419644492, null], { mark: null, index: '43350' })],
  },
  {
    name: 'of open interest in contracts and in coins the contracts are ours',
    from: [REST, 12],
    records: [record('oi', 'BTC-USDT-SWAP', [1597026383085, null], { oi: '5000', oi_unit: 'contracts' })],
  },
  {
    name: 'open interest of a socket',
    from: [SWAP, 7],
    records: [record('oi', 'WNCG-USDT-SWAP', [1640131258756, null], { oi: '644195', oi_unit: 'contracts' })],
  },
  {
    name: 'a ticker of a linear swap',
    from: [SWAP, 4],
    records: [
      record('ticker', 'WNCG-USDT-SWAP', [1640131263109, null], { last: '2.1729' }),
      record('stats', 'WNCG-USDT-SWAP', [1640131263109, null], {
        volume_24h: '803940',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: null,
      }),
    ],
  },
  {
    name: 'a REST ticker',
    from: [REST, 25],
    records: [
      record('ticker', 'BTC-USD-SWAP', [1597026383085, null], { last: '9999.99' }),
      record('stats', 'BTC-USD-SWAP', [1597026383085, null], {
        volume_24h: '2222',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: null,
      }),
    ],
  },
  {
    name: 'open interest names its own instrument, whatever the argument is',
    from: [WS, 15],
    records: [record('oi', 'LTC-USD-SWAP', [1597026383085, null], { oi: '5000', oi_unit: 'contracts' })],
  },
  {
    name: 'a trade of a linear swap',
    from: [SWAP, 3],
    records: [
      record('trade', 'BTC-USDT-SWAP', [1640131236050, null], {
        id: '148266905',
        side: 'buy',
        price: '48938.5',
        quantity: '5',
        quantity_unit: 'contracts',
      }),
    ],
  },
];

t.test('recorded messages give the records that their bytes contain', (t) => {
  for (const { name, from, records } of CASES) t.same(mapLine(...from), records, `${name} (${from.join(':')})`);
  const tickers = mapLine(REST, 26);
  t.same(
    tickers.map(({ layer, venue_symbol }) => `${layer} ${venue_symbol}`),
    ['ticker LTC-USD-SWAP', 'stats LTC-USD-SWAP', 'ticker BTC-USD-SWAP', 'stats BTC-USD-SWAP'],
    'an answer about several keeps its order',
  );
  const [snapshot] = mapLine(SESSION, 30);
  t.match(snapshot, { layer: 'book', venue_symbol: 'UNI-USD-SWAP', venue_ts: 1652459225363_000 });
  const { bids, asks, kind } = (snapshot as BookRecord).values;
  t.same([kind, bids.length, asks.length], ['snapshot', 121, 119]);
  t.same(
    [bids[0], bids[1], bids.at(-1)],
    [
      ['5.14', '251'],
      ['5.139', '25'],
      ['1.23', '42'],
    ],
  );
  t.same(
    [asks[0], asks[1], asks.at(-1)],
    [
      ['5.148', '60'],
      ['5.149', '192'],
      ['15.6', '500'],
    ],
  );
  t.end();
});

/** The recorded channel or request is of days; its rows are read here as minutes, of the swap named. */
const asMinutes = (file: string, line: number, instId: string): readonly unknown[] => {
  const recorded = lineOf(file, line);
  const message = toVenueMessage({
    ...recorded,
    raw: recorded.raw.replace('candle1D', 'candle1m').replace('ETH-USDT', instId),
  });
  return map(message.kind === 'frame' ? message : { ...message, request: `${recorded.url}?instId=${instId}` });
};

t.test('recorded candles by value: trades in contracts, mark and index without volume', (t) => {
  const candle = (symbol: string, values: object): unknown =>
    record('candle', symbol, [null, null], {
      open_time: 1597026383085_000,
      timeframe: '1m',
      volume: null,
      volume_unit: null,
      turnover: null,
      trades: null,
      closed: false,
      ...values,
    });
  const [first, second] = [
    { open: '3.721', high: '3.743', low: '3.677', close: '3.708' },
    { open: '3.731', high: '3.799', low: '3.494', close: '3.72' },
  ];
  const swap = 'BTC-USDT-SWAP';
  t.same(asMinutes(WS, 18, swap), [
    candle(swap, {
      price_type: 'trade',
      open: '8533.02',
      high: '8553.74',
      low: '8527.17',
      close: '8548.26',
      volume: '45247',
      volume_unit: 'contracts',
      turnover: '5529.5858061',
    }),
  ]);
  t.same(asMinutes(WS, 24, swap), [
    candle(swap, { price_type: 'mark', ...first }),
    candle(swap, { price_type: 'mark', ...second, closed: true }),
  ]);
  const flat = { open: '3811.31', high: '3811.31', low: '3811.31', close: '3811.31' };
  t.same(asMinutes(WS, 9, 'BTC-USDT'), [candle(swap, { price_type: 'index', ...flat })]);
  const traded = { price_type: 'trade', volume_unit: 'contracts' };
  t.same(asMinutes(REST, 8, swap), [
    candle(swap, { ...traded, ...first, volume: '8422410', turnover: '12698348.04828491' }),
    candle(swap, { ...traded, ...second, volume: '24912403', turnover: '37632347.24399722' }),
  ]);
  t.same(asMinutes(REST, 10, swap), [
    candle(swap, { price_type: 'mark', ...first }),
    candle(swap, { price_type: 'mark', ...second, closed: true }),
  ]);
  t.same(asMinutes(REST, 5, 'BTC-USDT'), [
    candle(swap, { price_type: 'index', ...first }),
    candle(swap, { price_type: 'index', ...second, closed: true }),
  ]);
  t.end();
});

t.test('a recorded liquidation of a dated contract, read as one of the swap beside it', (t) => {
  const swapFrame = lineOf(FUTURES, 13).raw.replaceAll('FUTURES', 'SWAP').replace('XRP-USD-230929', 'XRP-USD-SWAP');
  t.same(map(frame(swapFrame)), [
    record('liquidation', 'XRP-USD-SWAP', [1680173247614, null], {
      id: null,
      side: 'short',
      price: '0.55205',
      price_kind: 'bankruptcy',
      quantity: '39',
      quantity_unit: 'contracts',
    }),
  ]);
  t.end();
});

t.test('a text of nothing is a figure that the venue does not have', (t) => {
  const row = (channel: string, member: string, value: string | null) =>
    frame({
      arg: { channel, instId: 'BTC-USDT-SWAP' },
      data: [{ instId: 'BTC-USDT-SWAP', ts: '1700000000000', [member]: value }],
    });
  for (const [channel, member] of [
    ['mark-price', 'markPx'],
    ['open-interest', 'oi'],
    ['tickers', 'last'],
  ] as const) {
    t.same(map(row(channel, member, '')), [], channel);
    t.same(map(row(channel, member, null)), [], `${channel}: null is the same (D-165)`);
    t.equal(map(row(channel, member, '5')).length, 1);
  }
  t.same(map(row('open-interest', 'ois', '5')), [], 'so is one that is absent (D-291)');
  t.end();
});

t.test('recorded liquidations as their recorder wrapped them, read as those of the swap beside theirs', (t) => {
  const wrapped = recordingsIn('okx')
    .flatMap(readRecording)
    .filter(({ raw }) => raw.includes('"channel":"liquidations"'));
  t.equal(wrapped.length, 2);
  for (const line of wrapped) t.same(map(frame(line.raw)), [], 'dated contracts');
  const [ofCoins] = wrapped.map(({ raw }) => frame(raw.replace(/BTC-USDT?-\d+/, 'BTC-USD-SWAP')));
  const values = {
    id: null,
    side: 'short',
    price: '51886.2',
    price_kind: 'bankruptcy',
    quantity: '12',
    quantity_unit: 'contracts',
  };
  t.same(ofCoins && map(ofCoins), [record('liquidation', 'BTC-USD-SWAP', [1640140210617, null], values)]);
  t.end();
});

t.test('a modern book session, built of the recorded snapshot with ids and updates that continue it', (t) => {
  // No recorded session has ids: the snapshot is the venue's (its instrument named as a swap), the updates take levels of it.
  const snapshot = lineOf(WS, 30).raw.replace('ETH-USDT', 'ETH-USDT-SWAP');
  const update = (ids: readonly [previous: number, last: number], bids: string): string =>
    `{"arg":{"channel":"books","instId":"ETH-USDT-SWAP"},"action":"update","data":[{"asks":[],"bids":[${bids}],"ts":"1597026383185","checksum":0,"prevSeqId":${ids[0]},"seqId":${ids[1]}}]}`;
  const frames = [
    snapshot,
    update([123456, 123460], '["8476.97","0","0","0"],["8475.55","90","0","1"]'),
    update([123460, 123460], ''),
    update([123461, 123470], '["8475.55","1","0","1"]'),
  ];
  const book = createBook();
  let sync: BookSync<BookRecord['values']> = makeBookSync();
  const parsed = frames.map((text) => {
    const [mapped] = okx.map({}, frame(text), NO_LISTINGS);
    if (mapped?.record.layer !== 'book' || !mapped.chain) throw new Error(`no book in ${text}`);
    const step = stepBookSync(okx.bookRule, sync, { chain: mapped.chain, payload: mapped.record.values });
    sync = step.state;
    for (const values of step.apply) (values.kind === 'snapshot' ? applySnapshot : applyUpdate)(book, values);
    const { bids, asks } = listTopLevels(book, 2);
    return step.broke ? 'broke' : [bids, asks];
  });
  const asks = [
    ['8476.98', '415'],
    ['8477', '7'],
  ];
  const after = [
    ['8475.55', '90'],
    ['8475.54', '100'],
  ];
  t.same(parsed, [
    [
      [
        ['8476.97', '256'],
        ['8475.55', '101'],
      ],
      asks,
    ],
    [after, asks],
    [after, asks],
    'broke',
  ]);
  t.end();
});

t.test('liquidations: the position closed at its bankruptcy price, each detail for itself', (t) => {
  const body = {
    arg: { channel: 'liquidation-orders', instType: 'SWAP' },
    data: [
      {
        details: [
          { bkLoss: '0', bkPx: '0.55205', ccy: '', posSide: 'short', side: 'buy', sz: '39', ts: '1680173247614' },
          { bkLoss: '0', bkPx: '0.5521', ccy: '', posSide: 'net', side: 'sell', sz: '40.5', ts: '1680173247615' },
        ],
        instFamily: 'XRP-USD',
        instId: 'XRP-USD-SWAP',
        instType: 'SWAP',
        uly: 'XRP-USD',
      },
    ],
  };
  const expected = [
    record('liquidation', 'XRP-USD-SWAP', [1680173247614, null], {
      id: null,
      side: 'short',
      price: '0.55205',
      price_kind: 'bankruptcy',
      quantity: '39',
      quantity_unit: 'contracts',
    }),
    record('liquidation', 'XRP-USD-SWAP', [1680173247615, null], {
      id: null,
      side: 'long',
      price: '0.5521',
      price_kind: 'bankruptcy',
      quantity: '40.5',
      quantity_unit: 'contracts',
    }),
  ];
  t.same(map(frame(body)), expected);
  t.same(map(answer(`${REST_URL}/public/liquidation-orders?instType=SWAP`, { code: '0', msg: '', ...body })), expected);
  t.end();
});

t.test(
  'candles: minutes only, contracts and turnover when the venue sends them, an index for each that uses it',
  (t) => {
    const push = (channel: string, instId: string, row: readonly unknown[]): unknown[] =>
      map(frame({ arg: { channel, instId }, data: [row] })).map((r) => [r.venue_symbol, r.venue_ts, r.values]);
    const row = ['1597026360000', '8533.02', '8553.74', '8527.17', '8548.26'];
    const traded = {
      open_time: 1597026360000_000,
      price_type: 'trade',
      timeframe: '1m',
      open: '8533.02',
      high: '8553.74',
      low: '8527.17',
      close: '8548.26',
      volume: '45247',
      volume_unit: 'contracts',
      turnover: '5529.5858061',
      trades: null,
      closed: false,
    };
    const long = [...row, '45247', '529.5858061', '5529.5858061', '0'];
    t.same(push('candle1m', 'BTC-USD-SWAP', long), [['BTC-USD-SWAP', null, traded]]);
    t.same(push('candle1m', 'BTC-USD-SWAP', long.map(Number)), [['BTC-USD-SWAP', null, traded]], 'the row in numbers');
    t.same(
      push('candle1m', 'BTC-USD-SWAP', long.slice(0, 7)),
      [['BTC-USD-SWAP', null, { ...traded, turnover: null, closed: null }]],
      'rows before 2022-07 have neither turnover nor flag',
    );
    const untraded = { ...traded, volume: null, volume_unit: null, turnover: null, closed: true };
    t.same(push('mark-price-candle1m', 'BTC-USD-SWAP', [...row, '1']), [
      ['BTC-USD-SWAP', null, { ...untraded, price_type: 'mark' }],
    ]);
    t.same(push('index-candle1m', 'BTC-USD', [...row, '1']), [
      ['BTC-USD-SWAP', null, { ...untraded, price_type: 'index' }],
    ]);
    t.same(push('candle1D', 'BTC-USD-SWAP', long), [], 'other lengths');
    t.same(push('candle1m', 'BTC-USDT', long), [], 'spot');
    const asked = (query: string): unknown =>
      map(answer(`${REST_URL}/market/history-candles?${query}`, { code: '0', msg: '', data: [long] })).length;
    t.equal(asked('instId=BTC-USD-SWAP'), 1, 'a request without a bar means minutes');
    t.equal(asked('instId=BTC-USD-SWAP&bar=1m'), 1);
    t.equal(asked('instId=BTC-USD-SWAP&bar=1H'), 0);
    t.end();
  },
);

t.test('an index goes to each known listing that uses it: contracts in USDC follow the dollar', (t) => {
  const template = listingsOf(INSTRUMENTS)[0] as ListingRecord;
  const listings = new Map(
    ['BTC-USD', 'BTC-USDT', 'BTC-USDC', 'ETH-USD'].map((pair) => {
      const venue_symbol = `${pair}-SWAP`;
      return [venue_symbol, { ...template, venue_symbol, values: { ...template.values, venue_symbol, pair } }];
    }),
  );
  const findUsers = (index: string): unknown =>
    map(
      frame({ arg: { channel: 'index-tickers', instId: index }, data: [{ instId: index, idxPx: '7', ts: '5' }] }),
      {},
      { listings },
    ).map((r) => r.venue_symbol);
  t.same(findUsers('BTC-USD'), ['BTC-USD-SWAP', 'BTC-USDC-SWAP']);
  t.same(findUsers('BTC-USDT'), ['BTC-USDT-SWAP']);
  t.same(findUsers('BTC-USDC'), ['BTC-USDC-SWAP'], 'as before the change of 2023');
  t.same(findUsers('DOGE-USD'), [], 'an index of no listing');
  t.end();
});

t.test('messages without data of a swap give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['top of book', SWAP, 9],
    ['a dated book', FUTURES, 2],
    ['a dated trade', FUTURES, 3],
    ['a dated mark', FUTURES, 4],
    ['dated open interest', FUTURES, 5],
    ['a price limit', FUTURES, 6],
    ['a dated ticker', FUTURES, 7],
    ['a body that its recorder wrapped', FUTURES, 9],
    ['a dated liquidation', FUTURES, 13],
    ['an acknowledgement', SESSION, 5],
    ['an option', WS, 27],
    ['instruments of spot', WS, 36],
    ['a spot ticker', WS, 39],
    ['a spot trade', WS, 42],
    ['settled funding', REST, 2],
    ['components of an index', REST, 4],
    ['statistics of traders', REST, 17],
    ['instruments', INSTRUMENTS, 2],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame('pong')), [], 'the answer to a ping');
  t.same(map(frame({ event: 'notice', code: '64008', msg: 'upgrade', connId: 'a' })), []);
  t.same(map(frame({ id: '1', op: 'order', code: '0', msg: '', data: [{ ordId: '2' }] })), [], "an operation's answer");
  const ticker = { instId: 'A-USDT-SWAP', last: '', vol24h: '0', ts: '5' };
  t.same(
    map(frame({ arg: { channel: 'tickers', instId: 'A-USDT-SWAP' }, data: [ticker] })).map((r) => r.layer),
    ['stats'],
    'no last before the first trade',
  );
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = (values: object): unknown => ({
    arg: { channel: 'books', instId: 'BTC-USDT-SWAP' },
    action: 'update',
    data: [{ asks: [['1', '1', '0', '1']], bids: [], ts: '5', checksum: 0, seqId: 8, prevSeqId: 7, ...values }],
  });
  t.match(codeOf(frame(book({}))), /^gave \[\{/);
  t.equal(okx.map({}, frame(book({})), NO_LISTINGS)[0]?.chain?.depth, 400, 'a change reaches as far as its channel');
  t.equal(codeOf(frame('{"arg":{"channel":"books"')), 'VENUE_BAD_FRAME', 'cut off');
  t.equal(codeOf(frame(book({ asks: [['x', '1']] }))), 'VENUE_BAD_FIGURE');
  t.equal(codeOf(frame(book({ asks: [['0', '1']] }))), 'VENUE_BAD_FIGURE');
  t.equal(codeOf(frame(book({ bids: undefined }))), 'VENUE_BAD_FRAME');
  t.equal(codeOf(frame(book({ seqId: 'a' }))), 'VENUE_BAD_FRAME');
  t.equal(codeOf(frame({ event: 'error', code: '60012', msg: 'Invalid request' })), 'VENUE_BAD_FRAME');
  t.equal(codeOf(frame({ event: 'channel-conn-count-error', channel: 'books', connCount: '31' })), 'VENUE_BAD_FRAME');
  t.equal(
    codeOf(answer(`${REST_URL}/market/tickers`, { code: '50011', msg: 'Too Many Requests', data: [] })),
    'VENUE_BAD_FRAME',
  );
  t.equal(codeOf(toVenueMessage(lineOf(REST, 8))), 'VENUE_UNKNOWN_LISTING', 'candles of nobody');
  t.equal(codeOf(toVenueMessage(lineOf(REST, 13))), 'VENUE_UNKNOWN_LISTING', 'a book of nobody');
  t.end();
});
