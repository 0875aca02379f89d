// Seals minutes: each one that can no longer change becomes a row, once, and a part of its longer candles (H-12, H-13, N-11).
import { MICROS_PER_MINUTE, MS_PER_MINUTE } from '../../schemas/instants.ts';
import { type CoverName, PRICE_CANDLES } from '../../schemas/policies.ts';
import type { Micros, PriceType } from '../../schemas/records.ts';
import { COUNTS_WITHIN, SEALS_AFTER, toMinute, toWindowEnd } from '../../schemas/windows.ts';
import {
  isPriceCollectedBy,
  isSpanAlive,
  joinFigures,
  openSeries,
  type PriceSeries,
  toCandleIdentity,
} from './candles.ts';
import { isCovering } from './connections.ts';
import { computeWatermark, pushSealed, type TaskContext } from './context.ts';
import { findKnownMinute, isFinal, makeMissingMinute } from './minutes.ts';
import { findCoveredTo, formatSeries } from './recovery.ts';
import { foldMinute, foldUncollected } from './rollups.ts';
import { type CandleRow, makeCandleRow } from './rows.ts';
import type { CandleState, CandleView, ListingState, ListingView, TaskView } from './state.ts';
import { findCapabilityAt, findListingAt, findPartsWhere, type Range, type VersionTest } from './versions.ts';
import { findMissedCause, isEndedBy } from './windows.ts';

/** Answers of polls overlap: they repeat minutes for this long after the seal. */
const REPEATED_FOR = 3 * MICROS_PER_MINUTE;

/** Close time of the last minute that W has passed by 100.001 s. */
export const findLastMinuteToSeal = ({ state }: TaskContext): Micros => toMinute(computeWatermark(state) - SEALS_AFTER);

/** Seals the minutes that close in `(range.from, range.at]`. */
export const sealMinutes = (context: TaskContext, listing: ListingState, range: Range): void => {
  for (const priceType of listPriceTypes(listing)) {
    const series = openSeries(listing, priceType);
    const { candles } = series;
    const life = cutToLife(listing, range);
    let folded = life.from;
    for (const openTime of listMinutesToSeal(context, series, { life, range })) {
      foldUncollected(candles, folded, Math.min(openTime, life.at));
      sealMinute(context, series, openTime);
      folded = Math.max(folded, openTime + MICROS_PER_MINUTE);
    }
    foldUncollected(candles, folded, life.at);
    forgetSealed(candles, range.at);
    forgetEnded(context.state, candles, range.at);
  }
};

/** Prices whose minutes the venue publishes or published. */
const listPriceTypes = ({ version, before, candles }: ListingView): ReadonlySet<PriceType> => {
  const published = [version, ...before].flatMap(({ record }) => record.values.candles.price_types);
  return new Set([...published, ...(Object.keys(candles) as PriceType[])]);
};

/** The part of a range whose minutes are within the listing's life. */
const cutToLife = ({ version: { first_seen_at, delisted_at } }: ListingView, { from, at }: Range): Range => ({
  from: Math.max(from, toMinute(first_seen_at)),
  at: delisted_at === null ? at : Math.min(at, toWindowEnd(delisted_at, MS_PER_MINUTE)),
});

type Sealed = { readonly life: Range; readonly range: Range };

/** Open times of the listing's minutes that were collected, and of those with known data. */
const listMinutesToSeal = (
  { state }: TaskContext,
  { listing, priceType, candles }: PriceSeries,
  { life, range }: Sealed,
): readonly Micros[] => {
  const isSo: VersionTest = (version, capability) => isPriceCollectedBy(version, capability, priceType);
  const collected = findPartsWhere({ state, listing, isSo }, life).flatMap(openTimes);
  const beyond = [...listFinalIn(candles, range), ...listProvedIn(candles, life)];
  if (beyond.length === 0) return collected;
  return [...new Set([...collected, ...beyond])].sort((a, b) => a - b);
};

/** Open times of the minutes that close in `(from, at]`. */
const openTimes = ({ from, at }: Range): readonly Micros[] => {
  const opens: Micros[] = [];
  for (let open = toMinute(from); open + MICROS_PER_MINUTE <= at; open += MICROS_PER_MINUTE) opens.push(open);
  return opens;
};

const isIn = ({ from, at }: Range, openTime: Micros): boolean => openTime >= from && openTime + MICROS_PER_MINUTE <= at;

const listFinalIn = ({ minutes }: CandleView, range: Range): readonly Micros[] =>
  Object.keys(minutes).flatMap((key) => (isFinal(minutes[Number(key)]) && isIn(range, Number(key)) ? Number(key) : []));

const listProvedIn = ({ proved }: CandleView, life: Range): readonly Micros[] =>
  Object.keys(proved).flatMap((key) => (proved[Number(key)] && isIn(life, Number(key)) ? Number(key) : []));

/** Writes the row of a minute and those of the longer candles that end with it. An uncollected minute has a row only with known data. */
const sealMinute = (context: TaskContext, series: PriceSeries, openTime: Micros): void => {
  const { state, out } = context;
  const { listing, priceType, candles } = series;
  const identity = toCandleIdentity(context, series);
  const end = openTime + MICROS_PER_MINUTE;
  const isCollected = isPriceCollectedBy(findListingAt(listing, end), findCapabilityAt(state, end), priceType);
  const known = findKnownMinute(candles, openTime);
  const sealed =
    known ?? (isCollected ? explainMinute(context, series, openTime) : makeMissingMinute(openTime, 'unknown'));
  for (const candle of [sealed, ...foldMinute(candles, sealed, state.lostBefore)]) {
    if (candle.gapCause !== null && !isCollected) continue;
    const series = formatSeries('candles', listing.symbol, `${priceType}|${candle.timeframe}`);
    if (candle.openTime <= findCoveredTo(state.recovery, series)) continue;
    pushSealed(context, listing.symbol, makeCandleRow(identity, candle, out.offset));
  }
};

/** The row of a collected minute without data, with its cause. */
const explainMinute = ({ state }: TaskContext, { listing, priceType }: PriceSeries, openTime: Micros): CandleRow => {
  const layer = findCover(state, listing, priceType);
  const end = openTime + MICROS_PER_MINUTE;
  // The instant of its end is no part of a minute.
  if (isEndedBy(listing, end - 1)) return makeMissingMinute(openTime, 'not_listed');
  const cause = findMissedCause(state, listing, { layer, from: openTime, at: end });
  if (cause !== 'no_update') return makeMissingMinute(openTime, cause);
  // A minute is published after its end: a loss before it stops counting explains it too.
  return makeMissingMinute(openTime, findMissedCause(state, listing, { layer, from: end, at: end + COUNTS_WITHIN }));
};

const findCover = (state: TaskView, { symbol }: ListingView, priceType: PriceType): CoverName => {
  if (priceType === 'trade') return 'candles';
  for (const connection of state.connections.values())
    if (isCovering(connection, PRICE_CANDLES, symbol)) return PRICE_CANDLES;
  return 'candles';
};

const forgetSealed = ({ minutes, proved, told }: CandleState, to: Micros): void => {
  for (const at of Object.keys(told)) if (Number(at) <= to - REPEATED_FOR) delete told[Number(at)];
  for (const at of Object.keys(minutes).map(Number)) {
    const minute = minutes[at];
    if (at + MICROS_PER_MINUTE > to) continue;
    if (isFinal(minute)) told[at] = joinFigures(minute.values);
    delete minutes[at];
  }
  for (const at of Object.keys(proved)) if (Number(at) + MICROS_PER_MINUTE <= to) delete proved[Number(at)];
};

/** The newest minute of a span proves what follows it however long ago it was, while the span lasts (H-12). */
const forgetEnded = (state: TaskView, { newest }: CandleState, to: Micros): void => {
  for (const [key, at] of Object.entries(newest))
    if (at + MICROS_PER_MINUTE <= to - SEALS_AFTER && !isSpanAlive(state, key)) delete newest[key];
};
