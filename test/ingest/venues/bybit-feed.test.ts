// Bybit: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { bybit } from '../../../ingest/venues/bybit/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';
import { answer, instrument, listListings, REST, TARDIS, WS } from './bybit.messages.ts';

const { lineOf } = venueBench(bybit);

/** The listings of several answers together. */
const readMarket = (messages: readonly VenueMessage[]): readonly ListingRecord[] => {
  const state = {};
  return messages.flatMap((message) => listListings(message, state));
};

t.test('the plan subscribes books apart from all else, each market on its socket, within the limits', (t) => {
  const linear = Array.from({ length: 230 }, (_, i) => instrument(`A${i}USDT`));
  const listings = [
    ...listListings(answer('instruments-info?category=linear', { category: 'linear', list: linear })),
    ...listListings(
      answer('instruments-info?category=inverse', {
        category: 'inverse',
        list: [instrument('BTCUSD', { contractType: 'InversePerpetual' })],
      }),
    ),
  ];
  const shardOf = (symbol: string): number => symbol.length % 2;
  const slots = bybit.plan(listings, { shards: 2, shardOf, endpoints: bybit.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const topics = new Set<string>();
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const args = slot.subscribe.flatMap((text) => (JSON.parse(text) as { args: string[] }).args);
    t.ok(JSON.stringify(args).length < 21_000, 'characters of a connection');
    t.ok(slot.subscribe.every((text) => JSON.parse(text).args.length <= 10));
    t.ok(args.length <= bybit.limits.streamsPerConnection);
    t.same([...new Set(args.map((topic) => topic.replace(/^.*\./, '')))], slot.covers[0]?.symbols);
    for (const { subscriptions } of slot.watched ?? []) t.ok(subscriptions.every((topic) => args.includes(topic)));
    t.ok(slot.covers[0]?.symbols?.every((symbol) => slot.shards.includes(shardOf(symbol))));
    for (const topic of args) topics.add(`${slot.url} ${topic}`);
  }
  t.equal(topics.size, 5 * 231);
  for (const kind of ['publicTrade', 'allLiquidation', 'kline.1'])
    t.ok(topics.has(`wss://stream.bybit.com/v5/public/linear ${kind}.A7USDT`), kind);
  t.ok(topics.has('wss://stream.bybit.com/v5/public/linear orderbook.1000.A7USDT'));
  t.ok(topics.has('wss://stream.bybit.com/v5/public/linear tickers.A7USDT'));
  t.ok(topics.has('wss://stream.bybit.com/v5/public/inverse tickers.BTCUSD'));
  const first = slots[0];
  t.equal(
    first?.kind === 'socket' ? first.subscribe[0]?.slice(0, 60) : '',
    '{"req_id":"1","op":"subscribe","args":["orderbook.1000.A0USD',
  );
  t.same(
    bybit.reference(bybit.endpoints).map(({ url }) => url),
    ['linear&status=PreLaunch', 'linear', 'inverse'].map(
      (category) => `https://api.bybit.com/v5/market/instruments-info?category=${category}&limit=1000`,
    ),
  );
  t.end();
});

t.test('a pre-market contract is collected from the phase on in which it trades without restriction', (t) => {
  const early = (symbol: string, preListingInfo?: unknown): object =>
    instrument(symbol, { status: 'PreLaunch', isPreListing: true, preListingInfo });
  const listings = readMarket([
    toVenueMessage(lineOf(REST, 5)),
    answer('instruments-info?category=linear&status=PreLaunch&limit=1000', {
      category: 'linear',
      list: [
        early('OPENUSDT', { curAuctionPhase: 'ContinuousTrading', phases: [] }),
        early('CALLUSDT', { curAuctionPhase: 'CallAuction', phases: [] }),
        early('CROSSUSDT', { curAuctionPhase: 'CrossMatching', phases: [] }),
        early('SOONUSDT', { curAuctionPhase: 'NotStarted', phases: [] }),
        early('NULLUSDT', null),
        early('TEXTUSDT', ''),
        early('NONEUSDT'),
      ],
    }),
    answer('instruments-info?category=linear&limit=1000', { category: 'linear', list: [instrument('BTCUSDT')] }),
  ]);
  t.same(
    [...new Set(listings.map(({ values }) => values.status))],
    ['pre_launch', 'tradeable'],
    'by the word of the venue',
  );
  const slots = bybit.plan(listings, { shards: 1, shardOf: () => 0, endpoints: bybit.endpoints });
  const symbols = ['BTCUSDT', 'OPENUSDT', 'PRE02ZROUSDT'];
  for (const { id, covers } of slots) t.same(covers[0]?.symbols?.toSorted(), symbols, id);
  t.same(slots.flatMap(({ covers }) => covers[0]?.layers ?? []).length, 11, 'every layer');
  t.end();
});

t.test('candles of mark and index prices are polled for every listing, far below the limit of requests', (t) => {
  const list = Array.from({ length: 1_000 }, (_, i) => instrument(`A${i}USDT`));
  const listings = listListings(answer('instruments-info?category=linear', { category: 'linear', list }));
  const slots = bybit.plan(listings, { shards: 1, shardOf: () => 0, endpoints: bybit.endpoints });
  const [poll] = slots.flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.same(poll?.covers[0]?.layers, ['price_candles']);
  t.equal(poll?.requests.length, 2_000);
  t.same(
    poll?.requests.slice(0, 2).map(({ url }) => url),
    ['mark', 'index'].map(
      (type) => `https://api.bybit.com/v5/market/${type}-price-kline?category=linear&symbol=A0USDT&interval=1&limit=3`,
    ),
  );
  const perMinute = (2_000 * 60_000) / (poll?.everyMs ?? 1);
  t.ok(perMinute < bybit.limits.restWeightPerMinute * 0.6, `${perMinute} a minute`);
  t.end();
});

t.test('what is requested when a connection omits something', (t) => {
  const url = 'https://api.bybit.com/v5/market';
  t.equal(
    bybit.candles?.({ venue_symbol: 'BTCUSD' }, { fromMs: 60_000, toMs: 120_000 }, bybit.endpoints).url,
    `${url}/kline?category=inverse&symbol=BTCUSD&interval=1&start=60000&end=180000&limit=3`,
  );
  t.match(bybit.confirm?.('tickers.BTCUSDT', bybit.endpoints), {
    symbol: 'BTCUSDT',
    request: { url: `${url}/tickers?category=linear&symbol=BTCUSDT` },
  });
  t.equal(bybit.confirm?.('kline.1.BTCUSDT', bybit.endpoints), null);
  t.same(bybit.renew?.(['tickers.A', 'tickers.B']), [
    '{"req_id":"1","op":"unsubscribe","args":["tickers.A","tickers.B"]}',
    '{"req_id":"1","op":"subscribe","args":["tickers.A","tickers.B"]}',
  ]);
  const refusal = '{"success":false,"ret_msg":"error:handler not found,topic:tickers.B","req_id":"1","op":"subscribe"}';
  const asked = '{"req_id":"1","op":"subscribe","args":["tickers.A","tickers.B"]}';
  t.equal(bybit.without?.(refusal, asked), '{"req_id":"1","op":"subscribe","args":["tickers.A"]}');
  t.equal(bybit.without?.(refusal, asked.replace('tickers.B', 'tickers.BB')), null);
  // Names in other letters, as Binance, Gate and MEXC list them.
  const [foreign, mixed] = [refusal, asked].map((text) => text.replace('tickers.B', 'tickers.币安人生USDT'));
  t.equal(bybit.without?.(foreign ?? '', mixed ?? ''), '{"req_id":"1","op":"subscribe","args":["tickers.A"]}');
  t.equal(bybit.without?.('{"success":false,"ret_msg":"Request not JSON"}', asked), null);
  t.end();
});

t.test('the quick checks return the topic of a frame and the minute that it closes', (t) => {
  const topics = [
    [WS, 6, 'tickers.BTCUSDT'],
    [TARDIS, 8, 'tickers.BTCUSD'],
    [TARDIS, 6, 'orderbook.50.BTCPERP'],
    [WS, 9, null],
    [WS, 3, null],
    [WS, 2, null],
  ] as const;
  for (const [file, line, topic] of topics) t.equal(bybit.subscriptionOf?.(lineOf(file, line).raw), topic);
  const open = '{"start":120000,"end":179999,"interval":"1","open":"1","confirm":false,"timestamp":1}';
  const closed = open.replace('120000', '60000').replace('false', 'true');
  const candles = (rows: string, interval = '1'): string =>
    `{"topic":"kline.${interval}.AUSDT","data":[${rows}],"ts":1,"type":"snapshot"}`;
  t.same(bybit.closedMinute?.(candles(closed)), { symbol: 'AUSDT', openMs: 60_000 });
  t.same(bybit.closedMinute?.(candles(`${open},${closed}`)), { symbol: 'AUSDT', openMs: 60_000 });
  t.equal(bybit.closedMinute?.(candles(open)), null);
  t.equal(bybit.closedMinute?.(candles(closed, '5')), null);
  t.equal(bybit.subscriptionOf?.(candles(open)), 'kline.1.AUSDT');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(bybit.classify(lineOf(WS, 2).raw), 'ack');
  t.equal(bybit.classify('{"success":false,"ret_msg":"error:handler not found","op":"subscribe"}'), 'error');
  t.equal(bybit.classify('{"success":true,"ret_msg":"pong","conn_id":"x","req_id":"","op":"ping"}'), 'heartbeat');
  t.equal(bybit.classify('{"req_id":"1","op":"pong","args":["1675418560633"],"conn_id":"x"}'), 'heartbeat');
  t.equal(bybit.classify(lineOf(TARDIS, 12).raw), 'data', 'its topic follows its data');
  t.same(bybit.ping, { everyMs: 20_000, frame: '{"op":"ping"}' });
  t.end();
});
