// What the memory copy says for each kind of leaf: values, units, ages, statuses and the reasons of unknowns (DQL-15, DQL-20, DQL-33c).
import t from 'tap';
import { compile } from '../../../api/dql/compile.ts';
import { evaluate } from '../../../api/dql/evaluate/evaluate.ts';
import { type LiveElement, liveReader } from '../../../api/dql/evaluate/live-reader.ts';
import { numberOf, unknown, type Value } from '../../../api/dql/evaluate/values.ts';
import { boundsOf } from '../../../api/live/bounds.ts';
import { versionAt } from '../../../api/live/listing-book.ts';
import { venueView } from '../../../api/live/listing-view.ts';
import type { LiveMemory } from '../../../api/live/memory.ts';
import { directoryOf } from '../../../api/selection/directory.ts';
import type { UnitsMode } from '../../../schemas/units.ts';
import { type Feed, market, NOW, reading } from '../live-fixture.ts';

const elementsOf = (live: LiveMemory): LiveElement[] =>
  directoryOf(live).listings.flatMap((listing): LiveElement[] => {
    const venue = live.venue(listing.venue);
    const version = versionAt(listing.versions, NOW);
    const isBitcoin = version?.record.values.instrument === 'BTC-PERP';
    return venue && version && isBitcoin ? [{ view: venueView(live, venue, NOW), listing, version }] : [];
  });

/** Values of a selected expression at each listing of BTC-PERP: binance, then okx. */
const read = (feed: Feed, expression: string, units: UnitsMode = 'published'): Value[] => {
  const elements = elementsOf(feed.memory);
  const [node] = compile({ text: `select ${expression}` }, directoryOf(feed.memory).codes).query.select;
  const series = () => unknown('missing', 'insufficient_history');
  const environment = { elements, read: liveReader({ at: NOW, units, bounds: boundsOf(undefined), elements, series }) };
  return node === undefined ? [] : elements.map((element) => evaluate(node, environment, element));
};

const both = (value: number): Value[] => [numberOf(value), numberOf(value)];
const text = (value: string): Value => ({ kind: 'text', value });

t.test('reads reference fields and counts listings', async (t) => {
  const feed = market();
  t.same(read(feed, 'instrument'), [text('BTC-PERP'), text('BTC-PERP')]);
  t.same(read(feed, 'venue'), [text('binance'), text('okx')]);
  t.same(read(feed, 'quote'), [text('USDT'), text('USDT')]);
  t.same(read(feed, 'tick_size'), both(0.1));
  t.same(read(feed, 'venues_listed'), both(2));
  t.same(read(feed, 'venues_answered'), both(2));
});

t.test('reads present fields, durations and ages', async (t) => {
  const feed = market();
  t.same(read(feed, 'mark * 2'), both(120_000));
  t.same(read(feed, 'funding'), both(0.0000125));
  t.same(read(feed, 'funding_interval'), both(3_600_000));
  t.same(read(feed, 'time_to_funding'), both(3_599_500));
  t.same(read(feed, 'age(funding)'), both(315));
  t.same(read(feed, 'status(funding)'), [text('present'), text('present')]);
});

t.test('an unknown says by which status and reason it is one', async (t) => {
  const feed = market();
  feed.read('binance', 'BTCUSDT', reading({ rev: 2, values: {}, null_reasons: { funding: 'venue_capability' } }));
  t.same(read(feed, 'last'), [unknown('missing', 'no_value'), unknown('missing', 'no_value')]);
  t.same(read(feed, 'oi')[1], unknown('off', 'policy_off'));
  t.same(read(feed, 'volume_24h')[1], unknown('not_published', 'venue_capability'));
  t.same(read(feed, 'funding')[0], unknown('not_published', 'venue_capability'));
  t.same(read(feed, 'age(oi)')[1], unknown('off', 'policy_off'));
  t.same(read(feed, 'status(oi)')[1], text('off'));
  t.same(read(feed, 'sma(close, 5, 1h)')[0], unknown('missing', 'insufficient_history'));
});

t.test('a stale value is unknown, its age and status are not', async (t) => {
  const feed = market();
  const old = { received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
  feed.read('okx', 'BTC-USDT-SWAP', reading({ rev: 2, ...old }));
  t.same(read(feed, 'funding')[1], unknown('stale', 'freshness_bound'));
  t.same(read(feed, 'age(funding)')[1], numberOf(400_000));
  t.same(read(feed, 'status(funding)')[1], text('stale'));
});

t.test('reads depth by band, and quantities in the units asked for', async (t) => {
  const feed = market();
  const depth = { layer: 'venue_depth' as const, instants: {}, raw: null };
  const values = { mid: '60000', depth_bid_10bps: '5', depth_bid_value_10bps: '300000' };
  feed.read(
    'binance',
    'BTCUSDT',
    reading({ ...depth, values, null_reasons: { depth_ask_10bps: 'no_value' }, quantity_unit: 'base' }),
  );
  feed.read('okx', 'BTC-USDT-SWAP', reading({ ...depth, values, quantity_unit: 'contracts' }));
  t.same(read(feed, 'depth_bid(10bps)'), both(5));
  t.same(read(feed, 'depth_bid(10bps)', 'base'), [numberOf(5), numberOf(0.05)]);
  t.same(read(feed, 'depth_bid(10bps)', 'quote'), [numberOf(300_000), numberOf(3_000)]);
  t.same(read(feed, 'depth_bid_value(10bps)', 'base'), both(300_000));
  t.same(read(feed, 'depth_ask(10bps)')[0], unknown('missing', 'no_value'));
});
