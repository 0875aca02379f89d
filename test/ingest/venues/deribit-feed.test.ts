// Deribit: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { deribit } from '../../../ingest/venues/deribit/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, listingsOf, frame, answer } = venueBench(deribit);

const NAUTILUS = 'nautilus-ws-singles.ndjson';

const INSTRUMENTS = 'cryptofeed-v2-rest-instruments.ndjson.gz';

const OPTIONS = 'cryptofeed-v2-ws-1.ndjson.gz';

const notify = (channel: string, data: unknown): unknown => ({
  jsonrpc: '2.0',
  method: 'subscription',
  params: { channel, data },
});

type Call = {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly channels?: readonly string[] };
};

type Socket = Extract<ReturnType<typeof deribit.plan>[number], { kind: 'socket' }>;

const listSockets = (listings: readonly ListingRecord[], shards = 1): readonly Socket[] =>
  deribit
    .plan(listings, { shards, shardOf: (symbol: string) => symbol.length % shards, endpoints: deribit.endpoints })
    .filter((slot) => slot.kind === 'socket');

const listCalls = ({ subscribe }: Socket): readonly Call[] => subscribe.map((text) => JSON.parse(text) as Call);

const listChannels = (socket: Socket): readonly string[] =>
  listCalls(socket).flatMap(({ params }) => params.channels ?? []);

t.test('the plan subscribes to a heartbeat and books, and on other sockets to tickers, trades, candles', (t) => {
  const two = listingsOf(INSTRUMENTS).filter(({ venue_symbol }) => /^(BTC|DOGE_USDC)-P/.test(venue_symbol));
  const symbols = ['BTC-PERPETUAL', 'DOGE_USDC-PERPETUAL'];
  const of = (kind: string, interval: string): string[] => symbols.map((symbol) => `${kind}.${symbol}.${interval}`);
  const slots = listSockets(two);
  t.same(slots.map(listCalls), [
    [
      { jsonrpc: '2.0', id: 1, method: 'public/set_heartbeat', params: { interval: 30 } },
      { jsonrpc: '2.0', id: 2, method: 'public/subscribe', params: { channels: of('book', '100ms') } },
    ],
    [
      { jsonrpc: '2.0', id: 1, method: 'public/set_heartbeat', params: { interval: 30 } },
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'public/subscribe',
        params: { channels: [...of('ticker', '100ms'), ...of('trades', '100ms'), ...of('chart.trades', '1')] },
      },
    ],
  ]);
  t.same(
    slots.map(({ id, covers, watched }) => ({ id, covers, watched })),
    [
      {
        id: 'book.0.0.0',
        covers: [{ layers: ['book', 'venue_depth'], symbols }],
        watched: [{ subscriptions: of('book', '100ms'), silenceMs: 20_000 }],
      },
      {
        id: 'price.0.0.0',
        covers: [{ layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'], symbols }],
        watched: [
          { subscriptions: of('ticker', '100ms'), silenceMs: 30_000, confirmAfterMs: 20_000 },
          { subscriptions: of('chart.trades', '1'), silenceMs: 120_000 },
        ],
      },
    ],
    'trades may rest, and liquidations are marks of them',
  );
  t.end();
});

t.test('each open perpetual is subscribed once, on sockets of its shard, within the limits', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  const slots = listSockets(listings, 2);
  const channels = slots.flatMap(listChannels);
  t.equal(channels.length, 4 * listings.length);
  t.equal(new Set(channels).size, channels.length);
  t.equal(new Set(slots.map(({ id }) => id)).size, 4);
  for (const { covers, shards } of slots)
    t.ok(covers.flatMap(({ symbols }) => symbols ?? []).every((symbol) => shards.includes(symbol.length % 2)));
  const [first] = listings as [ListingRecord];
  const many = Array.from({ length: 600 }, (_, i) => ({ ...first, venue_symbol: `C${i}-PERPETUAL` }));
  for (const socket of listSockets(many)) {
    t.ok(listChannels(socket).length <= deribit.limits.streamsPerConnection, `${socket.id} is not too full`);
    t.ok(listCalls(socket).every(({ params }) => (params.channels ?? []).length <= 100));
  }
  t.end();
});

t.test('each channel that is subscribed is one that is read', (t) => {
  const trade = {
    instrument_name: 'BTC-PERPETUAL',
    direction: 'buy',
    price: 1,
    amount: 2,
    timestamp: 3,
    trade_id: '4',
  };
  const levels = { instrument_name: 'BTC-PERPETUAL', timestamp: 1, change_id: 5, bids: [], asks: [] };
  const readMinute: Readonly<Record<string, unknown>> = {
    book: { ...levels, type: 'snapshot' },
    ticker: { instrument_name: 'BTC-PERPETUAL', timestamp: 1, last_price: 1 },
    trades: [{ ...trade, liquidation: 'T' }],
    chart: { tick: 1767200040000, open: 2, high: 3, low: 1, close: 4, volume: 5, cost: 6 },
  };
  const [btc] = listingsOf(INSTRUMENTS) as [ListingRecord];
  const layers = listSockets([btc]).map((socket) =>
    listChannels(socket).flatMap((channel) =>
      map(frame(notify(channel, readMinute[channel.split('.')[0] ?? '']))).map(({ layer }) => layer),
    ),
  );
  t.same(layers, [['book'], ['ticker', 'trade', 'liquidation', 'candle']]);
  t.end();
});

t.test('a notification of candles publishes a minute, a request returns the missing ones', (t) => {
  t.same(deribit.newestMinute?.(lineOf(NAUTILUS, 3).raw), { symbol: 'BTC-PERPETUAL', openMs: 1767200040000 });
  const readMinute = (channel: string): unknown =>
    deribit.newestMinute?.(JSON.stringify(notify(channel, { volume: 0, tick: 1767200100000, close: 5 })));
  t.same(readMinute('chart.trades.BTC_USDC-PERPETUAL.1'), { symbol: 'BTC_USDC-PERPETUAL', openMs: 1767200100000 });
  t.equal(readMinute('chart.trades.BTC-PERPETUAL.5'), null);
  t.equal(readMinute('chart.trades.BTC-27DEC30.1'), null);
  t.equal(deribit.newestMinute?.(lineOf(NAUTILUS, 2).raw), null);
  t.equal(deribit.closedMinute, undefined, 'nothing is marked as closed');
  const request = deribit.candles?.(
    { venue_symbol: 'BTC-PERPETUAL' },
    { fromMs: 1767200040000, toMs: 1767200100000 },
    deribit.endpoints,
  );
  t.same(request, {
    method: 'GET',
    url: 'https://www.deribit.com/api/v2/public/get_tradingview_chart_data?instrument_name=BTC-PERPETUAL&start_timestamp=1767200040000&end_timestamp=1767200160000&resolution=1',
    weight: 1,
  });
  // Provenance: the shape of docs.deribit.com/api-reference/market-data/public-get_tradingview_chart_data.
  const columns = { open: [1, 2], high: [3, 4], low: [1, 2], close: [2, 3], volume: [5, 0], cost: [6, 0] };
  const result = { status: 'ok', ticks: [1767200040000, 1767200100000], ...columns };
  t.match(map(answer(`GET ${request?.url}`, { jsonrpc: '2.0', result })), [
    { venue_symbol: 'BTC-PERPETUAL', values: { open_time: 1767200040000_000, close: '2', volume: '5', closed: null } },
    { venue_symbol: 'BTC-PERPETUAL', values: { open_time: 1767200100000_000, close: '3', volume: '0', closed: null } },
  ]);
  t.end();
});

t.test('a quiet ticker is requested', (t) => {
  t.same(deribit.confirm?.('ticker.BTC_USDC-PERPETUAL.100ms', deribit.endpoints), {
    symbol: 'BTC_USDC-PERPETUAL',
    request: {
      method: 'GET',
      url: 'https://www.deribit.com/api/v2/public/ticker?instrument_name=BTC_USDC-PERPETUAL',
      weight: 1,
    },
  });
  t.equal(deribit.confirm?.('trades.BTC_USDC-PERPETUAL.100ms', deribit.endpoints), null);
  t.end();
});

t.test('a book with a hole is subscribed again alone', (t) => {
  const channel = deribit.subscriptionOf?.(lineOf(NAUTILUS, 5).raw) ?? '';
  t.equal(channel, 'book.BTC-PERPETUAL.100ms');
  t.same(
    deribit.renew?.([channel]).map((text) => JSON.parse(text)),
    [
      { jsonrpc: '2.0', id: 2, method: 'public/unsubscribe', params: { channels: [channel] } },
      { jsonrpc: '2.0', id: 2, method: 'public/subscribe', params: { channels: [channel] } },
    ],
  );
  t.equal(deribit.subscriptionOf?.(lineOf(OPTIONS, 3).raw), null);
  t.end();
});

t.test('a test request is answered, other frames are recognised', (t) => {
  const request = '{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"test_request"}}';
  t.match(JSON.parse(deribit.replyTo?.(request) ?? 'null'), { jsonrpc: '2.0', method: 'public/test' });
  t.equal(deribit.replyTo?.('{"jsonrpc":"2.0","method":"heartbeat","params":{"type":"heartbeat"}}'), null);
  t.equal(deribit.replyTo?.(lineOf(NAUTILUS, 1).raw), null);
  t.equal(deribit.classify(request), 'heartbeat');
  t.equal(deribit.classify(lineOf(OPTIONS, 3).raw), 'ack');
  t.equal(deribit.classify(lineOf(NAUTILUS, 1).raw), 'data');
  t.equal(deribit.classify('{"jsonrpc":"2.0","id":2,"error":{"code":11050,"message":"bad_request"}}'), 'error');
  t.end();
});
