// OKX: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, listingsOf } = venueBench(okx);

const SESSION = 'cryptofeed-v5-ws-1.ndjson.gz';

const INSTRUMENTS = 'cryptofeed-v5-rest-instruments.ndjson.gz';

const SWAP = 'tardis-tests-okex-swap-okexSwapV5Messages.ndjson';

const FUTURES = 'tardis-tests-okex-futures-okexFuturesV5Messages.ndjson';

const WS = 'jkorf-ws-examples.ndjson';

t.test('the plan subscribes prices, books and candles apart, an index once for those that share it', (t) => {
  const listings = listingsOf(INSTRUMENTS);
  const slots = okx.plan(listings, { shards: 2, shardOf: (symbol) => symbol.length % 2, endpoints: okx.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const args = slots.flatMap((slot) => {
    if (slot.kind !== 'socket') return [];
    t.ok(
      slot.subscribe.every((text) => text.length < 16_000),
      'frames are small',
    );
    t.ok(
      slot.covers.every(({ symbols }) => (symbols ?? []).every((s) => slot.shards.includes(s.length % 2))),
      slot.id,
    );
    return slot.subscribe.flatMap((text) => {
      const { op, args } = JSON.parse(text) as { op: string; args: { channel: string; instId: string }[] };
      t.equal(op, 'subscribe');
      return args.map(({ channel, instId }) => `${slot.url} ${channel} ${instId}`);
    });
  });
  const count = (channel: string): number => args.filter((arg) => arg.includes(` ${channel} `)).length;
  const each = ['books', 'tickers', 'funding-rate', 'open-interest', 'trades', 'candle1m', 'mark-price-candle1m'];
  for (const channel of each) t.equal(count(channel), 166, channel);
  t.same(['index-tickers', 'index-candle1m'].map(count), [166, 166], 'none is shared here');
  t.equal(count('mark-price'), 167, 'one more shows that the socket of liquidations is alive');
  t.ok(args.includes('wss://ws.okx.com/ws/v5/business candle1m BTC-USDT-SWAP'));
  const [liquidations] = slots.filter(({ id }) => id === 'liquidations');
  t.match(liquidations, { shards: [0, 1], covers: [{ layers: ['liquidation'], symbols: null }] });
  t.match(liquidations, { subscribe: [/"channel":"liquidation-orders","instType":"SWAP"/] });
  t.ok(args.includes('wss://ws.okx.com/ws/v5/public books BTC-USDT-SWAP'));
  t.ok(args.includes('wss://ws.okx.com/ws/v5/public index-tickers BTC-USDT'));
  const streams = slots.map((slot) =>
    slot.kind === 'socket' ? slot.subscribe.join().split('"channel"').length - 1 : 0,
  );
  t.ok(Math.max(...streams) <= okx.limits.streamsPerConnection, `at most ${Math.max(...streams)} streams a socket`);
  t.same(
    okx.reference(okx.endpoints).map(({ url }) => url),
    ['funding-rate?instId=ANY', 'instruments?instType=SWAP'].map((path) => `https://www.okx.com/api/v5/public/${path}`),
  );
  t.end();
});

t.test('renewals of a connection stay below the commands an hour that the venue takes', (t) => {
  const slots = okx.plan(listingsOf(INSTRUMENTS), { shards: 1, shardOf: () => 0, endpoints: okx.endpoints });
  const everyMs = okx.limits.renewEveryMs ?? 1_000;
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const steady = (slot.watched ?? []).filter(({ silenceMs }) => silenceMs <= everyMs);
    const frames = okx.renew?.(steady.flatMap(({ subscriptions }) => subscriptions)).length ?? 0;
    t.ok((frames * 3_600_000) / everyMs + slot.subscribe.length <= 450, `${slot.id}: ${frames} a look`);
    const book = slot.watched?.find(({ subscriptions }) => subscriptions[0]?.startsWith('books:'));
    if (book) t.ok(book.silenceMs + everyMs < 30_000, 'a quiet book comes again before it is stale');
  }
  t.end();
});

t.test('what is requested when a connection omits something', (t) => {
  const url = 'https://www.okx.com/api/v5';
  t.equal(
    okx.candles?.({ venue_symbol: 'BTC-USDT-SWAP' }, { fromMs: 60_000, toMs: 120_000 }, okx.endpoints).url,
    `${url}/market/candles?instId=BTC-USDT-SWAP&bar=1m&before=59999&after=180001&limit=3`,
  );
  const confirmed = (channel: string) => okx.confirm?.(`${channel}:BTC-USDT-SWAP`, okx.endpoints);
  for (const [channel, path] of [
    ['tickers', 'market/ticker?'],
    ['mark-price', 'public/mark-price?instType=SWAP&'],
    ['open-interest', 'public/open-interest?instType=SWAP&'],
    ['funding-rate', 'public/funding-rate?'],
  ] as const)
    t.match(confirmed(channel), { symbol: 'BTC-USDT-SWAP', request: { url: `${url}/${path}instId=BTC-USDT-SWAP` } });
  t.equal(confirmed('books'), null, 'its answer has no id');
  const args = '[{"channel":"books","instId":"A-USDT-SWAP"}]';
  t.same(okx.renew?.(['books:A-USDT-SWAP']), [
    `{"op":"unsubscribe","args":${args}}`,
    `{"op":"subscribe","args":${args}}`,
  ]);
  const two = `{"op":"subscribe","args":[{"channel":"books","instId":"B-USDT-SWAP"},${args.slice(1)}}`;
  const refusal = (instId: string): string =>
    `{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:${instId} doesn't exist."}`;
  t.equal(okx.without?.(refusal('B-USDT-SWAP'), two), `{"op":"subscribe","args":${args}}`);
  t.equal(okx.without?.(refusal('C-USDT-SWAP'), two), null);
  const spaced = refusal('B-USDT-SWAP').replace(',instId', ', instId');
  t.equal(okx.without?.(spaced, two), `{"op":"subscribe","args":${args}}`, 'with a space, as for an index');
  const other = '币安人生-USDT-SWAP';
  t.equal(okx.without?.(refusal(other), two.replace('B-USDT-SWAP', other)), `{"op":"subscribe","args":${args}}`);
  t.equal(okx.without?.('{"event":"error","code":"60012","msg":"Invalid request"}', two), null);
  t.end();
});

t.test('the quick checks return the channel of a frame and the minute that it closes', (t) => {
  const names = [
    [SESSION, 24, 'tickers:UNI-USD-SWAP'],
    [SWAP, 5, 'index-tickers:WNCG-USDT'],
    [SWAP, 1, 'books-l2-tbt:REN-USDT-SWAP'],
    [FUTURES, 13, null],
    [SESSION, 5, null],
  ] as const;
  for (const [file, line, name] of names) t.equal(okx.subscriptionOf?.(lineOf(file, line).raw), name);
  const row = (open: number, confirm: string): string =>
    `["${open}","8533.02","8553.74","8527.17","8548.26","45247","529.58","5529.58","${confirm}"]`;
  const candles = (rows: string, channel = 'candle1m'): string =>
    `{"arg":{"channel":"${channel}","instId":"A-USDT-SWAP"},"data":[${rows}]}`;
  t.same(okx.closedMinute?.(candles(row(60_000, '1'))), { symbol: 'A-USDT-SWAP', openMs: 60_000 });
  t.same(okx.closedMinute?.(candles(`${row(120_000, '0')},${row(60_000, '1')}`)), {
    symbol: 'A-USDT-SWAP',
    openMs: 60_000,
  });
  t.equal(okx.closedMinute?.(candles(row(60_000, '0'))), null);
  t.equal(
    okx.closedMinute?.(candles(row(60_000, '1'), 'mark-price-candle1m')),
    null,
    'prices close no minute of trades',
  );
  t.equal(okx.closedMinute?.(lineOf(WS, 18).raw), null, 'a day');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(okx.classify('pong'), 'heartbeat');
  t.equal(okx.classify(lineOf(SESSION, 5).raw), 'ack');
  t.equal(okx.classify('{"id":"1","event":"subscribe","arg":{"channel":"books"}}'), 'ack');
  t.equal(okx.classify('{"event":"error","code":"60012","msg":"Invalid request"}'), 'error');
  t.equal(okx.classify('{"event":"notice","code":"64008","msg":"upgrade"}'), 'error');
  t.equal(okx.classify(lineOf(SESSION, 24).raw), 'data');
  t.same(okx.ping, { everyMs: 20_000, frame: 'ping' });
  t.end();
});
