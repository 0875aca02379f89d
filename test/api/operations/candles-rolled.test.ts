// Longer candles of every timeframe and price type, from the log to the answer, against independent sums in big integers (H-12, H-13).
import t from 'tap';
import { createRandom } from '../../../infra/dev/simulator/random.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { bindMapped } from '../../../ingest/venues/shared/mapped.ts';
import type { ListingRecord, PriceType } from '../../../schemas/records.ts';
import { listingValues, micros } from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { paperVenue } from '../../support/tasks/paper-log.ts';
import { SECOND, TestLog } from '../../support/tasks/task-driver.ts';
import { workLog } from '../../support/tasks/worked-log.ts';

t.setTimeout(900_000);
const engines = await useEngines(t, ['questdb']);

const MINUTE = 60 * SECOND;
const DAY = 1_440;
const DAYS = 5;
const FIRST = micros('2026-01-16T00:00:00.000Z');
const PRICE_TYPES = ['trade', 'mark', 'index'] as const;
const TIMEFRAMES = { '2m': 2, '3m': 3, '5m': 5, '15m': 15, '30m': 30, '1h': 60, '4h': 240, '12h': 720, '1d': DAY };
const SCALE = 10n ** 20n;

/** Alone on its day: the first minute, one in the middle, the last one; many on the fifth day. */
const MISSING: ReadonlySet<number> = (() => {
  const draw = createRandom(5).next;
  const minutes = new Set([DAY, 2 * DAY + 400, 4 * DAY - 1]);
  for (let n = 4 * DAY; n < 5 * DAY; n++) if (draw() < (n < 4.5 * DAY ? 0.03 : 0.3)) minutes.add(n);
  return minutes;
})();

/** A minute of the log: each price type has one a second after its end, or none. */
type Bar = Readonly<Record<'open' | 'high' | 'low' | 'close' | 'volume' | 'turnover', string>> & { trades: number };

const draw = createRandom(9).next;
const digits = (most: number, decimals: number): string =>
  `${Math.floor(draw() * most) + 1}.${String(Math.floor(draw() * 1e9)).padStart(9, '0')}${'7'.repeat(decimals - 9)}`;
const makeBar = (): Bar => {
  const [open, close] = [digits(900, 12), digits(900, 12)];
  return {
    ...{ open, close, high: `1${digits(899, 12).padStart(16, '0')}`, low: `0.${digits(9, 9).replace('.', '')}` },
    ...{ volume: digits(5_000, 20), turnover: digits(90_000, 15), trades: Math.floor(draw() * 50) },
  };
};
const BARS = new Map<string, Bar>();
for (const priceType of PRICE_TYPES) for (let n = 0; n < DAYS * DAY; n++) BARS.set(`${priceType}|${n}`, makeBar());

type Frame = { readonly n: number; readonly priceType: PriceType };
const makeRecord = bindMapped('paper');

const listing = (receivedAt: number): ListingRecord => ({
  ...{ layer: 'listing', venue: 'paper', venue_symbol: 'BTCUSDT', venue_ts: null, received_at: receivedAt },
  values: listingValues({ candles: { base_timeframe: '1m', price_types: [...PRICE_TYPES], timeframes: ['1m'] } }),
});
const venue: Venue = {
  ...paperVenue,
  mapReference: (_state, { received_at }) => ({
    scope: 'paper',
    listings: [listing(received_at)],
    elements: () => new Map(),
  }),
  map: (_state, { payload, received_at: receivedAt }) => {
    const { n, priceType } = JSON.parse(Buffer.from(payload).toString()) as Frame;
    const bar = BARS.get(`${priceType}|${n}`) as Bar;
    const amounts =
      priceType === 'trade'
        ? { volume_unit: 'base' }
        : { volume: null, volume_unit: null, turnover: null, trades: null };
    const named = { open_time: FIRST + n * MINUTE, price_type: priceType, timeframe: '1m', closed: true };
    const values = { ...bar, ...named, ...amounts } as never;
    return [makeRecord({ symbol: 'BTCUSDT', venueTs: null, receivedAt, element: bar }, 'candle', values)];
  },
};

const computeReceived = (n: number): number => FIRST + (n + 1) * MINUTE + SECOND;

const writeLog = (): TestLog => {
  const made = new TestLog();
  made.now = FIRST - 30 * SECOND;
  made.capability(venue);
  made.json('response', 'reference', 'reference', {}, { request: 'GET https://paper/listings' });
  made.open('k1', 'market', [{ layers: ['candles'], symbols: null }]);
  for (let n = 0; n < DAYS * DAY; n++) {
    made.now = computeReceived(n);
    if (!MISSING.has(n)) for (const priceType of PRICE_TYPES) made.json('frame', 'market', 'k1', { n, priceType });
    // Not often enough for the connection to live on: what it left out is not proved empty.
    made.tick(['k1']);
  }
  made.now += 200 * SECOND;
  made.tick(['k1']);
  return made;
};

const toScaled = (text: string): bigint => {
  const [whole = '0', part = ''] = text.split('.');
  return BigInt(whole) * SCALE + BigInt(part.padEnd(20, '0'));
};
const toText = (scaled: bigint): string => {
  const part = String(scaled % SCALE)
    .padStart(20, '0')
    .replace(/0+$/, '');
  return `${scaled / SCALE}${part === '' ? '' : `.${part}`}`;
};
const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

type Expected = Readonly<Record<string, unknown>>;
const computeExpected = (priceType: PriceType, first: number, minutes: number): Expected => {
  const opens = Array.from({ length: minutes }, (_, i) => first + i).filter((n) => !MISSING.has(n));
  const counted = { base_candles: { expected: minutes, present: opens.length, no_trades: 0 } };
  if (opens.length < minutes) return { status: 'missing', open: null, close: null, volume: null, ...counted };
  const bars = opens.map((n) => BARS.get(`${priceType}|${n}`) as Bar);
  const of = (name: 'high' | 'low' | 'volume' | 'turnover' | 'open' | 'close') =>
    bars.map((bar) => toScaled(bar[name]));
  const sum = (name: 'volume' | 'turnover'): string => toText(of(name).reduce((so, next) => so + next, 0n));
  const isTrade = priceType === 'trade';
  return {
    status: 'present',
    open: toText(of('open')[0] ?? 0n),
    high: toText(of('high').reduce(largest)),
    low: toText(of('low').reduce(least)),
    close: toText(of('close').at(-1) ?? 0n),
    volume: isTrade ? sum('volume') : null,
    ...(isTrade ? { turnover: sum('turnover'), trades: bars.reduce((so, { trades }) => so + trades, 0) } : {}),
    received_at: new Date(computeReceived(first + minutes - 1) / 1_000).toISOString(),
    ...counted,
  };
};

type Candle = Readonly<Record<string, unknown>> & { readonly open_time: string };
type Answer = { readonly items: readonly { readonly rows: readonly Candle[] }[] };
const PER_ANSWER = 1_500;

/** The position of the only missing minute of a period; null when several or none are missing. */
const findPlace = (first: number, minutes: number): 'first' | 'middle' | 'last' | null => {
  const missing = Array.from({ length: minutes }, (_, i) => i).filter((i) => MISSING.has(first + i));
  if (missing.length !== 1) return null;
  return missing[0] === 0 ? 'first' : missing[0] === minutes - 1 ? 'last' : 'middle';
};

t.test('longer candles are what big integers make of their minutes', async (t) => {
  const { ask } = await workLog(t, engines, { log: writeLog(), spec: { venue, partition: 0, shards: 1 } });
  const instant = (n: number): string => new Date((FIRST + n * MINUTE) / 1_000).toISOString();
  for (const [timeframe, minutes] of Object.entries(TIMEFRAMES)) {
    const places = new Map<string, number>();
    for (const price_type of PRICE_TYPES) {
      let [whole, wrong] = [0, 0];
      for (let from = 0; from < DAYS * DAY; from += PER_ANSWER * minutes) {
        const to = Math.min(DAYS * DAY, from + PER_ANSWER * minutes);
        const window = { from: instant(from), to: instant(to) };
        const body = { where: 'symbol = "BTCUSDT"', timeframe, price_type, number_format: 'string', ...window };
        const rows = (await ask<Answer>('/v2/candles', body)).items[0]?.rows ?? [];
        for (let n = from, i = 0; n < to; n += minutes, i++) {
          const expected: Expected = {
            open_time: instant(n),
            close_time: instant(n + minutes),
            ...computeExpected(price_type, n, minutes),
          };
          const found = Object.fromEntries(Object.keys(expected).map((name) => [name, rows[i]?.[name]]));
          if (JSON.stringify(found) === JSON.stringify(expected)) whole += Number(expected.status === 'present');
          else if (wrong++ === 0) t.same(found, expected, `${timeframe} ${price_type}`);
          const place = findPlace(n, minutes) ?? (expected.status === 'present' ? 'none' : 'several');
          places.set(place, (places.get(place) ?? 0) + 1);
        }
      }
      t.equal(wrong, 0, `${timeframe} ${price_type}: ${whole} whole ones`);
    }
    for (const place of ['first', 'last', 'none', ...(minutes > 2 ? ['middle'] : [])]) {
      t.ok((places.get(place) ?? 0) > 0, `${timeframe}: the missing minute is ${place}`);
    }
  }
});
