// Minutes of periods that have no candle: those in which a listing's life ended or its policy changed, and those that are over and not sealed
// yet (H-11, H-12, H-16c, H-16k).
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import { BASE_TIMEFRAME } from '../../schemas/layers/candle.ts';
import type { Micros } from '../../schemas/records.ts';
import type { ListingVersion } from '../../schemas/topics.ts';
import { toSealInstant } from '../../schemas/windows.ts';
import { type Selected, toListingId } from '../live/listing-book.ts';
import {
  type CandlePeriods,
  type CandleQuestion,
  type Candles,
  gatherCandles,
  type StoredCandle,
} from './candle-rows.ts';
import { computeRetentionFrom, ROWS_AT_A_TIME, type Span } from './past.ts';
import type { Sources } from './store.ts';

type Gathered = { readonly listings: readonly Selected[]; readonly candles: Candles; readonly evaluatedAt: Micros };

/** End of a listing's last minute: the instant of its end is no part of one (H-07). */
export const toLastMinuteEnd = (delistedAt: Micros): Micros =>
  Math.ceil(delistedAt / MICROS_PER_MINUTE) * MICROS_PER_MINUTE;

const findLifeEnd = ({ delisted_at }: ListingVersion): Micros =>
  delisted_at === null ? Number.POSITIVE_INFINITY : toLastMinuteEnd(delisted_at);

/** The period in which the listing's life ended: it is never sealed as a whole. */
const listLastSpan = ({ version }: Selected, { length, from, to }: CandlePeriods): Span[] => {
  const end = findLifeEnd(version);
  const open = Math.floor((end - 1) / length) * length;
  return open < from || open >= to || open + length === end ? [] : [{ from: open, to: end }];
};

/** From the first period that is not sealed and was not announced as a whole. */
const listUnsealedSpan = (
  one: Selected,
  { candles, evaluatedAt, live }: Gathered & Pick<Sources, 'live'>,
  periods: CandlePeriods,
): Span[] => {
  const { length, from, to } = periods;
  const { listing, version } = one;
  const sealed = live.partitionOf(listing)?.history ?? 0;
  const earliest = Math.max(from, computeRetentionFrom('candles', version, evaluatedAt) - length);
  let first = to;
  while (first - length >= earliest && toSealInstant(first) > sealed) first -= length;
  const known = candles.get(toListingId(one));
  while (first < to && known?.has(first) === true) first += length;
  const end = Math.min(to, findLifeEnd(version));
  return first < end ? [{ from: first, to: end }] : [];
};

/** Periods without a candle in which the policy changed: minutes before or after the change may be known (H-16c). */
const listTurnSpans = (
  one: Selected,
  { candles, live }: Gathered & Pick<Sources, 'live'>,
  { length, from, to }: CandlePeriods,
): Span[] => {
  const known = candles.get(toListingId(one));
  const written = [...(live.venue(one.listing.venue)?.capabilities ?? []), ...one.listing.versions];
  const opens = new Set(written.map(({ written_at }) => Math.floor(written_at / length) * length));
  return [...opens]
    .filter((open) => open >= from && open < to && known?.has(open) !== true)
    .map((open) => ({ from: open, to: Math.min(open + length, to) }));
};

type SpanListings = { readonly span: Span; readonly listings: Selected[] };

/** The spans whose minutes are needed, each once with all its listings. Periods of a minute need none. */
const groupBySpan = (gathered: Gathered & Pick<Sources, 'live'>, periods: CandlePeriods): Iterable<SpanListings> => {
  const bySpan = new Map<string, SpanListings>();
  for (const one of periods.length === MICROS_PER_MINUTE ? [] : gathered.listings) {
    const spans = [
      listLastSpan(one, periods),
      listTurnSpans(one, gathered, periods),
      listUnsealedSpan(one, gathered, periods),
    ];
    for (const span of spans.flat()) {
      const key = `${span.from} ${span.to}`;
      const held = bySpan.get(key) ?? { span, listings: [] };
      bySpan.set(key, held);
      held.listings.push(one);
    }
  }
  return bySpan.values();
};

/** Known minutes of such periods, by listing id and open time. */
export const gatherMinutes = async (
  sources: Sources,
  gathered: Gathered,
  periods: CandlePeriods,
): Promise<ReadonlyMap<string, ReadonlyMap<Micros, StoredCandle>>> => {
  const minutes = new Map(gathered.listings.map((one) => [toListingId(one), new Map<Micros, StoredCandle>()] as const));
  for (const { span, listings } of groupBySpan({ ...gathered, live: sources.live }, periods)) {
    const question: CandleQuestion = { timeframe: BASE_TIMEFRAME, priceType: periods.priceType, ...span };
    const step = Math.max(1, Math.floor((ROWS_AT_A_TIME * MICROS_PER_MINUTE) / (span.to - span.from)));
    for (let i = 0; i < listings.length; i += step) {
      const found = await gatherCandles(sources, listings.slice(i, i + step), question);
      for (const [id, rows] of found) for (const [at, row] of rows) minutes.get(id)?.set(at, row);
    }
  }
  return minutes;
};
