// Compares served values with the truth: digit by digit at the reading's own stamp, derived members by another arithmetic.
import { Decimal } from 'decimal.js';
import type { TruthBook } from '../../../infra/dev/simulator/truth-log.ts';
import type { TruthRow } from '../../../infra/dev/simulator/truth-rows.ts';
import { simulatedVenues } from '../../../infra/dev/simulator/venues/index.ts';
import { BANDS } from '../../../schemas/layers/book-bands.ts';
import type { ReadingLayer } from '../../../schemas/layers/index.ts';
import { type LayerObject, readFigures, type Seen, type Subject, type TruthIndex, toMicros } from './truth.ts';

const Exact = Decimal.clone({ precision: 120, rounding: Decimal.ROUND_HALF_EVEN });
/** One division, half-even at 18 significant digits (N-05 rule 2). */
const Rounded = Decimal.clone({ precision: 18, rounding: Decimal.ROUND_HALF_EVEN });

const plain = (value: Decimal): string => (value.isZero() ? '0' : value.toFixed());
const quotient = (dividend: Decimal, divisor: Decimal): string => plain(new Rounded(dividend).div(divisor));

type Members = Readonly<Record<string, string>>;
type Found = Readonly<Record<string, unknown>>;

const differing = (found: Found, wanted: Members): string[] =>
  Object.entries(wanted)
    .filter(([name, digits]) => String(found[name]) !== digits)
    .map(([name, digits]) => `${name} is ${String(found[name])}, true is ${digits}`);

/** Members that a venue does not publish for a listing: null is then their truth (L-02). */
const isUnpublished = ({ venue, symbol }: Subject, member: string): boolean => {
  switch (venue) {
    // COIN-M's volumes beside the contracts are amounts of base, no turnover.
    case 'binance':
      return member === 'turnover_24h' && symbol.endsWith('_PERP');
    case 'bybit':
      return member === 'turnover_24h' && /USD$/.test(symbol);
    case 'okx':
      return member === 'turnover_24h' || member === 'change_24h';
    // Yesterday's price is published, the change since is not; its hours end by the clock.
    case 'hyperliquid':
      return member === 'change_24h' || member === 'next_funding_at';
    // Funding accrues all the time.
    case 'deribit':
      return member === 'next_funding_at';
    default:
      return false;
  }
};

const publishedValues = (subject: Subject, { values }: TruthRow, names: readonly string[]): Members =>
  Object.fromEntries(names.map((name) => [name, isUnpublished(subject, name) ? 'null' : String(values[name])]));

const computeMid = (bid: string, ask: string): Decimal => new Exact(bid).plus(ask).div(2);

const bookMembers = ({ values }: TruthRow): Members => {
  const [bid, ask] = [String(values.bid), String(values.ask)];
  const mid = computeMid(bid, ask);
  return {
    bid,
    ask,
    bid_size: String(values.bid_size),
    ask_size: String(values.ask_size),
    mid: plain(mid),
    spread: quotient(new Exact(ask).minus(bid), mid),
  };
};

/** `intervalMs`: where only the reference answers know it, the one that was in force before a change may still be. */
const fundingMembers = ({ values }: TruthRow, intervalMs: string): Members => {
  const funding = String(values.funding);
  return {
    funding,
    funding_interval: intervalMs,
    funding_8h: quotient(new Exact(funding).times(28_800_000), new Exact(intervalMs)),
  };
};

/** Venues whose messages carry the interval (or both its ends); of the others the listing's version does, until the next reference answer. */
const TELLS_INTERVAL: ReadonlySet<string> = new Set(['bybit', 'okx']);

/** Venues whose documents fix it: their protocol has no value for another, whatever the simulated market does. */
const FIXED_INTERVAL_MS: Readonly<Record<string, string>> = { hyperliquid: '3600000', deribit: '28800000' };

const settlementDifferences = (seen: Seen, { values }: TruthRow): string[] => {
  const instant = seen.object.instants?.next_funding_at;
  const isTrue = isUnpublished(seen, 'next_funding_at')
    ? instant === undefined
    : toMicros(instant) === values.next_funding_at;
  return isTrue ? [] : [`next_funding_at is ${instant}`];
};

const fundingDifferences = (seen: Seen, row: TruthRow, truth: TruthIndex): string[] => {
  const found = readFigures(seen.object);
  const publishedValues = FIXED_INTERVAL_MS[seen.venue] ?? String(row.values.funding_interval_ms);
  const before = truth
    .all(seen, 'funding')
    .find(({ values }) => String(values.funding_interval_ms) === found.funding_interval);
  const isReference = !TELLS_INTERVAL.has(seen.venue) && FIXED_INTERVAL_MS[seen.venue] === undefined;
  const isOlder = isReference && before !== undefined && before.venue_ts <= row.venue_ts;
  return [
    ...differing(found, fundingMembers(row, isOlder ? String(before.values.funding_interval_ms) : publishedValues)),
    ...settlementDifferences(seen, row),
  ];
};

/** Mark and index come in different messages, each with its own stamp. */
const isJoined = ({ venue, symbol }: Subject): boolean => venue === 'okx' || symbol.endsWith('_PERP');
/** A listing's mark and index are at most this many rows apart. */
const JOIN_ROWS = 60;

/** A new listing's mark may come before its index, or the other way: at most this long after its market began. */
const HALF_JOINED = 60_000_000;

/** One half of a join has arrived: it is the truth of its own stamp, and the other and the basis have no value yet (records.md). */
const halfJoinedDifferences = (
  seen: Seen,
  rows: readonly TruthRow[],
  half: 'mark' | 'index',
  truth: TruthIndex,
): string[] => {
  const other = half === 'mark' ? 'index' : 'mark';
  const { null_reasons, withheld, venue_ts } = seen.object;
  const reasons = withheld?.null_reasons ?? null_reasons;
  const began = truth.all(seen, 'mark')[0]?.venue_ts ?? Number.NaN;
  if (!isJoined(seen) || !(toMicros(venue_ts) - began <= HALF_JOINED)) return [`${other} has no value`];
  const found = readFigures(seen.object);
  const isOwn = rows.some(({ values }) => values[half] === found[half]);
  const silent = [other, 'basis'].filter((name) => reasons?.[name] !== 'no_value');
  return [
    ...(isOwn ? [] : [`${half} is ${found[half]}, true is ${String(rows[0]?.values[half])}`]),
    ...(found.basis === null ? [] : [`basis is ${found.basis} of one half`]),
    ...silent.map((name) => `${name} is null without its reason`),
  ];
};

/**
 * A joined value has the older stamp (records.md): each member is then the truth of that stamp or of a later one by receipt, and at least one
 * is of that stamp.
 */
const markDifferences = (seen: Seen, rows: readonly TruthRow[], truth: TruthIndex): string[] => {
  const found = readFigures(seen.object);
  if (found.mark === null || found.index === null)
    return halfJoinedDifferences(seen, rows, found.index === null ? 'mark' : 'index', truth);
  const [mark, index] = [new Exact(String(found.mark)), new Exact(String(found.index))];
  const basis = differing(found, { basis: quotient(mark.minus(index), index) });
  const members = ['mark', 'index'] as const;
  const isOwn = rows.some(({ values }) => members.every((name) => values[name] === found[name]));
  if (isOwn) return basis;
  const [own] = rows;
  const wanted = { mark: String(own?.values.mark), index: String(own?.values.index) };
  const of = members.filter((name) => rows.some(({ values }) => values[name] === found[name]));
  const later = truth.from(seen, 'mark', toMicros(seen.object.venue_ts)).slice(0, JOIN_ROWS);
  const isLater = members.every((name) => later.some(({ values }) => values[name] === found[name]));
  return isJoined(seen) && of.length > 0 && isLater ? basis : [...differing(found, wanted), ...basis];
};

const isCrossedRow = ({ values }: TruthRow): boolean => values.crossed === true;

const rowDifferences = (seen: Seen, row: TruthRow, truth: TruthIndex): string[] => {
  const found = readFigures(seen.object);
  switch (seen.layer) {
    case 'ticker':
      return differing(found, publishedValues(seen, row, ['last']));
    case 'oi':
      return differing(found, publishedValues(seen, row, ['oi']));
    case 'stats':
      return differing(found, publishedValues(seen, row, ['volume_24h', 'turnover_24h', 'change_24h']));
    case 'funding':
      return fundingDifferences(seen, row, truth);
    case 'mark':
      return markDifferences(seen, [row], truth);
    case 'book':
      return isCrossedRow(row) ? ['a crossed book'] : differing(found, bookMembers(row));
    case 'venue_depth':
      return isCrossedRow(row) ? ['bands of a crossed book'] : differing(found, { mid: bookMembers(row).mid ?? '' });
    default:
      return seen.layer satisfies never;
  }
};

const truthLayer = (layer: ReadingLayer): string => (layer === 'venue_depth' ? 'book' : layer);

export const rowsFor = ({ venue, symbol, layer, object }: Seen, truth: TruthIndex): readonly TruthRow[] => {
  const subject = { venue, symbol };
  return object.venue_ts === null
    ? truth.around(subject, truthLayer(layer), toMicros(object.received_at))
    : truth.at(subject, truthLayer(layer), toMicros(object.venue_ts));
};

/** Every way in which what was served at one stamp is not what was true at it; null when the log has no truth of that stamp (yet). */
export const findDifferences = (seen: Seen, truth: TruthIndex): readonly string[] | null => {
  const rows = rowsFor(seen, truth);
  if (rows.length === 0) return null;
  if (seen.layer === 'mark') return markDifferences(seen, rows, truth);
  let least: readonly string[] | null = null;
  for (const row of rows) {
    const differences = rowDifferences(seen, row, truth);
    if (differences.length === 0) return differences;
    if (least === null || differences.length < least.length) least = differences;
  }
  return least;
};

/** The value of a quantity of one in quote: by price (`null`: sizes are base), by price and size of a contract, or a contract's value alone. */
export type Worth = { readonly contractSize: number | null; readonly isInverse: boolean };

/** Levels a side that a venue's messages carry at most: where a side has as many, what lies beyond the last is not known. */
export const shownLevels = (venue: string): number =>
  simulatedVenues.find(({ id }) => id === venue)?.shownLevels ?? Number.POSITIVE_INFINITY;

/** Members of `venue_depth` of a book as a venue shows it (L-02, H-14): null where no level beyond a band's edge is known (L-03). */
export const bandMembers = (
  { bids, asks }: TruthBook,
  { contractSize, isInverse }: Worth,
  shown = Number.POSITIVE_INFINITY,
): Members => {
  const mid = computeMid(bids[0]?.[0] ?? '0', asks[0]?.[0] ?? '0');
  const members: Record<string, string> = { mid: plain(mid) };
  const size = new Exact(contractSize ?? 1);
  for (const band of BANDS) {
    const width = new Exact(Number.parseInt(band, 10)).div(10_000);
    const low = mid.times(new Exact(1).minus(width));
    const high = mid.times(new Exact(1).plus(width));
    const inside = {
      bid: bids.filter(([price]) => low.lte(price)),
      ask: asks.filter(([price]) => high.gte(price)),
    };
    for (const side of ['bid', 'ask'] as const) {
      const zero = new Exact(0);
      const quantity = inside[side].reduce((sum, [, q]) => sum.plus(q), zero);
      const worth = inside[side].reduce((sum, [price, q]) => sum.plus(isInverse ? q : new Exact(price).times(q)), zero);
      // Every level shown lies inside, and there may be more.
      const isCut = inside[side].length >= shown;
      members[`depth_${side}_${band}`] = isCut ? 'null' : plain(quantity);
      members[`depth_${side}_value_${band}`] = isCut ? 'null' : plain(worth.times(size));
      members[`levels_${side}_${band}`] = isCut ? 'null' : String(inside[side].length);
    }
  }
  return members;
};

export const bandDifferences = ({ values }: LayerObject, members: Members): readonly string[] =>
  differing(values, members);
