// Hyperliquid: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import type { MapState } from '../../../ingest/venues/contract/mapping.ts';
import { hyperliquid } from '../../../ingest/venues/hyperliquid/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, listingsOf, frame, answer, codeOf } = venueBench(hyperliquid);

const SESSION = 'hftbacktest-btc-20250126.ndjson.gz';

const TARDIS = 'tardis-tests-hyperliquid.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const METAS = 'nautilus-rest-singles.ndjson';

const heard = (...coins: string[]): MapState => ({ heard: coins });

/** The shape of jkorf-ws:6, a candle of a day, with figures of the test's own. */
const CANDLE = {
  t: 1764842820000,
  T: 1764842879999,
  s: 'kPEPE',
  i: '1m',
  o: '61',
  c: '62',
  h: '63',
  l: '60',
  v: '64.50',
  n: 65,
};

type Socket = Extract<ReturnType<typeof hyperliquid.plan>[number], { kind: 'socket' }>;

const makePlan = (listings: readonly ListingRecord[], shards = 1): readonly Socket[] => {
  const env = { shards, shardOf: (symbol: string) => symbol.length % shards, endpoints: hyperliquid.endpoints };
  return hyperliquid.plan(listings, env).filter((slot) => slot.kind === 'socket');
};

t.test('everything of a coin is subscribed on one socket; trades and candles only where there is room', (t) => {
  const [template] = listingsOf(JKORF_REST) as [ListingRecord];
  const [socket, ...others] = makePlan([template, { ...template, venue_symbol: 'xyz:A', off: ['trades', 'candles'] }]);
  t.same(others, []);
  t.match(socket, { id: 'coins.0.0', shards: [0], url: 'wss://api.hyperliquid.xyz/ws', silenceMs: 30_000 });
  const subscribe = (subscription: object): string => JSON.stringify({ method: 'subscribe', subscription });
  t.same(socket?.subscribe, [
    subscribe({ type: 'l2Book', coin: 'BTC' }),
    subscribe({ type: 'l2Book', coin: 'xyz:A' }),
    subscribe({ type: 'activeAssetCtx', coin: 'BTC' }),
    subscribe({ type: 'activeAssetCtx', coin: 'xyz:A' }),
    subscribe({ type: 'trades', coin: 'BTC' }),
    subscribe({ type: 'candle', coin: 'BTC', interval: '1m' }),
  ]);
  t.same(socket?.covers, [
    { layers: ['book', 'venue_depth', 'mark', 'funding', 'oi', 'stats'], symbols: ['BTC', 'xyz:A'] },
    { layers: ['trades', 'candles'], symbols: ['BTC'] },
  ]);
  t.same(socket?.watched, [
    { subscriptions: ['l2Book BTC', 'l2Book xyz:A'], silenceMs: 30_000 },
    { subscriptions: ['activeAssetCtx BTC', 'activeAssetCtx xyz:A'], silenceMs: 20_000 },
    { subscriptions: ['trades BTC', 'candle BTC'], silenceMs: 300_000 },
  ]);
  t.end();
});

t.test('coins are spread over few sockets of their shards, and a new one changes one of them', (t) => {
  const [template] = listingsOf(JKORF_REST) as [ListingRecord];
  const listings = Array.from({ length: 200 }, (_, i) => ({
    ...template,
    venue_symbol: i < 150 ? `C${i}` : `xyz:c${i}`,
  }));
  const gone = { ...template, venue_symbol: 'LOOM', values: { ...template.values, status: 'delisted' } };
  const slots = makePlan([...listings, gone], 2);
  const frames = slots.flatMap(({ subscribe }) => subscribe);
  t.equal(frames.length, 800);
  t.equal(new Set(frames).size, 800);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  t.equal(slots.length, 8, 'the venue takes ten connections of an address');
  for (const { id, covers, shards } of slots) {
    const covered = covers.flatMap(({ symbols }) => symbols ?? []);
    t.ok(
      covered.every((symbol) => shards.includes(symbol.length % 2)),
      `${id} serves its shard`,
    );
  }
  const grown = makePlan([{ ...template, venue_symbol: '0NEW' }, ...listings, gone].reverse(), 2);
  const known = new Set(slots.map((slot) => JSON.stringify(slot)));
  t.equal(grown.filter((slot) => !known.has(JSON.stringify(slot))).length, 1);
  t.same(
    hyperliquid.reference(hyperliquid.endpoints).map(({ body }) => body),
    ['{"type":"spotMeta"}', '{"type":"allPerpMetas"}'],
  );
  t.equal(
    hyperliquid.bookSnapshot?.({ venue_symbol: 'kPEPE' }, hyperliquid.endpoints).body,
    '{"type":"l2Book","coin":"kPEPE"}',
  );
  t.end();
});

t.test('an address has 1,000 subscriptions: trades and candles go as far as they do, the first coins first', (t) => {
  const makeMetas = (own: number, builders: number): readonly object[] => [
    {
      universe: [
        { name: 'OLD', szDecimals: 1, isDelisted: true },
        ...Array.from({ length: own }, (_, i) => ({ name: `C${i}`, szDecimals: 1 })),
      ],
      collateralToken: 0,
    },
    {
      universe: Array.from({ length: builders }, (_, i) => ({ name: `xyz:C${i}`, szDecimals: 1 })),
      collateralToken: 0,
    },
  ];
  const listed = (own: number, builders: number): readonly ListingRecord[] =>
    hyperliquid.mapReference({}, answer('POST /info', makeMetas(own, builders)))?.listings ?? [];
  for (const [own, builders, reached] of [
    [150, 50, 200],
    [183, 131, 105],
    [250, 175, 0],
  ] as const) {
    const listings = listed(own, builders);
    const subscribed = listings.filter(({ values, off }) => values.status === 'tradeable' && off === undefined);
    t.equal(subscribed.length, reached, `${own + builders} coins`);
    t.ok(subscribed.every(({ venue_symbol }, i) => venue_symbol === (i < own ? `C${i}` : `xyz:C${i - own}`)));
    const slots = makePlan(listings);
    const sizes = slots.map(({ subscribe }) => subscribe.length);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    t.equal(all, 2 * (own + builders) + 2 * reached);
    t.ok(all + Math.max(...sizes) <= 1_000, 'a socket and its successor fit beside the others');
    t.ok(slots.length <= 9, 'and their connections too');
  }
  const lastListing = listed(183, 131).at(-1);
  t.same(lastListing?.off, ['trades', 'candles'], 'of the others both are off (V-03a)');
  t.same(lastListing?.values.candles.price_types, ['trade'], 'though the venue has them');
  t.notOk(lastListing?.values.not_published.includes('trades'));
  t.equal(listed(150, 50).at(-1)?.off, undefined);
  t.end();
});

t.test('each channel that is subscribed is one that is read', (t) => {
  const dataOf: Readonly<Record<string, unknown>> = {
    l2Book: { coin: 'BTC', time: 1764842873555, levels: [[], []] },
    activeAssetCtx: { coin: 'BTC', ctx: { markPx: '1' } },
    trades: [{ coin: 'BTC', side: 'B', px: '7', sz: '1', time: 1737918860049, tid: 5 }],
    candle: CANDLE,
  };
  const [btc] = listingsOf(JKORF_REST) as [ListingRecord];
  const channels = makePlan([btc]).flatMap(({ subscribe }) =>
    subscribe.map((text) => JSON.parse(text) as { readonly subscription: { readonly type: string } }),
  );
  const layers = channels.map(({ subscription: { type } }) =>
    map(frame({ channel: type, data: dataOf[type] }), heard('BTC')).map(({ layer }) => layer),
  );
  t.same(layers, [['book'], ['mark'], ['trade'], ['candle']]);
  t.end();
});

t.test('a subscription is named by channel and coin, and renewed under them', (t) => {
  t.equal(hyperliquid.subscriptionOf?.(lineOf(TARDIS, 6).raw), 'l2Book BANANA');
  t.equal(hyperliquid.subscriptionOf?.(lineOf(TARDIS, 7).raw), 'activeAssetCtx MOODENG');
  t.equal(hyperliquid.subscriptionOf?.(lineOf(TARDIS, 3).raw), 'trades BTC');
  t.equal(hyperliquid.subscriptionOf?.(JSON.stringify({ channel: 'candle', data: CANDLE })), 'candle kPEPE');
  t.equal(hyperliquid.subscriptionOf?.(lineOf(TARDIS, 9).raw), null, 'the top of a book is not subscribed');
  const command = (method: string, subscription: object): string => JSON.stringify({ method, subscription });
  const candle = { type: 'candle', coin: 'xyz:A', interval: '1m' };
  t.same(hyperliquid.renew?.(['l2Book BTC', 'candle xyz:A']), [
    command('unsubscribe', { type: 'l2Book', coin: 'BTC' }),
    command('subscribe', { type: 'l2Book', coin: 'BTC' }),
    command('unsubscribe', candle),
    command('subscribe', candle),
  ]);
  t.end();
});

t.test('a frame of candles publishes a minute, a request returns the missing ones', (t) => {
  const readMinute = (data: unknown): unknown =>
    hyperliquid.newestMinute?.(JSON.stringify({ channel: 'candle', data }));
  t.same(readMinute(CANDLE), { symbol: 'kPEPE', openMs: 1764842820000 });
  t.same(readMinute([CANDLE]), { symbol: 'kPEPE', openMs: 1764842820000 });
  t.equal(readMinute({ ...CANDLE, i: '5m' }), null);
  t.equal(hyperliquid.newestMinute?.(lineOf(TARDIS, 3).raw), null);
  t.equal(hyperliquid.closedMinute, undefined, 'nothing is marked as closed');
  const range = { fromMs: 1764842820000, toMs: 1764842880000 };
  t.same(hyperliquid.candles?.({ venue_symbol: 'kPEPE' }, range, hyperliquid.endpoints), {
    method: 'POST',
    url: 'https://api.hyperliquid.xyz/info#candleSnapshot?coin=kPEPE&startTime=1764842820000&endTime=1764842940000',
    body: '{"type":"candleSnapshot","req":{"coin":"kPEPE","interval":"1m","startTime":1764842820000,"endTime":1764842940000}}',
    weight: 21,
  });
  t.same(map(answer('POST https://api.hyperliquid.xyz/info', null)), [], 'an unknown coin has none');
  t.end();
});

t.test(
  'frames are recognised without parsing them whole, and the quick check of a book agrees with the mapper',
  (t) => {
    t.equal(hyperliquid.classify('{"channel":"pong"}'), 'heartbeat');
    // The greeting that the venue's own client waits for: hyperliquid-python-sdk@04f25f28 `hyperliquid/websocket_manager.py`.
    const greeting = 'Websocket connection established.';
    t.equal(hyperliquid.classify(greeting), 'heartbeat', 'a greeting answers no subscription');
    t.same(map(frame(greeting)), [], 'and is no dead letter');
    t.equal(hyperliquid.sequence(greeting), null);
    t.equal(codeOf(frame(greeting.slice(0, -1))), 'VENUE_BAD_FRAME', 'any other text is one');
    t.equal(hyperliquid.classify(lineOf(JKORF_WS, 2).raw), 'ack');
    t.equal(hyperliquid.classify('{"channel":"error","data":"Too many"}'), 'error');
    t.equal(hyperliquid.classify(lineOf(SESSION, 1).raw), 'data');
    for (const file of [SESSION, TARDIS, JKORF_WS, METAS, JKORF_REST]) {
      const wrong = readRecording(`hyperliquid/${file}`)
        .filter(({ dir }) => dir === 'in')
        .filter((line) => {
          const mapped = hyperliquid.map({}, toVenueMessage(line), { listings: new Map() }).find(({ chain }) => chain);
          return mapped?.chain?.symbol !== hyperliquid.sequence(line.raw)?.symbol;
        });
      t.same(wrong, [], file);
    }
    t.end();
  },
);
