// Bitget: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';
import { answer, bookFrame, instrument, listListings, SESSION, v3, WS } from './bitget.messages.ts';

const { frame, lineOf, map } = venueBench(bitget);

const PRICE_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'candles'];

type Topic = { readonly instType: string; readonly topic: string; readonly symbol?: string };

const listTopics = (frames: readonly string[]): readonly Topic[] =>
  frames.flatMap((text) => (JSON.parse(text) as { args: Topic[] }).args);

const makePlan = (names: readonly string[], shards = 1) => {
  const listings = listListings(
    answer(
      'v3/market/instruments?category=USDT-FUTURES',
      names.map((name) => instrument(name)),
    ),
  );
  return bitget.plan(listings, { shards, shardOf: (symbol) => symbol.length % shards, endpoints: bitget.endpoints });
};

t.test('the plan subscribes fifty topics a socket, each with its product type', (t) => {
  const names = [...Array.from({ length: 70 }, (_, i) => `A${i}USDT`), 'BTCPERP', 'BTCUSD'];
  const slots = makePlan(names, 2);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const seen = new Set<string>();
  let topics = 0;
  for (const slot of slots) {
    if (slot.kind !== 'socket' || slot.id === 'liquidations') continue;
    const args = listTopics(slot.subscribe);
    t.ok(args.length <= 50);
    t.equal(slot.url, 'wss://ws.bitget.com/v3/ws/public');
    const [cover] = slot.covers;
    const isBook = args[0]?.topic === 'books';
    t.same(cover?.layers, isBook ? ['book', 'venue_depth'] : PRICE_LAYERS);
    t.same([...new Set(args.map(({ symbol }) => symbol))], cover?.symbols);
    t.ok(cover?.symbols?.every((symbol) => slot.shards.includes(symbol.length % 2)));
    const watched = isBook
      ? []
      : [{ subscriptions: cover?.symbols?.map((symbol) => `ticker:${symbol}`), silenceMs: 30_000 }];
    t.same(slot.watched, watched, 'trades and candles may rest');
    for (const arg of args) seen.add(JSON.stringify(arg));
    topics += args.length;
  }
  t.equal(seen.size, 4 * names.length);
  t.equal(topics, seen.size, 'nothing is requested twice');
  t.ok(seen.has('{"instType":"usdt-futures","topic":"books","symbol":"A7USDT"}'));
  t.ok(seen.has('{"instType":"usdc-futures","topic":"ticker","symbol":"BTCPERP"}'));
  t.ok(seen.has('{"instType":"coin-futures","topic":"publicTrade","symbol":"BTCUSD"}'));
  t.ok(seen.has('{"instType":"coin-futures","topic":"kline","symbol":"BTCUSD","interval":"1m"}'));
  const first = slots[0];
  t.match(first?.kind === 'socket' ? first.subscribe[0] : '', /^\{"op":"subscribe","args":\[\{"instType"/);
  t.same(
    bitget.reference(bitget.endpoints).map(({ url }) => url),
    ['USDT-FUTURES', 'USDC-FUTURES', 'COIN-FUTURES'].map(
      (category) => `https://api.bitget.com/api/v3/market/instruments?category=${category}`,
    ),
  );
  t.end();
});

t.test('all liquidations come by one socket for every shard; a ticker shows that it is alive', (t) => {
  const [slot] = makePlan(['BTCUSD', 'A1USDT', 'BTCPERP', 'A2USDT'], 2).flatMap((one) =>
    one.kind === 'socket' && one.id === 'liquidations' ? [one] : [],
  );
  t.same(slot?.shards, [0, 1]);
  t.same(slot?.covers, [{ layers: ['liquidation'], symbols: null }]);
  t.same(listTopics(slot?.subscribe ?? []), [
    { instType: 'coin-futures', topic: 'liquidation' },
    { instType: 'usdc-futures', topic: 'liquidation' },
    { instType: 'usdt-futures', topic: 'liquidation' },
    { instType: 'usdt-futures', topic: 'ticker', symbol: 'A1USDT' },
  ]);
  t.same(slot?.watched, [{ subscriptions: ['ticker:A1USDT'], silenceMs: 30_000 }]);
  t.same(makePlan([]), []);
  t.end();
});

t.test('every topic of the plan is one that the mapper reads', (t) => {
  const topics = makePlan(['AUSDT']).flatMap((slot) => (slot.kind === 'socket' ? listTopics(slot.subscribe) : []));
  const candle = ['1700000040000', '61', '64', '60', '62', '65', '66', '66'];
  const liquidation = { symbol: 'AUSDT', side: 'buy', price: '89000', amount: '37.5', ts: '1700000000001' };
  const frames: Readonly<Record<string, VenueMessage>> = {
    books: frame(bookFrame('snapshot', 2n, 1n)),
    kline: v3('kline', [candle], { interval: '1m' }),
    liquidation: v3('liquidation', [liquidation]),
    publicTrade: v3('publicTrade', [{ i: '1', p: '2', v: '3', S: 'buy', T: '1700000000001' }]),
    ticker: v3('ticker', [{ lastPrice: '5' }]),
  };
  t.same([...new Set(topics.map(({ topic }) => topic))].toSorted(), Object.keys(frames));
  for (const [topic, message] of Object.entries(frames)) t.ok(map(message).length > 0, topic);
  t.end();
});

t.test('layers: liquidations are a lower bound', (t) => {
  const onChange = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
  t.same(bitget.layers.trades, onChange);
  t.same(bitget.layers.liquidation, { ...onChange, completeness: 'sampled' });
  t.same(bitget.layers.candles, onChange);
  t.end();
});

t.test('candles of mark and index prices are polled for as many listings as the path allows', (t) => {
  const names = Array.from({ length: 600 }, (_, i) => `A${i}USDT`);
  const [poll] = makePlan(names).flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.same(poll?.covers[0]?.layers, ['price_candles']);
  t.equal(poll?.covers[0]?.symbols?.length, 330);
  t.same(
    poll?.requests.slice(0, 2),
    ['MARK', 'INDEX'].map((type) => ({
      method: 'GET',
      url: `https://api.bitget.com/api/v3/market/candles?category=USDT-FUTURES&symbol=A0USDT&interval=1m&type=${type}&limit=3`,
      weight: 1,
      urgency: 'price_candle',
    })),
  );
  const perMinute = (2 * (330 + 45 + 30) * 60_000) / (poll?.everyMs ?? 1);
  t.equal(perMinute, 540, 'of 720 requests allowed a minute');
  t.ok((poll?.everyMs ?? 0) <= 90_000, 'what comes 100 s after its minute counts no more');
  const findOff = (listings: readonly ListingRecord[]) =>
    Object.fromEntries(listings.map(({ venue_symbol, off = [] }) => [venue_symbol, off.join()]));
  const coins = Array.from({ length: 31 }, (_, i) =>
    instrument(`C${i}USD`, { launchTime: String(1_700_000_000_000 + i), status: i === 0 ? 'listed' : 'online' }),
  );
  const off = findOff(listListings(answer('v3/market/instruments?category=COIN-FUTURES', coins)));
  t.equal(off.C0USD, 'price_candles', 'not yet open');
  t.equal(off.C1USD, '');
  t.equal(off.C30USD, '', 'the thirtieth that is open');
  const more = [...coins, instrument('YUSD', { launchTime: '1700000000099' })];
  t.equal(findOff(listListings(answer('v3/market/instruments?category=COIN-FUTURES', more))).YUSD, 'price_candles');
  const [priced] = makePlan([]).flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.equal(priced, undefined);
  t.end();
});

t.test('a minute is over when a newer one is published; missing minutes are requested', (t) => {
  const toText = (message: VenueMessage): string => message.payload.toString();
  const row = (start: number): readonly string[] => [String(start), '61', '64', '60', '62', '65', '66', '66'];
  const [before, open] = [1699999980000, 1700000040000];
  const newest = (message: VenueMessage) => bitget.newestMinute?.(toText(message));
  t.same(newest(v3('kline', [row(open)], { interval: '1m' })), { symbol: 'AUSDT', openMs: open });
  t.same(newest(v3('kline', [row(before), row(open)], { interval: '1m' }, 'snapshot')), {
    symbol: 'AUSDT',
    openMs: open,
  });
  t.same(newest(v3('kline', [{ start: String(open), open: '61' }], { interval: '1m' })), {
    symbol: 'AUSDT',
    openMs: open,
  });
  t.equal(newest(v3('kline', [row(open)], { interval: '1D' })), null);
  const recorded = lineOf(WS, 22).raw.replace('"1D"', '"1m"');
  t.same(
    bitget.newestMinute?.(recorded),
    { symbol: 'BTCUSDT', openMs: 1710518400000 },
    'a recorded one, were it a minute',
  );
  t.equal(newest(v3('publicTrade', [{ i: '1', p: '2', v: '3', S: 'buy', T: String(open) }])), null);
  const asked = bitget.candles?.({ venue_symbol: 'AUSDT' }, { fromMs: open, toMs: open }, bitget.endpoints);
  t.same(asked, {
    method: 'GET',
    url: 'https://api.bitget.com/api/v3/market/candles?category=USDT-FUTURES&symbol=AUSDT&interval=1m&startTime=1699999980000&endTime=1700000160000&limit=4',
    weight: 1,
  });
  t.match(map({ ...answer('', [row(open)]), request: `GET ${asked?.url}` }), [
    { layer: 'candle', venue_symbol: 'AUSDT', values: { price_type: 'trade', open_time: open * 1000, close: '62' } },
  ]);
  t.match(
    bitget.candles?.({ venue_symbol: 'BTCPERP' }, { fromMs: open, toMs: open }, bitget.endpoints).url,
    /category=USDC-FUTURES&symbol=BTCPERP/,
  );
  t.end();
});

t.test('a subscription that went silent, or whose book broke, is renewed', (t) => {
  t.equal(bitget.subscriptionOf?.(bookFrame('update', 2n, 1n)), 'books:AUSDT');
  t.equal(bitget.subscriptionOf?.(lineOf(WS, 25).raw), 'ticker:BTCUSDT');
  t.equal(bitget.subscriptionOf?.(lineOf(WS, 28).raw), null, 'trades');
  t.same(bitget.renew?.(['ticker:AUSDT', 'books:BTCUSD']), [
    '{"op":"unsubscribe","args":[{"instType":"usdt-futures","topic":"ticker","symbol":"AUSDT"},{"instType":"coin-futures","topic":"books","symbol":"BTCUSD"}]}',
    '{"op":"subscribe","args":[{"instType":"usdt-futures","topic":"ticker","symbol":"AUSDT"},{"instType":"coin-futures","topic":"books","symbol":"BTCUSD"}]}',
  ]);
  t.equal(bitget.classify('{"event":"unsubscribe","arg":{"instType":"usdt-futures","topic":"ticker"}}'), 'ack');
  const commands = (3_600_000 / (bitget.limits.renewEveryMs ?? 1)) * 2;
  t.ok(commands <= 180, 'of 240 requests an hour');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(bitget.classify('pong'), 'heartbeat');
  t.equal(bitget.classify(lineOf(WS, 18).raw), 'ack');
  t.equal(bitget.classify('{"event":"error","arg":{},"code":30003,"msg":"x"}'), 'error');
  for (const [file, line] of [
    [WS, 19],
    [WS, 9],
    [SESSION, 9],
  ] as const)
    t.equal(bitget.classify(lineOf(file, line).raw), 'data');
  t.same(bitget.ping, { everyMs: 30_000, frame: 'ping' });
  t.end();
});
