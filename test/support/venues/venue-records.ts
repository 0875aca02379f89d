// What the records of any venue have in common, whatever its messages are: a mapping that takes one figure, unit or name for another breaks it.
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext, Mapped } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Level } from '../../../schemas/records.ts';
import { fixturePath, recordedFiles } from './recordings.ts';
import { factsAbout } from './venue-facts.ts';

/** A record as it is printed: its instants are texts. */
export type PrintedRecord = {
  readonly layer: string;
  readonly venue_symbol: string;
  readonly venue_ts: string | null;
  readonly src: { readonly file: string };
  readonly values: Readonly<Record<string, unknown>>;
};
/** What earlier records of its listing say. */
type Known = { readonly listing: PrintedRecord['values'] | undefined; readonly price: number | undefined };
/** The fault of a record, or null. */
type Check = (record: PrintedRecord, known: Known) => string | null;

/** Recordings are of these years: a stamp in another unit is outside. */
const FIRST = Date.UTC(2016, 0);
const LAST = Date.UTC(2031, 0);
const MS_PER_DAY = 1_440 * MS_PER_MINUTE;
/** Prices in examples of docs, which are not of one instant, differ by less. */
const MOST_APART = 20;

/** The records of a venue's recordings, with books assembled. */
export const printRecords = async (venue: Venue): Promise<readonly PrintedRecord[]> => {
  const printed: PrintedRecord[] = [];
  const write = (line: string): void => void printed.push(JSON.parse(line) as PrintedRecord);
  await normalise({ venue, files: recordedFiles(venue.id).map(fixturePath), assembled: true, write });
  return printed.filter(({ layer }) => layer !== 'error');
};

const isOfTime = (instant: unknown): boolean => {
  const at = Date.parse(String(instant ?? '2020-01-01'));
  return at > FIRST && at < LAST;
};

const checkStamps: Check = ({ venue_ts, values }) => {
  const stamps = { venue_ts, open_time: values.open_time, next: values.next_funding_at, listed_at: values.listed_at };
  const odd = Object.entries(stamps).find(([, instant]) => !isOfTime(instant));
  return odd === undefined ? null : `${odd[0]} is of another time`;
};

const checkSettlement: Check = ({ venue_ts, values: { next_funding_at } }) => {
  if (typeof next_funding_at !== 'string' || venue_ts === null) return null;
  const ahead = Date.parse(next_funding_at) - Date.parse(venue_ts);
  return ahead > -MS_PER_MINUTE && ahead !== 0 && ahead <= MS_PER_DAY ? null : 'the next funding is not within a day';
};

const isOrdered = (levels: readonly Level[], direction: 1 | -1): boolean =>
  levels.every(([price], i) => i === 0 || direction * (Number(price) - Number(levels[i - 1]?.[0])) > 0);

/** An assembled book that is crossed is a gap. */
const checkBook: Check = ({ layer, values }) => {
  if (layer === 'gap' && values.cause === 'crossed_book') return 'the book is crossed';
  if (layer !== 'book') return null;
  const [bids, asks] = [values.bids as readonly Level[], values.asks as readonly Level[]];
  return isOrdered(bids, -1) && isOrdered(asks, 1) ? null : 'levels are not in order';
};

const checkCandle: Check = ({ layer, values: { open, high, low, close, open_time } }) => {
  if (layer !== 'candle') return null;
  if (Date.parse(String(open_time)) % MS_PER_MINUTE !== 0) return 'no minute';
  if (open === null) return null;
  const [bottom, top] = [Math.min(Number(open), Number(close)), Math.max(Number(open), Number(close))];
  return Number(low) <= bottom && top <= Number(high) ? null : 'a price is outside of low and high';
};

const areApart = (a: number, b: number): boolean => a > 0 && b > 0 && (a / b > MOST_APART || b / a > MOST_APART);

const checkMark: Check = ({ values: { mark, index } }) =>
  areApart(Number(mark), Number(index)) ? 'mark and index are apart' : null;

/** What a unit of the volume is worth in base; null: not known, or no amount of base. */
const sizeOf = (unit: unknown, { listing }: Known): number | null => {
  if (unit === 'base') return 1;
  return unit === 'contracts' && listing?.venue_kind === 'linear' ? Number(listing.contract_size ?? Number.NaN) : null;
};

/** Turnover and volume imply a price. */
const checkDay: Check = ({ values }, known) => {
  const size = sizeOf(values.volume_unit, known);
  const base = Number(values.volume_24h) * (size ?? Number.NaN);
  if (!(base > 0) || known.price === undefined) return null;
  return areApart(Number(values.turnover_24h) / base, known.price) ? 'turnover and volume imply another price' : null;
};

/** A venue that counts contracts counts them in trades, liquidations and open interest; only it does. */
const checkUnits: Check = ({ layer, values }, { listing }) => {
  if (listing === undefined || layer === 'listing') return null;
  const unit = values.quantity_unit ?? values.oi_unit ?? listing.quantity_unit;
  if (unit !== listing.quantity_unit) return `the unit is ${unit}, the listing's ${listing.quantity_unit}`;
  return values.volume_unit === 'contracts' && unit !== 'contracts' ? 'the volume counts contracts' : null;
};

const checkListing: Check = ({ layer, values: { base, quote } }) =>
  layer === 'listing' && (base === quote || /^1000/.test(String(base))) ? 'base is no base' : null;

const CHECKS = [checkStamps, checkSettlement, checkBook, checkCandle, checkMark, checkDay, checkUnits, checkListing];

/** Records that cannot be, each with its fault; not those of files whose figures were edited. */
export const findOddRecords = (venue: Venue, printed: readonly PrintedRecord[]): readonly string[] => {
  const { edited = [] } = factsAbout(venue);
  const records = printed.filter(({ src }) => !edited.includes(src.file));
  const listings = new Map(
    records.filter(({ layer }) => layer === 'listing').map(({ venue_symbol, values }) => [venue_symbol, values]),
  );
  const prices = new Map<string, number>();
  return records.flatMap((record) => {
    const { venue_symbol, values } = record;
    const price = Number(values.last ?? values.mark ?? Number.NaN);
    if (price > 0) prices.set(venue_symbol, price);
    const known = { listing: listings.get(venue_symbol), price: prices.get(venue_symbol) };
    return CHECKS.flatMap((check) => {
      const fault = check(record, known);
      return fault === null ? [] : [`${fault}: ${JSON.stringify(record).slice(0, 300)}`];
    });
  });
};

const describe = ({ kind, first, last, previous }: Chain): string => `${kind} ${first} ${last} ${previous}`;

/** What the collector's quick reads and the mapping say of a message, where they differ. */
export const findDisagreement = (venue: Venue, message: VenueMessage, context: MapContext): string | null => {
  const text = Buffer.from(message.payload).toString('utf8');
  const quick = venue.sequence(text);
  const mapped = mapOrNothing(venue, message, context);
  if (message.kind === 'frame' && mapped.length > 0 && venue.classify(text) !== 'data') return 'records of no data';
  const side = findOtherSide(venue, mapped);
  if (side !== null) return side;
  const minute = findOtherMinute(venue, text, mapped);
  if (minute !== null) return minute;
  const shared = mapped.find(({ record }) => isPair(record.venue_symbol, context));
  if (shared !== undefined) return `${shared.record.layer} of the pair ${shared.record.venue_symbol}`;
  const [book] = mapped.filter(({ record }) => record.layer === 'book');
  if (book === undefined || book.record.layer !== 'book') return null;
  const { chain, record, channel } = book;
  if (chain === undefined) return quick === null || message.kind === 'response' ? null : 'a book without its chain';
  if (chain.kind !== record.values.kind) return `${record.values.kind} in the chain as ${chain.kind}`;
  // A whole book that was requested, and a channel that the collector does not subscribe to, have chains of their own.
  if (quick === null)
    return chain.kind === 'update' && channel === undefined ? 'a change that the collector does not see' : null;
  const isSame = describe(quick) === describe(chain) && (quick.symbol === '' || quick.symbol === chain.symbol);
  return isSame ? null : `${quick.symbol} ${describe(quick)}, mapped ${chain.symbol} ${describe(chain)}`;
};

/** A trade on the other side than its element says. */
const findOtherSide = (venue: Venue, mapped: readonly Mapped[]): string | null => {
  const { members, isBuy } = factsAbout(venue).side;
  for (const { record, element } of mapped) {
    if (record.layer !== 'trade' || typeof element !== 'object' || element === null) continue;
    const word = members
      .map((name) => (element as Readonly<Record<string, unknown>>)[name])
      .find((held) => held !== undefined);
    if (word !== undefined && (record.values.side === 'buy') !== isBuy(word))
      return `${word} is a ${record.values.side}`;
  }
  return null;
};

/** The minute that a frame has or closes, where the mapping has no such candle. */
const findOtherMinute = (venue: Venue, text: string, mapped: readonly Mapped[]): string | null => {
  const minutes = [venue.closedMinute?.(text) ?? null, venue.newestMinute?.(text) ?? null];
  const odd = minutes.find(
    (minute) =>
      minute !== null &&
      !mapped.some(
        ({ record: { layer, venue_symbol, values } }) =>
          layer === 'candle' && venue_symbol === minute.symbol && values.open_time === minute.openMs * 1_000,
      ),
  );
  return odd ? `a minute of ${odd.symbol} at ${odd.openMs} without its candle` : null;
};

/** Fields that listings name as the source of a rule or of the funding, and no message has. */
export const findUnknownFields = ({ listings }: MapContext, messages: readonly VenueMessage[]): readonly string[] => {
  const named = [...listings.values()].flatMap(({ values: { rules_normalisation, funding_normalisation } }) =>
    [...Object.values(rules_normalisation), funding_normalisation].flatMap((source) => source?.venue_field ?? []),
  );
  const isHeld = (field: string): boolean =>
    messages.some(({ payload }) =>
      Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).includes(`"${field.split('.').at(-1)}"`),
    );
  return [...new Set(named)].filter((field) => !isHeld(field));
};

/** Whether a name is that of an index, which is none of a listing. */
const isPair = (name: string | null, { listings }: MapContext): boolean =>
  name !== null && !listings.has(name) && [...listings.values()].some(({ values }) => values.pair === name);

const mapOrNothing = (venue: Venue, message: VenueMessage, context: MapContext): readonly Mapped[] => {
  try {
    return venue.map({}, message, context);
  } catch (error) {
    if (error instanceof VenueError) return [];
    throw error;
  }
};
