// Reads what a plan needs of the selected listings: layers at once, series where they must be loaded; of the present or of the past by one code.
import type { Micros } from '../../schemas/records.ts';
import { refuseHole } from '../history/past.ts';
import { type HistoryReader, type HistoryStore, storeAway } from '../history/store.ts';
import { type Selected, toListingId } from '../live/listing-book.ts';
import { makeVenueViews, type VenueView } from '../live/listing-view.ts';
import type { LiveMemory, LiveVenue } from '../live/memory.ts';
import { type Columns, openSeriesCache, readColumns } from '../series/cache.ts';
import { isQuantitySpec } from '../series/column-spec.ts';
import { capture, NO_WINDOWS, type Windows } from './capture.ts';
import { convertFacts } from './convert-series.ts';
import { type Facts, type LayerStates, readLiveLayers, type Terms } from './facts.ts';
import { readPastLayers } from './past-layers.ts';
import type { Plan } from './plan.ts';
import type { Budget } from './screen.ts';

type Reading = {
  readonly live: LiveMemory;
  /** Null while no store of history is configured. */
  readonly history: HistoryStore | null;
  readonly terms: Terms;
  readonly evaluatedAt: Micros;
  readonly budget: Budget;
};

/** Facts being read: those from memory are taken at once, the rest when it is complete. */
type PendingFacts = { readonly complete: () => Promise<Facts[]> };

const requireStore = (history: HistoryStore | null): HistoryReader => {
  if (history !== null) return history.begin();
  throw storeAway();
};

/** What the store answers within the budget. Past it the query is too slow, unless the store answers nothing at all (E-07). */
const readWithin = <T>(work: Promise<T>, { budget, history }: Reading, hint?: string): Promise<T> =>
  budget.within(work, async () => (history === null || (await history.isReachable()) ? null : storeAway()), hint);

const LOADING =
  'Repeat the query: the next call continues where this one ended. Or narrow where, or use smaller windows.';

const requireVenue = (live: LiveMemory, { listing }: Selected): LiveVenue => {
  const venue = live.venue(listing.venue);
  if (venue === undefined) throw new Error(`venue "${listing.venue}" is not served`);
  return venue;
};

const makeFacts = (
  selected: readonly Selected[],
  terms: Terms,
  of: { layers: (one: Selected, i: number) => LayerStates; windows: (one: Selected) => Windows },
): Facts[] => selected.map((one, i) => ({ ...one, terms, layers: of.layers(one, i), windows: of.windows(one) }));

/** Quantities of series in the requested unit; nothing to do for most queries. */
const convertUnits = async (plan: Plan, facts: Facts[], reading: Reading): Promise<Facts[]> => {
  const { live, history, terms } = reading;
  const specs = plan.needs.map(({ spec }) => spec).filter(isQuantitySpec);
  if (terms.units === 'published' || specs.length === 0) return facts;
  return readWithin(convertFacts(facts, specs, { live, begin: () => requireStore(history) }), reading);
};

/** The state of memory at an instant: now, or shortly before (for rules). All reads of one instant see one state. */
export type Moment = {
  readonly isBehind: (venue: string) => boolean;
  readonly layersOf: (one: Selected) => LayerStates;
  readonly watermarkOf: (venue: string) => Micros;
  /** Candles that were received after the instant do not count. */
  readonly excludesLater?: true;
};

/** Facts at an instant; layers are read immediately, series when they are loaded. */
export const readFactsAt = (
  plan: Plan,
  selected: readonly Selected[],
  { reading, moment }: { readonly reading: Reading; readonly moment: Moment },
): PendingFacts => {
  const { live, history, terms } = reading;
  const states = selected.map((one) => moment.layersOf(one));
  const layers = (_one: Selected, i: number): LayerStates => states[i] ?? {};
  const complete = async (): Promise<Facts[]> => {
    if (plan.needs.length === 0) return makeFacts(selected, terms, { layers, windows: () => NO_WINDOWS });
    const columns = openSeriesCache(live);
    let facts: Facts[];
    const awaited = columns.ensure(selected, plan.needs, { at: terms.at, begin: () => requireStore(history) });
    const windows = (one: Selected): Windows => {
      const { capabilities, venue } = requireVenue(live, one);
      const { at, units } = terms;
      const cameBy = moment.excludesLater ? { cameBy: at } : {};
      const when = { at, now: at, watermark: moment.watermarkOf(venue), ...cameBy };
      return capture(one, plan.needs, { ...when, columns, capabilities, stateLag: moment.isBehind(venue), units });
    };
    try {
      if (awaited !== null) await readWithin(awaited.done, reading, LOADING);
      facts = makeFacts(selected, terms, { layers, windows });
    } finally {
      awaited?.release();
    }
    return convertUnits(plan, facts, reading);
  };
  return { complete };
};

const readLive = (plan: Plan, selected: readonly Selected[], reading: Reading): PendingFacts => {
  const { live, terms } = reading;
  const views = makeVenueViews(live, terms.at);
  const findView = ({ listing }: Selected): VenueView => views.get(listing.venue) as VenueView;
  const moment: Moment = {
    isBehind: (venue) => views.get(venue)?.stateLag ?? false,
    layersOf: (one) => readLiveLayers(findView(one), one, { layers: plan.layers, terms }),
    watermarkOf: (venue) => live.watermark(venue) ?? 0,
  };
  return readFactsAt(plan, selected, { reading, moment });
};

const readPast = (plan: Plan, selected: readonly Selected[], reading: Reading): PendingFacts => {
  const { live, history, terms, evaluatedAt } = reading;
  const complete = async (): Promise<Facts[]> => {
    const reader = requireStore(history);
    refuseHole({ from: 0, to: terms.at }, selected, live);
    const needs = { reader, live, listings: selected, layers: plan.layers, terms, evaluatedAt };
    const [states, columns] = await readWithin(
      Promise.all([
        readPastLayers(needs),
        readColumns(selected, plan.needs, { reader, live, at: terms.at, now: evaluatedAt }),
      ] satisfies [Promise<unknown>, Promise<Columns>]),
      reading,
    );
    const facts = makeFacts(selected, terms, {
      layers: (one) => states.get(toListingId(one)) ?? {},
      windows: (one) =>
        capture(one, plan.needs, {
          at: terms.at,
          now: evaluatedAt,
          watermark: null,
          columns,
          capabilities: requireVenue(live, one).capabilities,
          stateLag: false,
          units: terms.units,
        }),
    });
    return convertUnits(plan, facts, reading);
  };
  return { complete };
};

/** Begins to read; queries the store only in `complete`. Throws ServiceError over the budget, and while a needed store is unavailable. */
export const readFacts = (plan: Plan, selected: readonly Selected[], reading: Reading): PendingFacts =>
  plan.query.asOf === null ? readLive(plan, selected, reading) : readPast(plan, selected, reading);
