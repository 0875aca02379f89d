// A figure may be a number or a text. For any content of a message's members, a record has canonical figures, valid prices, amounts, intervals and
// instants that exist. Every member of every recorded kind of message takes each odd value in turn.
import t from 'tap';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Mapped } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord, NormalisedRecord } from '../../../schemas/records.ts';
import { isRaw, parseExact, replaceEach } from '../../support/mutations.ts';
import { chooseSeeds, makeContext, readRecordings } from '../../support/venues/venue-seeds.ts';

/** ES2026; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

const ODD: readonly unknown[] = [
  null,
  '',
  '0',
  0,
  '-1',
  -1,
  0.5,
  '00012.500',
  rawJSON('1E-7'),
  rawJSON('9'.repeat(30)),
  '9'.repeat(30),
  true,
  'NO_SUCH_WORD',
  [],
  {},
];

const DIGITS = /^-?(0|[1-9]\d*)(\.\d*[1-9])?$/;
const END = 4_102_444_800_000_000;
const isDigits = (value: unknown): boolean => typeof value === 'string' && DIGITS.test(value) && value !== '-0';
const isAmount = (value: unknown): boolean => isDigits(value) && !String(value).startsWith('-');
const isPrice = (value: unknown): boolean => isAmount(value) && value !== '0';
const isInstant = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= END;
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const orNull =
  (is: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || is(value);
const isDuration = (value: unknown): boolean => typeof value === 'string' && /^[1-9]\d{0,8}[smhd]$/.test(value);
const isLevels = (value: unknown): boolean =>
  Array.isArray(value) && value.every(([price, size]) => isPrice(price) && isAmount(size));

/** The requirement on each member of `values`, for any layer. */
const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  last: isPrice,
  mark: orNull(isPrice),
  index: orNull(isPrice),
  funding: orNull(isDigits),
  funding_interval_ms: orNull((value) => isCount(value) && value !== 0),
  next_funding_at: orNull(isInstant),
  oi: isAmount,
  bids: isLevels,
  asks: isLevels,
  volume_24h: orNull(isAmount),
  turnover_24h: orNull(isAmount),
  change_24h: orNull(isDigits),
  id: orNull(isText),
  side: (value) => ['buy', 'sell', 'long', 'short'].includes(String(value)),
  price: isPrice,
  quantity: isAmount,
  open_time: (value) => isInstant(value) && Number(value) % 1_000 === 0,
  open: orNull(isPrice),
  high: orNull(isPrice),
  low: orNull(isPrice),
  close: orNull(isPrice),
  volume: orNull(isAmount),
  turnover: orNull(isAmount),
  trades: orNull(isCount),
  instrument: isText,
  base: isText,
  quote: isText,
  base_venue_alias: orNull(isText),
  contract_size: orNull(isPrice),
  multiplier: orNull(isPrice),
  tick_size: orNull(isPrice),
  lot_size: orNull(isPrice),
  min_qty: orNull(isAmount),
  min_notional: orNull(isAmount),
  price_decimals: orNull(isCount),
  funding_interval: orNull(isDuration),
  listed_at: orNull(isInstant),
  delisted_at: orNull(isInstant),
};

const findInsane = ({ layer, venue_symbol, venue_ts, values }: NormalisedRecord): string | null => {
  if (!isText(venue_symbol)) return `${layer}: venue_symbol ${JSON.stringify(venue_symbol)}`;
  if (!orNull(isInstant)(venue_ts)) return `${layer}: venue_ts ${venue_ts}`;
  const odd = Object.entries(values).find(([name, value]) => MEMBERS[name]?.(value) === false);
  return odd === undefined ? null : `${layer}: ${odd[0]} ${JSON.stringify(odd[1])}`;
};

const mapRecords = (venue: Venue, message: VenueMessage, context: ReturnType<typeof makeContext>) => {
  const from = <T>(run: () => T): T | null => {
    try {
      return run();
    } catch (error) {
      if (error instanceof VenueError) return null;
      throw error;
    }
  };
  const listings: readonly ListingRecord[] = from(() => venue.mapReference({}, message))?.listings ?? [];
  const mapped: readonly Mapped[] = from(() => venue.map({}, message, context)) ?? [];
  return [...listings, ...mapped.map(({ record }) => record)];
};

for (const venue of venues.values())
  t.test(`${venue.id}: odd values in any member give no odd record`, (t) => {
    const messages = readRecordings(venue);
    const context = makeContext(venue, messages);
    const faults = new Map<string, string>();
    let records = 0;
    for (const seed of chooseSeeds(messages))
      for (const value of ODD)
        for (const payload of replaceEach(Buffer.from(seed.payload), value))
          for (const record of mapRecords(venue, { ...seed, payload }, context)) {
            records++;
            const fault = findInsane(record);
            if (fault !== null && !faults.has(fault)) faults.set(fault, `${payload}`.slice(0, 500));
          }
    t.same([...faults], [], `${records} records`);
    t.end();
  });

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/** Every number as its text, or every text that is a number as one. */
const retyped = (value: unknown, to: 'text' | 'number'): unknown => {
  if (Array.isArray(value)) return value.map((item) => retyped(item, to));
  if (isRaw(value)) return to === 'text' ? value.rawJSON : value;
  if (typeof value === 'string') return to === 'number' && NUMBER.test(value) ? rawJSON(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, retyped(item, to)]));
};

for (const venue of venues.values())
  t.test(`${venue.id}: figures written as texts or as numbers give the same records`, (t) => {
    const messages = readRecordings(venue);
    const context = makeContext(venue, messages);
    let compared = 0;
    for (const seed of chooseSeeds(messages)) {
      const before = mapRecords(venue, seed, context);
      if (before.length === 0) continue;
      const tree = parseExact(Buffer.from(seed.payload).toString('utf8'));
      for (const to of ['text', 'number'] as const) {
        const payload = Buffer.from(JSON.stringify(retyped(tree, to)));
        compared++;
        const after = mapRecords(venue, { ...seed, payload }, context);
        if (JSON.stringify(after) !== JSON.stringify(before)) t.same(after, before, `${payload}`.slice(0, 300));
      }
    }
    t.ok(compared > 0, `${compared} messages`);
    t.end();
  });
