// HTX: recorded frames in, expected records out (traced by hand to the frames), what gives nothing, and what is refused.
import { gunzipSync, gzipSync } from 'node:zlib';
import t from 'tap';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { htx } from '../../../ingest/venues/htx/index.ts';
import { type BookSync, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { BookRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { answer, codeOf, frame, lineOf, map, mapLine, record } = venueBench(htx);

const SESSION = 'cryptofeed-swap-ws-2.ndjson.gz';

const BINARY = 'cryptofeed-swap-ws-2-binary-frames.ndjson.gz';

const TARDIS = 'tardis-tests-huobi-dm-linear-swap.ndjson';

const SINGLES = 'crypto-msg-parser-swap-singles.ndjson';

const REST = 'jkorf-rest-examples.ndjson';

const WS = 'jkorf-ws-examples.ndjson';

const REST_URL = 'GET https://api.hbdm.com';

const NO_LISTINGS: MapContext = { listings: new Map() };

const trade = (id: string, side: string, price: string, quantity: string): unknown => ({
  id,
  side,
  price,
  quantity,
  quantity_unit: 'contracts',
});

const stats = (volume_24h: string, turnover_24h: string | null): unknown => ({
  volume_24h,
  volume_unit: 'contracts',
  turnover_24h,
  change_24h: null,
});

const funding = (rate: string, nextMs: number): unknown => ({
  funding: rate,
  funding_interval_ms: null,
  next_funding_at: nextMs * 1000,
});

type Case = { readonly name: string; readonly from: readonly [file: string, line: number]; readonly records: unknown };

const CASES: readonly Case[] = [
  {
    name: 'a trade counts contracts (`amount`), not coins (`quantity`), at its own time',
    from: [SESSION, 12],
    records: [
      record('trade', 'GRT-USDT', [1645289380927, 1645289384999], trade('431311833130000', 'buy', '0.41912', '4')),
    ],
  },
  {
    name: 'a message of several trades gives each',
    from: [SESSION, 45],
    records: [
      record('trade', 'SNX-USDT', [1645289385478, 1645289385514], trade('263618781660000', 'sell', '4.3389', '92')),
      record('trade', 'SNX-USDT', [1645289385478, 1645289385514], trade('263618781660001', 'sell', '4.3389', '146')),
    ],
  },
  {
    name: 'an id beyond 2^53 keeps its digits',
    from: [WS, 48],
    records: [
      record('trade', 'ETH-USDT', [1722863196444, null], trade('1000219512747480000', 'sell', '2246.49', '196')),
    ],
  },
  {
    name: 'a trade without a count of coins',
    from: [TARDIS, 3],
    records: [record('trade', 'EOS-USDT', [1606780814931, null], trade('2918913650000', 'buy', '3.2639', '6'))],
  },
  {
    name: 'the last trade by REST names its contract itself',
    from: [REST, 9],
    records: [record('trade', 'BTC-USDT', [1603695230083, null], trade('1314755250000', 'buy', '13083', '6'))],
  },
  {
    name: 'past trades by REST',
    from: [REST, 14],
    records: [record('trade', 'BTC-USDT', [1603695383124, null], trade('1314767870000', 'buy', '13081.3', '2'))],
  },
  {
    name: 'an update of the fast book, an empty side, a size of zero, its version',
    from: [TARDIS, 5],
    records: [
      record('book', 'ETC-USDT', [1606780833036, null], {
        kind: 'update',
        bids: [],
        asks: [
          ['6.7918', '118'],
          ['6.7941', '0'],
        ],
        sequence: '27290512',
      }),
    ],
  },
  {
    name: 'a snapshot of the fast book belongs to the contract of the outer channel',
    from: [WS, 36],
    records: [
      record('book', 'ETH-USDT', [1603707712356, null], {
        kind: 'snapshot',
        bids: [
          ['13071.9', '38'],
          ['13060', '400'],
        ],
        asks: [
          ['13081.9', '206'],
          ['13099.7', '371'],
        ],
        sequence: '1512467',
      }),
    ],
  },
  {
    name: 'a whole book has the time it was made, not the time it was sent',
    from: [WS, 33],
    records: [
      record('book', 'ETH-USDT', [1603707576467, null], {
        kind: 'snapshot',
        bids: [
          ['13071.9', '38'],
          ['13068', '5'],
        ],
        asks: [
          ['13081.9', '197'],
          ['13099.7', '371'],
        ],
        sequence: '1603707576',
      }),
    ],
  },
  {
    name: 'a detail gives last, then volume in contracts and turnover in quote',
    from: [WS, 45],
    records: [
      record('ticker', 'ETH-USDT', [1603707870528, null], { last: '13065.8' }),
      record('stats', 'ETH-USDT', [1603707870528, null], stats('30316', '395073.4918')),
    ],
  },
  {
    name: 'a merged detail by REST',
    from: [REST, 19],
    records: [
      record('ticker', 'BTC-USDT', [1603695162580, null], { last: '13076.8' }),
      record('stats', 'BTC-USDT', [1603695162580, null], stats('12526', '163247.3982')),
    ],
  },
  {
    name: 'in the batch of the second version `number_of` counts contracts and `vol` is the turnover',
    from: [REST, 20],
    records: [
      record('ticker', 'BTC-USDT', [1650792083179, null], { last: '39736.6' }),
      record('stats', 'BTC-USDT', [1650792083179, null], stats('6891566', '273472535.834')),
    ],
  },
  {
    name: 'the index of a basis at the close of the running minute',
    from: [TARDIS, 6],
    records: [record('mark', 'BTC-USDT', [1606780806356, null], { mark: null, index: '19695.41' })],
  },
  {
    name: 'an index by REST has its own time',
    from: [REST, 15],
    records: [record('mark', 'BTC-USDT', [1603694592011, null], { mark: null, index: '13076.32986568' })],
  },
  {
    name: 'a pushed rate is for its settlement time, not for the time it was computed',
    from: [WS, 15],
    records: [record('funding', 'BTC-USDT', [1603778748166, null], funding('-0.000220068774978695', 1603785600000))],
  },
  {
    name: 'the estimated rate of the period after is not ours',
    from: [TARDIS, 8],
    records: [record('funding', 'BTC-USDT', [1606780803260, null], funding('0.0001', 1606780800000))],
  },
  {
    name: 'a rate by REST calls its settlement funding time',
    from: [REST, 5],
    records: [record('funding', 'BTC-USDT', [1603696494714, null], funding('0.0001', 1603699200000))],
  },
  {
    name: 'rates of many by REST',
    from: [REST, 6],
    records: [
      record('funding', 'ETC-USDT', [1614045373795, null], funding('-0.0075', 1613976000000)),
      record('funding', 'ADA-USDT', [1614045373795, null], funding('-0.0075', 1613976000000)),
    ],
  },
  {
    name: 'open interest counts contracts; of four contracts one has no date',
    from: [REST, 16],
    records: [record('oi', 'BTC-USDT', [1638754059540, null], { oi: '78696', oi_unit: 'contracts' })],
  },
  {
    name: 'open interest as its recorder wrapped it',
    from: [TARDIS, 7],
    records: [record('oi', 'BTC-USDT', [1606780807036, null], { oi: '3063121', oi_unit: 'contracts' })],
  },
  {
    name: 'an order that sells to close liquidates a long, at its bankruptcy price',
    from: [TARDIS, 9],
    records: [
      record('liquidation', 'BTC-USDT', [1608226502284, null], {
        id: null,
        side: 'long',
        price: '23350.5',
        price_kind: 'bankruptcy',
        quantity: '227',
        quantity_unit: 'contracts',
      }),
    ],
  },
  {
    name: 'liquidations of all contracts in one topic',
    from: [WS, 27],
    records: [
      record('liquidation', 'O3-USDT', [1639122193172, null], {
        id: null,
        side: 'long',
        price: '0.7858',
        price_kind: 'bankruptcy',
        quantity: '432',
        quantity_unit: 'contracts',
      }),
    ],
  },
  {
    name: 'a candle by REST',
    from: [REST, 8],
    records: [
      record('candle', 'BTC-USDT', [1603695099234, null], {
        open_time: 1603695060000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '13076.8',
        high: '13076.8',
        low: '13076.8',
        close: '13076.8',
        volume: '4',
        volume_unit: 'contracts',
        turnover: '52.3072',
        trades: 1,
        closed: null,
      }),
    ],
  },
  {
    name: 'a trade of a coin-margined swap counts contracts too',
    from: [SINGLES, 1],
    records: [record('trade', 'BTC-USD', [1616233683352, null], trade('842306997050000', 'buy', '58666.3', '6'))],
  },
  { name: 'a contract that is dated by its quarter is not collected', from: [SINGLES, 2], records: [] },
  {
    name: 'rates of all coin-margined swaps in one topic, one of them below zero',
    from: [SINGLES, 3],
    records: [
      record('funding', 'BTC-USD', [1654174017332, null], funding('0.000046774664737679', 1654185600000)),
      record('funding', 'ETH-USD', [1654174017332, null], funding('-0.000050627986553411', 1654185600000)),
    ],
  },
  {
    name: 'a candle of a coin-margined swap counts contracts, and has no turnover in dollars',
    from: [SINGLES, 4],
    records: [
      record('candle', 'BTC-USD', [1662710342762, null], {
        open_time: 1662710340000_000,
        price_type: 'trade',
        timeframe: '1m',
        open: '20635.1',
        high: '20635.1',
        low: '20635.1',
        close: '20635.1',
        volume: '682',
        volume_unit: 'contracts',
        turnover: null,
        trades: 5,
        closed: null,
      }),
    ],
  },
  {
    name: 'the day of a coin-margined swap has no turnover in dollars',
    from: [SINGLES, 5],
    records: [
      record('ticker', 'BTC-USD', [1654164360125, null], { last: '29925' }),
      record('stats', 'BTC-USD', [1654164360125, null], stats('4074828', null)),
    ],
  },
];

t.test('recorded messages give the records that their bytes contain', (t) => {
  for (const { name, from, records } of CASES) t.same(mapLine(...from), records, `${name} (${from.join(':')})`);
  const [book] = mapLine(SESSION, 20);
  t.match(book, { venue_symbol: 'GRT-USDT', venue_ts: 1645289384828_000, received_at: 1645289385063_000 });
  const values = book?.values as BookRecord['values'] | undefined;
  t.same(
    [values?.kind, values?.sequence, values?.bids[0], values?.bids[1], values?.asks.at(-1)],
    ['snapshot', '1645289384', ['0.41887', '250'], ['0.41868', '120'], ['0.46715', '42']],
  );
  t.end();
});

t.test('frames are gzip; what a recording holds in base64 or inflated, and what is damaged, is taken as it is', (t) => {
  const decode = htx.decode as (bytes: Uint8Array) => Uint8Array;
  const lines = readRecording(`htx/${BINARY}`).filter(({ dir }) => dir === 'in');
  const texts = lines.map(({ raw }) => gunzipSync(Buffer.from(raw, 'base64')).toString());
  t.same(
    lines.map(({ raw }) => Buffer.from(decode(Buffer.from(raw, 'base64'))).toString()),
    texts,
    'as received',
  );
  t.same(
    lines.map(({ raw }) => Buffer.from(decode(Buffer.from(raw))).toString()),
    texts,
    'as recorded',
  );
  t.same(
    texts.map((text) => Buffer.from(decode(Buffer.from(text))).toString()),
    texts,
    'inflated',
  );
  const [first] = lines;
  t.same(
    map(frame(texts[0] as string)).map((r) => [r.layer, r.venue_symbol]),
    [['trade', 'GRT-USDT']],
  );
  const whole = Buffer.from(first?.raw ?? '', 'base64');
  for (let length = 0; length < whole.length; length += 7) {
    const cut = whole.subarray(0, length);
    t.equal(codeOf({ ...frame(''), payload: decode(cut) }), 'VENUE_BAD_FRAME', `cut at ${length}`);
  }
  const bomb = gzipSync(Buffer.alloc(9 * 1024 * 1024, 32));
  t.equal(decode(bomb), bomb, 'more than eight megabytes are not inflated');
  t.end();
});

t.test('the venue pings in two styles and is answered in each; pings give nothing', (t) => {
  const market = '{"ping":1645289389594}';
  const notice = '{"op":"ping","ts":"1489474081631"}';
  t.equal(lineOf(SESSION, 162).raw, market);
  t.equal(htx.replyTo?.(market), '{"pong":1645289389594}');
  t.equal(htx.replyTo?.('{"ping":"1645289389594"}'), '{"pong":"1645289389594"}', 'a number in quotes (D-996)');
  t.equal(htx.replyTo?.(notice), '{"op":"pong","ts":"1489474081631"}');
  t.equal(htx.replyTo?.(lineOf(SESSION, 12).raw), null);
  for (const text of [market, notice]) {
    t.equal(htx.classify(text), 'heartbeat');
    t.same(map(frame(text)), []);
  }
  t.equal(htx.classify('{"id":"1","subbed":"market.GRT-USDT.trade.detail","ts":1645289384874,"status":"ok"}'), 'ack');
  t.equal(htx.classify(lineOf(WS, 8).raw), 'ack');
  const refused = '{"status":"error","ts":1,"id":"1","err-code":"bad-request","err-msg":"invalid topic market.X"}';
  t.equal(htx.classify(refused), 'error');
  t.equal(htx.classify('{"op":"sub","cid":"1","topic":"x","ts":1,"err-code":2011,"err-msg":"no"}'), 'error');
  t.equal(htx.classify('{"op":"close","ts":1}'), 'error');
  t.equal(htx.classify(lineOf(SESSION, 12).raw), 'data');
  t.equal(htx.classify(lineOf(WS, 15).raw), 'data');
  t.end();
});

t.test("candles: the running minute's mark is the mark now, past minutes are candles alone", (t) => {
  // The first candle of jkorf-rest:10, of five minutes: here one of a minute, sent within it, its open, high and low other than its close.
  const minute = {
    id: 1611105300,
    open: '31078.1',
    close: '31078.68',
    high: '31079.2',
    low: '31077.9',
    amount: '0',
    vol: '0',
    count: '0',
    trade_turnover: '0',
  };
  const candle = {
    open_time: 1611105300000_000,
    price_type: 'mark',
    timeframe: '1m',
    open: '31078.1',
    high: '31079.2',
    low: '31077.9',
    close: '31078.68',
    volume: null,
    volume_unit: null,
    turnover: null,
    trades: null,
    closed: null,
  };
  // No recording has a minute of marks: that answer and the push of jkorf-ws:30 with another length.
  const flat = (open_time: number, price: string) => ({
    ...candle,
    open_time,
    open: price,
    high: price,
    low: price,
    close: price,
  });
  const pushedAt = [1489474082831, null] as const;
  t.same(map(frame(lineOf(WS, 30).raw.replace('1day', '1min'))), [
    record('mark', 'ETH-USDT', pushedAt, { mark: '9800.12', index: null }),
    record('candle', 'ETH-USDT', pushedAt, flat(1529898780000_000, '9800.12')),
  ]);
  const askedAt = [1611106791703, null] as const;
  t.same(
    map({ ...toVenueMessage(lineOf(REST, 10)), payload: Buffer.from(lineOf(REST, 10).raw.replace('5min', '1min')) }),
    [
      record('candle', 'BTC-USDT', askedAt, flat(1611105300000_000, '31078.68')),
      record('candle', 'BTC-USDT', askedAt, flat(1611105600000_000, '31078.68')),
    ],
  );
  const at = [1611105309000, null] as const;
  t.same(map(frame({ ch: 'market.BTC-USDT.mark_price.1min', ts: at[0], tick: minute })), [
    record('mark', 'BTC-USDT', at, { mark: '31078.68', index: null }),
    record('candle', 'BTC-USDT', at, candle),
  ]);
  const url = `${REST_URL}/index/market/history/linear_swap_mark_price_kline?contract_code=BTC-USDT&period=1min&size=1`;
  const body = { ch: 'market.BTC-USDT.mark_price.1min', data: [minute], status: 'ok', ts: at[0] };
  t.same(map(answer(url, body)), [record('candle', 'BTC-USDT', at, candle)]);
  t.same(map(frame({ ch: 'market.BTC-USDT.index.1min', ts: at[0], tick: minute })), [
    record('candle', 'BTC-USDT', at, { ...candle, price_type: 'index' }),
  ]);
  // The amounts of jkorf-ws:24, a candle of a day.
  const traded = { ...minute, amount: 0.004, vol: 4, count: 1, trade_turnover: 52.2708 };
  t.match(map(frame({ ch: 'market.BTC-USDT.kline.1min', ts: at[0], tick: traded }))[0]?.values, {
    price_type: 'trade',
    volume: '4',
    volume_unit: 'contracts',
    turnover: '52.2708',
    trades: 1,
  });
  t.match(
    map(frame({ ch: 'market.BTC-USD.kline.1min', ts: at[0], tick: traded }))[0]?.values,
    { turnover: null },
    'coin-margined swaps have no turnover in dollars',
  );
  t.end();
});

t.test('liquidations are requested too: both versions of the answer', (t) => {
  // Of its docs: Query Liquidation Orders (v3).
  const order = {
    ...{ query_id: 452057, contract_code: 'BTC-USDT', symbol: 'BTC', direction: 'sell', offset: 'close' },
    ...{ volume: 479, price: 51441.7, created_at: 1638593647864, amount: 0.479, trade_turnover: 24640.5743 },
    ...{ business_type: 'swap', pair: 'BTC-USDT' },
  };
  const expected = record('liquidation', 'BTC-USDT', [1638593647864, null], {
    id: null,
    side: 'long',
    price: '51441.7',
    price_kind: 'bankruptcy',
    quantity: '479',
    quantity_unit: 'contracts',
  });
  const dated = { ...order, contract_code: 'BTC-USDT-211210', business_type: 'futures' };
  const asked = (version: string, body: object): unknown =>
    map(answer(`${REST_URL}/linear-swap-api/${version}/swap_liquidation_orders`, { ...body, ts: 1604312615051 }));
  t.same(asked('v3', { code: 200, msg: '', data: [order, dated] }), [expected]);
  for (const code of [null, ''])
    t.same(asked('v3', { code, status: code, data: [order] }), [expected], 'no code is none');
  t.same(asked('v1', { status: 'ok', data: { orders: [order, dated], total_page: 1 } }), [expected]);
  t.end();
});

t.test('a pushed rate without its settlement names none: its funding time is when the rate was computed', (t) => {
  for (const absent of [undefined, null, '', '0'])
    t.same(
      map(
        frame({
          ...{ op: 'notify', topic: 'public.*.funding_rate', ts: 1603778748166 },
          data: [
            { contract_code: 'A-USDT', funding_rate: '0.1', funding_time: '1603778700000', settlement_time: absent },
          ],
        }),
      ),
      [
        record('funding', 'A-USDT', [1603778748166, null], {
          ...{ funding: '0.1', funding_interval_ms: null, next_funding_at: null },
        }),
      ],
      JSON.stringify(absent) ?? 'absent',
    );
  t.end();
});

// An answer of 2020 as cryptofeed quotes it (`huobi_swap.py`); today the venue leaves the settlement after the coming one out.
t.test('an answer of v1 that names the settlement after the coming one states the interval', (t) => {
  const rate = {
    ...{ estimated_rate: '0.000100000000000000', funding_rate: '-0.000362360011416593', contract_code: 'BTC-USD' },
    ...{ symbol: 'BTC', fee_asset: 'BTC', funding_time: '1603872000000', next_funding_time: '1603900800000' },
  };
  const asked = (path: string, data: unknown): unknown =>
    map(answer(`${REST_URL}/${path}`, { status: 'ok', data, ts: 1603866304635 }));
  const at = [1603866304635, null] as const;
  const values = { ...(funding('-0.000362360011416593', 1603872000000) as object), funding_interval_ms: 28800000 };
  const expected = [record('funding', 'BTC-USD', at, values)];
  t.same(asked('swap-api/v1/swap_funding_rate?contract_code=BTC-USD', rate), expected);
  t.same(asked('swap-api/v1/swap_batch_funding_rate', [rate]), expected);
  for (const after of [undefined, null, '', '0', '1603872000000', '1603843200000'])
    t.same(
      asked('swap-api/v1/swap_batch_funding_rate', [{ ...rate, next_funding_time: after }]),
      [record('funding', 'BTC-USD', at, funding('-0.000362360011416593', 1603872000000))],
      JSON.stringify(after) ?? 'absent',
    );
  t.end();
});

// Answers as ccxt 4.5.90 quotes them (`htx.py`); not every one is of a swap.
t.test('answers of v5: open interest, the coming rate with its interval, liquidations', (t) => {
  const asked = (path: string, data: unknown): unknown =>
    map(answer(`${REST_URL}/v5/market/${path}`, { code: 200, message: 'Success', data, ts: 1781327941440 }));
  const at = [1781327941440, null] as const;
  const interest = {
    ...{ amount: '32476.092', volume: '32476092', value: '2063137924.9668', contract_code: 'BTC-USDT' },
    ...{ trade_amount: '11371.362', trade_volume: '11371362', trade_turnover: '723600792.7222' },
  };
  const oi = { oi: '32476092', oi_unit: 'contracts' };
  t.same(asked('open_interest?contract_code=BTC-USDT', interest), [record('oi', 'BTC-USDT', at, oi)]);
  const rate = {
    ...{ contract_code: 'BTC-USDT', funding_rate: '0.000083024939363172', funding_time: '1781251200000' },
    ...{ next_funding_time: '1781280000000', min_funding_rate: '-0.00375', max_funding_rate: '0.00375' },
  };
  const funding = {
    funding: '0.000083024939363172',
    funding_interval_ms: 28800000,
    next_funding_at: 1781251200000_000,
  };
  t.same(asked('funding_rate?contract_code=BTC-USDT', [rate]), [record('funding', 'BTC-USDT', at, funding)]);
  const order = {
    ...{ id: '150153038758', contract_code: 'BTC-USDT', liquidation_time: '1781849094165', side: 'buy' },
    ...{ position_side: 'short', volume: '2', amount: '2', bankrupt_price: '62978.5', trade_turnover: '125.957' },
  };
  const liquidation = {
    id: '150153038758',
    side: 'short',
    price: '62978.5',
    price_kind: 'bankruptcy',
    quantity: '2',
    quantity_unit: 'contracts',
  };
  t.same(asked('liquidation_orders', [order]), [record('liquidation', 'BTC-USDT', [1781849094165, null], liquidation)]);
  t.match(asked('liquidation_orders', [{ ...order, id: null }]), [{ values: { ...liquidation, id: null } }]);
  t.match(asked('liquidation_orders', [{ ...order, position_side: 'both', side: 'sell' }]), [
    { values: { side: 'long' } },
  ]);
  t.same(asked('liquidation_orders', [{ ...order, contract_code: 'BTC-USDT-261225' }]), []);
  t.end();
});

t.test('messages without data of a swap give no record', (t) => {
  const silent: readonly (readonly [string, string, number])[] = [
    ['an acknowledgement', SESSION, 13],
    ['an acknowledgement of a notice', WS, 8],
    ['an index that looks back to the open', WS, 3],
    ['top of book', WS, 6],
    ['contract news', WS, 9],
    ['contract elements', WS, 12],
    ['a candle of an estimated rate', WS, 18],
    ['an index candle of a day', WS, 21],
    ['a candle of a day', WS, 24],
    ['a mark candle of a day', WS, 30],
    ['a candle of the premium', WS, 39],
    ['the state of the service', WS, 42],
    ['top of book', TARDIS, 10],
    ['a trade without direction', TARDIS, 11],
    ['top of book by REST', REST, 1],
    ['elements', REST, 2],
    ['settled rates', REST, 7],
    ['mark candles of five minutes', REST, 10],
    ['past open interest', REST, 11],
    ['a dated book', REST, 12],
    ['price limits', REST, 17],
    ['statistics of traders', REST, 21],
  ];
  for (const [what, file, line] of silent) t.same(mapLine(file, line), [], `${what} (${file}:${line})`);
  const merged = { ...JSON.parse(lineOf(WS, 33).raw), ch: 'market.ETH-USDT.depth.step1' };
  t.same(map(frame(merged)), [], 'merged levels');
  const detail = { ch: 'market.BTC-USDT.detail', ts: 5, tick: { close: 0, vol: 0, trade_turnover: 0 } };
  t.same(
    map(frame(detail)).map((r) => r.layer),
    ['stats'],
    'no last before the first trade',
  );
  t.end();
});

t.test('what cannot be read is refused with its code', (t) => {
  const book = (tick: object): unknown => ({
    ch: 'market.BTC-USDT.depth.step0',
    ts: 5,
    tick: { bids: [[1, 2]], asks: [], ts: 4, version: 7, ...tick },
  });
  t.match(codeOf(frame(book({}))), /^gave \[\{/);
  t.match(codeOf(frame(book({ bids: undefined }))), /^gave \[\{/, 'an empty side may be left out');
  t.equal(codeOf(frame('{"ch":"market.BTC-USDT.depth')), 'VENUE_BAD_FRAME', 'cut off');
  t.equal(codeOf(frame(book({ bids: [['x', 1]] }))), 'VENUE_BAD_FIGURE');
  t.equal(codeOf(frame(book({ bids: [[0, 1]] }))), 'VENUE_BAD_FIGURE');
  t.equal(codeOf(frame(book({ asks: [[1, -1]] }))), 'VENUE_BAD_FIGURE');
  t.equal(codeOf(frame(book({ version: 'a' }))), 'VENUE_BAD_FRAME');
  t.equal(codeOf(frame({ status: 'error', 'err-code': 'bad-request', 'err-msg': 'invalid topic' })), 'VENUE_BAD_FRAME');
  const asked = { op: 'sub', cid: '1', topic: 'public.A-USDT.funding_rate', ts: 5 };
  t.equal(
    codeOf(frame({ ...asked, 'err-code': 2011, 'err-msg': 'invalid topic' })),
    'VENUE_BAD_FRAME',
    'refused topic',
  );
  t.equal(codeOf(frame({ ...asked, 'err-code': 0 })), 'gave []', 'acknowledged');
  t.equal(codeOf(frame({ op: 'error', ts: 5, 'err-code': 2005 })), 'VENUE_BAD_FRAME', 'refused operation');
  t.equal(
    codeOf(answer(`${REST_URL}/linear-swap-api/v1/swap_open_interest`, { status: 'error', 'err-code': 1030 })),
    'VENUE_BAD_FRAME',
  );
  t.end();
});

t.test('a message of the fast book that is neither a snapshot nor an update is refused', (t) => {
  const tick = { bids: [[1, 2]], asks: [[3, 4]], ts: 4, version: 7 };
  const text = (event: unknown): string =>
    JSON.stringify({ ch: 'market.BTC-USDT.depth.size_20.high_freq', ts: 5, tick: { ...tick, event } });
  for (const event of ['NEW', 'UPDATE', 'an update', 'update-2', 'snapshot 2', 1, false, {}]) {
    t.equal(codeOf(frame(text(event))), 'VENUE_BAD_FRAME', `${event}`);
    t.equal(htx.sequence(text(event)), null, `${event}: no chain`);
  }
  for (const event of ['snapshot', '', null, undefined]) {
    t.match(codeOf(frame(text(event))), /^gave \[\{/, `${event}`);
    t.match(htx.sequence(text(event)), { kind: 'snapshot' }, `${event}: its chain`);
  }
  t.end();
});

t.test('the fast book continues by ones, a hole is found, whole books need no chain', (t) => {
  const seen: string[] = [];
  let sync: BookSync<null> = makeBookSync();
  const feed = (topic: string, event: string, version: bigint): void => {
    const text = `{"ch":"market.BTC-USDT.depth.${topic}","tick":{"asks":[],"bids":[[5,6]],"ch":"market.BTC-USDT.depth.${topic}",${event}"id":1,"mrid":1,"ts":4,"version":${version}},"ts":5}`;
    const chain = htx.sequence(text);
    const [mapped] = htx.map({}, frame(text), NO_LISTINGS);
    const ofMapper = { ...mapped?.chain, full: undefined, depth: undefined };
    t.same(ofMapper, { ...chain, full: undefined, depth: undefined }, 'the cheap look sees the same chain');
    if (!chain) return;
    const step = stepBookSync(htx.bookRule, sync, { chain, payload: null });
    sync = step.state;
    seen.push(`${sync.phase}${step.broke ? ' broke' : ''}`);
  };
  const fast = 'size_150.high_freq';
  const [snapshot, update] = ['"event":"snapshot",', '"event":"update",'];
  const big = 9007199254740993n;
  feed(fast, update, 4n);
  feed(fast, snapshot, big);
  feed(fast, update, big + 1n);
  feed(fast, update, big + 2n);
  feed(fast, update, big + 4n);
  feed(fast, update, big + 5n);
  feed(fast, snapshot, big + 9n);
  feed('step0', '', 1645289384n);
  feed('step0', '', 1645289384n);
  t.same(seen, ['unsynced', 'joined', 'live', 'live', 'broken broke', 'broken', 'joined', 'joined', 'joined']);
  let wrong = 0;
  for (const line of readRecording(`htx/${SESSION}`)) {
    if (line.dir !== 'in') continue;
    const chain = htx.map({}, toVenueMessage(line), NO_LISTINGS).find((m) => m.chain)?.chain;
    const look = htx.sequence(line.raw);
    if (look?.symbol !== chain?.symbol || look?.last !== chain?.last || look?.kind !== chain?.kind) wrong++;
  }
  t.equal(wrong, 0, 'in the whole recorded session');
  t.end();
});

t.test(
  'a side of a snapshot with fewer levels than the channel sends is complete; answers are outside the chain',
  (t) => {
    const levels = (n: number): number[][] => Array.from({ length: n }, (_, i) => [i + 1, 1]);
    const body = (topic: string) => ({
      ch: `market.BTC-USDT.depth.${topic}`,
      ts: 5,
      tick: { bids: levels(20), asks: levels(150), ts: 4, version: 7 },
    });
    const findFull = (topic: string): unknown => htx.map({}, frame(body(topic)), NO_LISTINGS)[0]?.chain?.full;
    t.same(findFull('step0'), { bids: true, asks: false });
    t.same(findFull('size_150.high_freq'), { bids: true, asks: false });
    t.same(findFull('size_20.high_freq'), { bids: false, asks: false });
    const { tick, ...head } = body('size_20.high_freq');
    const update = { ...head, tick: { ...tick, event: 'update' } };
    t.equal(htx.map({}, frame(update), NO_LISTINGS)[0]?.chain?.depth, 20, 'a change reaches as far as its channel');
    const best = htx.map({}, frame(body('step6')), NO_LISTINGS);
    t.same([best.length, best[0]?.chain], [1, undefined], 'the best twenty are no chain');
    const url = `${REST_URL}/linear-swap-ex/market/depth?contract_code=BTC-USDT&type=step0`;
    const asked = htx.map({}, answer(url, { ...body('step0'), status: 'ok' }), NO_LISTINGS);
    t.same([asked.length, asked[0]?.chain], [1, undefined]);
    t.equal(htx.sequence(JSON.stringify({ ...body('step0'), status: 'ok' })), null);
    t.same((asked[0]?.record.values as BookRecord['values'] | undefined)?.bids[0], ['20', '1'], 'best first');
    t.end();
  },
);
