// MEXC: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { mexc } from '../../../ingest/venues/mexc/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toShard } from '../../../schemas/shards.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, listingsOf, frame, answer, record } = venueBench(mexc);

const JKORF_REST = 'jkorf-rest-examples.ndjson';

const JKORF_WS = 'jkorf-ws-examples.ndjson';

const TARDIS = 'tardis-tests-mexc-futures.ndjson';

const ask = (path: string, data: unknown) =>
  answer(`GET https://api.mexc.com/api/v1/contract/${path}`, { success: true, code: 0, data });

t.test('the plan subscribes each open contract once to every channel of it, on sockets of its shard', (t) => {
  const [template] = listingsOf(JKORF_REST) as [ListingRecord];
  const listings = Array.from({ length: 500 }, (_, i) => ({ ...template, venue_symbol: `C${i}_USDT` }));
  const gone = { ...template, venue_symbol: 'GONE_USDT', values: { ...template.values, status: 'delisted' } };
  const env = { shards: 2, shardOf: (symbol: string) => toShard(symbol, 2), endpoints: mexc.endpoints };
  const slots = mexc.plan([...listings, gone], env);
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const subscribed: string[] = [];
  for (const slot of slots) {
    const covered = slot.covers.flatMap(({ symbols }) => symbols ?? []);
    t.ok(
      covered.every((symbol) => slot.shards.includes(toShard(symbol, 2))),
      'a slot serves its shard',
    );
    if (slot.kind !== 'socket') continue;
    t.equal(slot.url, 'wss://contract.mexc.com/edge');
    t.ok(slot.subscribe.length <= 150, 'as many as are known to work');
    subscribed.push(...slot.subscribe);
    const named = slot.subscribe.map((text) => (JSON.parse(text) as { param: { symbol: string } }).param.symbol);
    t.same([...new Set(named)], covered);
    const watched = (slot.watched ?? []).flatMap(({ subscriptions }) => subscriptions);
    t.same(watched, slot.id.startsWith('ticker') ? covered.map((symbol) => `ticker:${symbol}`) : []);
  }
  t.equal(subscribed.length, 2_500);
  t.equal(new Set(subscribed).size, 2_500);
  t.notOk(subscribed.some((text) => text.includes('GONE')));
  for (const method of ['sub.depth', 'sub.ticker', 'sub.deal', 'sub.funding.rate'])
    t.ok(subscribed.includes(`{"method":"${method}","param":{"symbol":"C7_USDT"}}`), method);
  t.ok(subscribed.includes('{"method":"sub.kline","param":{"symbol":"C7_USDT","interval":"Min1"}}'));
  const listLayers = (id: string) =>
    new Set(slots.filter((slot) => slot.id.startsWith(id)).map((s) => s.covers[0]?.layers.join()));
  t.same(listLayers('ticker'), new Set(['ticker,mark,oi,stats,trades,candles']));
  t.equal(
    mexc.bookSnapshot?.({ venue_symbol: 'BTC_USDT' }, mexc.endpoints).url,
    'https://api.mexc.com/api/v1/contract/depth/BTC_USDT?limit=1000',
  );
  const mostIn2s = (weight = 0): number => (mexc.limits.restBurst?.most ?? 0) / weight;
  t.equal(mostIn2s(mexc.bookSnapshot?.({ venue_symbol: 'BTC_USDT' }, mexc.endpoints).weight), 10, 'documented');
  t.same(
    mexc.reference(mexc.endpoints).map(({ url, weight }) => [url.replace(/.*\//, ''), mostIn2s(weight)]),
    [
      ['funding_rate', 20],
      ['detail', 10],
    ],
  );
  t.end();
});

t.test('every channel that is subscribed is read, and gives what its socket covers', (t) => {
  const [template] = listingsOf(JKORF_REST) as [ListingRecord];
  const slots = mexc.plan([template], { shards: 1, shardOf: () => 0, endpoints: mexc.endpoints });
  // No recording has a minute: the candle of jkorf-ws:12, of an hour, with another length.
  const kline = lineOf(JKORF_WS, 12).raw.replace('Min60', 'Min1');
  const recorded: Readonly<Record<string, string>> = {
    'sub.depth': lineOf(TARDIS, 2).raw,
    'sub.ticker': lineOf(TARDIS, 8).raw,
    'sub.deal': lineOf(TARDIS, 1).raw,
    'sub.kline': kline,
    'sub.funding.rate': lineOf(TARDIS, 9).raw,
  };
  const names: Readonly<Record<string, string>> = { trade: 'trades', candle: 'candles' };
  const read: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    for (const text of slot.subscribe) {
      const { method } = JSON.parse(text) as { method: string };
      const given = map(frame(recorded[method] ?? '')).map(({ layer }) => names[layer] ?? layer);
      t.ok(given.length > 0, method);
      // Tickers have a rate without its settlement.
      read.push(...given.filter((layer) => slot.covers[0]?.layers.includes(layer)));
    }
  }
  t.same([...new Set(read)].toSorted(), ['book', 'candles', 'funding', 'mark', 'oi', 'stats', 'ticker', 'trades']);
  t.same(map(frame(kline)), [
    record('candle', 'BTC_USDT', [1587442022003, null], {
      open_time: 1587448800000_000,
      price_type: 'trade',
      timeframe: '1m',
      open: '6894.5',
      high: '6910.5',
      low: '6885',
      close: '6885',
      volume: '1611754',
      volume_unit: 'contracts',
      turnover: '233.740269343644737245',
      trades: null,
      closed: null,
    }),
  ]);
  t.end();
});

t.test('candles of mark and index prices are requested for the oldest listings that fit the limit of requests', (t) => {
  const [item] = (JSON.parse(lineOf(JKORF_REST, 8).raw) as { data: Record<string, unknown>[] }).data;
  const data = Array.from({ length: 600 }, (_, i) => ({
    ...item,
    symbol: `C${i}_USDT`,
    createTime: 1_700_000_000_000 + i,
  }));
  const listings = mexc.mapReference({}, ask('detail', data))?.listings ?? [];
  t.equal(listings.length, 600);
  t.same([listings[39]?.off, listings[40]?.off], [undefined, ['price_candles']], 'off (V-03a)');
  t.same(listings[40]?.values.candles.price_types, ['trade', 'mark', 'index'], 'though the venue has them');
  const slots = mexc.plan(listings, { shards: 1, shardOf: () => 0, endpoints: mexc.endpoints });
  const polls = slots.flatMap((slot) => (slot.kind === 'poll' ? [slot] : []));
  t.equal(polls.length, 1);
  t.match(polls[0], {
    everyMs: 80_000,
    covers: [{ layers: ['price_candles'], symbols: listings.slice(0, 40).map((l) => l.venue_symbol) }],
  });
  t.same(
    polls[0]?.requests.slice(0, 2),
    ['fair_price', 'index_price'].map((name) => ({
      method: 'GET',
      url: `https://api.mexc.com/api/v1/contract/kline/${name}/C0_USDT?interval=Min1&start={since}`,
      weight: 1,
      urgency: 'price_candle',
      sinceMs: 180_000,
    })),
  );
  t.equal(polls[0]?.requests.length, 80);
  t.end();
});

t.test('a candle of a newer minute shows that the one before is over; what is requested when it does not come', (t) => {
  const { raw } = lineOf(JKORF_WS, 12);
  t.equal(mexc.newestMinute?.(raw), null, 'a candle of an hour');
  const minute = { symbol: 'BTC_USDT', openMs: 1587448800_000 };
  t.same(mexc.newestMinute?.(raw.replace('Min60', 'Min1')), minute);
  const turned =
    '{"symbol":"BTC_USDT","data":{"symbol":"BTC_USDT","interval":"Min1","t":1587448800,"o":1},"channel":"push.kline","ts":1587448832306}';
  t.same(mexc.newestMinute?.(turned), minute);
  t.equal(mexc.newestMinute?.(lineOf(TARDIS, 1).raw), null);
  t.equal(mexc.closedMinute, undefined);
  const request = mexc.candles?.({ venue_symbol: 'BTC_USDT' }, { fromMs: 60_000, toMs: 120_000 }, mexc.endpoints);
  t.equal(request?.url, 'https://api.mexc.com/api/v1/contract/kline/BTC_USDT?interval=Min1&start=60&end=239');
  const columns = { time: [60], open: [2], close: [3], high: [4], low: [1], vol: [7], amount: [5.25] };
  const body = { success: true, code: 0, data: columns };
  t.match(map(answer(`GET ${request?.url}`, body)), [{ venue_symbol: 'BTC_USDT', values: { open_time: 60_000_000 } }]);
  t.equal(mexc.subscriptionOf?.(lineOf(TARDIS, 8).raw), 'ticker:BTC_USDT');
  t.equal(mexc.subscriptionOf?.(lineOf(TARDIS, 1).raw), null, 'trades may rest');
  t.same(mexc.renew?.(['ticker:BTC_USDT']), [
    '{"method":"unsub.ticker","param":{"symbol":"BTC_USDT"}}',
    '{"method":"sub.ticker","param":{"symbol":"BTC_USDT"}}',
  ]);
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(mexc.classify('{"channel":"rs.sub.depth","data":"success","ts":1789498321789}'), 'ack');
  t.equal(mexc.classify('{"channel":"pong","data":1789498336785,"ts":1789498336785}'), 'heartbeat');
  t.equal(mexc.classify('{"channel":"rs.error","data":"Contract [NOPE_USDT] not exists","ts":1}'), 'error');
  t.equal(mexc.classify(lineOf(TARDIS, 1).raw), 'data', 'the channel may be the last member');
  t.end();
});
