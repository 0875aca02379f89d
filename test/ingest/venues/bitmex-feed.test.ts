// BitMEX: what is subscribed, polled and asked for again, and frames that are recognised without parsing them whole.
import t from 'tap';
import { bitmex as venue } from '../../../ingest/venues/bitmex/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { lineOf, map, listingsOf, frame, answer } = venueBench(venue);

const SESSION = 'cryptofeed-realtime-ws-1.ndjson.gz';

const ACTIVE = 'cryptofeed-realtime-rest-instruments.ndjson.gz';

const TARDIS = 'tardis-tests-bitmex.ndjson';

/** The recorded row of an instrument, as its socket's partial would hold it. */
const findRow = (symbol: string): string => {
  const rows = lineOf(ACTIVE, 1).raw;
  const from = rows.indexOf(`{"symbol":"${symbol}"`);
  return rows.slice(from, rows.indexOf('}', from) + 1);
};

const table = (name: string, action: string, ...rows: readonly (string | object)[]): VenueMessage =>
  frame(
    `{"table":"${name}","action":"${action}","data":[${rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join(',')}]}`,
  );

const PRICE_LAYERS = ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades', 'liquidation', 'candles'];

t.test('the plan subscribes every table of every listing once, few topics a frame', (t) => {
  const listings = listingsOf(ACTIVE);
  const slots = venue.plan(listings, { shards: 1, shardOf: () => 0, endpoints: venue.endpoints });
  t.equal(new Set(slots.map(({ id }) => id)).size, slots.length, 'ids are unique');
  const all: string[] = [];
  for (const slot of slots) {
    if (slot.kind !== 'socket') continue;
    const topics = slot.subscribe.flatMap((text) => {
      const { op, args } = JSON.parse(text) as { op: string; args: string[] };
      t.equal(op, 'subscribe');
      t.ok(args.length <= 20);
      return args;
    });
    t.ok(topics.length <= venue.limits.streamsPerConnection);
    const [cover] = slot.covers;
    const isBook = topics[0]?.startsWith('orderBookL2:');
    t.same(cover?.layers, isBook ? ['book', 'venue_depth'] : PRICE_LAYERS);
    t.same([...new Set(topics.map((topic) => topic.replace(/^.*:/, '')))], cover?.symbols);
    const name = (of: string): unknown => cover?.symbols?.map((symbol) => `${of}:${symbol}`);
    const begins = (of: string): unknown => ({ subscriptions: name(of), silenceMs: 60_000, mayBeQuiet: true });
    const watched = isBook
      ? [begins('orderBookL2')]
      : [
          { subscriptions: name('instrument'), silenceMs: 30_000 },
          ...['trade', 'liquidation', 'tradeBin1m'].map(begins),
        ];
    t.same(slot.watched, watched, 'trades, bins and liquidations may rest once they have begun');
    all.push(...topics);
  }
  const tables = ['orderBookL2', 'instrument', 'trade', 'liquidation', 'tradeBin1m'];
  const expected = listings.flatMap(({ venue_symbol }) => tables.map((name) => `${name}:${venue_symbol}`));
  t.same(all.toSorted(), expected.toSorted());
  t.ok(slots.every((slot) => slot.kind === 'socket' && slot.url === 'wss://ws.bitmex.com/realtime'));
  const [reference] = venue.reference(venue.endpoints);
  t.match(reference?.url, /^https:\/\/www\.bitmex\.com\/api\/v1\/instrument\/active\?columns=%5B%22symbol%22/);
  t.end();
});

/** As the recorded bin of five minutes (of spot), of a perpetual. */
const BIN = {
  timestamp: '2025-02-07T10:55:00.000Z',
  symbol: 'XBTUSDT',
  open: 97255.4,
  high: 97304,
  low: 97240,
  close: 97250,
  trades: 128,
  volume: 304800,
  foreignNotional: 304800.5,
};

t.test('every table of the plan is one that the mapper reads', (t) => {
  const [listing] = listingsOf(ACTIVE) as readonly [ListingRecord];
  const slots = venue.plan([listing], { shards: 1, shardOf: () => 0, endpoints: venue.endpoints });
  const tables = slots.flatMap((slot) =>
    slot.kind === 'socket'
      ? slot.subscribe.flatMap((text) =>
          (JSON.parse(text) as { args: string[] }).args.map((topic) => topic.replace(/:.*/, '')),
        )
      : [],
  );
  const frames: Readonly<Record<string, VenueMessage>> = {
    instrument: table('instrument', 'partial', findRow('XBTUSD')),
    liquidation: toVenueMessage(lineOf(TARDIS, 12)),
    orderBookL2: toVenueMessage(lineOf(TARDIS, 7)),
    trade: toVenueMessage(lineOf(TARDIS, 1)),
    tradeBin1m: table('tradeBin1m', 'insert', BIN),
  };
  t.same(tables.toSorted(), Object.keys(frames));
  for (const [name, message] of Object.entries(frames)) {
    t.ok(message.payload.toString().startsWith(`{"table":"${name}"`), name);
    t.ok(map(message).length > 0, name);
  }
  t.end();
});

t.test('layers: every order of the liquidation engine is published, candles are of trades', (t) => {
  const onChange = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' };
  t.same(venue.layers.trades, onChange);
  t.same(venue.layers.liquidation, { ...onChange, completeness: 'full' });
  t.same(venue.layers.candles, onChange);
  t.end();
});

t.test('a bin closes the minute it ends; missing minutes are requested up to the running bin', (t) => {
  const text = (name: string, action: string): string => table(name, action, BIN).payload.toString();
  const closed = { symbol: 'XBTUSDT', openMs: Date.UTC(2025, 1, 7, 10, 54) };
  t.same(venue.closedMinute?.(text('tradeBin1m', 'insert')), closed);
  t.match(map(table('tradeBin1m', 'insert', BIN)), [{ values: { open_time: closed.openMs * 1000 } }]);
  const partial = `{"table":"tradeBin1m","action":"partial","keys":[],"types":{"timestamp":"timestamp","symbol":"symbol"},"filter":{"symbol":"XBTUSDT"},"data":[${JSON.stringify(BIN)}]}`;
  t.same(venue.closedMinute?.(partial), closed);
  t.equal(venue.closedMinute?.(text('tradeBin5m', 'insert')), null);
  t.equal(venue.closedMinute?.('{"table":"tradeBin1m","action":"partial","keys":[],"data":[]}'), null);
  t.equal(venue.closedMinute?.(lineOf(SESSION, 57).raw), null);
  const at = { fromMs: closed.openMs, toMs: closed.openMs + 60_000 };
  const asked = venue.candles?.({ venue_symbol: 'XBTUSDT' }, at, venue.endpoints);
  t.same(asked, {
    method: 'GET',
    url:
      'https://www.bitmex.com/api/v1/trade/bucketed?binSize=1m&partial=true&symbol=XBTUSDT' +
      '&startTime=2025-02-07T10%3A55%3A00.000Z&endTime=2025-02-07T10%3A57%3A00.000Z&count=3',
    weight: 1,
  });
  t.match(map(answer(`GET ${asked?.url}`, [BIN])), [
    { layer: 'candle', venue_symbol: 'XBTUSDT', values: { open_time: closed.openMs * 1000, close: '97250' } },
  ]);
  t.end();
});

t.test('an instrument that went silent is subscribed again', (t) => {
  t.equal(
    venue.subscriptionOf?.(table('instrument', 'partial', findRow('XBTUSD')).payload.toString()),
    'instrument:XBTUSD',
  );
  const partial =
    '{"table":"instrument","action":"partial","types":{"symbol":"symbol"},"filter":{"symbol":"A"},"data":[{"symbol":"A"}]}';
  t.equal(venue.subscriptionOf?.(partial), 'instrument:A');
  t.equal(venue.subscriptionOf?.(lineOf(TARDIS, 1).raw), null, 'a trade');
  t.equal(venue.subscriptionOf?.(lineOf(SESSION, 57).raw), null, 'a book');
  t.same(venue.renew?.(['instrument:A', 'instrument:B']), [
    '{"op":"unsubscribe","args":["instrument:A","instrument:B"]}',
    '{"op":"subscribe","args":["instrument:A","instrument:B"]}',
  ]);
  t.equal(venue.classify('{"success":true,"unsubscribe":"instrument:A","request":{}}'), 'ack');
  t.equal(venue.subscriptionOf?.('{"success":true,"unsubscribe":"instrument:A","request":{}}'), null);
  // As captured; the partial that follows it has `"filter":{},"data":[]`.
  const accepted = '{"success":true,"subscribe":"liquidation:XBTUSD","request":{"op":"subscribe","args":[]}}';
  t.equal(venue.subscriptionOf?.(accepted), 'liquidation:XBTUSD');
  t.end();
});

t.test('frames are recognised without parsing them whole', (t) => {
  t.equal(venue.classify('pong'), 'heartbeat');
  t.equal(venue.classify(lineOf(SESSION, 5).raw), 'heartbeat', 'a greeting answers no subscription');
  t.equal(venue.classify(lineOf(SESSION, 6).raw), 'ack');
  t.equal(venue.classify('{"status":400,"error":"Unknown table: x","meta":{},"request":{}}'), 'error');
  t.equal(venue.classify(lineOf(SESSION, 57).raw), 'data');
  t.same(venue.ping, { everyMs: 20_000, frame: 'ping' });
  t.end();
});
