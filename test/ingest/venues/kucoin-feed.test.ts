// KuCoin: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { kucoin } from '../../../ingest/venues/kucoin/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, mapLine, listingsOf } = venueBench(kucoin);

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const SDK_REST = 'kucoin-sdk-futures-rest-singles.ndjson';

const SDK_WS = 'kucoin-sdk-futures-ws-singles.ndjson';

t.test('a socket is had by asking for its address and token', (t) => {
  const ask = kucoin.prepare?.request('https://api-futures.kucoin.com/api/v1/bullet-public');
  t.match(ask, { method: 'POST', url: 'https://api-futures.kucoin.com/api/v1/bullet-public' });
  const address = (body: unknown): string | undefined => kucoin.prepare?.socketUrl(Buffer.from(JSON.stringify(body)));
  const server = { endpoint: 'wss://ws-api-futures.kucoin.com/', protocol: 'websocket', pingInterval: 18000 };
  t.equal(
    address({ code: '200000', data: { token: '2neA+i/u4=', instanceServers: [server] } }),
    'wss://ws-api-futures.kucoin.com/?token=2neA%2Bi%2Fu4%3D',
  );
  for (const body of [{ code: '429000' }, { code: '200000', data: { token: 't', instanceServers: [] } }])
    t.throws(() => address(body), { code: 'VENUE_BAD_FRAME' });
  const addressAt = (endpoint: string) =>
    address({ code: '200000', data: { token: 't', instanceServers: [{ ...server, endpoint }] } });
  for (const endpoint of [
    'ftp://a.example/',
    'https://a.example/',
    'ws+unix:/run/a:/b',
    'data:,',
    'a.example',
    'wss://',
  ])
    t.throws(() => addressAt(endpoint), { code: 'VENUE_BAD_FRAME' }, endpoint);
  t.equal(addressAt('wss://a.example/#b'), 'wss://a.example/?token=t');
  t.end();
});

t.test('the plan subscribes each open contract once to every topic of it, and polls the list of contracts', (t) => {
  const [template] = listingsOf(SDK_REST) as [ListingRecord];
  const listings = Array.from({ length: 300 }, (_, i) => ({ ...template, venue_symbol: `C${i}USDTM` }));
  const gone = { ...template, venue_symbol: 'GONEUSDTM', values: { ...template.values, status: 'delisted' } };
  const env = { shards: 2, shardOf: (symbol: string) => toShard(symbol, 2), endpoints: kucoin.endpoints };
  const slots = kucoin.plan([...listings, gone], env);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const topics: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    t.equal(slot.url, 'https://api-futures.kucoin.com/api/v1/bullet-public');
    const frames = slot.subscribe.map((text) => JSON.parse(text) as { type: string; topic: string; response: boolean });
    const named = frames.flatMap(({ topic }) => {
      const [kind, symbols = ''] = topic.split(':');
      return symbols.split(',').map((symbol) => `${kind}:${symbol}`);
    });
    t.ok(named.length <= 100, 'a connection holds 100 topics');
    t.ok(frames.every(({ type, response }) => type === 'subscribe' && response));
    const covered = slot.covers.flatMap(({ symbols }) => symbols ?? []);
    t.ok(
      covered.every((symbol) => slot.shards.includes(toShard(symbol, 2))),
      'a socket serves its shard',
    );
    t.same(
      [...new Set(named.map((name) => name.replace(/^.*:/, '').replace(/_1min$/, '')))].toSorted(),
      covered.toSorted(),
    );
    t.same(
      slot.covers[0]?.layers,
      slot.id.startsWith('book') ? ['book', 'venue_depth'] : ['ticker', 'mark', 'stats', 'trades', 'candles'],
    );
    const watched = (slot.watched ?? []).flatMap(({ subscriptions }) => subscriptions);
    t.ok(watched.every((name) => named.includes(name)));
    t.ok(
      watched.every((name) => !/execution|limitCandle/.test(name)),
      'what may rest is not watched',
    );
    topics.push(...named);
  }
  t.equal(topics.length, 1_500);
  t.equal(new Set(topics).size, 1_500);
  t.notOk(topics.some((topic) => topic.includes('GONE')));
  for (const kind of [
    '/contractMarket/level2',
    '/contract/instrument',
    '/contractMarket/snapshot',
    '/contractMarket/execution',
  ])
    t.ok(topics.includes(`${kind}:C7USDTM`), kind);
  t.ok(topics.includes('/contractMarket/limitCandle:C7USDTM_1min'));
  t.match(slots.at(-1), {
    kind: 'poll',
    shards: [0, 1],
    requests: [{ url: 'https://api-futures.kucoin.com/api/v1/contracts/active' }],
    everyMs: 6_000,
    covers: [{ layers: ['funding', 'oi'], symbols: null }],
  });
  t.equal(
    kucoin.bookSnapshot?.({ venue_symbol: 'XBTUSDTM' }, kucoin.endpoints).url,
    'https://api-futures.kucoin.com/api/v1/level2/snapshot?symbol=XBTUSDTM',
  );
  t.end();
});

t.test('every topic that is subscribed is read, and gives what its socket covers', (t) => {
  const [template] = listingsOf(SDK_REST) as [ListingRecord];
  const slots = kucoin.plan([template], { shards: 1, shardOf: () => 0, endpoints: kucoin.endpoints });
  const recorded: Readonly<Record<string, readonly [file: string, line: number]>> = {
    '/contractMarket/level2': [SDK_WS, 5],
    '/contract/instrument': [SDK_WS, 3],
    '/contractMarket/snapshot': [SDK_WS, 8],
    '/contractMarket/execution': [SDK_WS, 2],
    '/contractMarket/limitCandle': [SDK_WS, 4],
  };
  const names: Readonly<Record<string, string>> = { trade: 'trades', candle: 'candles' };
  const read: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    for (const text of slot.subscribe) {
      const topic = (JSON.parse(text) as { topic: string }).topic.split(':')[0] ?? '';
      const given = mapLine(...(recorded[topic] ?? ['', 0])).map(({ layer }) => names[layer] ?? layer);
      t.ok(given.length > 0, topic);
      t.ok(
        given.every((layer) => slot.covers[0]?.layers.includes(layer)),
        topic,
      );
      read.push(...given);
    }
  }
  t.same(read.toSorted(), ['book', 'candles', 'mark', 'stats', 'ticker', 'trades']);
  t.equal(kucoin.layers.liquidation?.policy, 'not_published');
  t.end();
});

t.test(
  'a minute is closed by a candle sent after its end, others are requested; silent topics are subscribed again',
  (t) => {
    const { raw } = lineOf(SDK_WS, 4);
    t.equal(kucoin.closedMinute?.(raw), null, 'it may lack the trades of its last second');
    const over = raw.replace('1731898208357', '1731898260000');
    t.same(kucoin.closedMinute?.(over), { symbol: 'XBTUSDTM', openMs: 1731898200_000 });
    t.equal(kucoin.closedMinute?.(over.replace('_1min', '_1hour')), null);
    t.equal(kucoin.closedMinute?.(lineOf(SDK_WS, 2).raw), null);
    const request = kucoin.candles?.({ venue_symbol: 'XBTUSDTM' }, { fromMs: 60_000, toMs: 120_000 }, kucoin.endpoints);
    const url = 'https://api-futures.kucoin.com/api/v1/kline/query';
    t.same(request, {
      method: 'GET',
      url: `${url}?symbol=XBTUSDTM&granularity=1&from=60000&to=239999`,
      weight: 3,
    });
    const asked = { ...toVenueMessage(lineOf(SDK_REST, 6)), request: `GET ${request?.url}` };
    t.match(map(asked)[0], { layer: 'candle', venue_symbol: 'XBTUSDTM', values: { volume: '5501167' } });
    t.equal(kucoin.subscriptionOf?.(lineOf(SDK_WS, 3).raw), '/contract/instrument:XBTUSDTM');
    t.equal(kucoin.subscriptionOf?.(lineOf(JKORF_WS, 21).raw), '/contractMarket/snapshot:XBTUSDM');
    t.equal(kucoin.subscriptionOf?.(raw), null);
    t.same(
      kucoin.renew?.(['/contract/instrument:A', '/contract/instrument:B', '/contractMarket/snapshot:A']),
      ['unsubscribe', 'subscribe'].flatMap((type) =>
        [
          ['/contract/instrument', 'A,B'],
          ['/contractMarket/snapshot', 'A'],
        ].map(([topic, symbols]) =>
          JSON.stringify({ id: `${topic} 1`, type, topic: `${topic}:${symbols}`, response: true }),
        ),
      ),
    );
    t.end();
  },
);

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(kucoin.classify('{"id":"|1|","type":"ack"}'), 'ack');
  t.equal(kucoin.classify('{"id":"hQvf8jkno","type":"welcome"}'), 'heartbeat');
  t.equal(kucoin.classify('{"id":"ping","type":"pong"}'), 'heartbeat');
  t.equal(kucoin.classify('{"id":"1","type":"error","code":509,"data":"exceed max subscription"}'), 'error');
  for (const line of readRecording(`kucoin/${SDK_WS}`)) t.equal(kucoin.classify(line.raw), 'data');
  t.end();
});
