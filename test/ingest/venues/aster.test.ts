// Aster: recorded messages in, expected records out (traced by hand to the frame), what gives nothing, and what is refused.
import t from 'tap';
import { aster } from '../../../ingest/venues/aster/index.ts';
import { makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, listingsOf, frame, answer, record, codeOf } = venueBench(aster);
const TARDIS = 'tardis-tests-aster-futures.ndjson';
const JKORF = 'jkorf-rest-examples.ndjson';

t.test('recorded frames give the records that their bytes contain', (t) => {
  const trade = (id: string, side: string, price: string, quantity: string): unknown => ({
    id,
    side,
    price,
    quantity,
    quantity_unit: 'base',
  });
  for (const [what, line, records] of [
    [
      'a trade whose buyer was the maker is a sale',
      1,
      [record('trade', 'BTCUSDT', [1568693103462, null], trade('181350', 'sell', '10224.5', '0.125'))],
    ],
    [
      'an aggregate trade whose seller was the maker is a purchase',
      3,
      [record('trade', 'BTCUSDT', [1568693103463, null], trade('181349', 'buy', '10223.74', '0.236'))],
    ],
    [
      'a diff has the transaction time, and its sequence is u',
      4,
      [
        record('book', 'BTCUSDT', [1573948821948, null], {
          kind: 'update',
          bids: [['8493.78', '0.162']],
          asks: [['4096', '2.425419']],
          sequence: '687687946',
        }),
      ],
    ],
    ['open interest', 5, [record('oi', 'BTCUSDT', [1787059914451, null], { oi: '6196.323', oi_unit: 'base' })]],
    [
      'a snapshot wrapped by its recorder has no stamp',
      6,
      [
        record('book', 'BTCUSDT', [null, null], {
          kind: 'snapshot',
          bids: [['8488.36', '1.501']],
          asks: [['4096', '1.425419']],
          sequence: '687687945',
        }),
      ],
    ],
    [
      'mark, index and the coming funding',
      11,
      [
        record('mark', 'BTCUSDT', [1597536008000, null], { mark: '11857.56', index: '11851.86949091' }),
        record('funding', 'BTCUSDT', [1597536008000, null], {
          funding: '0.0001564',
          funding_interval_ms: null,
          next_funding_at: 1597564800000_000,
        }),
      ],
    ],
    [
      'a ticker with the last price alone gives no statistics',
      12,
      [record('ticker', 'BTCUSDT', [1568693103467, null], { last: '10223.74' })],
    ],
    [
      'a forced purchase closes a short, at its average price',
      13,
      [
        record('liquidation', 'BTCUSDT', [1584059031421, null], {
          id: null,
          side: 'short',
          price: '4706.04',
          price_kind: 'fill',
          quantity: '0.014',
          quantity_unit: 'base',
        }),
      ],
    ],
  ] as const)
    t.same(mapLine(TARDIS, line), records, `${what} (${line})`);
  const day = {
    e: '24hrTicker',
    E: 1568693103467,
    s: 'BTCUSDT',
    P: '-0.855',
    c: '10223.74',
    v: '20248.9',
    q: '207024349.13',
  };
  t.same(
    map(frame(day))[1],
    record('stats', 'BTCUSDT', [1568693103467, null], {
      volume_24h: '20248.9',
      volume_unit: 'base',
      turnover_24h: '207024349.13',
      change_24h: '-0.00855',
    }),
    'percent to fraction',
  );
  t.end();
});

t.test('recorded answers give the records that their bytes contain, for each version of the endpoint', (t) => {
  const marks = [
    record('mark', 'BTCUSDT', [1597370495002, null], { mark: '11793.63104562', index: '11781.8049597' }),
    record('funding', 'BTCUSDT', [1597370495002, null], {
      funding: '0.00038246',
      funding_interval_ms: null,
      next_funding_at: 1597392000000_000,
    }),
  ];
  const day = [
    record('ticker', 'BTCUSDT', [1499869899040, null], { last: '4.000002' }),
    record('stats', 'BTCUSDT', [1499869899040, null], {
      volume_24h: '8913.3',
      volume_unit: 'base',
      turnover_24h: '15.3',
      change_24h: '-0.9596',
    }),
  ];
  const price = [record('ticker', 'BTCUSDT', [1589437530011, null], { last: '6000.01' })];
  for (const [what, lines, records] of [
    ['a premium index, alone and in a list', [8, 10, 25, 27], marks],
    ['a price', [12, 13, 29, 30], price],
    ['a day', [15, 16, 32, 33], day],
  ] as const)
    for (const line of lines) t.same(mapLine(JKORF, line), records, `${what} (${line})`);
  const asked = (path: string, line: number) =>
    map(answer(`GET https://fapi.asterdex.com/fapi/v3/${path}`, JSON.parse(lineOf(JKORF, line).raw)));
  t.same(asked('depth?symbol=BTCUSDT&limit=1000', 28), [
    record('book', 'BTCUSDT', [1589436922959, null], {
      kind: 'snapshot',
      bids: [['4', '431']],
      asks: [['4.000002', '12']],
      sequence: '1027024',
    }),
  ]);
  t.same(asked('trades?symbol=BTCUSDT', 31), [
    record('trade', 'BTCUSDT', [1499865549590, null], {
      id: '28457',
      side: 'sell',
      price: '4.000001',
      quantity: '12',
      quantity_unit: 'base',
    }),
  ]);
  const candle = (type: string, values: object) =>
    record('candle', 'BTCUSDT', [null, null], {
      price_type: type,
      timeframe: '1m',
      volume: null,
      volume_unit: null,
      turnover: null,
      trades: null,
      closed: null,
      ...values,
    });
  t.same(asked('klines?symbol=BTCUSDT&interval=1m', 24), [
    candle('trade', {
      open_time: 1499040000000_000,
      open: '0.0163479',
      high: '0.8',
      low: '0.015758',
      close: '0.015771',
      volume: '148976.11427815',
      volume_unit: 'base',
      turnover: '2434.19055334',
      trades: 308,
    }),
  ]);
  const prices = {
    open_time: 1591256400000_000,
    open: '9653.6944',
    high: '9653.6964',
    low: '9651.386',
    close: '9651.552',
  };
  t.same(asked('markPriceKlines?symbol=BTCUSDT&interval=1m', 26), [candle('mark', prices)]);
  t.same(asked('indexPriceKlines?pair=BTCUSDT&interval=1m', 23), [candle('index', prices)]);
  t.end();
});

t.test('messages without data of a market give no record', (t) => {
  for (const [what, file, line] of [
    ['a fill of the insurance fund', TARDIS, 2],
    ['top of book', TARDIS, 14],
    ['top of book, requested', JKORF, 18],
    ['past funding', JKORF, 22],
    ['listings', JKORF, 20],
  ] as const)
    t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  t.same(map(frame({ result: null, id: 1 })), []);
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  for (const [what, message, code] of [
    ['cut off', frame('{"stream":"btcusdt@depth","data":{'), 'VENUE_BAD_FRAME'],
    ['an error', frame({ error: { code: 2, msg: 'Invalid request' }, id: 1 }), 'VENUE_BAD_FRAME'],
    ['a refusal', answer('/fapi/v3/depth?symbol=A', { code: -1121, msg: 'Invalid symbol.' }), 'VENUE_BAD_FRAME'],
    ['a negative price', frame({ e: 'markPriceUpdate', E: 1, s: 'A', p: '-1' }), 'VENUE_BAD_FIGURE'],
    ['a book of an unknown symbol', toVenueMessage(lineOf(JKORF, 28)), 'VENUE_UNKNOWN_LISTING'],
    ['candles of an unknown symbol', toVenueMessage(lineOf(JKORF, 24)), 'VENUE_UNKNOWN_LISTING'],
  ] as const)
    t.equal(codeOf(message), code, what);
  t.end();
});

t.test('the recorded books join their snapshots and continue by pu; a hole is found', (t) => {
  const state = new Map([
    ['BTCUSDT', makeBookSync<number>()],
    ['ETHUSDT', makeBookSync<number>()],
  ]);
  const applied: [string, readonly number[]][] = [];
  const feed = (line: number, change?: object) => {
    const recorded = lineOf(TARDIS, line);
    const body = JSON.parse(recorded.raw);
    const message = frame({ ...body, data: { ...body.data, ...change } });
    const chain = aster.map({}, message, { listings: new Map() })[0]?.chain;
    if (!chain) throw new Error('no chain');
    const step = stepBookSync(aster.bookRule, state.get(chain.symbol) ?? makeBookSync<number>(), {
      chain,
      payload: line,
    });
    state.set(chain.symbol, step.state);
    applied.push([chain.symbol, step.apply]);
    return step;
  };
  for (const line of [4, 6, 7, 8, 9, 10]) feed(line);
  t.same(applied, [
    ['BTCUSDT', []],
    ['BTCUSDT', [6, 4]],
    ['ETHUSDT', [7]],
    ['ETHUSDT', [8]],
    ['ETHUSDT', [9]],
    ['BTCUSDT', [10]],
  ]);
  t.ok(feed(9, { U: 206, u: 207, pu: 205 }).broke);
  for (const line of readRecording(`aster/${TARDIS}`)) {
    const mapped = aster.map({}, toVenueMessage(line), { listings: new Map() }).find(({ chain }) => chain)?.chain;
    if (mapped?.kind === 'snapshot') continue;
    t.same(aster.sequence(line.raw), mapped ?? null, 'the quick check of a frame agrees with the mapper');
  }
  t.end();
});

t.test('each rule of a listing has its derivation, and the interval is that of fundingInfo', (t) => {
  const [first, second] = listingsOf(JKORF);
  t.same(first?.values, second?.values, 'both versions of the endpoint give the same listings');
  const state = {};
  t.equal(aster.mapReference(state, toVenueMessage(lineOf(JKORF, 21))), null, 'fundingInfo alone is no reference');
  t.same(
    aster.mapReference(state, toVenueMessage(lineOf(JKORF, 20)))?.listings,
    [
      record('listing', 'DOGEUSDT', [1565613908500, null], {
        instrument: 'BLZ-PERP',
        venue_symbol: 'DOGEUSDT',
        base: 'BLZ',
        quote: 'USDT',
        base_venue_alias: null,
        kind: 'perpetual',
        venue_kind: 'linear',
        pair: 'DOGEUSDT',
        post_only: null,
        status: 'tradeable',
        contract_size: '1',
        multiplier: '1',
        tick_size: '0.0001',
        lot_size: '1',
        min_qty: '1',
        min_notional: '1',
        price_decimals: 5,
        qty_decimals: 0,
        units: {
          tick_size: 'quote',
          lot_size: 'base',
          min_qty: 'base',
          min_notional: 'quote',
          contract_size: 'base',
        },
        quantity_unit: 'base',
        funding_interval: '8h',
        funding_interval_source: 'documented',
        funding_normalisation: { venue_field: 'r', transform: 'string_to_number' },
        rules_normalisation: {
          tick_size: { venue_field: 'filters.PRICE_FILTER.tickSize', transform: 'string_to_number' },
          lot_size: { venue_field: 'filters.LOT_SIZE.stepSize', transform: 'string_to_number' },
          min_qty: { venue_field: 'filters.LOT_SIZE.minQty', transform: 'string_to_number' },
          min_notional: { venue_field: 'filters.MIN_NOTIONAL.notional', transform: 'string_to_number' },
          price_decimals: { venue_field: 'pricePrecision', transform: 'identity' },
          qty_decimals: { venue_field: 'quantityPrecision', transform: 'identity' },
        },
        candles: makeCandles('trade', 'mark', 'index'),
        not_published: [],
        bands: BANDS,
        oi_sides: null,
        listed_at: 1598252400000_000,
        delisted_at: null,
      }),
    ],
    'the recording names the base of another contract',
  );
  const symbols = [
    { symbol: 'ZORAUSDT', baseAsset: 'ZORA', status: 'SETTLING' },
    { symbol: '1000PEPEUSD1', baseAsset: '1000PEPE', quoteAsset: 'USD1', status: 'PENDING_TRADING' },
  ].map((symbol) => ({ pair: symbol.symbol, contractType: 'PERPETUAL', quoteAsset: 'USDT', ...symbol }));
  const named = aster.mapReference(state, answer('GET https://fapi.asterdex.com/fapi/v3/exchangeInfo', { symbols }));
  t.match(
    named?.listings.map(({ venue, values }) => ({ venue, ...values })),
    [
      { venue: 'aster', funding_interval: '4h', funding_interval_source: 'venue', status: 'settling' },
      { venue: 'aster', base: 'PEPE', multiplier: '1000', quote: 'USD1', status: 'pre_launch' },
    ],
  );
  t.end();
});

t.test('the plan subscribes each open listing once to every stream of it, on sockets of its shard', (t) => {
  const [template] = listingsOf(JKORF) as [ListingRecord];
  const listings = Array.from({ length: 300 }, (_, i) => ({ ...template, venue_symbol: `C${i}USDT` }));
  const gone = { ...template, venue_symbol: 'GONEUSDT', values: { ...template.values, status: 'delisted' } };
  const env = { shards: 2, shardOf: (symbol: string) => toShard(symbol, 2), endpoints: aster.endpoints };
  const slots = aster.plan([...listings, gone], env);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const streams: string[] = [];
  for (const slot of slots) {
    const covered = slot.covers.flatMap(({ symbols }) => symbols ?? []);
    t.ok(
      covered.every((symbol) => slot.shards.includes(toShard(symbol, 2))),
      'a slot serves its shard',
    );
    if (slot.kind !== 'socket') continue;
    t.equal(slot.url, 'wss://fstream.asterdex.com/ws');
    const named = slot.subscribe.flatMap((text) => (JSON.parse(text) as { params: string[] }).params);
    t.ok(named.length <= 200, 'a connection holds 200 streams');
    t.same([...new Set(named.map((stream) => stream.split('@')[0]?.toUpperCase()))], covered);
    const watched = (slot.watched ?? []).flatMap(({ subscriptions }) => subscriptions);
    t.equal(watched.length, covered.length);
    t.ok(watched.every((stream) => named.includes(stream)));
    streams.push(...named);
  }
  t.equal(streams.length, 1_800);
  t.equal(new Set(streams).size, 1_800);
  t.notOk(streams.some((stream) => stream.includes('gone')));
  for (const stream of ['depth@100ms', 'markPrice@1s', 'ticker', 'aggTrade', 'kline_1m', 'forceOrder'])
    t.ok(streams.includes(`c7usdt@${stream}`), stream);
  const listLayers = (id: string) =>
    new Set(slots.filter((slot) => slot.id.startsWith(id)).map((s) => s.covers[0]?.layers.join()));
  t.same(listLayers('book'), new Set(['book,venue_depth']));
  t.same(listLayers('mark'), new Set(['mark,funding']));
  t.same(listLayers('trade'), new Set(['ticker,stats,trades,liquidation,candles']));
  const first = slots[0];
  t.match(first?.kind === 'socket' ? JSON.parse(first.subscribe[0] ?? '') : null, { method: 'SUBSCRIBE', id: 1 });
  t.same(
    aster.reference(aster.endpoints).map(({ url }) => url),
    ['https://fapi.asterdex.com/fapi/v3/fundingInfo', 'https://fapi.asterdex.com/fapi/v3/exchangeInfo'],
  );
  t.equal(
    aster.bookSnapshot?.({ venue_symbol: 'BTCUSDT' }, aster.endpoints).url,
    'https://fapi.asterdex.com/fapi/v3/depth?symbol=BTCUSDT&limit=1000',
  );
  t.end();
});

t.test('open interest and candles of mark and index prices are polled within the limit of weight', (t) => {
  const item = (JSON.parse(lineOf(JKORF, 20).raw) as { symbols: Record<string, unknown>[] }).symbols[0];
  for (const [count, oiMs, priced] of [
    [50, 5_000, 50],
    [350, 28_000, 350],
    [600, 28_000, 22],
  ] as const) {
    const symbols = Array.from({ length: count }, (_, i) => ({
      ...item,
      symbol: `C${i}USDT`,
      pair: `C${i}USDT`,
      onboardDate: 1_600_000_000_000 + i,
    }));
    const exchange = answer('GET https://fapi.asterdex.com/fapi/v3/exchangeInfo', { symbols });
    const listings = aster.mapReference({}, exchange)?.listings ?? [];
    const slots = aster.plan(listings, { shards: 1, shardOf: () => 0, endpoints: aster.endpoints });
    const [oi, candles] = slots.flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
    t.match(oi, { everyMs: oiMs, covers: [{ layers: ['oi'] }] });
    t.equal(oi?.requests.length, count);
    t.match(candles, { everyMs: 80_000, covers: [{ layers: ['price_candles'] }] });
    t.equal(candles?.requests.length, 2 * priced, `${count} listings`);
    t.same(aster.deliveries?.(listings).oi, {
      policy: 'on',
      cadence: oiMs,
      horizonMs: 2 * oiMs,
      horizonSource: 'assumed',
    });
    const weight = [oi, candles].reduce(
      (sum, slot) => sum + ((slot?.requests.length ?? 0) * 60_000) / (slot?.everyMs ?? 1),
      0,
    );
    t.ok(weight <= aster.limits.restWeightPerMinute * 0.6, `${weight} a minute`);
    const base = 'https://fapi.asterdex.com/fapi/v3';
    t.same(
      [oi?.requests[0]?.url, ...(candles?.requests.slice(0, 2).map(({ url }) => url) ?? [])],
      [
        `${base}/openInterest?symbol=C0USDT`,
        `${base}/markPriceKlines?symbol=C0USDT&interval=1m&limit=3`,
        `${base}/indexPriceKlines?pair=C0USDT&interval=1m&limit=3`,
      ],
    );
  }
  const answered = JSON.parse(lineOf(TARDIS, 5).raw) as { data: unknown };
  t.same(map(answer('GET https://fapi.asterdex.com/fapi/v3/openInterest?symbol=BTCUSDT', answered.data)), [
    record('oi', 'BTCUSDT', [1787059914451, null], { oi: '6196.323', oi_unit: 'base' }),
  ]);
  t.end();
});

/** As the docs print it (asterdex/api-docs, Kline/Candlestick Streams), of a minute. */
const KLINE = {
  e: 'kline',
  E: 1638747660000,
  s: 'BTCUSDT',
  k: {
    t: 1638747600000,
    T: 1638747659999,
    s: 'BTCUSDT',
    i: '1m',
    f: 100,
    L: 200,
    o: '0.0010',
    c: '0.0020',
    h: '0.0025',
    l: '0.0005',
    v: '1000',
    n: 100,
    x: false,
    q: '1.5',
    V: '500',
    Q: '0.500',
    B: '123456',
  },
};

t.test('every stream that is subscribed is read, and gives what its socket covers', (t) => {
  const [template] = listingsOf(JKORF) as [ListingRecord];
  const slots = aster.plan([template], { shards: 1, shardOf: () => 0, endpoints: aster.endpoints });
  const day = { e: '24hrTicker', E: 5, s: 'BTCUSDT', P: '-0.855', c: '10223.74', v: '20248.9', q: '207024349.13' };
  const recorded: Readonly<Record<string, string>> = {
    'depth@100ms': lineOf(TARDIS, 4).raw,
    'markPrice@1s': lineOf(TARDIS, 11).raw,
    ticker: JSON.stringify(day),
    aggTrade: lineOf(TARDIS, 3).raw,
    kline_1m: JSON.stringify(KLINE),
    forceOrder: lineOf(TARDIS, 13).raw,
  };
  const names: Readonly<Record<string, string>> = { trade: 'trades', candle: 'candles' };
  const read: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const streams = slot.subscribe.flatMap((text) => (JSON.parse(text) as { params: string[] }).params);
    for (const stream of streams) {
      const given = map(frame(recorded[stream.slice(stream.indexOf('@') + 1)] ?? ''));
      const layers = given.map(({ layer }) => names[layer] ?? layer);
      t.ok(layers.length > 0 && layers.every((layer) => slot.covers[0]?.layers.includes(layer)), stream);
      read.push(...layers);
    }
  }
  t.same(read.toSorted(), ['book', 'candles', 'funding', 'liquidation', 'mark', 'stats', 'ticker', 'trades']);
  t.equal(aster.layers.liquidation?.completeness, 'sampled', 'the latest one a second and symbol');
  t.same(map(frame(KLINE)), [
    record('candle', 'BTCUSDT', [1638747660000, null], {
      open_time: 1638747600000_000,
      price_type: 'trade',
      timeframe: '1m',
      open: '0.001',
      high: '0.0025',
      low: '0.0005',
      close: '0.002',
      volume: '1000',
      volume_unit: 'base',
      turnover: '1.5',
      trades: 100,
      closed: false,
    }),
  ]);
  t.end();
});

t.test('what closes a minute, and what is requested when a connection omits something', (t) => {
  const text = JSON.stringify(KLINE);
  t.equal(aster.closedMinute?.(text), null);
  t.same(aster.closedMinute?.(text.replace('"x":false', '"x":true')), { symbol: 'BTCUSDT', openMs: 1638747600000 });
  const base = 'https://fapi.asterdex.com/fapi/v3';
  t.equal(
    aster.candles?.({ venue_symbol: 'BTCUSDT' }, { fromMs: 60_000, toMs: 120_000 }, aster.endpoints).url,
    `${base}/klines?symbol=BTCUSDT&interval=1m&startTime=60000&limit=3`,
  );
  t.match(aster.confirm?.('btcusdt@ticker', aster.endpoints), {
    symbol: 'BTCUSDT',
    request: { url: `${base}/ticker/24hr?symbol=BTCUSDT` },
  });
  t.equal(aster.confirm?.('btcusdt@markPrice@1s', aster.endpoints), null);
  const mark = JSON.stringify((JSON.parse(lineOf(TARDIS, 11).raw) as { data: unknown }).data);
  t.equal(aster.subscriptionOf?.(mark), 'btcusdt@markPrice@1s');
  t.equal(aster.subscriptionOf?.(text), null, 'candles may rest');
  t.same(aster.renew?.(['btcusdt@markPrice@1s']), [
    '{"method":"UNSUBSCRIBE","params":["btcusdt@markPrice@1s"],"id":1}',
    '{"method":"SUBSCRIBE","params":["btcusdt@markPrice@1s"],"id":1}',
  ]);
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(aster.classify('{"result":null,"id":1}'), 'ack');
  t.equal(aster.classify('{"code":2,"msg":"Invalid request: unknown variant"}'), 'error');
  t.equal(aster.classify(lineOf(TARDIS, 11).raw), 'data');
  t.end();
});
