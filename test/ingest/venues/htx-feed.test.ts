// HTX: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { htx } from '../../../ingest/venues/htx/index.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { frame, lineOf, listingsOf, map, record } = venueBench(htx);

const SESSION = 'cryptofeed-swap-ws-2.ndjson.gz';

const INSTRUMENTS = 'cryptofeed-swap-rest-instruments.ndjson.gz';

const REST = 'jkorf-rest-examples.ndjson';

const WS = 'jkorf-ws-examples.ndjson';

t.test('the plan: books, trades and prices apart, notices and one poll of open interest a market', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  const slots = htx.plan(listings, { shards: 2, shardOf: (symbol) => symbol.length % 2, endpoints: htx.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const sent = slots.flatMap((slot) =>
    slot.kind === 'socket' ? slot.subscribe.map((text) => `${slot.url} ${text}`) : [],
  );
  const has = (url: string, body: object): boolean =>
    sent.includes(`wss://api.hbdm.com/${url} ${JSON.stringify(body)}`);
  const hasChannel = (url: string, sub: string): boolean => has(url, { sub, id: sub });
  const depth = 'market.BTC-USDT.depth.size_150.high_freq';
  t.ok(has('linear-swap-ws', { sub: depth, data_type: 'incremental', id: depth }));
  for (const topic of ['detail', 'trade.detail', 'kline.1min']) {
    t.ok(hasChannel('linear-swap-ws', `market.BTC-USDT.${topic}`), topic);
    t.ok(hasChannel('swap-ws', `market.BTC-USD.${topic}`), topic);
  }
  for (const topic of ['mark_price.1min', 'basis.1min.close', 'index.1min']) {
    t.ok(hasChannel('ws_index', `market.BTC-USDT.${topic}`), topic);
    t.ok(hasChannel('ws_index', `market.BTC-USD.${topic}`), topic);
  }
  for (const market of ['linear-swap', 'swap']) {
    for (const name of ['funding_rate', 'liquidation_orders']) {
      t.ok(has(`${market}-notification`, { op: 'sub', cid: name, topic: `public.*.${name}` }), `${market} ${name}`);
    }
  }
  t.equal(sent.length, 171 * 7 + 4);
  t.equal(new Set(sent).size, sent.length, 'nothing is requested twice');
  t.ok(slots.filter(({ kind }) => kind === 'socket').length < 30, 'the docs allow 30 connections');
  const polls = slots.filter((slot) => slot.kind === 'poll');
  t.same(
    polls.map((slot) => [slot.requests.map(({ url }) => url), slot.everyMs, slot.shards]),
    [
      [['https://api.hbdm.com/linear-swap-api/v1/swap_open_interest'], 5000, [0, 1]],
      [['https://api.hbdm.com/swap-api/v1/swap_open_interest'], 5000, [0, 1]],
    ],
  );
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    t.ok(slot.subscribe.length <= htx.limits.streamsPerConnection, `${slot.id}: ${slot.subscribe.length} channels`);
    const symbols = slot.covers.flatMap((cover) => cover.symbols ?? []);
    t.ok(
      symbols.every((s) => slot.shards.includes(s.length % 2)),
      slot.id,
    );
    const asked = slot.subscribe.map((text) => (JSON.parse(text) as { sub?: string }).sub);
    for (const { subscriptions } of slot.watched ?? []) t.ok(subscriptions.every((name) => asked.includes(name)));
  }
  const covered = (id: string) => slots.filter((slot) => slot.id.startsWith(id)).flatMap(({ covers }) => covers);
  const listLayers = (id: string) => [...new Set(covered(id).map(({ layers }) => layers.join()))];
  const countSymbols = (id: string) => covered(id).flatMap(({ symbols }) => symbols ?? []).length;
  t.same(listLayers('linear-trade'), ['ticker,stats,trades,candles']);
  t.same(listLayers('inverse-price'), ['mark,price_candles']);
  t.same(listLayers('linear-notices'), ['funding,liquidation']);
  t.same(['linear-trade', 'linear-price', 'linear-notices', 'inverse-notices'].map(countSymbols), [121, 121, 121, 50]);
  t.same(
    htx.reference(htx.endpoints).map(({ url }) => url.replace('https://api.hbdm.com', '')),
    [
      '/linear-swap-api/v1/swap_query_elements',
      '/linear-swap-api/v1/swap_contract_info',
      '/swap-api/v1/swap_contract_info',
    ],
  );
  t.end();
});

/** A message of each topic that is subscribed; candles with the figures of jkorf-ws:24 or, of the index, :21 (a day's); the basis is that of :3. */
const CANDLE = { id: 1603707120, open: '13067.7', close: '13067.7', high: '13067.7', low: '13067.7', vol: '4' };

const MESSAGES: Readonly<Record<string, unknown>> = {
  'depth.size_150.high_freq': { bids: [[5, 6]], asks: [], event: 'snapshot', ts: 4, version: 7 },
  detail: { close: 5, vol: 6, trade_turnover: 7 },
  'trade.detail': { id: 1, ts: 2, data: [{ id: 3, ts: 4, price: 5, amount: 6, direction: 'buy' }] },
  'kline.1min': { ...CANDLE, trade_turnover: 52.2708, count: 1 },
  'mark_price.1min': CANDLE,
  'basis.1min.close': { id: 1617164040, index_price: '58686.78333333333' },
  'index.1min': { ...CANDLE, open: '19213.505', close: '19242.05', high: '19248.31', low: '19213.505', amount: '0' },
};

t.test('every channel that is subscribed is read, and gives what its socket covers', (t) => {
  const [linear] = listingsOf(INSTRUMENTS).filter(({ venue_symbol }) => venue_symbol === 'BTC-USDT');
  const slots = htx.plan(linear ? [linear] : [], { shards: 1, shardOf: () => 0, endpoints: htx.endpoints });
  const read = new Set<string>();
  const names: Readonly<Record<string, string>> = { trade: 'trades', candle: 'candles' };
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const layers = slot.covers.flatMap((cover) => cover.layers);
    for (const text of slot.subscribe) {
      const { sub, topic } = JSON.parse(text) as { sub?: string; topic?: string };
      if (sub === undefined) {
        t.ok(['public.*.funding_rate', 'public.*.liquidation_orders'].includes(topic ?? ''));
        continue;
      }
      const tick = MESSAGES[sub.replace('market.BTC-USDT.', '')];
      for (const { layer, values } of map(frame({ ch: sub, ts: 1700000000009, tick }))) {
        const name =
          layer === 'candle' && 'price_type' in values && values.price_type !== 'trade'
            ? 'price_candles'
            : (names[layer] ?? layer);
        t.ok(layers.includes(name), `${sub}: ${name}`);
        read.add(`${sub} ${name}`);
      }
    }
  }
  t.same([...read].map((text) => text.replace('market.BTC-USDT.', '')).toSorted(), [
    'basis.1min.close mark',
    'depth.size_150.high_freq book',
    'detail stats',
    'detail ticker',
    'index.1min price_candles',
    'kline.1min candles',
    'mark_price.1min mark',
    'mark_price.1min price_candles',
    'trade.detail trades',
  ]);
  t.same(htx.layers.liquidation, { ...htx.layers.trades, completeness: 'full' });
  t.end();
});

t.test('a pushed candle of an index, by value', (t) => {
  // No recording has a minute of an index: the push of jkorf-ws:21 with another length.
  t.same(map(frame(lineOf(WS, 21).raw.replace('1day', '1min'))), [
    record('candle', 'ETH-USDT', [1607309592214, null], {
      open_time: 1607309100000_000,
      price_type: 'index',
      timeframe: '1m',
      open: '19213.505',
      high: '19248.31',
      low: '19213.505',
      close: '19242.05',
      volume: null,
      volume_unit: null,
      turnover: null,
      trades: null,
      closed: null,
    }),
  ]);
  t.end();
});

t.test('a minute is closed by a candle sent after its end; others are requested, each market by its own path', (t) => {
  // The instant and the open of jkorf-ws:24.
  const candle = (sentMs: number, topic = 'kline.1min'): string =>
    `{"ch":"market.BTC-USDT.${topic}","ts":${sentMs},"tick":{"id":1603707120,"mrid":131592424,"open":13067.7}}`;
  const openMs = 1603707120_000;
  t.equal(htx.closedMinute?.(candle(openMs + 59_999)), null, 'it may lack the last trades');
  t.same(htx.closedMinute?.(candle(openMs + 60_000)), { symbol: 'BTC-USDT', openMs });
  t.equal(htx.closedMinute?.(candle(openMs + 60_000, 'kline.5min')), null);
  t.equal(htx.closedMinute?.(candle(openMs + 60_000, 'mark_price.1min')), null, 'a minute of marks is none of trades');
  t.equal(htx.closedMinute?.(lineOf(SESSION, 12).raw), null);
  const url = (venue_symbol: string): string | undefined =>
    htx.candles?.({ venue_symbol }, { fromMs: 60_000, toMs: 120_000 }, htx.endpoints).url;
  const query = 'period=1min&from=60&to=239';
  t.equal(url('BTC-USDT'), `https://api.hbdm.com/linear-swap-ex/market/history/kline?contract_code=BTC-USDT&${query}`);
  t.equal(url('BTC-USD'), `https://api.hbdm.com/swap-ex/market/history/kline?contract_code=BTC-USD&${query}`);
  const asked = { ...toVenueMessage(lineOf(REST, 8)), request: `GET ${url('BTC-USDT')}` };
  t.match(map(asked), [{ layer: 'candle', venue_symbol: 'BTC-USDT', values: { open_time: 1603695060000_000 } }]);
  const mark = 'market.BTC-USDT.mark_price.1min';
  t.equal(htx.subscriptionOf?.(`{"ch":"${mark}","ts":1,"tick":{}}`), mark);
  t.equal(htx.subscriptionOf?.(candle(1)), null, 'trades may rest');
  t.same(htx.renew?.([mark]), [JSON.stringify({ unsub: mark, id: mark }), JSON.stringify({ sub: mark, id: mark })]);
  t.equal(htx.classify(`{"id":"1","unsubbed":"${mark}","ts":1,"status":"ok"}`), 'ack');
  t.end();
});
