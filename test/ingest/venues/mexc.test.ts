// MEXC: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import t from 'tap';
import { mexc } from '../../../ingest/venues/mexc/index.ts';
import { makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, listingsOf, frame, answer, record, codeOf } = venueBench(mexc);

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const TARDIS = 'tardis-tests-mexc-futures.ndjson';

const push = (channel: string, data: unknown, symbol = 'BTC_USDT') =>
  frame({ channel: `push.${channel}`, data, symbol, ts: 1587442022009 });

const ask = (path: string, data: unknown) =>
  answer(`GET https://api.mexc.com/api/v1/contract/${path}`, { success: true, code: 0, data });

t.test('the rate of a pushed funding is read under either of its names', (t) => {
  for (const name of ['rate', 'fundingRate']) {
    const data = { symbol: 'BTC_USDT', [name]: -0.00012, nextSettleTime: 1587456000000 };
    const values = { funding: '-0.00012', funding_interval_ms: null, next_funding_at: 1587456000000_000 };
    t.same(map(push('funding.rate', data)), [record('funding', 'BTC_USDT', [1587442022009, null], values)], name);
  }
  t.end();
});

t.test('recorded frames give the records that their bytes contain', (t) => {
  for (const [what, file, line, records] of [
    [
      'a ticker contains last, mark and index, funding, open interest and the day',
      TARDIS,
      8,
      [
        record('ticker', 'BTC_USDT', [1587442022003, null], { last: '6865.5' }),
        record('mark', 'BTC_USDT', [1587442022003, null], { mark: '6867.4', index: '6861.6' }),
        record('funding', 'BTC_USDT', [1587442022003, null], {
          funding: '0.0008',
          funding_interval_ms: null,
          next_funding_at: null,
        }),
        record('oi', 'BTC_USDT', [1587442022003, null], { oi: '2284742', oi_unit: 'contracts' }),
        record('stats', 'BTC_USDT', [1587442022003, null], {
          volume_24h: '164586129',
          volume_unit: 'contracts',
          turnover_24h: null,
          change_24h: '-0.0424',
        }),
      ],
    ],
    [
      'tickers of all contracts: no index, no stamps but that of the frame',
      JKORF_WS,
      35,
      [
        record('ticker', 'BSV_USDT', [1587442022003, null], { last: '183' }),
        record('mark', 'BSV_USDT', [1587442022003, null], { mark: '183.01', index: null }),
        record('stats', 'BSV_USDT', [1587442022003, null], {
          volume_24h: '200',
          volume_unit: 'contracts',
          turnover_24h: null,
          change_24h: '-0.0708',
        }),
        record('ticker', 'BCH_USDT', [1587442022003, null], { last: '220.4' }),
        record('mark', 'BCH_USDT', [1587442022003, null], { mark: '220.22', index: null }),
        record('stats', 'BCH_USDT', [1587442022003, null], {
          volume_24h: '200',
          volume_unit: 'contracts',
          turnover_24h: null,
          change_24h: '-0.0686',
        }),
      ],
    ],
    ['an index alone', TARDIS, 6, [record('mark', 'BTC_USDT', [1587442021003, null], { mark: null, index: '6861.7' })]],
    ['a mark alone', TARDIS, 7, [record('mark', 'BTC_USDT', [1587442021503, null], { mark: '6867.5', index: null })]],
    [
      'funding and its settlement',
      TARDIS,
      9,
      [
        record('funding', 'BTC_USDT', [1587442022503, null], {
          funding: '0.0012',
          funding_interval_ms: null,
          next_funding_at: 1587445200000_000,
        }),
      ],
    ],
    [
      'funding without its settlement',
      JKORF_WS,
      6,
      [
        record('funding', 'BTC_USDT', [1587442022003, null], {
          funding: '0.001',
          funding_interval_ms: null,
          next_funding_at: null,
        }),
      ],
    ],
    [
      'an update: price, contracts, orders; the time of the matching engine',
      TARDIS,
      2,
      [
        record('book', 'BTC_USDT', [1587442021983, null], {
          kind: 'update',
          bids: [['6858.5', '42']],
          asks: [['6859.5', '3251']],
          sequence: '96801927',
        }),
      ],
    ],
    [
      'a merged update removes a level, and its sequence is that of its end',
      TARDIS,
      5,
      [
        record('book', 'BTC_USDT', [1587442022003, null], {
          kind: 'update',
          bids: [['6858.5', '6']],
          asks: [['6860.5', '0']],
          sequence: '96801931',
        }),
      ],
    ],
    [
      'a snapshot wrapped by its recorder has the stamp of the answer',
      TARDIS,
      3,
      [
        record('book', 'BTC_USDT', [1587442021003, null], {
          kind: 'snapshot',
          bids: [['6857.5', '4']],
          asks: [['6860.5', '2']],
          sequence: '96801926',
        }),
      ],
    ],
    [
      'the best levels are whole',
      JKORF_WS,
      26,
      [
        record('book', 'BTC_USDT', [1587442022003, null], {
          kind: 'snapshot',
          bids: [],
          asks: [['6859.5', '3251']],
          sequence: '96801927',
        }),
      ],
    ],
    [
      'trades: 2 sold, 1 bought',
      TARDIS,
      1,
      [
        record('trade', 'BTC_USDT', [1755487578276, null], {
          id: '13064218826',
          side: 'sell',
          price: '115309.8',
          quantity: '55',
          quantity_unit: 'contracts',
        }),
        record('trade', 'BTC_USDT', [1755487578275, null], {
          id: '13064218827',
          side: 'buy',
          price: '115309.8',
          quantity: '11',
          quantity_unit: 'contracts',
        }),
      ],
    ],
    [
      'a trade without an id',
      JKORF_WS,
      38,
      [
        record('trade', 'BTC_USDT', [1763645012047, null], {
          id: null,
          side: 'sell',
          price: '91847.4',
          quantity: '49',
          quantity_unit: 'contracts',
        }),
      ],
    ],
  ] as const)
    t.same(mapLine(file, line), records, `${what} (${file}:${line})`);
  t.equal(mapLine(JKORF_WS, 32)[0]?.venue_symbol, 'ETH_USDT', "an element's own symbol goes before the frame's");
  t.end();
});

t.test('recorded answers give the records that their bytes contain', (t) => {
  const funding = (symbol: string): unknown =>
    record('funding', symbol, [1609829807577, null], {
      funding: '-0.000489',
      funding_interval_ms: 28_800_000,
      next_funding_at: 1609833600000_000,
    });
  for (const [what, line, records] of [
    ['a rate with its cycle and settlement', 1, [funding('BTC_USDT')]],
    ['all rates', 3, [funding('BTC_USDT'), funding('ETH_USDT')]],
    ['an index', 4, [record('mark', 'BTC_USDT', [1609829627708, null], { mark: null, index: '31104.6' })]],
    ['a mark', 5, [record('mark', 'BTC_USDT', [1609829705178, null], { mark: '31103.4', index: null })]],
    [
      'past trades are of the symbol in the path',
      6,
      [
        record('trade', 'ETH_USDT', [1609831235985, null], {
          id: null,
          side: 'buy',
          price: '31199',
          quantity: '18',
          quantity_unit: 'contracts',
        }),
        record('trade', 'ETH_USDT', [1609831234759, null], {
          id: null,
          side: 'sell',
          price: '31199',
          quantity: '15',
          quantity_unit: 'contracts',
        }),
      ],
    ],
  ] as const)
    t.same(mapLine(JKORF_REST, line), records, `${what} (${line})`);
  const contracts = toVenueMessage(lineOf(JKORF_REST, 8));
  const renamed = { ...contracts, request: 'GET https://api.mexc.com/api/v1/contract/detail/country' };
  t.same(mexc.mapReference({}, renamed)?.listings, mexc.mapReference({}, contracts)?.listings, 'by its newer path');
  t.equal(mexc.mapReference({}, renamed)?.scope, 'all');
  const { data } = JSON.parse(lineOf(JKORF_REST, 1).raw) as { data: object };
  t.same(
    map(ask('funding_rate/BTC_USDT', { ...data, idxPrice: 77271.6, fairPrice: 77240.4 })),
    [record('mark', 'BTC_USDT', [1609829807577, null], { mark: '77240.4', index: '77271.6' }), funding('BTC_USDT')],
    'since 2026-04-18 with mark and index',
  );
  t.same(
    mapLine(JKORF_REST, 9).at(-1),
    record('stats', 'BTC_USDT', [1609831334016, null], {
      volume_24h: '40146908',
      volume_unit: 'contracts',
      turnover_24h: '124905007.4428',
      change_24h: '-0.0176',
    }),
    'a turnover in quote',
  );
  t.end();
});

/** As the venue sent it for a contract settled in coins on 2022-06-02 (crypto-crawler/crypto-msg-parser, tests of mxc). */
const INVERSE_TICKER = {
  amount24: '69402.4579798127137243',
  fairPrice: 29903.13,
  fundingRate: -0.000012,
  holdVol: 17766,
  indexPrice: 29926.05,
  lastPrice: 29902,
  riseFallRate: -0.0264,
  symbol: 'BTC_USD',
  timestamp: 1654165977028,
  volume24: 21030740,
};

t.test('an inverse contract has no turnover in quote: its amounts count coins', (t) => {
  t.match(map(push('ticker', INVERSE_TICKER, 'BTC_USD')).at(-1), {
    venue_symbol: 'BTC_USD',
    values: { volume_24h: '21030740', turnover_24h: null },
  });
  const kline = { a: 8.0759, c: 31439.5, h: 31439.5, interval: 'Min1', l: 31439, o: 31439.5, q: 2539, t: 1654083720 };
  t.match(map(push('kline', kline, 'BTC_USD')), [{ values: { volume: '2539', turnover: null } }]);
  t.end();
});

t.test('candles of a minute start at t, in seconds, and are never marked as closed', (t) => {
  // The instant of jkorf-ws:12, whose close is its low, with figures of the test's own; its own figures are checked with the channels.
  const kline = { a: 5.25, c: 3, h: 4, interval: 'Min1', l: 1, o: 2, q: 7, rc: 3, symbol: 'BTC_USDT', t: 1587448800 };
  const candle = (venueMs: number | null, type: string, traded: unknown) =>
    record('candle', 'BTC_USDT', [venueMs, null], {
      open_time: 1587448800000_000,
      price_type: type,
      timeframe: '1m',
      open: '2',
      high: '4',
      low: '1',
      close: '3',
      ...(traded as object),
      trades: null,
      closed: null,
    });
  const traded = { volume: '7', volume_unit: 'contracts', turnover: '5.25' };
  const untraded = { volume: null, volume_unit: null, turnover: null };
  t.same(map(push('kline', kline)), [candle(1587442022009, 'trade', traded)]);
  const columns = { time: [1587448800], open: [2], close: [3], high: [4], low: [1], vol: [7], amount: [5.25] };
  t.same(map(ask('kline/BTC_USDT?interval=Min1', columns)), [candle(null, 'trade', traded)]);
  t.same(map(ask('kline/fair_price/BTC_USDT?interval=Min1', columns)), [candle(null, 'mark', untraded)]);
  const prices = { time: [1587448800], open: [2], close: [3], high: [4], low: [1] };
  t.same(map(ask('kline/index_price/BTC_USDT', prices)), [candle(null, 'index', untraded)]);
  t.same(map(ask('kline/BTC_USDT?interval=Min60', columns)), []);
  t.end();
});

t.test('messages without data of a market give no record', (t) => {
  for (const [what, file, line] of [
    ['acknowledgement', JKORF_WS, 2],
    ['a candle of an hour', JKORF_WS, 12],
    ['a login', JKORF_WS, 13],
    ["a user's notice", JKORF_WS, 16],
    ["a user's risk", JKORF_WS, 20],
    ['a change of a contract', JKORF_WS, 29],
    ['past funding', JKORF_REST, 2],
  ] as const)
    t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ channel: 'pong', data: 1789498336785, ts: 1789498336785 })), []);
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = (changes: object) => push('depth', { asks: [], bids: [[5, 1, 1]], version: 1, ...changes });
  for (const [what, message, code] of [
    ['cut off', frame('{"channel":"push.depth","data":{'), 'VENUE_BAD_FRAME'],
    ['an error', frame({ channel: 'rs.error', data: 'Contract [NOPE_USDT] not exists', ts: 1 }), 'VENUE_BAD_FRAME'],
    ['a refusal', answer('/api/v1/contract/ticker', { success: false, code: 510 }), 'VENUE_BAD_FRAME'],
    ['a book without a version', book({ version: undefined }), 'VENUE_BAD_FRAME'],
    ['a book without a side', book({ asks: undefined }), 'VENUE_BAD_FRAME'],
    ['a price of letters', book({ bids: [['x', 1, 1]] }), 'VENUE_BAD_FIGURE'],
    ['a negative price', book({ bids: [[-5, 1, 1]] }), 'VENUE_BAD_FIGURE'],
    ['a negative size', book({ bids: [[5, -1, 1]] }), 'VENUE_BAD_FIGURE'],
    ['a trade without a taker', push('deal', [{ p: 1, v: 2, T: 3, t: 1587442022003 }]), 'VENUE_BAD_FRAME'],
    ['no symbol anywhere', frame({ channel: 'push.fair.price', data: { price: 1 } }), 'VENUE_UNKNOWN_LISTING'],
  ] as const)
    t.equal(codeOf(message), code, what);
  t.match(
    map(book({ bids: [['7.548E+4', 4959, 3]] })),
    [{ values: { bids: [['75480', '4959']] } }],
    'an exponent is fine',
  );
  t.match(
    map(frame('{"symbol":"A_USDT","data":{"bids":[[7.548E+4,0.10,1]],"asks":[],"version":9},"channel":"push.depth"}')),
    [{ values: { bids: [['75480', '0.1']] } }],
    'so is one of a number',
  );
  t.end();
});

t.test('versions come alone or as ranges: old ones are dropped, one that straddles is taken, a hole is found', (t) => {
  const update = (end: number, begin?: number) => {
    const data = { asks: [], bids: [[5, end, 1]], version: end, ...(begin === undefined ? {} : { begin, end }) };
    const chain = mexc.map({}, push('depth', data), { listings: new Map() })[0]?.chain;
    if (!chain) throw new Error('no chain');
    return chain;
  };
  const snapshot = (version: number, path = 'depth/BTC_USDT?limit=2') => {
    const data = {
      asks: [[6, 1, 1]],
      bids: [
        [5, 1, 1],
        [4, 1, 1],
      ],
      version,
      timestamp: 1587442022003,
    };
    const message = ask(path, data);
    const chain = mexc.map({}, message, { listings: new Map() })[0]?.chain;
    if (!chain) throw new Error('no chain');
    const seen = mexc.sequence(Buffer.from(message.payload).toString());
    t.match(seen, { kind: 'snapshot', symbol: '', last: BigInt(version) }, 'the cheap look at an answer');
    return chain;
  };
  t.same(snapshot(9).full, { bids: false, asks: true }, 'a side with fewer levels than requested is complete');
  t.equal(snapshot(9, 'depth/BTC_USDT').full, undefined, 'the number of requested levels is not known');
  let state = makeBookSync<string>();
  const applied: string[] = [];
  const feed = (name: string, chain: Parameters<typeof stepBookSync>[2]['chain']) => {
    const step = stepBookSync(mexc.bookRule, state, { chain, payload: name });
    state = step.state;
    applied.push(...step.apply);
    return step;
  };
  feed('old', update(90, 81));
  feed('at', update(100, 91));
  feed('straddles', update(105, 98));
  feed('next', update(110, 106));
  feed('snapshot', snapshot(101));
  t.same(applied, ['snapshot', 'straddles', 'next']);
  feed('alone', update(111));
  t.equal(state.last, '111');
  feed('repeat', update(111));
  t.equal(state.phase, 'live');
  t.ok(feed('hole', update(120, 113)).broke, '112 is missing');
  t.equal(feed('late', snapshot(111)).state.phase, 'broken', 'a snapshot before the hole does not join');
  feed('snapshot', snapshot(112));
  t.equal(state.last, '120');
  t.end();
});

t.test('the quick check of a book frame agrees with the mapper', (t) => {
  for (const file of [JKORF_WS, TARDIS]) {
    for (const line of readRecording(`mexc/${file}`)) {
      if (line.dir !== 'in') continue;
      const chain = mexc.map({}, toVenueMessage(line), { listings: new Map() }).find((m) => m.chain)?.chain ?? null;
      const seen = mexc.sequence(line.raw);
      t.match(seen ?? {}, chain === null ? {} : { symbol: chain.symbol, kind: chain.kind, last: chain.last }, line.raw);
      t.equal(seen === null, chain === null);
      t.equal(seen?.first, chain?.first);
    }
  }
  t.end();
});

t.test('each rule of a listing has its derivation, and the cycle is that of the answer about funding', (t) => {
  const state = {};
  t.equal(mexc.mapReference(state, toVenueMessage(lineOf(JKORF_REST, 3))), null, 'rates alone are no reference');
  t.equal(mexc.mapReference(state, toVenueMessage(lineOf(JKORF_REST, 2))), null, 'nor is past funding');
  const whole = mexc.mapReference(state, toVenueMessage(lineOf(JKORF_REST, 8)));
  t.equal(whole?.scope, 'all');
  t.same(
    whole?.listings[1],
    record('listing', 'ETH_USDT', [null, null], {
      instrument: 'ETH-PERP',
      venue_symbol: 'ETH_USDT',
      base: 'ETH',
      quote: 'USDT',
      base_venue_alias: null,
      kind: 'perpetual',
      venue_kind: 'linear',
      pair: null,
      post_only: null,
      status: 'tradeable',
      contract_size: '0.001',
      multiplier: '1',
      tick_size: '0.05',
      lot_size: '1',
      min_qty: '1',
      min_notional: null,
      price_decimals: 2,
      qty_decimals: 0,
      units: {
        tick_size: 'quote',
        lot_size: 'contracts',
        min_qty: 'contracts',
        min_notional: null,
        contract_size: 'base',
      },
      quantity_unit: 'contracts',
      funding_interval: '8h',
      funding_interval_source: 'venue',
      funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
      rules_normalisation: {
        tick_size: { venue_field: 'priceUnit', transform: 'identity' },
        lot_size: { venue_field: 'volUnit', transform: 'identity' },
        min_qty: { venue_field: 'minVol', transform: 'identity' },
        contract_size: { venue_field: 'contractSize', transform: 'identity' },
        price_decimals: { venue_field: 'priceScale', transform: 'identity' },
        qty_decimals: { venue_field: 'volScale', transform: 'identity' },
      },
      candles: makeCandles('trade', 'mark', 'index'),
      not_published: ['liquidation', 'min_notional'],
      bands: BANDS,
      oi_sides: null,
      listed_at: null,
      delisted_at: null,
    }),
  );
  const [alone] = listingsOf(JKORF_REST);
  t.match(alone?.values, { contract_size: '0.0001', funding_interval: null, funding_interval_source: null });
  t.equal(mexc.mapReference({}, toVenueMessage(lineOf(JKORF_REST, 7)))?.scope, 'contract BTC_USDT');
  t.end();
});

t.test('contracts settled in coins, thousands in names, states and dated contracts', (t) => {
  const [, template] = JSON.parse(lineOf(JKORF_REST, 8).raw).data as [unknown, Record<string, unknown>];
  const contract = (changes: object): unknown => ({ ...template, ...changes });
  const listed = mexc.mapReference(
    {},
    ask('detail', [
      contract({ symbol: 'BTC_USD', baseCoin: 'BTC', quoteCoin: 'USD', settleCoin: 'BTC', contractSize: 100 }),
      contract({ symbol: '1000BONK_USDT', baseCoin: '1000BONK', state: 4, openingTime: 1760440200000 }),
      contract({ symbol: 'A_USDT', state: 1, futureType: 1 }),
      contract({ symbol: 'B_USDT', state: 3, settleCoin: 'XYZ' }),
      contract({ symbol: 'C_USDT', state: 9 }),
      contract({ symbol: 'D_USDT_260327', futureType: 2 }),
      contract({ symbol: 'E_USDT', state: 0, futureType: '' }),
    ]),
  )?.listings;
  t.same(
    listed?.map(({ venue_symbol, values }) => [venue_symbol, values.status, values.venue_kind]),
    [
      ['BTC_USD', 'tradeable', 'inverse'],
      ['1000BONK_USDT', 'halted', 'linear'],
      ['A_USDT', 'settling', 'linear'],
      ['B_USDT', 'delisted', 'quanto'],
      ['C_USDT', 'unknown', 'linear'],
      ['E_USDT', 'tradeable', 'linear'],
    ],
  );
  t.match(listed?.[0]?.values, { contract_size: '100', units: { contract_size: 'quote' } });
  t.match(listed?.[3]?.values, { contract_size: null, units: { contract_size: null } }, 'quanto');
  t.match(listed?.[0]?.values.not_published, ['liquidation', 'min_notional', 'turnover_24h']);
  t.match(listed?.[1]?.values, {
    base: 'BONK',
    multiplier: '1000',
    base_venue_alias: '1000BONK',
    listed_at: 1760440200000_000,
  });
  t.end();
});
