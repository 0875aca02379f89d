// History at an instant and a screen as of it state the same of every field: value, unit, status, reason, stamps and age (H-06, DQL-33, L-05).
import t from 'tap';
import { makeGapRow, makeReadingRow } from '../../../processors/task/rows.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Reading, Row } from '../../../schemas/topics.ts';
import { capability, Feed, LISTED, listing, listingValues, NOW, reading } from '../../support/apps/live-fixture.ts';
import { BTCUSD, ELEVEN, pastAsker, SECOND } from '../../support/apps/past-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const at = (seconds: number): Micros => ELEVEN + seconds * SECOND;
const SYMBOLS = ['BTCUSDT', 'BTCUSD'] as const;
type Symbol = (typeof SYMBOLS)[number];

let offset = 100;
const store = (symbol: Symbol, layer: ReadingLayer, received: Micros, over: Partial<Reading>): Row => {
  const length = LAYERS[layer].windowMs * 1_000;
  const end = Math.ceil(received / length) * length;
  const one = reading({ layer, instants: {}, raw: null, venue_ts: received - 100_000, recorded_at: received, ...over });
  const span = { from: end - length, at: end, srcOffset: offset++, late: false };
  return makeReadingRow({ venue: 'binance', symbol, layer }, span, { ...one, received_at: received });
};

const BANDS: Record<string, string> = {
  mid: '100.5',
  depth_bid_10bps: '4',
  depth_bid_value_10bps: '401',
  levels_bid_10bps: '2',
};
/** What each layer has at a moment; units of the inverse listing differ from layer to layer, as Deribit's do. */
const tellAll = (symbol: Symbol, second: number): Row[] => {
  const isInverse = symbol === 'BTCUSD';
  const now = at(second);
  const tell = (layer: ReadingLayer, over: Partial<Reading>): Row => store(symbol, layer, now, over);
  return [
    tell('ticker', { values: { last: `10${second}.5` } }),
    tell('mark', { values: { mark: '100.123456789012345678', index: '100', basis: '0.00123456789012345678' } }),
    tell('funding', {
      values: { funding: '0.0001', funding_8h: '0.0002', funding_interval: '14400000' },
      instants: { next_funding_at: at(40) },
    }),
    tell('oi', { values: { oi: '12.5' }, quantity_unit: isInverse ? 'quote' : 'base' }),
    tell('book', {
      values: { bid: '100', ask: '101', mid: '100.5', spread: '0.00995024875621890547', bid_size: '3', ask_size: '4' },
      quantity_unit: isInverse ? 'contracts' : 'base',
    }),
    tell('stats', {
      values: { volume_24h: '7', change_24h: '-0.01' },
      null_reasons: { turnover_24h: 'venue_capability' },
      quantity_unit: isInverse ? 'base' : 'quote',
    }),
    tell('venue_depth', {
      values: BANDS,
      null_reasons: { depth_ask_10bps: 'no_value', depth_ask_value_10bps: 'no_value', levels_ask_10bps: 'no_value' },
      quantity_unit: isInverse ? 'contracts' : 'base',
    }),
  ];
};

await write([
  ...SYMBOLS.flatMap((symbol) => [...tellAll(symbol, 5), ...tellAll(symbol, 25)]),
  makeGapRow(
    { venue: 'binance', symbol: 'BTCUSDT', layer: 'mark' },
    { from: at(30), at: at(60), srcOffset: offset++, late: false },
    'no_update',
  ),
  store('BTCUSD', 'book', at(35), { valid: false, gap_cause: 'crossed_book', values: {}, quantity_unit: 'contracts' }),
]);

/** Statistics and open interest are not collected from 11:00:28 to 11:01:05. */
const followed = (): Feed => {
  const feed = new Feed(['binance']);
  feed.watermark('binance', LISTED);
  feed.venue('binance');
  for (const [policy, second] of [
    ['off', 28],
    ['on', 65],
  ] as const)
    feed.entry('binance', {
      kind: 'capability',
      capability: capability('binance', { stats: { policy }, oi: { policy } }, at(second)),
    });
  feed.list(listing('binance', listingValues()));
  feed.list(listing('binance', { ...BTCUSD, not_published: ['turnover_24h'] }));
  feed.memory.applyHistoryWatermark('binance', 0, NOW - 190_000);
  return feed;
};

type Value = Readonly<Record<string, string | number | null | undefined>>;
type HistoryRow = Value & { readonly values: Value; readonly null_reasons?: Readonly<Record<string, string>> };
type Layers = Readonly<Record<string, { readonly units: Value; readonly rows: readonly [HistoryRow] }>>;
// biome-ignore lint/suspicious/noExplicitAny: two answers that are compared member by member.
const ask = pastAsker<any>('/v2/snapshots/history', { feed: followed, history });
// biome-ignore lint/suspicious/noExplicitAny: as above.
const screen = pastAsker<any>('/v2/screen', { feed: followed, history });

/** A member of a layer, and the expression that reads it. */
type Field = readonly [layer: ReadingLayer, member: string, expression: string];
const FIELDS = READING_LAYERS.flatMap((layer): readonly Field[] =>
  layer === 'venue_depth'
    ? ['depth_bid', 'depth_ask', 'depth_bid_value'].map((name) => [layer, `${name}_10bps`, `${name}(10bps)`])
    : Object.keys(LAYERS[layer].members).map((member) => [layer, member, member]),
);
/** Status of a value whose member is null in a present layer (DQL-33c, D-220). */
const OF_NULL: Readonly<Record<string, string>> = {
  venue_capability: 'not_published',
  no_value: 'missing',
  unit_unknown: 'present',
};

const makeExpected = (layers: Layers, layer: ReadingLayer, member: string): Value => {
  const { units, rows } = layers[layer] as Layers[string];
  const [row] = rows;
  const { status, venue_ts, received_at, age_ms } = row;
  const why = row.null_reasons?.[member];
  const unit = units[member];
  const stamps = { unit, venue_ts, received_at, age_ms };
  if (why !== undefined) return { value: null, ...stamps, status: OF_NULL[why], reason: why };
  return { value: row.values[member] ?? null, ...stamps, status, reason: row['reason'] };
};

/** D-475: a field that the listing never has is said to be that before anything but `off`. */
const isNever = (symbol: string, member: string, { status }: Value): boolean =>
  symbol === 'BTCUSD' && member === 'turnover_24h' && status !== 'off';

const SECONDS = [1, 10, 20, 29, 40, 61, 70, 3_000] as const;
const HALF = Math.ceil(FIELDS.length / 2);

for (const units of ['published', 'base', 'quote'] as const)
  for (const freshness of ['2s', '1h'] as const)
    t.test(`${units}, values of at most ${freshness}`, async (t) => {
      const options = { units, freshness, number_format: 'string' };
      for (const second of SECONDS) {
        const instant = formatInstant(at(second));
        const past = await ask({ ...options, where: 'base = BTC', at: [instant] });
        t.equal(past.status, 200, past.text.slice(0, 300));
        const values = new Map<string, Value>();
        for (const part of [FIELDS.slice(0, HALF), FIELDS.slice(HALF)]) {
          const query = `where base = BTC select ${part.map(([, , one]) => one).join(', ')} as of ${instant}`;
          const answer = await screen({ ...options, query });
          t.equal(answer.status, 200, answer.text.slice(0, 300));
          for (const { symbol, values: own } of answer.json['instruments'][0]?.venues ?? [])
            for (const [name, value] of Object.entries(own)) values.set(`${symbol} ${name}`, value as Value);
        }
        for (const { venue_symbol: symbol, layers } of past.json.items)
          for (const [layer, member, text] of FIELDS) {
            const found = values.get(`${symbol} ${text}`) ?? {};
            const { value = null, unit, venue_ts, received_at, age_ms, status, reason } = found;
            const wanted = makeExpected(layers, layer, member);
            const never = { ...wanted, status: 'not_published', reason: 'venue_capability' };
            const said = { value, unit, venue_ts, received_at, age_ms, status, reason };
            t.same(said, isNever(symbol, member, wanted) ? never : wanted, `${symbol} ${member} at ${instant}`);
          }
      }
    });
