// Kraken Futures: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { krakenFutures as venue } from '../../../ingest/venues/kraken-futures/index.ts';
import type { BookRecord } from '../../../schemas/records.ts';
import { followBooks, listChains } from '../../support/venues/book-sessions.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, mapFile, listingsOf, frame, answer, record, codeOf } = venueBench(venue);

const SESSION = 'cryptofeed-v1-ws-1.ndjson.gz';

const INSTRUMENTS_2021 = 'cryptofeed-v1-rest-instruments.ndjson.gz';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const NAUTILUS_REST = 'nautilus-rest-singles.ndjson';

const NAUTILUS_WS = 'nautilus-ws-singles.ndjson';

const BYTEX = 'bytex-2026-09.ndjson';

t.test('recorded messages give the records that their bytes contain', (t) => {
  t.same(
    mapLine(JKORF_WS, 3),
    [
      record('ticker', 'PF_ETHUSD', [1783587648112, null], { last: '1751.7' }),
      record('mark', 'PF_ETHUSD', [1783587648112, null], { mark: '1751.97553924942', index: '1751.75' }),
      record('funding', 'PF_ETHUSD', [1783587648112, null], {
        funding: '0.0000186711875',
        funding_interval_ms: null,
        next_funding_at: 1783591200000_000,
      }),
      record('oi', 'PF_ETHUSD', [1783587648112, null], { oi: '24085.822', oi_unit: 'base' }),
      record('stats', 'PF_ETHUSD', [1783587648112, null], {
        volume_24h: '57204.177',
        volume_unit: 'base',
        turnover_24h: '99424431.8132',
        change_24h: '0.0097',
      }),
    ],
    'a linear ticker counts base; its rate is the relative one, as sent',
  );
  t.same(
    mapLine(NAUTILUS_WS, 1),
    [
      record('ticker', 'PI_XBTUSD', [1676393235406, null], { last: '21983.5' }),
      record('mark', 'PI_XBTUSD', [1676393235406, null], { mark: '21979.68641534714', index: '21984.54' }),
      record('funding', 'PI_XBTUSD', [1676393235406, null], {
        funding: '-0.000001380384722222',
        funding_interval_ms: null,
        next_funding_at: 1676394000000_000,
      }),
      record('oi', 'PI_XBTUSD', [1676393235406, null], { oi: '30072580', oi_unit: 'contracts' }),
      record('stats', 'PI_XBTUSD', [1676393235406, null], {
        volume_24h: '31403908',
        volume_unit: 'contracts',
        turnover_24h: '31403908',
        change_24h: '0.019974017538161748',
      }),
    ],
    'an inverse ticker counts contracts',
  );
  t.same(
    mapLine(SESSION, 46),
    [
      record('stats', 'PI_XRPUSD', [null, 1626994927949], {
        volume_24h: '3562602',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: '0.04086665492337493',
      }),
    ],
    'ticker_lite has the figures of the day, no last price, no stamp',
  );
  t.same(
    mapLine(SESSION, 57),
    [
      record('book', 'PI_LTCUSD', [1626994927748, 1626994928037], {
        kind: 'update',
        bids: [],
        asks: [['119.46', '21884']],
        sequence: '3423036',
      }),
    ],
    'one level a message, on the side of the sellers',
  );
  t.same(
    mapLine(SESSION, 58),
    [
      record('book', 'PI_LTCUSD', [1626994927751, 1626994928037], {
        kind: 'update',
        bids: [['119.21', '24508']],
        asks: [],
        sequence: '3423037',
      }),
    ],
    'and of the buyers',
  );
  t.same(
    mapLine(NAUTILUS_WS, 5),
    [
      record('book', 'PI_XBTUSD', [1612269953629, null], {
        kind: 'update',
        bids: [],
        asks: [['34981', '0']],
        sequence: '326094134',
      }),
    ],
    'a size of zero removes the level',
  );
  t.same(
    mapLine(NAUTILUS_WS, 4),
    [
      record('book', 'PI_XBTUSD', [1612269825817, null], {
        kind: 'snapshot',
        bids: [
          ['34892.5', '6385'],
          ['34892', '10924'],
        ],
        asks: [
          ['34911.5', '20598'],
          ['34912', '2300'],
        ],
        sequence: '326072249',
      }),
    ],
    'a snapshot, best first',
  );
  t.same(
    mapLine(SESSION, 262),
    [
      record('trade', 'PI_LTCUSD', [1626994929946, 1626994929929], {
        id: 'e2429e31-8b9d-4195-900e-fd42be2dec89',
        side: 'buy',
        price: '119.44',
        quantity: '320',
        quantity_unit: 'contracts',
      }),
    ],
    'a trade',
  );
  t.same(
    mapLine(NAUTILUS_WS, 2),
    [
      record('trade', 'PI_XBTUSD', [1612266317519, null], {
        id: '05af78ac-a774-478c-a50c-8b9c234e071e',
        side: 'sell',
        price: '34969.5',
        quantity: '15000',
        quantity_unit: 'contracts',
      }),
    ],
    'a trade of another recording',
  );
  t.end();
});

t.test('answers give what they name; what names nobody is not read', (t) => {
  t.same(
    mapLine(JKORF_REST, 6),
    [
      record('ticker', 'PI_XBTUSD', [1655462795705, null], { last: '49289' }),
      record('mark', 'PI_XBTUSD', [1655463631335, null], { mark: '30209.9', index: '21087.8' }),
      record('oi', 'PI_XBTUSD', [1655463631335, null], { oi: '149655', oi_unit: 'contracts' }),
      record('stats', 'PI_XBTUSD', [1655463631335, null], {
        volume_24h: '15304',
        volume_unit: 'contracts',
        turnover_24h: null,
        change_24h: '0.019974017538161748',
      }),
    ],
    'tickers: the last price has its own time; an absolute rate is no funding; dated ones and indices are left out',
  );
  t.same(
    mapLine(NAUTILUS_REST, 7)[2],
    record('trade', 'PF_XBTUSD', [1764206268219, null], {
      id: '4e9cc105-a3b8-44f9-bde2-c593a419000c',
      side: 'buy',
      price: '90766',
      quantity: '0.0006',
      quantity_unit: 'base',
    }),
    "executions: the taker's side",
  );
  t.equal(mapLine(NAUTILUS_REST, 7).length, 3);
  const executed = lineOf(NAUTILUS_REST, 7).raw;
  const typed = (orderType: string) =>
    map(answer('GET /api/history/v3/market/PF_XBTUSD/executions', executed.replaceAll('"IoC"', `"${orderType}"`))).map(
      ({ layer, values }) => [layer, (values as { readonly side?: string }).side],
    );
  for (const orderType of ['Liquidation', 'PartialLiquidation', 'CoveredLiquidation'])
    t.same(
      typed(orderType),
      [
        ['trade', 'sell'],
        ['trade', 'buy'],
        ['liquidation', 'short'],
        ['trade', 'buy'],
        ['liquidation', 'short'],
      ],
      `executions: ${orderType} of the taker is a liquidation too`,
    );
  for (const orderType of ['Assignment', 'HedgeAssignment', 'Unwind'])
    t.same(typed(orderType), [['trade', 'sell']], `executions: ${orderType} hands a position over`);
  const asked = (path: string, file: string, line: number) =>
    map(answer(`GET https://futures.kraken.com/derivatives/api/v3/${path}`, lineOf(file, line).raw));
  t.same(
    asked('orderbook?symbol=PF_XBTUSD', NAUTILUS_REST, 6),
    [
      record('book', 'PF_XBTUSD', [1752235200000, null], {
        kind: 'snapshot',
        bids: [
          ['105900', '0.5'],
          ['105850', '1.2'],
          ['105800', '0.8'],
        ],
        asks: [
          ['105950', '0.3'],
          ['106000', '0.7'],
          ['106050', '1.1'],
        ],
        sequence: null,
      }),
    ],
    'a recorded book, requested',
  );
  const [deep] = asked('orderbook?symbol=PI_XBTUSD', JKORF_REST, 3);
  t.match(
    deep,
    record('book', 'PI_XBTUSD', [Date.UTC(2024, 4, 3, 13, 18, 0, 781), null], { kind: 'snapshot', sequence: null }),
  );
  const { bids, asks } = (deep as BookRecord).values;
  t.same(
    [bids.slice(0, 2), bids.slice(-2), asks.slice(0, 2), asks.slice(-2)],
    [
      [
        ['61011.5', '2900'],
        ['61008.5', '3400'],
      ],
      [
        ['2500', '1'],
        ['1000', '8'],
      ],
      [
        ['61029.5', '1450'],
        ['61034', '1450'],
      ],
      [
        ['374418', '1000'],
        ['427150', '300'],
      ],
    ],
    'both ends of a deep one',
  );
  const book = {
    result: 'success',
    serverTime: '2025-07-11T12:00:00.000Z',
    orderBook: {
      bids: [
        [5, 1],
        [6, 2],
      ],
      asks: [
        [8, 3],
        [7, 4],
      ],
    },
  };
  t.same(map(answer('GET https://futures.kraken.com/derivatives/api/v3/orderbook?symbol=PF_XBTUSD', book)), [
    record('book', 'PF_XBTUSD', [1752235200000, null], {
      kind: 'snapshot',
      bids: [
        ['6', '2'],
        ['5', '1'],
      ],
      asks: [
        ['7', '4'],
        ['8', '3'],
      ],
      sequence: null,
    }),
  ]);
  const sold = {
    id: 'd0692c0c-742e-4d88-862c-8bd63533e067',
    price: '61081',
    quantity: '25',
    quantity_unit: 'contracts',
  };
  const sale = record('trade', 'PI_XBTUSD', [1714741543974, null], { ...sold, side: 'sell' });
  t.same(asked('history?symbol=PI_XBTUSD', JKORF_REST, 7), [sale], 'a recorded history, requested');
  // No recording has a liquidation: the fill of jkorf-rest:7 with its type changed.
  const liquidated = lineOf(JKORF_REST, 7).raw.replace('"type":"fill"', '"type":"liquidation"');
  t.same(
    map(answer('GET /derivatives/api/v3/history?symbol=PI_XBTUSD', liquidated)),
    [sale, record('liquidation', 'PI_XBTUSD', [1714741543974, null], { ...sold, side: 'long', price_kind: 'fill' })],
    'what a liquidated taker sells is a long',
  );
  t.match(
    map(answer('GET /derivatives/api/v3/history?symbol=PI_XBTUSD', lineOf(JKORF_REST, 7).raw.replace(sold.id, ''))),
    [{ values: { id: '100', price: '61081' } }],
    'an empty id is none',
  );
  for (const [what, file, line] of [
    ['an order book', JKORF_REST, 3],
    ['an order book', NAUTILUS_REST, 6],
    ['a history', JKORF_REST, 7],
    ['candles', NAUTILUS_REST, 3],
  ] as const)
    t.equal(codeOf(toVenueMessage(lineOf(file, line))), 'VENUE_UNKNOWN_LISTING', `${what} of nobody (${file}:${line})`);
  t.end();
});

t.test('the feed of minutes begins with the running one', (t) => {
  const minute = record('candle', 'PF_XBTUSD', [null, null], {
    open_time: 1790359920000_000,
    price_type: 'trade',
    timeframe: '1m',
    open: '83954',
    high: '84007',
    low: '83954',
    close: '83999',
    volume: '0.9783',
    volume_unit: 'base',
    turnover: null,
    trades: null,
    closed: null,
  });
  t.same(mapLine(BYTEX, 4), [minute]);
  const change = JSON.parse(lineOf(BYTEX, 4).raw) as object;
  t.same(map(frame({ ...change, feed: 'candles_trade_1m' })), [minute], 'a change of it');
  t.same(map(frame({ ...change, feed: 'candles_trade_5m' })), [], 'of another length');
  t.same(map(frame({ ...change, product_id: 'FI_XBTUSD_261225' })), [], 'of no perpetual');
  t.end();
});

t.test('candles of a minute, by price type; mark and index have no volume', (t) => {
  // The recorded candles of trades and marks lack their request: they lie an hour apart, here they are requested as minutes.
  const asked = (type: string, line: number, resolution = '1m') =>
    map(
      answer(
        `GET https://futures.kraken.com/api/charts/v1/${type}/PI_XBTUSD/${resolution}`,
        lineOf(NAUTILUS_REST, line).raw,
      ),
    );
  const candle = (price_type: string, openMs: number, [open, high, low, close, volume]: readonly string[]) =>
    record('candle', 'PI_XBTUSD', [null, null], {
      open_time: openMs * 1000,
      price_type,
      timeframe: '1m',
      open,
      high,
      low,
      close,
      volume: volume ?? null,
      volume_unit: volume === undefined ? null : 'contracts',
      turnover: null,
      trades: null,
      closed: null,
    });
  t.same(asked('trade', 4), [
    candle('trade', 1731715200000, ['91069', '91373.5', '90956', '91045.5', '319499']),
    candle('trade', 1731718800000, ['91045.5', '91488.5', '91045.5', '91415', '2407']),
    candle('trade', 1731722400000, ['91415', '91490.5', '91415', '91490.5', '4995']),
  ]);
  const prices = (price_type: string) => [
    candle(price_type, 1731715200000, ['91126.5834675817', '91396.1831146774', '90937.3053195142', '91098.7132316333']),
    candle(price_type, 1731718800000, ['91098.7132316333', '91547.3066683662', '91052.1503188099', '91339.3327740848']),
    candle(price_type, 1731722400000, ['91339.3327740848', '91795.463093144', '91251.6630059716', '91506.6009839176']),
  ];
  t.same(asked('mark', 3), prices('mark'));
  t.same(asked('spot', 3), prices('index'), 'no recording has an index: the marks, requested as one');
  t.match(asked('mark', 4)[0]?.values, { volume: null, volume_unit: null }, 'whatever their volume is');
  t.same(asked('trade', 4, '1h'), [], 'other lengths');
  t.same(mapLine(JKORF_REST, 2), [], 'candles of twelve hours, of no perpetual');
  t.end();
});

t.test('messages without data of a perpetual give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['an acknowledgement', JKORF_WS, 2],
    ['past trades after a subscription', NAUTILUS_WS, 3],
    ['past trades after a subscription', SESSION, 45],
    ['past funding', JKORF_REST, 1],
    ['market states', JKORF_REST, 4],
    ['past funding', NAUTILUS_REST, 5],
    ['instruments', NAUTILUS_REST, 1],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ event: 'info', version: 1 })), []);
  t.same(map(frame({ feed: 'heartbeat', time: 1534262350627 })), []);
  const symbols = new Set(mapFile(SESSION).map(({ venue_symbol }) => venue_symbol));
  t.same([...symbols].toSorted(), ['PI_LTCUSD', 'PI_XRPUSD'], 'five instruments of the session have a maturity');
  const trade = {
    feed: 'trade',
    product_id: 'PF_XBTUSD',
    uid: 'u',
    side: 'buy',
    seq: 1,
    time: 1612266317519,
    qty: 2,
    price: 3,
  };
  for (const type of ['assignment', 'termination']) t.same(map(frame({ ...trade, type })), [], type);
  t.equal(map(frame({ ...trade, type: 'block' })).length, 1);
  t.same(
    map(frame({ ...trade, type: 'liquidation' })).map(({ layer, values }) => [layer, values]),
    [
      ['trade', { id: 'u', side: 'buy', price: '3', quantity: '2', quantity_unit: 'base' }],
      ['liquidation', { id: 'u', side: 'short', price: '3', price_kind: 'fill', quantity: '2', quantity_unit: 'base' }],
    ],
    'what a liquidated taker buys back is a short',
  );
  // No recording has a liquidation: the pushed fill of nautilus-ws:2 with its type changed.
  const sold = { id: '05af78ac-a774-478c-a50c-8b9c234e071e', price: '34969.5', quantity: '15000' };
  t.same(map(frame(lineOf(NAUTILUS_WS, 2).raw.replace('"type":"fill"', '"type":"liquidation"'))), [
    record('trade', 'PI_XBTUSD', [1612266317519, null], { ...sold, side: 'sell', quantity_unit: 'contracts' }),
    record('liquidation', 'PI_XBTUSD', [1612266317519, null], {
      ...sold,
      side: 'long',
      price_kind: 'fill',
      quantity_unit: 'contracts',
    }),
  ]);
  t.end();
});

t.test('a figure of zero is omitted by the venue and is none; an end of zero means no funding', (t) => {
  const ticker = { feed: 'ticker', product_id: 'PF_XBTUSD', time: 1700000000000, markPrice: 5 };
  const findFunding = (members: object): unknown =>
    map(frame({ ...ticker, ...members })).find(({ layer }) => layer === 'funding')?.values;
  t.same(findFunding({ next_funding_rate_time: 1700003600000 }), {
    funding: null,
    funding_interval_ms: null,
    next_funding_at: 1700003600000_000,
  });
  t.equal(findFunding({ relative_funding_rate: 0.1, next_funding_rate_time: 0 }), undefined);
  t.equal(findFunding({ funding_rate: 0.1 }), undefined, 'the absolute rate is no fraction');
  t.match(map(frame({ ...ticker, index: 4 })), [{ layer: 'mark', values: { mark: '5', index: '4' } }]);
  t.equal(map(frame({ ...ticker, last: 0 })).length, 1, 'nothing was traded yet');
  t.end();
});

t.test('a size below zero is none, and digits of JSON numbers are kept', (t) => {
  const text = (price: string, qty: string): VenueMessage =>
    frame(
      `{"feed":"book","product_id":"PF_PEPEUSD","side":"buy","seq":9007199254740993,"price":${price},"qty":${qty},"timestamp":1}`,
    );
  t.match(map(text('1.10e-9', '-3')), [{ values: { bids: [['0.0000000011', '0']], sequence: '9007199254740993' } }]);
  t.match(map(text('0.12345678901234567890', '1')), [{ values: { bids: [['0.1234567890123456789', '1']] } }]);
  t.equal(venue.sequence(text('1', '1').payload.toString())?.last, 9007199254740993n);
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = { feed: 'book', product_id: 'PF_XBTUSD', side: 'buy', seq: 1, price: 2, qty: 3, timestamp: 4 };
  const table: readonly (readonly [string, VenueMessage, string])[] = [
    ['cut off', frame('{"feed":"book","pro'), 'VENUE_BAD_FRAME'],
    ['no object', frame('17'), 'VENUE_BAD_FRAME'],
    ['a price of zero', frame({ ...book, price: 0 }), 'VENUE_BAD_FIGURE'],
    ['a price of letters', frame({ ...book, price: 'x' }), 'VENUE_BAD_FIGURE'],
    ['no price', frame({ ...book, price: undefined }), 'VENUE_BAD_FRAME'],
    ['no side', frame({ ...book, side: 'up' }), 'VENUE_BAD_FRAME'],
    ['no sequence', frame({ ...book, seq: 'x' }), 'VENUE_BAD_FRAME'],
    [
      'an error answer',
      answer('GET /derivatives/api/v3/tickers', { result: 'error', error: 'apiLimitExceeded' }),
      'VENUE_BAD_FRAME',
    ],
    ['a refused feed', frame({ event: 'alert', message: "Couldn't subscribe to invalid feed" }), 'VENUE_BAD_FRAME'],
    ['a refused product', frame({ event: 'error', message: 'Invalid product id' }), 'VENUE_BAD_FRAME'],
    ['a failed subscription', frame({ event: 'subscribed_failed', feed: 'book' }), 'VENUE_BAD_FRAME'],
    ['an acknowledgement', frame({ event: 'subscribed', feed: 'book', product_ids: ['PF_XBTUSD'] }), 'gave []'],
  ];
  for (const [what, message, code] of table) t.equal(codeOf(message), code, what);
  t.end();
});

t.test('the recorded session is continuous, and a missing frame is found', (t) => {
  const lines = readRecording(`kraken-futures/${SESSION}`);
  const chains = listChains(venue, lines);
  t.same(followBooks(venue, chains), { broke: [], whole: ['PI_LTCUSD', 'PI_XRPUSD'], applied: 449 + 235 + 2 });
  const holed = chains.filter((_chain, i) => i !== 200 && i !== 201);
  t.same(followBooks(venue, holed).broke, [chains[200]?.symbol]);
  const repeated = chains.flatMap((chain) => (chain.kind === 'update' ? [chain, chain] : [chain]));
  t.same(followBooks(venue, repeated).broke, [], 'a repeat has no new value');
  const mapped = lines.flatMap((line) =>
    line.dir === 'in'
      ? venue.map({}, toVenueMessage(line), { listings: new Map() }).flatMap(({ chain }) => chain ?? [])
      : [],
  );
  t.same(mapped, chains, 'the quick check of a frame agrees with the mapper');
  t.end();
});

t.test('each rule of a listing has its derivation', (t) => {
  const [inverse, linear, thousands, share] = listingsOf(NAUTILUS_REST);
  t.same(
    inverse,
    record('listing', 'PI_XBTUSD', [null, null], {
      instrument: 'BTC-PERP',
      venue_symbol: 'PI_XBTUSD',
      base: 'BTC',
      quote: 'USD',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'inverse',
      pair: 'BTC:USD',
      post_only: false,
      status: 'tradeable',
      contract_size: '1',
      multiplier: '1',
      tick_size: '0.5',
      lot_size: '1',
      min_qty: null,
      min_notional: null,
      price_decimals: null,
      qty_decimals: 0,
      units: { tick_size: 'quote', lot_size: 'contracts', min_qty: null, min_notional: null, contract_size: 'quote' },
      quantity_unit: 'contracts',
      funding_interval: '1h',
      funding_interval_source: 'documented',
      funding_normalisation: { venue_field: 'relative_funding_rate', transform: 'identity' },
      rules_normalisation: {
        tick_size: { venue_field: 'tickSize', transform: 'identity' },
        lot_size: { venue_field: 'contractValueTradePrecision', transform: 'decimals_to_step' },
        qty_decimals: { venue_field: 'contractValueTradePrecision', transform: 'identity' },
        contract_size: { venue_field: 'contractSize', transform: 'identity' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['min_notional', 'min_qty', 'price_decimals'],
      bands: BANDS,
      oi_sides: null,
      listed_at: Date.UTC(2018, 7, 31) * 1000,
      delisted_at: null,
    }),
  );
  t.match(linear?.values, {
    venue_kind: 'linear',
    quantity_unit: 'base',
    tick_size: '0.1',
    lot_size: '0.001',
    qty_decimals: 3,
    contract_size: '1',
    units: { lot_size: 'base', contract_size: 'base' },
    listed_at: Date.UTC(2022, 2, 22, 13, 18, 45) * 1000,
  });
  t.match(
    thousands?.values,
    { venue_symbol: 'PF_PEPEUSD', multiplier: '1', tick_size: '0.0000000001', lot_size: '1000', qty_decimals: -3 },
    'a precision below zero is a step of thousands',
  );
  t.match(share?.values, {
    base: 'AAPLX',
    base_venue_alias: 'AAPLx',
    instrument: 'AAPLX-PERP',
    venue_symbol: 'PF_AAPLxUSD',
  });
  t.end();
});

t.test('only perpetuals are listed; the oldest answers name assets by the symbol alone', (t) => {
  const old = listingsOf(INSTRUMENTS_2021);
  t.same(
    old.map(({ venue_symbol, values }) => [
      venue_symbol,
      values.base,
      values.base_venue_alias,
      values.quote,
      values.tick_size,
    ]),
    [
      ['pi_xbtusd', 'BTC', 'XBT', 'USD', '0.5'],
      ['pi_ethusd', 'ETH', null, 'USD', '0.05'],
      ['pi_ltcusd', 'LTC', null, 'USD', '0.01'],
      ['pi_bchusd', 'BCH', null, 'USD', '0.1'],
      ['pi_xrpusd', 'XRP', null, 'USD', '0.0001'],
    ],
  );
  t.match(old[0]?.values, { lot_size: null, qty_decimals: null, contract_size: '1', listed_at: null });
  t.match(
    listingsOf(JKORF_REST).map(({ venue_symbol, values }) => [venue_symbol, values.base_venue_alias, values.lot_size]),
    [
      ['PI_XBTUSD', 'XBT', '1'],
      ['PF_XBTUSD', 'XBT', '0.0001'],
    ],
    'of three, one has a maturity',
  );
  t.end();
});

t.test('states of a listing', (t) => {
  const findStatus = (members: object): unknown => {
    const instrument = {
      symbol: 'PF_AUSD',
      base: 'A',
      quote: 'USD',
      tickSize: 1,
      openingDate: '2024-01-02T00:00:00Z',
      ...members,
    };
    const body = { result: 'success', serverTime: '2024-01-01T00:00:00Z', instruments: [instrument] };
    return venue.mapReference({}, answer('GET https://futures.kraken.com/derivatives/api/v3/instruments', body))
      ?.listings[0]?.values.status;
  };
  t.equal(findStatus({ tradeable: true, postOnly: false }), 'tradeable');
  t.equal(findStatus({ tradeable: true, postOnly: true }), 'post_only');
  t.equal(findStatus({ tradeable: false }), 'pre_launch');
  t.equal(findStatus({ tradeable: false, openingDate: '2023-01-02T00:00:00Z' }), 'halted');
  t.equal(findStatus({}), 'unknown');
  t.end();
});
