// Gate: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { gate as venue } from '../../../ingest/venues/gate/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, listingsOf, frame, answer } = venueBench(venue);

const SESSION = 'cryptofeed-futures-usdt-ws-1.ndjson.gz';

const CONTRACTS = 'cryptofeed-futures-usdt-rest-instruments.ndjson.gz';

const TARDIS = 'tardis-tests-gate-io-futures.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const update = (channel: string, result: unknown): VenueMessage =>
  frame({ time: 1700000000, time_ms: 1700000000123, channel, event: 'update', result });

type Asked = { readonly time: number; readonly channel: string; readonly event: string; readonly payload: string[] };

const parseAsked = (text: string): Asked => JSON.parse(text) as Asked;

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'futures.order_book_update': ['book', 'venue_depth'],
  'futures.tickers': ['ticker', 'mark', 'oi', 'stats', 'trades', 'liquidation'],
  'futures.candlesticks': ['candles'],
};

t.test(
  'the plan: sockets on the path of the settlement currency, one book or candle a frame; a poll of the contracts',
  (t) => {
    const template = listingsOf(CONTRACTS)[0] as ListingRecord;
    const others = ['BTC_USD', 'BTC_USD1'].map((venue_symbol) => ({ ...template, venue_symbol }));
    const listings = [...listingsOf(CONTRACTS), ...others];
    const shardOf = (symbol: string): number => symbol.length % 2;
    const slots = venue.plan(listings, { shards: 2, shardOf, endpoints: venue.endpoints });
    t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
    const all: string[] = [];
    for (const slot of slots) {
      if (slot.kind !== 'socket') continue;
      const streams = slot.subscribe.map(parseAsked).flatMap(({ time, channel, event, payload }) => {
        t.ok(event === 'subscribe' && Number.isInteger(time) && payload.length <= 50);
        if (channel === 'futures.order_book_update') t.same(payload.slice(1), ['100ms']);
        if (channel === 'futures.candlesticks') t.same(payload.slice(0, 1), ['1m']);
        if (channel === 'futures.order_book_update') return [`${channel} ${payload[0]}`];
        return (channel === 'futures.candlesticks' ? payload.slice(1) : payload).map((name) => `${channel} ${name}`);
      });
      t.ok(streams.length <= venue.limits.streamsPerConnection);
      const [cover] = slot.covers;
      t.same(cover?.layers, LAYERS[parseAsked(slot.subscribe[0] ?? '').channel]);
      t.ok(cover?.symbols?.every((symbol) => slot.shards.includes(shardOf(symbol))));
      all.push(...streams.map((stream) => `${slot.url} ${stream}`));
    }
    t.equal(all.length, (1 + 3 + 3) * 304);
    t.equal(new Set(all).size, all.length, 'nothing is requested twice');
    t.ok(all.includes('wss://fx-ws.gateio.ws/v4/ws/usdt futures.order_book_update PEPE_USDT'));
    t.ok(all.includes('wss://fx-ws.gateio.ws/v4/ws/usdt futures.trades PEPE_USDT'));
    t.ok(all.includes('wss://fx-ws.gateio.ws/v4/ws/usdt futures.public_liquidates PEPE_USDT'));
    for (const name of ['PEPE_USDT', 'mark_PEPE_USDT', 'index_PEPE_USDT'])
      t.ok(all.includes(`wss://fx-ws.gateio.ws/v4/ws/usdt futures.candlesticks ${name}`), name);
    t.ok(all.includes('wss://fx-ws.gateio.ws/v4/ws/btc futures.tickers BTC_USD'));
    t.ok(all.includes('wss://fx-ws.gateio.ws/v4/ws/usd1 futures.tickers BTC_USD1'));
    t.match(slots.at(-1), {
      kind: 'poll',
      shards: [0, 1],
      requests: ['usdt', 'usd1', 'btc'].map((market) => ({
        url: `https://api.gateio.ws/api/v4/futures/${market}/contracts`,
      })),
      everyMs: 30_000,
      covers: [{ layers: ['funding'], symbols: null }],
    });
    t.equal(
      venue.bookSnapshot?.({ venue_symbol: 'BTC_USD' }, venue.endpoints).url,
      'https://api.gateio.ws/api/v4/futures/btc/order_book?contract=BTC_USD&limit=100&with_id=true',
    );
    t.same(venue.headers, { 'x-gate-size-decimal': '1' }, 'sizes as decimals');
    t.end();
  },
);

const planOfOne = (): readonly ReturnType<typeof venue.plan>[number][] => {
  const listings = listingsOf(CONTRACTS).filter(({ venue_symbol }) => venue_symbol === 'PEPE_USDT');
  return venue.plan(listings, { shards: 1, shardOf: () => 0, endpoints: venue.endpoints });
};

t.test('what never rests is watched: tickers, candles of mark prices', (t) => {
  const watched = planOfOne().map((slot) => (slot.kind === 'socket' ? slot.watched : null));
  t.same(watched, [
    [],
    [{ subscriptions: ['tickers:PEPE_USDT'], silenceMs: 30_000 }],
    [{ subscriptions: ['candlesticks:mark_PEPE_USDT'], silenceMs: 120_000 }],
    null,
  ]);
  t.end();
});

/** The candle of jkorf-ws:12 with a shorter volume, its length and symbol given by the test. */
const candle = (members: object): object => ({
  t: 1545129300,
  v: '275',
  c: '95.4',
  h: '96.9',
  l: '89.5',
  o: '94.3',
  ...members,
});

t.test('every channel of the plan is one that the mapper reads', (t) => {
  const channels = planOfOne().flatMap((slot) =>
    slot.kind === 'socket' ? slot.subscribe.map((text) => parseAsked(text).channel) : [],
  );
  const order = { price: 215.1, size: '-124', time_ms: 1541486601123, contract: 'BTC_USDT' };
  const frames: Readonly<Record<string, VenueMessage>> = {
    'futures.candlesticks': update('futures.candlesticks', [candle({ n: '1m_mark_ETH_USDT' })]),
    'futures.order_book_update': toVenueMessage(lineOf(SESSION, 47)),
    'futures.public_liquidates': update('futures.public_liquidates', [order]),
    'futures.tickers': toVenueMessage(lineOf(TARDIS, 21)),
    'futures.trades': toVenueMessage(lineOf(TARDIS, 19)),
  };
  t.same([...new Set(channels)].toSorted(), Object.keys(frames));
  for (const [channel, message] of Object.entries(frames)) {
    t.match(message.payload.toString(), new RegExp(`"channel":"${channel}"`));
    t.ok(map(message).length > 0, channel);
  }
  t.end();
});

// Its change log of 2026-08-20: those of a second are sent together, none is left out any more.
t.test('layers: liquidations are all there are, funding is polled', (t) => {
  const onChange = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
  t.same(venue.layers.funding, { policy: 'on', cadence: 30_000, horizonMs: 60_000, horizonSource: 'assumed' });
  t.same(venue.layers.trades, onChange);
  t.same(venue.layers.liquidation, { ...onChange, completeness: 'full' });
  t.same(venue.layers.candles, onChange);
  t.end();
});

t.test('a minute is over when its window is marked as closed, else when a newer one is published', (t) => {
  const text = (...candles: readonly object[]): string => update('futures.candlesticks', candles).payload.toString();
  const minute = { symbol: 'ETH_USDT', openMs: 1545129300_000 };
  const looks = (frame: string) => [venue.closedMinute?.(frame), venue.newestMinute?.(frame)];
  t.same(looks(text(candle({ n: '1m_ETH_USDT', a: '5', w: true }))), [minute, null]);
  t.same(looks(text(candle({ n: '1m_ETH_USDT', a: '5', w: false }))), [null, null], 'still open');
  t.same(looks(text(candle({ n: '1m_ETH_USDT', a: '5' }))), [null, minute]);
  const older = candle({ n: '1m_ETH_USDT', t: 1545129240 });
  t.same(looks(text(older, candle({ n: '1m_ETH_USDT' }))), [null, minute], 'the newest of a frame');
  t.same(looks(text(candle({ n: '1m_mark_ETH_USDT', w: true }))), [null, null], 'no candle of trades');
  t.same(looks(text(candle({ n: '1m_index_ETH_USDT' }))), [null, null]);
  t.same(looks(lineOf(JKORF_WS, 12).raw), [null, null], 'five minutes');
  t.same(looks(lineOf(TARDIS, 21).raw), [null, null]);
  const at = { fromMs: 1545129300_000, toMs: 1545129360_000 };
  const asked = venue.candles?.({ venue_symbol: 'ETH_USDT' }, at, venue.endpoints);
  t.same(asked, {
    method: 'GET',
    url: 'https://api.gateio.ws/api/v4/futures/usdt/candlesticks?contract=ETH_USDT&interval=1m&from=1545129300&to=1545129420',
    weight: 1,
  });
  t.match(map(answer(`GET ${asked?.url}`, [candle({ sum: '3580' })])), [
    { layer: 'candle', venue_symbol: 'ETH_USDT', values: { open_time: 1545129300_000_000, turnover: '3580' } },
  ]);
  t.end();
});

t.test('silent channels are subscribed again; a list is requested without the refused contract', (t) => {
  t.equal(venue.subscriptionOf?.(lineOf(TARDIS, 21).raw), 'tickers:BTC_USDT');
  const ofCandle = (n: string) =>
    venue.subscriptionOf?.(update('futures.candlesticks', [candle({ n })]).payload.toString());
  t.equal(ofCandle('1m_mark_ETH_USDT'), 'candlesticks:mark_ETH_USDT');
  t.equal(ofCandle('1m_ETH_USDT'), null, 'minutes of trades may rest');
  t.equal(venue.subscriptionOf?.(lineOf(TARDIS, 19).raw), null, 'trades');
  t.equal(venue.subscriptionOf?.(lineOf(SESSION, 47).raw), null, 'a book');
  t.same(venue.renew?.(['tickers:A_USDT', 'tickers:B_USDT', 'candlesticks:mark_A_USDT']).map(parseAsked), [
    { time: 1_700_000_000, channel: 'futures.tickers', event: 'unsubscribe', payload: ['A_USDT', 'B_USDT'] },
    { time: 1_700_000_000, channel: 'futures.candlesticks', event: 'unsubscribe', payload: ['1m', 'mark_A_USDT'] },
    { time: 1_700_000_000, channel: 'futures.tickers', event: 'subscribe', payload: ['A_USDT', 'B_USDT'] },
    { time: 1_700_000_000, channel: 'futures.candlesticks', event: 'subscribe', payload: ['1m', 'mark_A_USDT'] },
  ]);
  const request = JSON.stringify({
    time: 1,
    channel: 'futures.trades',
    event: 'subscribe',
    payload: ['A_USDT', 'B_USDT'],
  });
  const refusal = (channel: string, message: string): string =>
    JSON.stringify({ time: 1, channel, event: 'subscribe', error: { code: 2, message } });
  t.same(parseAsked(venue.without?.(refusal('futures.trades', 'unknown contract B_USDT'), request) ?? '').payload, [
    'A_USDT',
  ]);
  t.same(
    parseAsked(venue.without?.(refusal('futures.trades', 'unknown currency pair: B_USDT'), request) ?? '').payload,
    ['A_USDT'],
    'the words of September 2026',
  );
  const inChinese = request.replace('B_USDT', '币安人生_USDT');
  t.same(
    parseAsked(venue.without?.(refusal('futures.trades', 'unknown contract 币安人生_USDT'), inChinese) ?? '').payload,
    ['A_USDT'],
    'names are of any letters',
  );
  t.equal(venue.without?.(refusal('futures.trades', 'unknown contract BB_USDT'), request), null);
  t.equal(venue.without?.(refusal('futures.tickers', 'unknown contract B_USDT'), request), null);
  t.equal(venue.without?.(refusal('futures.trades', 'unknown contract'), request), null, 'it is not known which one');
  const single = JSON.stringify({
    time: 1,
    channel: 'futures.candlesticks',
    event: 'subscribe',
    payload: ['1m', 'B_USDT'],
  });
  t.equal(
    venue.without?.(refusal('futures.candlesticks', 'unknown contract B_USDT'), single),
    null,
    'nothing is left of it',
  );
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(venue.classify(lineOf(JKORF_WS, 2).raw), 'ack');
  t.equal(venue.classify(lineOf(TARDIS, 8).raw), 'ack', 'an error of null is none');
  t.equal(venue.classify('{"time":1,"channel":"futures.pong","event":"","error":null,"result":null}'), 'heartbeat');
  t.equal(
    venue.classify('{"time":1,"channel":"futures.tickers","event":"subscribe","error":{"code":2,"message":"x"}}'),
    'error',
  );
  t.equal(venue.classify(lineOf(SESSION, 47).raw), 'data');
  t.equal(venue.classify(lineOf(TARDIS, 21).raw), 'data');
  t.end();
});
