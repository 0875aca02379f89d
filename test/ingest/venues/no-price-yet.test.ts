// A mark, an index or a last price of zero, or of no text, means that there is none yet, at every venue: it takes neither the other figures of its
// message nor the other listings with it. Four zeros as a candle's prices mean a minute without a price.
import t from 'tap';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { toCanonicalDigits } from '../../../schemas/decimals.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact, replaceChosen } from '../../support/mutations.ts';
import { chooseSeeds, makeContext, readRecordings } from '../../support/venues/venue-seeds.ts';
import { readShapes } from '../../support/venues/venue-shapes.ts';

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

const READINGS: ReadonlySet<string> = new Set(['ticker', 'mark', 'funding', 'oi', 'stats']);
const PRICES = ['last', 'mark', 'index'];
const CANDLE = ['open', 'high', 'low', 'close', 'volume', 'turnover', 'trades'];

const readDigits = (value: unknown): string | null => {
  const text = isRaw(value) ? value.rawJSON : value;
  try {
    return typeof text === 'string' ? toCanonicalDigits(text) : null;
  } catch {
    return null;
  }
};

type Reader = (message: VenueMessage) => readonly NormalisedRecord[] | string;

const createReader =
  (venue: Venue, context: MapContext): Reader =>
  (message) => {
    try {
      return venue.map({}, message, context).map(({ record }) => record);
    } catch (error) {
      if (error instanceof VenueError) return error.message;
      throw error;
    }
  };

const figuresOf = (records: readonly NormalisedRecord[], names: readonly string[]): ReadonlySet<string> =>
  new Set(
    records.flatMap(({ values }) =>
      names.flatMap((name) => {
        const value = (values as Readonly<Record<string, unknown>>)[name];
        return value === null || value === undefined ? [] : [String(value)];
      }),
    ),
  );

const seedsOf = (venue: Venue): { readonly seeds: readonly VenueMessage[]; readonly read: Reader } => {
  const messages = readRecordings(venue);
  const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
  return { seeds, read: createReader(venue, makeContext(venue, messages)) };
};

const isPriced = ({ layer }: NormalisedRecord): boolean => layer === 'ticker' || layer === 'mark';

/** Each price of a message of readings, replaced by nothing. */
const findLost = ({ seeds, read }: ReturnType<typeof seedsOf>): { readonly tried: number; readonly lost: string[] } => {
  const lost: string[] = [];
  let tried = 0;
  for (const seed of seeds) {
    const before = read(seed);
    if (typeof before === 'string' || !before.every(({ layer }) => READINGS.has(layer))) continue;
    const prices = figuresOf(before, PRICES);
    const others = JSON.stringify(before.filter((record) => !isPriced(record)));
    for (const none of ['0', '0.00000', rawJSON('0'), rawJSON('0.0'), ''])
      for (const payload of replaceChosen(Buffer.from(seed.payload), none, (value) =>
        prices.has(readDigits(value) ?? ''),
      )) {
        const after = read({ ...seed, payload });
        tried++;
        const kept = typeof after === 'string' ? after : JSON.stringify(after.filter((record) => !isPriced(record)));
        if (kept !== others) lost.push(`${kept.slice(0, 200)} of ${payload.toString().slice(0, 300)}`);
      }
  }
  return { tried, lost };
};

for (const venue of venues.values())
  t.test(`${venue.id}: a price of nothing takes nothing else with it`, (t) => {
    const { tried, lost } = findLost(seedsOf(venue));
    t.ok(tried > 0, `${tried} messages`);
    t.same(lost.slice(0, 5), []);
    t.end();
  });

const zeroed = (value: unknown, figures: ReadonlySet<string>): unknown => {
  if (Array.isArray(value)) return value.map((item) => zeroed(item, figures));
  const digits = readDigits(value);
  if (digits !== null) return figures.has(digits) ? rawJSON('0') : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, zeroed(item, figures)]));
};

for (const venue of venues.values())
  t.test(`${venue.id}: a candle of zeros is a minute without trades, or none`, (t) => {
    const { seeds, read } = seedsOf(venue);
    let tried = 0;
    for (const seed of seeds) {
      const before = read(seed);
      if (typeof before === 'string' || !before.some(({ layer }) => layer === 'candle')) continue;
      const tree = zeroed(parseExact(Buffer.from(seed.payload).toString('utf8')), figuresOf(before, CANDLE));
      const after = read({ ...seed, payload: Buffer.from(JSON.stringify(tree)) });
      const traded = before.filter(
        ({ layer, values }) => layer === 'candle' && 'volume' in values && values.volume !== null,
      );
      const none = { open: null, high: null, low: null, close: null, volume: '0' };
      t.match(
        after,
        traded.map(() => ({ layer: 'candle', values: none })),
        `${JSON.stringify(tree)}`.slice(0, 200),
      );
      t.equal(after.length, traded.length, 'a candle of a mark or an index is none');
      tried++;
    }
    t.ok(tried > 0, `${tried} messages`);
    t.end();
  });
