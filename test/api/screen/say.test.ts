// What the memory copy returns for each kind of leaf: values, units, ages, statuses and the reasons of unknowns (DQL-15, DQL-20, DQL-33c).
import t from 'tap';
import { compile } from '../../../api/language/compile.ts';
import { FIELDS } from '../../../api/language/fields.ts';
import { makeBounds } from '../../../api/live/bounds.ts';
import { makeVenueView } from '../../../api/live/listing-view.ts';
import type { LiveVenue } from '../../../api/live/memory.ts';
import { NO_WINDOWS, type Windows } from '../../../api/screen/capture.ts';
import { readLiveLayers } from '../../../api/screen/facts.ts';
import { Instrument } from '../../../api/screen/instrument.ts';
import { makePlan } from '../../../api/screen/plan.ts';
import { GAP_AT, UNIT_UNKNOWN_AT } from '../../../api/screen/series.ts';
import { makeValueObject } from '../../../api/screen/show.ts';
import { makeUnknown, toNumber, type Value } from '../../../api/screen/values.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { selectListings } from '../../../api/selection/resolve.ts';
import { toSpecId } from '../../../api/series/column-spec.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import { writeJson } from '../../../schemas/json.ts';
import type { Reading } from '../../../schemas/topics.ts';
import type { UnitsMode } from '../../../schemas/units.ts';
import {
  type Feed,
  LISTED,
  listing,
  listingValues,
  market,
  markReading,
  NOW,
  reading,
} from '../../support/apps/live-fixture.ts';

/** BTC-PERP, whose listings are binance's, then okx's. */
const bitcoin = ({ memory }: Feed, expression: string, units: UnitsMode, windows: Windows = NO_WINDOWS) => {
  const directory = findDirectory(memory);
  const { query } = compile({ text: `where base = BTC select ${expression}` }, directory.codes);
  const plan = makePlan(query, units);
  const names = { base: [{ code: 'BTC', origin: { path: '' } }] };
  const terms = { at: NOW, units, bounds: makeBounds(undefined) };
  const facts = selectListings(names, directory, { at: NOW }).map((selected) => {
    const view = makeVenueView(memory, memory.venue(selected.listing.venue) as LiveVenue, NOW);
    const layers = readLiveLayers(view, selected, { layers: plan.layers, terms });
    return { ...selected, terms, layers, windows };
  });
  return { instrument: new Instrument('BTC-PERP', plan, facts), node: query.select[0] as never };
};

/** Values of a selected expression at each listing. */
const read = (feed: Feed, expression: string, units: UnitsMode = 'published'): Value[] => {
  const { instrument, node } = bitcoin(feed, expression, units);
  return instrument.elements.map((element) => instrument.value(node, element));
};

/** Its value objects. */
const show = (
  feed: Feed,
  expression: string,
  units: UnitsMode = 'published',
  windows: Windows = NO_WINDOWS,
): Record<string, unknown>[] => {
  const { instrument, node } = bitcoin(feed, expression, units, windows);
  return instrument.elements.map(
    (element) => JSON.parse(writeJson(makeValueObject(node, instrument, element))) as Record<string, unknown>,
  );
};

/** The value object of an expression of the instrument. */
const showWhole = (feed: Feed, expression: string, units: UnitsMode = 'published'): unknown => {
  const { instrument, node } = bitcoin(feed, expression, units);
  return JSON.parse(writeJson(makeValueObject(node, instrument, null)));
};

const both = (value: number): Value[] => [toNumber(value), toNumber(value)];
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

t.test('time to funding counts whole milliseconds, and ends at the instant of the settlement (L-02)', async (t) => {
  for (const [after, left] of [
    [1_999, 1],
    [1_000, 1],
    [999, 0],
    [1, 0],
    [0, null],
    [-1, null],
  ] as const) {
    const feed = market();
    feed.read('binance', 'BTCUSDT', { ...reading(), instants: { next_funding_at: NOW + after } });
    const expected = left === null ? { value: null, reason: 'no_value' } : { value: left, status: 'present' };
    t.match(show(feed, 'time_to_funding')[0], expected, `${after} microseconds before`);
  }
});

t.test('an unknown has its status and reason', async (t) => {
  const feed = market();
  feed.read('binance', 'BTCUSDT', reading({ rev: 2, values: {}, null_reasons: { funding: 'venue_capability' } }));
  t.same(read(feed, 'last'), [makeUnknown('missing', 'no_value'), makeUnknown('missing', 'no_value')]);
  t.same(read(feed, 'oi')[1], makeUnknown('off', 'policy_off'));
  t.same(read(feed, 'volume_24h')[1], makeUnknown('not_published', 'venue_capability'));
  t.same(read(feed, 'funding')[0], makeUnknown('not_published', 'venue_capability'));
  t.same(read(feed, 'age(oi)')[1], makeUnknown('off', 'policy_off'));
  t.same(read(feed, 'status(oi)')[1], text('off'));
});

t.test('a field that the listing never has is not published, whatever it is made of (DQL-33c)', async (t) => {
  for (const { name, layer, needs } of FIELDS.values()) {
    if (layer === 'reference') continue;
    const feed = market();
    feed.list(listing('binance', listingValues({ not_published: [...needs] }), { writtenAt: LISTED + 1 }));
    const null_reasons = Object.fromEntries(needs.map((need) => [need, 'venue_capability']));
    feed.read('binance', 'BTCUSDT', reading({ layer, rev: 9, values: {}, instants: {}, null_reasons }));
    t.same(read(feed, name)[0], makeUnknown('not_published', 'venue_capability'), name);
    if (name === 'time_to_funding') t.match(showWhole(feed, `min(venues, ${name})`), { value: 3_599_500 });
  }
});

t.test(
  'it is not published in every state of its layer but off, so it leaves an aggregate whole (L-07, DQL-21)',
  async (t) => {
    const old = { received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
    const states: readonly (Partial<Reading> | null)[] = [
      null,
      old,
      { conn_id: 'gone', horizon_source: null },
      { valid: false },
    ];
    const never = makeUnknown('not_published', 'venue_capability');
    for (const state of states) {
      const feed = market();
      const not_published = ['index', 'basis', 'next_funding_at', 'volume_24h', 'last'];
      feed.list(listing('binance', listingValues({ not_published }), { writtenAt: LISTED + 1 }));
      if (state !== null) {
        feed.read('binance', 'BTCUSDT', markReading('60000', { rev: 2, ...state, values: { mark: '60000' } }));
        feed.read('binance', 'BTCUSDT', reading({ rev: 2, ...state, instants: {} }));
      }
      for (const name of ['volume_24h', 'last', ...(state === null ? [] : ['index', 'basis', 'time_to_funding'])])
        t.same(read(feed, name)[0], never, name);
      if (state === null) continue;
      t.not(read(feed, 'mark')[0]?.kind, 'number');
      t.match(showWhole(feed, 'max(venues, index)'), { value: 60_000, status: 'present', from: [{ venue: 'okx' }] });
      t.match(showWhole(feed, 'max(venues, mark)'), { value: null });
    }
    const feed = market();
    feed.list(
      listing('okx', listingValues({ venue_symbol: 'BTC-USDT-SWAP', not_published: ['oi'] }), {
        writtenAt: LISTED + 1,
      }),
    );
    t.same(read(feed, 'oi')[1], makeUnknown('off', 'policy_off'));
    feed.list(listing('binance', listingValues({ not_published: ['funding_8h'] }), { writtenAt: LISTED + 1 }));
    feed.read('binance', 'BTCUSDT', reading({ rev: 2, ...old }));
    t.same(
      read(feed, 'funding_8h')[0],
      makeUnknown('stale', 'freshness_bound'),
      'one that its reading has is published',
    );
  },
);

t.test('a stale value is unknown, its age and status are not', async (t) => {
  const feed = market();
  const old = { received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
  feed.read('okx', 'BTC-USDT-SWAP', reading({ rev: 2, ...old }));
  t.same(read(feed, 'funding')[1], makeUnknown('stale', 'freshness_bound'));
  t.same(read(feed, 'age(funding)')[1], toNumber(400_000));
  t.same(read(feed, 'status(funding)')[1], text('stale'));
});

t.test(
  'a part of an aggregate has the stamps of the newest reading its value was computed from (DQL-29)',
  async (t) => {
    const feed = market();
    const old = { received_at: NOW - 20_000_000, venue_ts: NOW - 20_000_000, recorded_at: NOW - 20_000_000 };
    feed.read('binance', 'BTCUSDT', reading({ rev: 2, ...old }));
    const [newest] = show(feed, 'mark');
    const stamps = { received_at: newest?.received_at, age_ms: newest?.age_ms };
    t.match(show(feed, 'funding')[0], { age_ms: 20_000 });
    for (const expression of ['mark * funding', 'funding * mark', 'funding * lot_size + mark']) {
      t.match(showWhole(feed, `max(venues where venue = binance, ${expression})`), { from: [stamps] }, expression);
    }
  },
);

t.test('reads depth by band, and quantities in the requested units', async (t) => {
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
  t.same(read(feed, 'depth_bid(10bps)', 'base'), [toNumber(5), toNumber(0.05)]);
  t.same(read(feed, 'depth_bid(10bps)', 'quote'), [toNumber(300_000), toNumber(3_000)]);
  t.same(read(feed, 'depth_bid_value(10bps)', 'base'), both(300_000));
  t.same(read(feed, 'depth_ask(10bps)')[0], makeUnknown('missing', 'no_value'));
});

t.test('a quantity has the unit of its reading, whatever the status of that is (N-08)', async (t) => {
  const old = { received_at: NOW - 400_000_000, venue_ts: null, recorded_at: NOW - 400_000_000 };
  const states: readonly Partial<Reading>[] = [
    {},
    old,
    { conn_id: 'gone' },
    { valid: false, gap_cause: 'crossed_book' },
    { valid_until: NOW - 1, horizon_source: 'documented', horizon_ms: 1 },
    { horizon_source: null },
  ];
  const expressions = { oi: 'oi', book: 'bid_size', stats: 'volume_24h', venue_depth: 'depth_bid(10bps)' } as const;
  const values = { oi: '7', bid_size: '8', volume_24h: '9', depth_bid_10bps: '10' };
  for (const [layer, expression] of Object.entries(expressions)) {
    for (const unit of ['base', 'contracts', 'quote'] as const) {
      const statuses = new Set<unknown>();
      for (const [rev, state] of states.entries()) {
        const feed = market();
        const read = { layer: layer as keyof typeof expressions, values, instants: {}, raw: null, quantity_unit: unit };
        feed.read('binance', 'BTCUSDT', reading({ ...read, rev: rev + 1, ...state }));
        const [shown] = show(feed, expression);
        statuses.add(`${shown?.status} ${shown?.reason}`);
        t.equal(shown?.unit, unit, `${expression} ${shown?.status} ${shown?.reason}`);
        t.equal(show(feed, expression, 'base')[0]?.unit, 'base');
      }
      t.ok(statuses.size >= 4, [...statuses].join());
    }
  }
});

t.test('a rule of a quantity that states no unit counts as its listing does (N-08)', async (t) => {
  const rules = ['lot_size', 'min_qty'] as const;
  const unstated = { tick_size: null, lot_size: null, min_qty: null, min_notional: null, contract_size: 'base' };
  for (const unit of ['base', 'contracts', 'quote'] as const) {
    for (const [digits, status] of [[null, 'not_published'] as const, ['2', 'present'] as const]) {
      const feed = market();
      const made = { lot_size: digits, min_qty: digits, quantity_unit: unit, contract_size: '0.5', units: unstated };
      feed.list(listing('binance', listingValues({ ...made, not_published: digits === null ? rules : [] })));
      feed.read('binance', 'BTCUSDT', markReading('4'));
      for (const rule of rules) {
        t.match(show(feed, rule)[0], { unit, status, value: digits === null ? null : 2 }, `${rule} in ${unit}`);
        const inBase = { base: 2, contracts: 1, quote: 0.5 }[unit];
        t.match(show(feed, rule, 'base')[0], { unit: 'base', status, value: digits === null ? null : inBase });
      }
      t.equal(show(feed, 'tick_size', 'base')[0]?.unit, 'quote');
    }
  }
});

t.test('a depth shows its band, mid and levels (L-10)', async (t) => {
  const feed = market();
  const values = { mid: '60000', depth_bid_10bps: '5', levels_bid_10bps: '212' };
  const depth = { layer: 'venue_depth' as const, instants: {}, raw: null, values, quantity_unit: 'base' };
  feed.read('binance', 'BTCUSDT', reading(depth));
  const [shown, absent] = show(feed, 'depth_bid(10bps)');
  t.match(shown, { value: 5, unit: 'base', layer: 'venue_depth', band: '10bps', reference: 60000, levels: 212 });
  t.match(absent, { value: null, status: 'missing', reason: 'no_value', band: '10bps', reference: null, levels: null });
});

t.test('a figure that cannot be converted leaves its layer present (L-07)', async (t) => {
  const feed = market();
  feed.read('binance', 'BTCUSDT', reading({ layer: 'oi', values: { oi: '7' }, instants: {}, quantity_unit: 'base' }));
  t.match(show(feed, 'oi', 'base')[0], { value: 7, unit: 'base', status: 'present' });
  const stale = { received_at: NOW - 400_000_000, venue_ts: null, recorded_at: NOW - 400_000_000 };
  feed.read('binance', 'BTCUSDT', reading({ layer: 'mark', values: { mark: '60000' }, instants: {}, ...stale }));
  const unitUnknown = { value: null, status: 'present', reason: 'unit_unknown' };
  t.match(show(feed, 'oi', 'quote')[0], { unit: 'quote', ...unitUnknown });
  t.match(show(feed, 'lot_size', 'quote')[0], { unit: 'quote', ...unitUnknown }, 'a rule');
  const depth = { layer: 'venue_depth' as const, instants: {}, values: { mid: '60000', depth_bid_10bps: '5' } };
  feed.read('binance', 'BTCUSDT', reading({ ...depth, null_reasons: { depth_bid_value_10bps: 'unit_unknown' } }));
  t.match(show(feed, 'depth_bid_value(10bps)')[0], { unit: 'quote', ...unitUnknown }, 'a value of a quanto book');
  const computed = { ...unitUnknown, status: 'missing' };
  t.match(show(feed, 'oi * funding', 'quote')[0], { derived: true, ...computed }, 'what is computed of it (DQL-33j)');
  t.match(
    show(feed, 'oi * mark', 'quote')[0],
    { value: null, status: 'stale' },
    'another input that is stale goes first',
  );
  t.match(showWhole(feed, 'max(venues where venue = binance, oi)', 'quote'), {
    ...computed,
    from: [{ value: null, status: 'present' }],
  });
  const column = { end: NOW, receivedAt: NOW, received: null, recorded: null, units: null, digits: null, exact: null };
  const elements = {
    values: Float64Array.of(Number.NaN, Number.NaN),
    reasons: Uint8Array.of(UNIT_UNKNOWN_AT, UNIT_UNKNOWN_AT),
  };
  const candles = { kind: 'candles', priceType: 'trade', member: 'volume', timeframe: '1m' } as const;
  const windows: Windows = new Map([[toSpecId(candles), { ...column, elements }]]);
  t.match(show(feed, 'volume timeframe 1m', 'base', windows)[0], unitUnknown, 'a source');
  for (const series of ['sma(volume, 2, 1m)', 'prev(volume, 1, 1m) * 2'])
    t.match(show(feed, series, 'base', windows)[0], computed, series);
});

t.test('a count was received with the newest candle among its periods (DQL-29)', async (t) => {
  const silent = Number.NEGATIVE_INFINITY;
  const none = Number.NaN;
  const minutes = { kind: 'candles', priceType: 'trade', member: 'present', timeframe: '1m' } as const;
  const [first, second, ahead] = [NOW - 4_000_400, NOW - 3_000_400, NOW + 400];
  for (const [received, count, expected, gaps] of [
    [[first, second], 2, second, 0],
    [[first, none], 2, first, 1],
    [[first, second, none, none], 4, second, 2],
    [[first, second, none, none], 3, second, 2],
    [[first, second, none, none], 2, null, 2],
    [[first, silent, none], 3, null, 1],
    [[first, ahead], 2, ahead, 0],
  ] as const) {
    const elements = {
      values: Float64Array.from(received, (instant) => (Number.isNaN(instant) ? none : 1)),
      reasons: Uint8Array.from(received, (instant) => (Number.isNaN(instant) ? GAP_AT : 0)),
    };
    const newest = received.at(-1) ?? none;
    const receivedAt = Number.isFinite(newest) ? newest : null;
    const column = { end: NOW, receivedAt, received: Float64Array.from(received), recorded: null, units: null };
    const windows: Windows = new Map([[toSpecId(minutes), { ...column, digits: null, exact: null, elements }]]);
    t.match(
      show(market(), `gaps(${count}, 1m)`, 'published', windows)[0],
      {
        value: gaps,
        received_at: expected === null ? null : formatInstant(expected),
        age_ms: expected === null ? null : Math.floor((NOW - expected) / 1_000),
      },
      `${count} of ${received}`,
    );
  }
});

t.test('arithmetic has its parts, its unit and the reason when it is unknown (L-10, DQL-33j)', async (t) => {
  const feed = market();
  const [sum] = show(feed, 'mark - index');
  t.match(sum, { value: 0, unit: 'quote', venue: 'binance', derived: true, status: 'present' });
  t.equal((sum?.atoms as unknown[] | undefined)?.length, 2);
  t.equal(show(feed, 'mark / index')[0]?.unit, 'fraction');
  t.equal(show(feed, 'mark * funding')[0]?.unit, 'count');
  t.equal(show(feed, 'abs(mark)')[0]?.unit, 'quote');
  t.equal(show(feed, 'time_to_funding / 2')[0]?.unit, 'ms');
  t.match(show(feed, '60m')[0], { value: '1h', unit: 'duration', status: 'present' }, 'a literal is echoed (N-08)');
  t.match(show(feed, '1h * 2')[0], { value: 7_200_000, unit: 'ms' });
  t.match(showWhole(feed, 'max(venues, 1h)'), { value: 3_600_000, unit: 'ms', from: [{ value: 3_600_000 }, {}] });
  t.match(show(feed, 'mark / (mark - index)')[0], { value: null, status: 'missing', reason: 'no_value' });
  t.match(show(feed, 'mark + oi')[1], { value: null, status: 'off', reason: 'policy_off' });
  t.match(show(feed, 'oi > 0')[1], { value: null, unit: 'code', status: 'present', reason: 'policy_off' });
  t.match(show(feed, 'status(oi)')[1], { value: 'off', unit: 'code', status: 'present' });
});

t.test('what is computed of aggregates has the status of their open elements (DQL-23, DQL-33b, DQL-33j)', async (t) => {
  const feed = market();
  const old = { rev: 2, received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
  const spread = 'max(venues, mark) - min(venues, mark)';
  t.match(showWhole(feed, spread), { value: 0, unit: 'quote', derived: true, status: 'present' });
  feed.read('okx', 'BTC-USDT-SWAP', markReading('60000', old));
  t.match(showWhole(feed, spread), {
    value: null,
    unit: 'quote',
    derived: true,
    status: 'stale',
    reason: 'freshness_bound',
  });
  const stats = { layer: 'stats' as const, values: { turnover_24h: '5' }, instants: {}, raw: null };
  feed.read('binance', 'BTCUSDT', reading(stats));
  const sum = 'sum(venues where funding > 0, turnover_24h)';
  t.match(showWhole(feed, sum), { value: 5, unit: 'quote', status: 'present', fn: 'sum' });
  feed.read('binance', 'BTCUSDT', reading(old));
  t.match(
    showWhole(feed, sum),
    {
      ...{ value: null, unit: 'quote', status: 'stale', reason: 'freshness_bound', fn: 'sum' },
      from: [{ venue: 'binance', value: 5, status: 'present' }],
    },
    'the value is known, whether it belongs is not',
  );
});

t.test(
  'an aggregate has the unit of those who take part, and the digits of the figure it picked (N-05, N-08, DQL-21)',
  async (t) => {
    const feed = market();
    const quantity = 'max(venues where venue = okx, bid_size)';
    t.match(showWhole(feed, quantity), { unit: 'contracts' });
    t.match(showWhole(feed, `${quantity} - ${quantity}`), { unit: 'contracts' });
    t.match(showWhole(feed, 'max(venues, bid_size)'), { unit: 'count' }, 'base and contracts');
    t.match(showWhole(feed, 'max(venues, oi)'), { unit: 'base' }, 'off at okx');

    const digits = '60000.1234567890123456789';
    const old = { rev: 2, received_at: NOW - 400_000_000, venue_ts: NOW - 400_000_000, recorded_at: NOW - 400_000_000 };
    feed.read('binance', 'BTCUSDT', markReading(digits));
    feed.read('okx', 'BTC-USDT-SWAP', markReading('1', old));
    const { instrument, node } = bitcoin(feed, 'max(venues, mark)', 'published');
    const text = writeJson(makeValueObject(node, instrument, null));
    t.match(text, `"bound":{"at_least":${digits}}`);
  },
);
