// The items of a candle answer: listing by listing, as the bytes that are sent and hashed (H-10 to H-13, H-16).
import { type Policy, REASON_OF_POLICY } from '../../schemas/freshness.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import { formatInstant, formatInstantOrNull, MICROS_PER_MINUTE, MICROS_PER_SECOND } from '../../schemas/instants.ts';
import {
  type JsonValue,
  makeFigure,
  makeRawJson,
  type NumberFormat,
  sortByKey,
  writeJson,
} from '../../schemas/json.ts';
import { CANDLE_PRICES } from '../../schemas/layers/candle.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import { findPricePolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import { chooseQuantityUnit, type UnitsMode } from '../../schemas/units.ts';
import { findVersionAt, nameListing, type Selected, toListingId } from '../live/listing-book.ts';
import { convertVolume, findCountedUnit, type Mark, mayNeedMark, toFigureOrNull, toOptional } from '../live/members.ts';
import { gatherMinutes, toLastMinuteEnd } from './candle-minutes.ts';
import {
  type CandlePeriods,
  type Candles,
  explainMissing,
  gatherCandles,
  NOT_RETAINED,
  type StoredCandle,
  toNoVolumeReason,
  type WhyMissing,
} from './candle-rows.ts';
import { collectItems, type FittedItem, type FittedItems, type ItemsLimit } from './fitting.ts';
import { gatherLosses, readRecent } from './gather.ts';
import { findMarkAt, type Marks } from './marks.ts';
import { computeRetentionFrom, findMeantFrom, findUnlistedSpans, ROWS_AT_A_TIME, type Span } from './past.ts';
import type { Row } from './row-groups.ts';
import { joinSeries, listReadings } from './series.ts';
import type { Sources } from './store.ts';

type CandleOptions = {
  readonly evaluatedAt: Micros;
  readonly asked: CandlePeriods;
  readonly units: UnitsMode;
  readonly numberFormat: NumberFormat;
  readonly includeGaps: boolean;
  /** Bytes that the items may have. */
  readonly itemsLimit: ItemsLimit;
  /** Rows are kept as values too. */
  readonly keepsRows: boolean;
};

/** The data that all rows of a listing share. */
type Subject = {
  readonly selected: Selected;
  readonly capabilities: readonly CapabilityVersion[];
  readonly unlisted: readonly Span[];
  readonly candles: ReadonlyMap<Micros, StoredCandle>;
  /** Minutes of periods that have no candle. */
  readonly minutes: ReadonlyMap<Micros, StoredCandle>;
  readonly marks: Marks | null;
  /** Candles of periods that end by then are not kept. */
  readonly retentionFrom: Micros;
  readonly options: CandleOptions;
};

type Verdict = { readonly status: string; readonly reason?: string; readonly gap_cause?: GapCause };
const PRESENT: Verdict = { status: 'present' };
const makeMissing = (why: WhyMissing): Verdict => ({ status: 'missing', ...why });

/** Null: nothing was known of the venue yet. */
const findPolicyAt = ({ capabilities, selected, options }: Subject, at: Micros): Policy | null => {
  const capability = findVersionAt(capabilities, at);
  if (capability === null) return null;
  const version = findVersionAt(selected.listing.versions, at) ?? selected.version;
  return findPricePolicy(capability, options.asked.priceType, version);
};

/** Decides the answer for the period that opens at `openTime` (L-07, H-07, H-11, H-16f, H-16k). */
const judge = (subject: Subject, openTime: Micros, candle: StoredCandle | undefined): Verdict => {
  const { retentionFrom, options } = subject;
  const { length } = options.asked;
  const policy = findPolicyAt(subject, openTime + length);
  const isKept = openTime + length > retentionFrom;
  if (!isKept && (policy === null || policy === 'on')) return makeMissing(NOT_RETAINED);
  if (policy !== 'on') {
    const status = policy ?? 'off';
    return { status, reason: REASON_OF_POLICY[status] };
  }
  if (candle?.gapCause === null) return PRESENT;
  const isUnlisted = subject.unlisted.some(
    ({ from, to }) => openTime + length > toLastMinuteEnd(from) && openTime < to,
  );
  return makeMissing(
    explainMissing(candle?.gapCause ?? (isUnlisted ? 'not_listed' : 'unknown'), openTime, retentionFrom),
  );
};

type Counted = { readonly expected: number; readonly present: number; readonly noTrades: number };

/** Minutes of a period: as sealed, or counted from the known minutes. A period before the retention floor has none. */
const countMinutes = (subject: Subject, openTime: Micros, candle: StoredCandle | undefined): Counted => {
  const { minutes, retentionFrom, options } = subject;
  const { length } = options.asked;
  const expected = length / MICROS_PER_MINUTE;
  if (openTime + length <= retentionFrom) return { expected, present: 0, noTrades: 0 };
  if (candle !== undefined) return { expected, present: candle.present, noTrades: candle.noTrades };
  let [present, noTrades] = [0, 0];
  for (let at = openTime; at < openTime + length; at += MICROS_PER_MINUTE) {
    const minute = minutes.get(at);
    present += minute?.present ?? 0;
    noTrades += minute?.noTrades ?? 0;
  }
  return { expected, present, noTrades };
};

type Volume = ReturnType<typeof convertVolume> & { readonly reason?: string };
const NO_VOLUME: Volume = { volume: null };

/** Volume in the requested unit, with the listing version of its record and the mark of the period's end (N-07, H-16k, DQL-33h). */
const findVolume = ({ selected, marks, options }: Subject, candle: StoredCandle): Volume => {
  const { units, asked } = options;
  const digits = candle.figures.volume;
  if (candle.unitsDiffer) return { volume: null, reason: 'unit_unknown' };
  if (digits === undefined) return { volume: null, reason: toNoVolumeReason(asked.priceType) };
  const closeTime = candle.openTime + asked.length;
  const version = findVersionAt(selected.listing.versions, candle.recordedAt ?? closeTime) ?? selected.version;
  const mark = (): Mark | null => (marks === null ? null : findMarkAt(marks, closeTime));
  const volume = convertVolume({ digits, quantityUnit: candle.quantityUnit, version, units, mark });
  return volume.volume === null ? { ...volume, reason: 'unit_unknown' } : volume;
};

const makeNullReasons = (candle: StoredCandle, { reason }: Volume): Record<string, string> => {
  const reasons: Record<string, string> = {};
  for (const name of CANDLE_PRICES) if (candle.figures[name] === undefined) reasons[name] = 'no_value';
  if (reason !== undefined) reasons.volume = reason;
  return reasons;
};

const makeRowObject = (subject: Subject, openTime: Micros): Row | null => {
  const { candles, options } = subject;
  const candle = candles.get(openTime);
  const verdict = judge(subject, openTime, candle);
  if (verdict !== PRESENT && !options.includeGaps) return null;
  const shown = verdict === PRESENT && candle !== undefined ? candle : null;
  const volume = shown === null ? NO_VOLUME : findVolume(subject, shown);
  const price = (name: (typeof CANDLE_PRICES)[number]) => toFigureOrNull(shown?.figures[name] ?? null);
  const { expected, present, noTrades } = countMinutes(subject, openTime, candle);
  return {
    open_time: formatInstant(openTime),
    close_time: formatInstant(openTime + options.asked.length),
    ...verdict,
    received_at: formatInstantOrNull(shown?.receivedAt ?? null),
    ...{ open: price('open'), high: price('high'), low: price('low'), close: price('close') },
    volume: toFigureOrNull(volume.volume),
    turnover: shown?.figures.turnover === undefined ? undefined : makeFigure(shown.figures.turnover),
    trades: shown?.trades ?? undefined,
    base_candles: { expected, present, no_trades: noTrades },
    conversion: volume.conversion,
    null_reasons: shown === null ? undefined : toOptional(makeNullReasons(shown, volume)),
  };
};

/** Units of the members shown; the volume's is that of the newest candle that states one. What is not retained is not shown, though it may be stored. */
const findUnits = (subject: Subject): JsonValue => {
  const { selected, candles, options } = subject;
  const rows = [...candles.values()].filter((row) => judge(subject, row.openTime, row) === PRESENT);
  const newest = rows.reduce<StoredCandle | null>(
    (held, row) => (row.quantityUnit !== null && row.openTime >= (held?.openTime ?? 0) ? row : held),
    null,
  );
  const unit = findCountedUnit({ quantity_unit: newest?.quantityUnit ?? null }, selected.version);
  return sortByKey({
    ...Object.fromEntries(CANDLE_PRICES.map((name) => [name, 'quote'])),
    volume: chooseQuantityUnit(unit, options.units),
    ...(rows.some(({ figures }) => figures.turnover !== undefined) ? { turnover: 'quote' } : {}),
    ...(rows.some(({ trades }) => trades !== null) ? { trades: 'count' } : {}),
  });
};

/** Each with how many periods of the window hold it. */
const makeRows = (subject: Subject): readonly { readonly steps: number; readonly row: Row }[] => {
  const { asked } = subject.options;
  const rows: { steps: number; row: Row }[] = [];
  for (let at = asked.from; at < asked.to; at += asked.length) {
    const row = makeRowObject(subject, at);
    if (row !== null) rows.push({ steps: (at - asked.from) / asked.length + 1, row });
  }
  return rows;
};

/** Members of an item beside its rows. */
const makeItemHead = (subject: Subject): Row => {
  const { selected, retentionFrom } = subject;
  return {
    ...nameListing(selected),
    units: findUnits(subject),
    retention_from: formatInstant(retentionFrom),
  };
};

/** Marks at the ends of the periods of listings whose volumes convert with one: the last reading of each period, for an older one is stale. */
const gatherMarks = async (
  { reader, live }: Sources,
  { listings, candles }: { readonly listings: readonly Selected[]; readonly candles: Candles },
  { asked, units }: CandleOptions,
): Promise<ReadonlyMap<string, Marks>> => {
  if (units === 'published') return new Map();
  const counted = (one: Selected) =>
    [...(candles.get(toListingId(one))?.values() ?? [])].map((row) => row.quantityUnit);
  const converted = listings.filter((one) => mayNeedMark(one.listing, counted(one), units));
  if (converted.length === 0 || asked.from >= asked.to) return new Map();
  const recent = converted.map((one) => readRecent(live, one, 'mark'));
  const range = { after: asked.from, to: asked.to };
  const stored = await reader.lastOfPeriods({ layer: 'mark', listings: converted.map(toListingId) }, range, {
    length: asked.length,
    kind: 'reading',
  });
  const rows = converted.map((one, i) =>
    listReadings(joinSeries(stored.get(toListingId(one)) ?? [], recent[i] ?? { sealed: [], provisional: [] })),
  );
  const received = converted.flatMap(({ listing }, i) => (rows[i] ?? []).map((row) => [listing, row] as const));
  const losses = await gatherLosses({ reader, live }, received, asked.to);
  return new Map(
    converted.map((one, i) => {
      const capabilities = live.venue(one.listing.venue)?.capabilities ?? [];
      const boundMs = LAYERS.mark.freshnessMs;
      return [toListingId(one), { listing: one.listing, capabilities, losses, rows: rows[i] ?? [], boundMs }] as const;
    }),
  );
};

const shortenWindow = (asked: CandlePeriods, steps: number): CandlePeriods => ({
  ...asked,
  to: Math.min(asked.to, asked.from + steps * asked.length),
});

/** The window that fits (H-08). */
export const describeFit = ({ from, to }: CandlePeriods): string =>
  to > from
    ? `A window of about ${(to - from) / MICROS_PER_SECOND}s fits: send to ${formatInstant(to)}, or narrow where.`
    : 'Narrow where: no window of this size fits.';

/** Everything that the items of one group of listings are made from. */
const gatherSubjects = async (
  sources: Sources,
  group: readonly Selected[],
  options: CandleOptions,
): Promise<Subject[]> => {
  const { asked, evaluatedAt } = options;
  const candles = await gatherCandles(sources, group, asked);
  const [minutes, marks] = await Promise.all([
    gatherMinutes(sources, { listings: group, candles, evaluatedAt }, asked),
    gatherMarks(sources, { listings: group, candles }, options),
  ]);
  return group.map((one) => {
    const id = toListingId(one);
    return {
      selected: one,
      capabilities: sources.live.venue(one.listing.venue)?.capabilities ?? [],
      unlisted: findUnlistedSpans(one.listing, one.version),
      candles: candles.get(id) ?? new Map(),
      minutes: minutes.get(id) ?? new Map(),
      marks: marks.get(id) ?? null,
      retentionFrom: computeRetentionFrom('candles', one.version, evaluatedAt),
      options,
    };
  });
};

const countGroup = ({ from, to, length }: CandlePeriods): number =>
  Math.max(1, Math.floor(ROWS_AT_A_TIME / Math.max(1, (to - from) / length)));

const makeItem = (subject: Subject): FittedItem => {
  const { options } = subject;
  const head = makeItemHead(subject);
  const made = makeRows(subject).map(({ steps, row }) => ({ steps, row, text: writeJson(row, options) }));
  const rows = makeRawJson(`[${made.map(({ text }) => text).join(',')}]`);
  return {
    text: writeJson({ ...head, rows }, options),
    sizes: made.map(({ steps, text }) => ({ steps, bytes: text.length + 1 })),
    groups: options.keepsRows ? [{ head, rows: made.map(({ row }) => row) }] : [],
  };
};

/** The items of an answer. Throws ServiceError past the limits, and while the store is unavailable. */
export const makeCandleItems = (
  sources: Sources,
  selected: readonly Selected[],
  options: CandleOptions,
): Promise<FittedItems> => {
  const { from, length } = options.asked;
  const meantFrom = findMeantFrom(sources.live);
  return collectItems(selected, {
    asked: options.asked,
    limit: options.itemsLimit,
    countLeast: (one) => Math.max(0, Math.ceil((meantFrom(one) - from) / length)),
    countGroup,
    makeItems: async (group, asked) => (await gatherSubjects(sources, group, { ...options, asked })).map(makeItem),
    shorten: (steps) => shortenWindow(options.asked, steps),
    describeFit,
  });
};
