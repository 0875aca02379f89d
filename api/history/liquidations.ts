// The items of a liquidations answer: one page over all listings, with the gaps that begin within it (H-15, H-16e).
import { countLeading } from '../../schemas/binary-search.ts';
import { REASON_OF_POLICY } from '../../schemas/freshness.ts';
import { formatInstant } from '../../schemas/instants.ts';
import { type NumberFormat, sortByKey, writeJson } from '../../schemas/json.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import { compareBytes } from '../../schemas/text-order.ts';
import { chooseQuantityUnit, type UnitsMode } from '../../schemas/units.ts';
import { findVersionAt, nameListing, type Selected, toListingId } from '../live/listing-book.ts';
import { findCountedUnit } from '../live/members.ts';
import type { LiveMemory } from '../live/memory.ts';
import {
  gatherEvents,
  gatherGaps,
  joinGaps,
  leaveOut,
  makeEventObject,
  type Side,
  type StoredEvent,
  type StoredGap,
} from './event-rows.ts';
import type { PageSizes } from './fitting.ts';
import { computeRetentionFrom, findUnlistedSpans, type Span } from './past.ts';
import type { Items, Row, RowGroup } from './row-groups.ts';
import type { Sources } from './store.ts';

/** The last row of the page before, in the order of pages. */
export type Place = {
  readonly receivedAt: Micros;
  readonly venue: string;
  readonly venueSymbol: string;
  readonly id: string;
};

type LiquidationOptions = {
  readonly evaluatedAt: Micros;
  readonly asked: Span;
  readonly side: Side | null;
  readonly limit: number;
  readonly after: Place | null;
  readonly units: UnitsMode;
  readonly numberFormat: NumberFormat;
  /** Rows are kept as values too. */
  readonly keepsRows: boolean;
};

type LiquidationPage = {
  readonly items: Items;
  readonly returned: number;
  /** Gaps that begin on this page. */
  readonly gaps: number;
  /** Null on the last page. */
  readonly next: Place | null;
  /** What its rows and gaps take of it. */
  readonly measure: () => PageSizes;
};

type Event = StoredEvent & Pick<Place, 'venue' | 'venueSymbol'>;

const comparePlaces = (a: Place, b: Place): number =>
  a.receivedAt - b.receivedAt ||
  compareBytes(a.venue, b.venue) ||
  compareBytes(a.venueSymbol, b.venueSymbol) ||
  compareBytes(a.id, b.id);

const makeRowObject = (event: Event, { listing, version }: Selected, units: UnitsMode): Row =>
  makeEventObject(event, findVersionAt(listing.versions, event.recordedAt) ?? version, units);

type Completeness = 'full' | 'sampled' | 'none';

/** How liquidations were collected over a window. */
type Collected = {
  /** How completely the venue published them when they were last collected; `none`: they never were. */
  readonly completeness: Completeness;
  /** Stretches without collection, with the reason of their policy (L-07); empty when they never were collected. */
  readonly uncollected: readonly StoredGap[];
};

/** Before the first version nothing was known of the venue, so its first version applies. */
const findFirstOrAt = <V extends { readonly written_at: Micros }>(versions: readonly V[], at: Micros): V | null =>
  findVersionAt(versions, at) ?? versions[0] ?? null;

/** Policies hold from version to version, of the venue's capability and of the listing. */
const findCollected = (live: LiveMemory, { listing }: Selected, { from, to }: Span): Collected => {
  const capabilities = live.venue(listing.venue)?.capabilities ?? [];
  const turns = [...capabilities, ...listing.versions]
    .map((version) => version.written_at)
    .filter((at) => at > from && at < to);
  const starts = [...new Set([from, ...turns])].sort((a, b) => a - b);
  const uncollected: StoredGap[] = [];
  let completeness: Completeness = 'none';
  for (const [i, start] of starts.entries()) {
    const capability = findFirstOrAt(capabilities, start);
    const policy = findListingPolicy(capability, 'liquidation', findFirstOrAt(listing.versions, start));
    if (policy === 'on') completeness = capability?.layers['liquidation']?.completeness ?? 'sampled';
    else uncollected.push({ from: start, to: starts[i + 1] ?? to, cause: REASON_OF_POLICY[policy] });
  }
  return { completeness, uncollected: completeness === 'none' ? [] : joinGaps(uncollected, { from, to }) };
};

/** Spans in which a listing cannot have events: before they are kept, and while it was not listed. */
const listOutside = ({ listing, version }: Selected, keptFrom: Micros, { from, to }: Span): StoredGap[] => [
  ...(from < keptFrom ? [{ from, to: Math.min(to, keptFrom), cause: 'not_retained' }] : []),
  ...findUnlistedSpans(listing, version)
    .map((span) => ({ from: Math.max(from, span.from, keptFrom), to: Math.min(to, span.to), cause: 'not_listed' }))
    .filter((gap) => gap.from < gap.to),
];

const compareStarts = (a: StoredGap, b: StoredGap): number => a.from - b.from || a.to - b.to;

type Subject = {
  readonly selected: Selected;
  readonly events: readonly Event[];
  readonly gaps: readonly StoredGap[];
  readonly collected: Collected;
};

/** Gaps of the window that begin on this page; a layer that is not collected has none, and an unlisted stretch only that of its own. */
const listGaps = (subject: Subject, { asked, evaluatedAt }: LiquidationOptions, page: Span): StoredGap[] => {
  const { selected, gaps, collected } = subject;
  if (collected.completeness === 'none') return [];
  const keptFrom = computeRetentionFrom('events', selected.version, evaluatedAt);
  const unlisted = findUnlistedSpans(selected.listing, selected.version);
  // Each of these stretches has its own cause (L-07: the policy goes first).
  const within = [...gaps.flatMap((gap) => leaveOut(gap, collected.uncollected)), ...collected.uncollected]
    .flatMap((gap) => leaveOut({ ...gap, from: Math.max(gap.from, keptFrom) }, unlisted))
    .filter((gap) => gap.from < gap.to);
  return [...within, ...listOutside(selected, keptFrom, asked)]
    .filter(({ from }) => from >= page.from && from < page.to)
    .sort(compareStarts);
};

/** Members of an item beside its rows and gaps. */
const makeItemHead = ({ selected, events, collected }: Subject, { units, evaluatedAt }: LiquidationOptions): Row => {
  const { version } = selected;
  const unit = findCountedUnit({ quantity_unit: events.at(-1)?.quantityUnit ?? null }, version);
  return {
    ...nameListing(selected),
    completeness: collected.completeness,
    retention_from: formatInstant(computeRetentionFrom('events', version, evaluatedAt)),
    units: sortByKey({ price: 'quote', quantity: chooseQuantityUnit(unit, units), value: 'quote' }),
  };
};

const toGap = ({ from, to, cause }: StoredGap): Row => ({
  from: formatInstant(from),
  to: formatInstant(to),
  gap_cause: cause,
});

/** The first `limit` rows of the page and one more, in order; rows with the same instant as the previous place are read again. */
const readRowsFrom = async (
  sources: Sources,
  selected: readonly Selected[],
  { asked, side, limit, after }: LiquidationOptions,
): Promise<Event[]> => {
  const byId = new Map(selected.map((one) => [toListingId(one), one.listing] as const));
  const question = { listings: selected, side, from: after?.receivedAt ?? asked.from, to: asked.to };
  const parts =
    after === null
      ? [gatherEvents(sources, question, limit + 1)]
      : [
          gatherEvents(sources, { ...question, to: after.receivedAt + 1 }, Number.MAX_SAFE_INTEGER),
          gatherEvents(sources, { ...question, from: after.receivedAt + 1 }, limit + 1),
        ];
  return (await Promise.all(parts))
    .flat()
    .flatMap((event): Event[] => {
      const listing = byId.get(event.listing);
      return listing === undefined ? [] : [{ ...event, venue: listing.venue, venueSymbol: listing.venueSymbol }];
    })
    .filter((event) => after === null || comparePlaces(event, after) > 0)
    .sort(comparePlaces);
};

/** What one listing has on a page. */
type Part = { readonly events: readonly Event[]; readonly made: readonly Row[]; readonly gaps: readonly StoredGap[] };

/** `rows`: those of the whole page, in their order. */
const measurePage = (parts: readonly Part[], rows: readonly Event[], options: LiquidationOptions): PageSizes => {
  const places = new Map(rows.map((event, i) => [event, i + 1] as const));
  const measure = (row: Row): number => Buffer.byteLength(writeJson(row, options)) + 1;
  // A gap is on a page whose last row was received after the gap began.
  const countBefore = (from: Micros): number => countLeading(rows.length, (i) => (rows[i] as Event).receivedAt <= from);
  return {
    rows: parts.flatMap(({ events, made }) =>
      made.map((row, i) => ({ steps: places.get(events[i] as Event) ?? 0, bytes: measure(row) })),
    ),
    gaps: parts.flatMap(({ gaps }) =>
      gaps.map((gap) => ({ steps: countBefore(gap.from) + 1, bytes: measure(toGap(gap)) })),
    ),
  };
};

/** One page: the earliest rows after `after`, at most `limit` of all listings together. */
export const makeLiquidationPage = async (
  sources: Sources,
  selected: readonly Selected[],
  options: LiquidationOptions,
): Promise<LiquidationPage> => {
  const { asked, limit, after, evaluatedAt } = options;
  const [events, gaps] = await Promise.all([
    readRowsFrom(sources, selected, options),
    gatherGaps(sources, selected, asked),
  ]);
  const rows = events.slice(0, limit);
  const last = events.length > limit ? rows.at(-1) : undefined;
  const page = { from: after?.receivedAt ?? asked.from, to: last?.receivedAt ?? asked.to };
  const byListing = new Map(selected.map((one) => [toListingId(one), [] as Event[]] as const));
  for (const event of rows) byListing.get(event.listing)?.push(event);
  const groups: RowGroup[] = [];
  const parts: Part[] = [];
  let [returned, gapCount] = [0, 0];
  const items = selected.map((one) => {
    const keptFrom = computeRetentionFrom('events', one.version, evaluatedAt);
    const kept = (byListing.get(toListingId(one)) ?? []).filter(({ receivedAt }) => receivedAt >= keptFrom);
    returned += kept.length;
    const collected = findCollected(sources.live, one, asked);
    const subject: Subject = { selected: one, events: kept, gaps: gaps.get(toListingId(one)) ?? [], collected };
    const shown = listGaps(subject, options, page);
    gapCount += shown.length;
    const [head, made] = [
      makeItemHead(subject, options),
      kept.map((event) => makeRowObject(event, one, options.units)),
    ];
    if (options.keepsRows) groups.push({ head, rows: made });
    parts.push({ events: kept, made, gaps: shown });
    return writeJson({ ...head, rows: made, gaps: shown.map(toGap) }, options);
  });
  return {
    items: { text: `[${items.join(',')}]`, groups },
    returned,
    gaps: gapCount,
    next: last === undefined ? null : toPlace(last),
    measure: () => measurePage(parts, rows, options),
  };
};

const toPlace = ({ receivedAt, venue, venueSymbol, id }: Place): Place => ({ receivedAt, venue, venueSymbol, id });
