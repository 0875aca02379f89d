// The items of a history answer: listing by listing, layer by layer, as the bytes that are sent and hashed (H-05 to H-08, H-16).
import { formatDuration } from '../../schemas/durations.ts';
import { makeServiceError } from '../../schemas/errors.ts';
import { formatInstant, MICROS_PER_SECOND } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, type NumberFormat, sortByKey, writeJson } from '../../schemas/json.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS } from '../../schemas/layers/readings.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import { chooseQuantityUnit, type UnitsMode } from '../../schemas/units.ts';
import { formatCount } from '../contract/counts.ts';
import { ENDPOINT_LIMITS } from '../contract/endpoint-limits.ts';
import type { Bounds } from '../live/bounds.ts';
import { findVersionAt, nameListing, type Selected, toListingId } from '../live/listing-book.ts';
import { findHeldAt } from '../live/listing-view.ts';
import { findCountedUnit, findUnit, isQuantity } from '../live/members.ts';
import { collectItems, type FittedItem, type FittedItems, type ItemsLimit, type SizedRow } from './fitting.ts';
import { gatherLosses, gatherSeries, type Losses, type RequestedTimes, toWindowMicros } from './gather.ts';
import { findMarkAt, type Marks } from './marks.ts';
import { computeRetentionFrom, findMeantFrom, findUnlistedSpans, ROWS_AT_A_TIME, type Span } from './past.ts';
import { findLastInstant } from './request.ts';
import type { Row, RowGroup } from './row-groups.ts';
import { makeRowObject } from './row-object.ts';
import {
  type AnswerAt,
  answerPeriods,
  answerRaw,
  findNewestAt,
  listPeriods,
  listReadings,
  type ReadingRow,
} from './series.ts';
import type { Sources } from './store.ts';
import type { StoredRow } from './stored-row.ts';

const RAW_ROWS = ENDPOINT_LIMITS.history_raw_rows;

type HistoryOptions = {
  readonly evaluatedAt: Micros;
  readonly asked: RequestedTimes;
  readonly layers: readonly ReadingLayer[];
  readonly units: UnitsMode;
  readonly numberFormat: NumberFormat;
  readonly bounds: Bounds;
  readonly allowStale: boolean;
  readonly includeGaps: boolean;
  /** Bytes that the items may have. */
  readonly itemsLimit: ItemsLimit;
  /** Rows are kept as values too. */
  readonly keepsRows: boolean;
};

const answerInstants = (series: readonly StoredRow[], instants: readonly Micros[]): AnswerAt[] => {
  const readings = listReadings(series);
  return instants.map((at) => ({ at, row: findNewestAt(readings, at), gapCause: null }));
};

const answerRawRows = (
  series: readonly StoredRow[],
  asked: RequestedTimes & { mode: 'raw' },
  layer: ReadingLayer,
): AnswerAt[] => answerRaw(series, { from: asked.from, to: asked.to, windowMicros: toWindowMicros(layer) });

const answerSeries = (
  series: readonly StoredRow[],
  layer: ReadingLayer,
  asked: RequestedTimes,
): readonly AnswerAt[] => {
  switch (asked.mode) {
    case 'interval':
      return answerPeriods(series, listPeriods(asked.from, asked.to, asked.length));
    case 'at':
      return answerInstants(series, asked.instants);
    case 'raw':
      return answerRawRows(series, asked, layer);
    default:
      return asked satisfies never;
  }
};

/** Outside its life a listing has no reading (H-07); a period in which it still reported is answered with its report. */
const cutToLife = (said: AnswerAt, unlisted: readonly Span[], { mode }: RequestedTimes): AnswerAt => {
  if (!unlisted.some(({ from, to }) => said.at >= from && said.at < to)) return said;
  return said.row === null || mode === 'at' ? { at: said.at, row: null, gapCause: 'not_listed' } : said;
};

type ListingSeries = {
  readonly selected: Selected;
  readonly capabilities: readonly CapabilityVersion[];
  readonly losses: Losses;
  readonly marks: Marks;
  readonly options: HistoryOptions;
};

const makeRow = (series: ListingSeries, layer: ReadingLayer, { at, row, gapCause }: AnswerAt): Row | null => {
  const { selected, capabilities, losses, options } = series;
  const { listing, version } = selected;
  const { versions } = listing;
  const capability = findVersionAt(capabilities, at);
  const reading = findHeldAt(row?.reading ?? null, { capabilities, versions, at });
  return makeRowObject(
    {
      at,
      reading,
      gapCause,
      late: row?.late ?? false,
      policy: capability === null ? null : findListingPolicy(capability, layer, findVersionAt(versions, at)),
      lostAt: reading === null ? null : losses(listing, reading, at),
      boundMs: options.bounds[layer],
      retentionFrom: computeRetentionFrom('readings', version, options.evaluatedAt),
      units: options.units,
      allowStale: options.allowStale,
      version: reading === null ? version : (findVersionAt(versions, reading.recorded_at) ?? version),
      mark: () => findMarkAt(series.marks, at),
    },
    options,
  );
};

/** Units of all members of the layer; the quantity's is that of the newest reading shown (L-05). */
const findUnits = (
  { selected, options }: ListingSeries,
  layer: ReadingLayer,
  shown: readonly AnswerAt[],
): JsonValue => {
  const counted = shown.findLast(({ row }) => row?.reading.quantity_unit != null)?.row?.reading ?? {
    quantity_unit: null,
  };
  const quantity = chooseQuantityUnit(findCountedUnit(counted, selected.version), options.units);
  const members = Object.keys(LAYERS[layer].members);
  return sortByKey(Object.fromEntries(members.map((member) => [member, findUnit(member, layer, quantity)])));
};

type LayerText = {
  readonly text: string;
  readonly sizes: readonly SizedRow[];
  /** Members beside the rows. */
  readonly head: Row;
  readonly rows: readonly Row[];
};

/** How many steps of the window hold the row at `at`, the `index`th of its layer. */
const countSteps = (asked: RequestedTimes, at: Micros, index: number): number =>
  asked.mode === 'raw' ? Math.floor((at - asked.from) / MICROS_PER_SECOND) + 1 : index + 1;

const formatLayer = (series: ListingSeries, layer: ReadingLayer, answers: readonly AnswerAt[]): LayerText => {
  const { selected, options } = series;
  const { numberFormat } = options;
  const { asked } = options;
  const made = answers.map((one, i) => ({
    one,
    row: makeRow(series, layer, one),
    steps: countSteps(asked, one.at, i),
  }));
  const rows = made.flatMap(({ row }) => (row === null ? [] : [row]));
  const texts = made.flatMap(({ row, steps }) =>
    row === null ? [] : [{ steps, text: writeJson(row, { numberFormat }) }],
  );
  // A reading from before its layer was off is in no row.
  const shown = made.flatMap(({ one, row }) => ((row?.['received_at'] ?? null) === null ? [] : [one]));
  const units = findUnits(series, layer, shown);
  const retention_from = formatInstant(computeRetentionFrom('readings', selected.version, options.evaluatedAt));
  const history_cadence = formatDuration(LAYERS[layer].windowMs);
  const text = writeJson({
    units,
    retention_from,
    rows: makeRawJson(`[${texts.map(({ text }) => text).join(',')}]`),
    history_cadence,
  });
  const head = { units, retention_from, history_cadence };
  const sizes = texts.map(({ steps, text: row }) => ({ steps, bytes: row.length + 1 }));
  return { text, sizes, head, rows: options.keepsRows ? rows : [] };
};

const needsMarks = ({ units, layers }: HistoryOptions): boolean =>
  units !== 'published' &&
  layers.some((layer) => Object.keys(LAYERS[layer].members).some((member) => isQuantity(layer, member)));

const NO_SERIES: ReadonlyMap<string, readonly StoredRow[]> = new Map();

/** In the order of an item's layers. */
type LayerTexts = Readonly<Record<string, LayerText>>;
/** The results for a listing: the answers of each requested layer, and its marks. */
type Found = {
  readonly selected: Selected;
  readonly answers: readonly (readonly AnswerAt[])[];
  readonly marks: readonly ReadingRow[];
};

/** Reads one group of listings. Side by side: all of memory is copied before the first statement is answered. */
const gatherFound = async (
  { reader, live }: Sources,
  listings: readonly Selected[],
  options: HistoryOptions,
): Promise<Found[]> => {
  const { asked, layers } = options;
  const gathering = { reader, live, listings, asked };
  const [marks, ...series] = await Promise.all([
    needsMarks(options) ? gatherSeries(gathering, 'mark', { withBefore: true }) : NO_SERIES,
    ...layers.map((layer) => gatherSeries(gathering, layer)),
  ]);
  return listings.map((selected) => {
    const id = toListingId(selected);
    const unlisted = findUnlistedSpans(selected.listing, selected.version);
    const answers = layers.map((layer, i) =>
      answerSeries(series[i]?.get(id) ?? [], layer, asked).map((said) => cutToLife(said, unlisted, asked)),
    );
    return { selected, answers, marks: listReadings(marks.get(id) ?? []) };
  });
};

/** Texts of one group of listings, in their order. */
const groupItemTexts = async (
  sources: Sources,
  listings: readonly Selected[],
  options: HistoryOptions,
): Promise<LayerTexts[]> => {
  const { asked, layers, bounds } = options;
  const found = await gatherFound(sources, listings, options);
  const received = found.flatMap(({ selected: { listing }, answers, marks: rows }) =>
    [...rows, ...answers.flat().flatMap(({ row }) => row ?? [])].map((row) => [listing, row] as const),
  );
  const losses = await gatherLosses(sources, received, findLastInstant(asked));
  return found.map(({ selected, answers, marks: rows }) => {
    const { listing } = selected;
    const capabilities = sources.live.venue(listing.venue)?.capabilities ?? [];
    const marks: Marks = { listing, capabilities, losses, rows, boundMs: bounds.mark };
    const series: ListingSeries = { selected, capabilities, losses, marks, options };
    const texts = layers.map((layer, i) => [layer, formatLayer(series, layer, answers[i] ?? [])] as const);
    return sortByKey(Object.fromEntries(texts));
  });
};

/** How many answers one listing and layer can have, at most. */
export const countRows = (asked: RequestedTimes, layer: ReadingLayer): number => {
  switch (asked.mode) {
    case 'interval':
      return Math.max(0, (asked.to - asked.from) / asked.length);
    case 'at':
      return asked.instants.length;
    case 'raw':
      return Math.ceil((asked.to - asked.from) / toWindowMicros(layer));
    default:
      return asked satisfies never;
  }
};

const findStepLength = (asked: Exclude<RequestedTimes, { mode: 'at' }>): Micros =>
  asked.mode === 'interval' ? asked.length : MICROS_PER_SECOND;

/** The given number of first steps of the requested times. */
const shortenTimes = (asked: RequestedTimes, steps: number): RequestedTimes => {
  if (asked.mode === 'at') return { ...asked, instants: asked.instants.slice(0, steps) };
  return { ...asked, to: Math.min(asked.to, asked.from + steps * findStepLength(asked)) };
};

/** How many first steps reach to an instant. */
const countStepsTo = (asked: RequestedTimes, at: Micros): number =>
  asked.mode === 'at'
    ? asked.instants.findIndex((instant) => instant >= at) + 1
    : Math.max(0, Math.ceil((at - asked.from) / findStepLength(asked)));

/** The window, or the instants, that fit; for raw rows the instant to continue from (H-08). */
export const describeFit = (fits: RequestedTimes): string => {
  if (fits.mode === 'at') {
    const instants = fits.instants.length;
    return instants < 1
      ? 'Narrow where or layers.'
      : `About ${formatCount(instants, 'instant')} ${instants === 1 ? 'fits' : 'fit'}, or narrow where or layers.`;
  }
  const seconds = (fits.to - fits.from) / MICROS_PER_SECOND;
  if (seconds <= 0) return 'Narrow where or layers: no window of this size fits.';
  const reach = formatInstant(fits.to);
  return fits.mode === 'raw'
    ? `One answer reaches to about ${reach} (${seconds}s): continue from there, or narrow where or layers.`
    : `A window of about ${seconds}s fits: send to ${reach}, or narrow where or layers.`;
};

const refuseTooMany = (rows: number, { mode }: RequestedTimes): void => {
  if (mode !== 'raw' || rows <= RAW_ROWS) return;
  const hint = 'Late rows are among them: ask for half of the window.';
  throw makeServiceError('DQL_LIMIT', `The answer has more than ${rows} rows, the limit is ${RAW_ROWS}.`, { hint });
};

const formatItem = (selected: Selected, texts: LayerTexts): string => {
  const layers = Object.fromEntries(Object.entries(texts).map(([layer, { text }]) => [layer, makeRawJson(text)]));
  return writeJson({ ...nameListing(selected), layers });
};

const listGroups = (selected: Selected, texts: LayerTexts): readonly RowGroup[] =>
  Object.entries(texts).map(([layer, { head, rows }]) => ({
    head: { ...nameListing(selected), layer, ...head },
    rows,
  }));

const makeItem = (selected: Selected, texts: LayerTexts, { keepsRows }: HistoryOptions): FittedItem => ({
  text: formatItem(selected, texts),
  sizes: Object.values(texts).flatMap((layer) => layer.sizes),
  groups: keepsRows ? listGroups(selected, texts) : [],
});

/** Listings read at a time. */
const countGroup = (asked: RequestedTimes, layers: readonly ReadingLayer[]): number =>
  Math.max(1, Math.floor(ROWS_AT_A_TIME / Math.max(1, ...layers.map((layer) => countRows(asked, layer)))));

/** The items of an answer. Throws ServiceError past the limits, and while the store is unavailable. */
export const makeHistoryItems = (
  sources: Sources,
  selected: readonly Selected[],
  options: HistoryOptions,
): Promise<FittedItems> => {
  const meantFrom = findMeantFrom(sources.live);
  return collectItems(selected, {
    asked: options.asked,
    limit: options.itemsLimit,
    countLeast: (one) => countStepsTo(options.asked, meantFrom(one)),
    countGroup: (asked) => countGroup(asked, options.layers),
    makeItems: async (group, asked) => {
      const texts = await groupItemTexts(sources, group, { ...options, asked });
      return group.map((one, at) => makeItem(one, texts[at] ?? {}, options));
    },
    shorten: (steps) => shortenTimes(options.asked, steps),
    describeFit,
    refuseTooMany: (rows) => refuseTooMany(rows, options.asked),
  });
};
