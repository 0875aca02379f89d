// KuCoin: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import t from 'tap';
import { kucoin } from '../../../ingest/venues/kucoin/index.ts';
import { makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, listingsOf, frame, answer, record, codeOf } = venueBench(kucoin);

const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const SDK_REST = 'kucoin-sdk-futures-rest-singles.ndjson';

const SDK_WS = 'kucoin-sdk-futures-ws-singles.ndjson';

const push = (topic: string, subject: string, data: unknown) => frame({ topic, type: 'message', subject, data });

/** Microseconds as the fraction of a millisecond `record` takes. */
const micros = (value: number): number => value / 1000;

t.test('recorded frames give the records that their bytes contain', (t) => {
  for (const [what, file, line, records] of [
    [
      'an update is one level of one side',
      JKORF_WS,
      3,
      [
        record('book', 'XBTUSDM', [1551770400000, null], {
          kind: 'update',
          bids: [],
          asks: [['5000', '83']],
          sequence: '18',
        }),
      ],
    ],
    [
      'the rate predicted by the minute is that of the coming settlement',
      JKORF_WS,
      6,
      [
        record('funding', 'XBTUSDM', [1551770400000, null], {
          funding: '-0.002966',
          funding_interval_ms: null,
          next_funding_at: null,
        }),
      ],
    ],
    [
      'mark and index come together',
      JKORF_WS,
      12,
      [record('mark', 'XBTUSDM', [1551770400000, null], { mark: '4010.52', index: '4000.23' })],
    ],
    [
      'best levels of 2020: a stamp in nanoseconds, no sequence; asks are put best first',
      JKORF_WS,
      15,
      [
        record('book', 'XBTUSDM', [micros(1590634672060667), null], {
          kind: 'snapshot',
          bids: [
            ['9988', '56'],
            ['9987', '15'],
            ['9986', '100'],
            ['9985', '10'],
            ['9984', '10'],
          ],
          asks: [
            ['9989', '8'],
            ['9990', '32'],
            ['9991', '47'],
            ['9992', '3'],
            ['9993', '3'],
          ],
          sequence: null,
        }),
      ],
    ],
    [
      'an inverse day counts lots and has no turnover in dollars; nanoseconds are cut',
      JKORF_WS,
      21,
      [
        record('ticker', 'XBTUSDM', [micros(1547697294838004), null], { last: '3551' }),
        record('stats', 'XBTUSDM', [micros(1547697294838004), null], {
          volume_24h: '30449670',
          volume_unit: 'contracts',
          turnover_24h: null,
          change_24h: '0.0043',
        }),
      ],
    ],
    [
      'a trade counts lots',
      JKORF_WS,
      27,
      [
        record('trade', 'XBTUSDTM', [1712570590399, null], {
          id: '1743169228057',
          side: 'buy',
          price: '72137.3',
          quantity: '5',
          quantity_unit: 'contracts',
        }),
      ],
    ],
    [
      'a candle: open, close, high, low, and lots',
      SDK_WS,
      4,
      [
        record('candle', 'XBTUSDTM', [1731898208357, null], {
          open_time: 1731898200000_000,
          price_type: 'trade',
          timeframe: '1m',
          open: '90638.6',
          high: '90638.6',
          low: '90638.6',
          close: '90638.6',
          volume: '21',
          volume_unit: 'contracts',
          turnover: null,
          trades: null,
          closed: null,
        }),
      ],
    ],
    [
      'best levels of 2024: a stamp in milliseconds and a sequence',
      SDK_WS,
      6,
      [
        record('book', 'XBTUSDTM', [1731680249700, null], {
          kind: 'snapshot',
          bids: [
            ['89778.6', '1534'],
            ['89778.2', '54'],
          ],
          asks: [
            ['89778.7', '854'],
            ['89779.2', '4'],
          ],
          sequence: '1709294490099',
        }),
      ],
    ],
    [
      'a linear day counts coins',
      SDK_WS,
      8,
      [
        record('ticker', 'XBTUSDTM', [micros(1731900415023929), null], { last: '90326.7' }),
        record('stats', 'XBTUSDTM', [micros(1731900415023929), null], {
          volume_24h: '5834.46',
          volume_unit: 'base',
          turnover_24h: '526928331.0482177734',
          change_24h: '0.0049',
        }),
      ],
    ],
    [
      'the first version of the ticker contains the last trade',
      SDK_WS,
      9,
      [record('ticker', 'XBTUSDTM', [1731679215637, null], { last: '90147.7' })],
    ],
    [
      'a trade of 2021: the data comes before its topic, the id is no number, the stamp is in nanoseconds',
      SINGLES,
      1,
      [
        record('trade', 'XBTUSDM', [micros(1616362601277456), null], {
          id: '6057bc693c7feb6705f9a248',
          side: 'buy',
          price: '57798',
          quantity: '5000',
          quantity_unit: 'contracts',
        }),
      ],
    ],
    ['a dated contract is not collected', SINGLES, 2, []],
    [
      'best levels of 2022: prices with zeros at their end',
      SINGLES,
      3,
      [
        record('book', 'XBTUSDM', [1653991142662, null], {
          kind: 'snapshot',
          bids: [
            ['31528', '2856'],
            ['31527', '10034'],
            ['31525', '6266'],
            ['31524', '5043'],
            ['31521', '85'],
          ],
          asks: [
            ['31529', '12725'],
            ['31530', '21214'],
            ['31531', '6090'],
            ['31532', '44385'],
            ['31538', '85'],
          ],
          sequence: '1638556032307',
        }),
      ],
    ],
    [
      'an inverse day in which the price fell',
      SINGLES,
      4,
      [
        record('ticker', 'XBTUSDM', [micros(1654165850007823), null], { last: '29887' }),
        record('stats', 'XBTUSDM', [micros(1654165850007823), null], {
          volume_24h: '43626228',
          volume_unit: 'contracts',
          turnover_24h: null,
          change_24h: '-0.0535',
        }),
      ],
    ],
    [
      'a linear day in which the price fell',
      SINGLES,
      5,
      [
        record('ticker', 'XBTUSDTM', [micros(1654165885016336), null], { last: '29926' }),
        record('stats', 'XBTUSDTM', [micros(1654165885016336), null], {
          volume_24h: '58142.397',
          volume_unit: 'base',
          turnover_24h: '1766775651.6259518',
          change_24h: '-0.0524',
        }),
      ],
    ],
  ] as const)
    t.same(mapLine(file, line), records, `${what} (${file}:${line})`);
  t.end();
});

t.test('recorded answers give the records that their bytes contain', (t) => {
  const whole = record('book', 'XBTUSDM', [1729168101216, null], {
    kind: 'snapshot',
    bids: [
      ['66968', '2'],
      ['66964.8', '25596'],
    ],
    asks: [
      ['66968.1', '13501'],
      ['66968.7', '2032'],
    ],
    sequence: '1697895963339',
  });
  for (const [what, file, line, records] of [
    [
      'a contract contains everything but its book; the remaining time is no instant, exponents are expanded',
      SDK_REST,
      1,
      [
        record('ticker', 'XBTUSDTM', [null, null], { last: '86364' }),
        record('mark', 'XBTUSDTM', [null, null], { mark: '86378.69', index: '86382.64' }),
        record('funding', 'XBTUSDTM', [null, null], {
          funding: '0.000052',
          funding_interval_ms: 28_800_000,
          next_funding_at: null,
        }),
        record('oi', 'XBTUSDTM', [null, null], { oi: '6748176', oi_unit: 'contracts' }),
        record('stats', 'XBTUSDTM', [null, null], {
          volume_24h: '12069.225',
          volume_unit: 'base',
          turnover_24h: '1034643198.3265533',
          change_24h: '-0.028',
        }),
      ],
    ],
    ['a ticker in nanoseconds', SDK_REST, 2, [record('ticker', 'XBTUSDM', [1729163001780, null], { last: '67158.4' })]],
    [
      'a ticker in milliseconds',
      JKORF_REST,
      13,
      [record('ticker', 'XBTUSDM', [1550653727731, null], { last: '7000' })],
    ],
    ['a list of tickers', JKORF_REST, 14, [record('ticker', 'XBTUSDM', [1550653727731, null], { last: '7000' })]],
    ['a whole book', SDK_REST, 3, [whole]],
    ['its best levels', SDK_REST, 4, [whole]],
    [
      'a mark',
      SDK_REST,
      7,
      [record('mark', 'XBTUSDTM', [1729254307000, null], { mark: '67687.08', index: '67683.58' })],
    ],
    [
      'two values of an index, for the perpetual of its name as none is known',
      SDK_REST,
      8,
      [
        record('mark', 'XBTUSDTM', [1730557515000, null], { mark: null, index: '69202.94' }),
        record('mark', 'XBTUSDTM', [1730557514000, null], { mark: null, index: '69204.98' }),
      ],
    ],
    [
      'the current rate, due at the coming settlement; its name holds the symbol, its time point is the one before',
      SDK_REST,
      11,
      [
        record('funding', 'XBTUSDTM', [null, null], {
          funding: '0.000061',
          funding_interval_ms: 28_800_000,
          next_funding_at: 1748491200000_000,
        }),
      ],
    ],
  ] as const)
    t.same(mapLine(file, line), records, `${what} (${file}:${line})`);
  const url = 'GET https://api-futures.kucoin.com/api/v1';
  const trades = map(answer(`${url}/trade/history?symbol=XBTUSDM`, JSON.parse(lineOf(SDK_REST, 5).raw)));
  t.equal(trades.length, 3);
  t.same(
    trades[1],
    record('trade', 'XBTUSDM', [1729242031535, null], {
      id: '1697915257749',
      side: 'sell',
      price: '67867.8',
      quantity: '1',
      quantity_unit: 'contracts',
    }),
    'past trades are of the requested symbol',
  );
  const candles = JSON.parse(lineOf(SDK_REST, 6).raw);
  t.same(
    map(answer(`${url}/kline/query?symbol=XBTUSDTM&granularity=1`, candles))[1],
    record('candle', 'XBTUSDTM', [null, null], {
      open_time: 1728604800000_000,
      price_type: 'trade',
      timeframe: '1m',
      open: '60299.9',
      high: '60924.1',
      low: '60077.4',
      close: '60666.1',
      volume: '1220980',
      volume_unit: 'contracts',
      turnover: null,
      trades: null,
      closed: null,
    }),
    'requested candles: open, high, low, close',
  );
  t.same(map(answer(`${url}/kline/query?symbol=XBTUSDTM&granularity=480`, candles)), [], 'only minutes');
  t.same(map(answer(`${url}/kline/query?symbol=.KXBTUSDT&granularity=1`, candles)), [], 'no indices');
  t.end();
});

t.test('the funding of a contract in 2026: its current interval and the instant of the settlement', (t) => {
  const data = JSON.parse(lineOf(SDK_REST, 1).raw).data;
  const now = { currentFundingRateGranularity: 3_600_000, nextFundingRateDateTime: 1750176000000 };
  const [, , funding] = map(answer('/api/v1/contracts/active', { code: '200000', data: [{ ...data, ...now }] }));
  t.same(funding?.values, { funding: '0.000052', funding_interval_ms: 3_600_000, next_funding_at: 1750176000000_000 });
  const wrapped = push('/contract/details:XBTUSDTM', 'contractDetails', data);
  t.same(map(wrapped), mapLine(SDK_REST, 1), 'an answer wrapped by its recorder gives the same records');
  t.end();
});

t.test('the day of a contract has the rate of the coming settlement since autumn 2026', (t) => {
  // Shape and figures of a live frame of 2026-10-03; the frame of the coming rate that came beside it had the same.
  const day = { lastPrice: 84556.7, priceChgPct: -0.0056, volume: 3938.189, turnover: 337376435.2988 };
  const snapshot = (rate: object): readonly object[] =>
    map(
      push('/contractMarket/snapshot:XBTUSDTM', 'snapshot.24h', {
        ...day,
        ...rate,
        ts: 1790993335003748866n.toString(),
      }),
    );
  const coming = record('funding', 'XBTUSDTM', [1790993335003.748, null], {
    funding: '-0.000002',
    funding_interval_ms: null,
    next_funding_at: null,
  });
  t.same(snapshot({ fundingRate: -0.000002 })[1], coming);
  t.match(snapshot({ fundingRate: 0 })[1], { layer: 'funding', values: { funding: '0' } });
  for (const none of [{}, { fundingRate: null }])
    t.match(snapshot(none), [{ layer: 'ticker' }, { layer: 'stats', values: { volume_24h: '3938.189' } }]);
  t.end();
});

t.test('the settled rate shares a subject with the predicted one and is the past', (t) => {
  const settled = (granularity: number): unknown => ({ granularity, fundingRate: 0.000105, timestamp: 1705982400000 });
  for (const granularity of [28_800_000, 14_400_000, 3_600_000])
    t.same(map(push('/contract/instrument:BAKEUSDTM', 'funding.rate', settled(granularity))), []);
  t.match(map(push('/contract/instrument:BAKEUSDTM', 'funding.rate', settled(60_000))), [
    { layer: 'funding', venue_symbol: 'BAKEUSDTM', values: { funding: '0.000105' } },
  ]);
  t.end();
});

t.test('a pushed candle has open, close, high, low, turnover and lots in this order', (t) => {
  // As another client's tests hold it, captured on 2026-10-03; the recorded one is flat.
  const candles = ['1790993280', '84568.3', '84556.7', '84568.3', '84544.2', '1080991.7836', '12785'];
  const falling = { candles, symbol: 'XBTUSDTM', time: 1790993360463 };
  const read = (body: object) => map(push('/contractMarket/limitCandle:XBTUSDTM_1min', 'candle.stick', body));
  t.match(read(falling), [
    {
      values: {
        open: '84568.3',
        close: '84556.7',
        high: '84568.3',
        low: '84544.2',
        volume: '12785',
        turnover: '1080991.7836',
        closed: null,
      },
    },
  ]);
  t.match(
    read({ ...falling, candles: [...candles.slice(0, 5), '12785.0', '12785'] }),
    [{ values: { volume: '12785', turnover: null } }],
    'the lots twice, as before 2026',
  );
  t.match(read({ ...falling, candles: [...candles.slice(0, 6), '0'] }), [{ values: { volume: '0' } }]);
  t.match(
    read({ ...falling, candles: [...candles.slice(0, 5), '0', '0'] }),
    [{ values: { volume: '0', turnover: '0' } }],
    'no lots have no turnover, in whichever member: a turnover that is null would leave the whole hour without one',
  );
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  for (const [what, file, line] of [
    ['acknowledgement', JKORF_WS, 2],
    ["a user's settlement", JKORF_WS, 9],
    ["a user's limit", JKORF_WS, 18],
    ['top of book', JKORF_WS, 24],
    ['top of book', SDK_WS, 10],
    ['a settlement that begins', SDK_WS, 1],
    ['the turnover of everything', JKORF_REST, 1],
    ['past funding', JKORF_REST, 7],
    ['interest rates', JKORF_REST, 9],
    ['premiums', JKORF_REST, 12],
    ['past funding', SDK_REST, 12],
    ["a user's funding", SDK_REST, 13],
  ] as const)
    t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  const dated = { sequence: 1, change: '5,buy,1', timestamp: 1551770400000 };
  t.same(map(push('/contractMarket/level2:XBTMM22', 'level2', dated)), [], 'a contract with a delivery date');
  const hour = { symbol: 'XBTUSDTM', candles: ['1731898200', '1', '2', '3', '4', '5', '5'], time: 1731898208357 };
  t.same(map(push('/contractMarket/limitCandle:XBTUSDTM_1hour', 'candle.stick', hour)), [], 'a candle of an hour');
  t.same(map(frame({ id: 'hQvf8jkno', type: 'welcome' })), []);
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const change = (data: unknown) => push('/contractMarket/level2:A', 'level2', data);
  for (const [what, message, code] of [
    ['cut off', frame('{"topic":"/contract/instrument:A","data":{'), 'VENUE_BAD_FRAME'],
    ['an error', frame({ id: '1', type: 'error', code: 404, data: 'topic is not found' }), 'VENUE_BAD_FRAME'],
    ['a refusal', answer('/api/v1/ticker?symbol=A', { code: '429000', msg: 'too many' }), 'VENUE_BAD_FRAME'],
    ['a change without side', change({ sequence: 1, change: '5,,1', timestamp: 1 }), 'VENUE_BAD_FRAME'],
    ['a price of letters', change({ sequence: 1, change: 'x,buy,1', timestamp: 1 }), 'VENUE_BAD_FIGURE'],
    ['a negative price', change({ sequence: 1, change: '-5,buy,1', timestamp: 1 }), 'VENUE_BAD_FIGURE'],
    ['a negative size', change({ sequence: 1, change: '5,buy,-1', timestamp: 1 }), 'VENUE_BAD_FIGURE'],
    ['a stamp after 2100', change({ sequence: 1, change: '5,buy,1', timestamp: 9e15 }), 'VENUE_BAD_FRAME'],
    ['trades of an unknown symbol', toVenueMessage(lineOf(SDK_REST, 5)), 'VENUE_UNKNOWN_LISTING'],
    ['candles of an unknown symbol', toVenueMessage(lineOf(SDK_REST, 6)), 'VENUE_UNKNOWN_LISTING'],
  ] as const)
    t.equal(codeOf(message), code, what);
  t.end();
});

t.test(
  'a snapshot takes the updates behind it, a hole is found, a change at price zero moves the sequence only',
  (t) => {
    const update = (sequence: number, change = '5,buy,1') => {
      const [mapped] = kucoin.map(
        {},
        push('/contractMarket/level2:C98USDTM', 'level2', { sequence, change, timestamp: 1705881600096 }),
        { listings: new Map() },
      );
      if (!mapped?.chain) throw new Error('no chain');
      return { chain: mapped.chain, values: mapped.record.values };
    };
    const snapshot = (sequence: number) => {
      const data = { sequence, symbol: 'C98USDTM', bids: [[0.2353, 146]], asks: [], ts: 1705881597161000000 };
      const body = { code: '200000', data };
      const request = '/api/v1/level2/snapshot?symbol=C98USDTM';
      const chain = kucoin.map({}, answer(request, body), { listings: new Map() })[0]?.chain;
      if (!chain) throw new Error('no chain');
      return { body: JSON.stringify(body), chain };
    };
    t.same(snapshot(100).chain.full, { bids: true, asks: true }, 'all levels the venue has');
    t.match(kucoin.sequence(snapshot(100).body), { symbol: 'C98USDTM', kind: 'snapshot', last: 100n });
    let state = makeBookSync<number>();
    const applied: number[] = [];
    const feed = (id: number, { chain }: { chain: Parameters<typeof stepBookSync>[2]['chain'] }) => {
      const step = stepBookSync(kucoin.bookRule, state, { chain, payload: id });
      state = step.state;
      applied.push(...step.apply);
      return step;
    };
    for (const id of [99, 100, 101, 102]) feed(id, update(id));
    feed(0, snapshot(100));
    t.same(applied, [0, 101, 102], 'the snapshot, then what came after it');
    feed(103, update(103, '0,sell,0'));
    t.equal(state.last, '103');
    t.same(update(103, '0,sell,0').values, { kind: 'update', bids: [], asks: [], sequence: '103' });
    feed(103, update(103));
    t.equal(state.phase, 'live', 'a repeat has no new value');
    t.ok(feed(105, update(105)).broke, '104 is missing');
    t.equal(feed(0, snapshot(103)).state.phase, 'broken', 'a snapshot before the hole does not join');
    feed(0, snapshot(104));
    t.equal(state.last, '105');
    state = makeBookSync();
    feed(0, snapshot(0));
    t.equal(
      feed(7, update(1709400450243)).state.last,
      '1709400450243',
      'a book that never had an order starts anywhere',
    );
    t.end();
  },
);

t.test('the quick check of a book frame agrees with the mapper', (t) => {
  for (const file of [JKORF_WS, SDK_WS]) {
    for (const line of readRecording(`kucoin/${file}`)) {
      if (line.dir !== 'in') continue;
      const chain = kucoin.map({}, toVenueMessage(line), { listings: new Map() }).find((m) => m.chain)?.chain ?? null;
      t.same(kucoin.sequence(line.raw), chain, line.raw.slice(0, 60));
    }
  }
  t.equal(kucoin.sequence('{"topic":"/contractMarket/level2:XBTMM22","data":{"sequence":1,"change":"5,buy,1"}}'), null);
  t.end();
});

t.test('each rule of a listing has its derivation', (t) => {
  t.same(listingsOf(SDK_REST), [
    record('listing', 'XBTUSDTM', [null, null], {
      instrument: 'BTC-PERP',
      venue_symbol: 'XBTUSDTM',
      base: 'BTC',
      quote: 'USDT',
      base_venue_alias: 'XBT',
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: '.KXBTUSDT',
      post_only: null,
      status: 'tradeable',
      contract_size: '0.001',
      multiplier: '1',
      tick_size: '0.1',
      lot_size: '1',
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: null,
      units: {
        tick_size: 'quote',
        lot_size: 'contracts',
        min_qty: null,
        min_notional: null,
        contract_size: 'base',
      },
      quantity_unit: 'contracts',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingFeeRate', transform: 'identity' },
      rules_normalisation: {
        tick_size: { venue_field: 'tickSize', transform: 'identity' },
        lot_size: { venue_field: 'lotSize', transform: 'identity' },
        contract_size: { venue_field: 'multiplier', transform: 'identity' },
      },
      candles: makeCandles('trade'),
      not_published: ['liquidation', 'min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
      bands: BANDS,
      oi_sides: null,
      listed_at: 1585555200000_000,
      delisted_at: null,
    }),
  ]);
  const [dash, bitcoin] = listingsOf(JKORF_REST);
  t.match(dash?.values, { base: 'DASH', base_venue_alias: null, contract_size: '0.01', funding_interval: null });
  t.match(bitcoin?.values, { base: 'BTC', tick_size: '1', venue_kind: 'linear' }, 'isQuanto does not make a quanto');
  t.end();
});

/** Rules as the venue sends them for its dollar contract: https://api-futures.kucoin.com/api/v1/contracts/XBTUSDM. */
const INVERSE = {
  symbol: 'XBTUSDM',
  type: 'FFWCSX',
  firstOpenDate: 1552638575000,
  expireDate: null,
  baseCurrency: 'XBT',
  quoteCurrency: 'USD',
  settleCurrency: 'XBT',
  lotSize: 1,
  tickSize: 0.1,
  multiplier: -1.0,
  isQuanto: false,
  isInverse: true,
  indexSymbol: '.BXBT',
  status: 'Open',
};

t.test(
  'a lot of an inverse contract is a dollar, thousands in symbols are undone, dated contracts are left out',
  (t) => {
    const reference = (...data: unknown[]) =>
      kucoin.mapReference({}, answer('/api/v1/contracts/active', { code: '200000', data }));
    const inverse = reference(INVERSE);
    t.equal(inverse?.scope, 'active');
    t.match(inverse?.listings[0]?.values, {
      venue_kind: 'inverse',
      contract_size: '1',
      units: { contract_size: 'quote' },
      rules_normalisation: { contract_size: { venue_field: 'multiplier', transform: 'scale:-1' } },
      not_published: ['liquidation', 'min_notional', 'min_qty', 'price_decimals', 'qty_decimals', 'turnover_24h'],
    });
    const linear = { ...INVERSE, quoteCurrency: 'USDT', settleCurrency: 'USDT', isInverse: false, multiplier: 1 };
    const listed = reference(
      { ...linear, symbol: '1000BONKUSDTM', baseCurrency: '1000BONK', status: 'Paused' },
      { ...linear, symbol: 'XBTMM22', type: 'FFICSX' },
      { ...linear, symbol: 'ETHUSDTM', baseCurrency: 'ETH', status: 'BeingSettled', settleCurrency: 'XBT' },
      { ...linear, symbol: 'NEWUSDTM', baseCurrency: 'NEW', status: 'Init' },
      { ...linear, symbol: 'ODDUSDTM', baseCurrency: 'ODD', status: 'Whatever' },
    )?.listings;
    t.same(
      listed?.map(({ venue_symbol, values }) => [venue_symbol, values.base, values.multiplier, values.status]),
      [
        ['1000BONKUSDTM', 'BONK', '1000', 'halted'],
        ['ETHUSDTM', 'ETH', '1', 'settling'],
        ['NEWUSDTM', 'NEW', '1', 'pre_launch'],
        ['ODDUSDTM', 'ODD', '1', 'unknown'],
      ],
    );
    t.match(
      listed?.[1]?.values,
      { venue_kind: 'quanto', contract_size: null, units: { contract_size: null } },
      'settled in neither of its two assets: its size counts none of them',
    );
    t.equal(
      reference({ ...linear, multiplier: -1 })?.listings[0]?.values.contract_size,
      null,
      'a sign of inverse contracts',
    );
    for (const multiplier of [0, 1, null])
      t.match(
        reference({ ...INVERSE, multiplier })?.listings[0]?.values,
        { venue_kind: 'inverse', contract_size: null, rules_normalisation: { contract_size: undefined } },
        `an inverse contract of ${multiplier}`,
      );
    const listings = new Map(inverse?.listings.map((listing) => [listing.venue_symbol, listing]));
    const index = { dataList: [{ symbol: '.BXBT', timePoint: 1730557515000, value: 5 }] };
    const asked = answer('/api/v1/index/query?symbol=.BXBT', { code: '200000', data: index });
    t.match(map(asked, {}, { listings }), [{ venue_symbol: 'XBTUSDM', values: { index: '5' } }]);
    t.same(map(toVenueMessage(lineOf(SDK_REST, 8)), {}, { listings }), [], 'an index no known listing uses');
    t.end();
  },
);
