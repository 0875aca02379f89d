// The result of a question at an instant: its state over all instruments, and the instruments for which it holds (AG-02, AG-04).
import { findStatusAt } from '../../schemas/freshness.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { findListingPolicy } from '../../schemas/policies.ts';
import type { Micros } from '../../schemas/records.ts';
import type { CapabilityVersion } from '../../schemas/topics.ts';
import type { HistoryStore } from '../history/store.ts';
import type { Bounds } from '../live/bounds.ts';
import { findVersionAt, type LiveListing, type Selected } from '../live/listing-book.ts';
import { findHeldAt } from '../live/listing-view.ts';
import type { LiveMemory } from '../live/memory.ts';
import { listOwnCauses } from '../screen/because.ts';
import type { Facts, LayerState } from '../screen/facts.ts';
import { Instrument } from '../screen/instrument.ts';
import { type Moment, readFacts, readFactsAt } from '../screen/read-facts.ts';
import { Budget, groupFacts } from '../screen/screen.ts';
import { findFirstUnknown, type Unknown } from '../screen/values.ts';
import type { Question } from './questions.ts';
import type { RecentStates } from './recent-states.ts';
import type { RuleReason, RuleState } from './rule.ts';

/** Codes that an answer names of those found (AG-04). */
const MOST_CODES = 20;
/** As of a screen (SC-06). */
const BUDGET_MS = 5_000;

export type Outcome = {
  readonly state: RuleState;
  readonly reason: RuleReason | null;
  readonly matched: readonly string[];
  readonly matchedTotal: number;
  readonly unknown: readonly string[];
  readonly unknownTotal: number;
};

const NONE = { matched: [], matchedTotal: 0, unknown: [], unknownTotal: 0 } as const;

export const makeUnknown = (reason: RuleReason): Outcome => ({ state: 'unknown', reason, ...NONE });

/** The input that made an instrument unknown: the first of several (H-16l). */
const findCause = (instrument: Instrument): Unknown => {
  const { condition } = instrument.plan.query;
  const causes = condition === null ? [] : listOwnCauses(condition, instrument, null);
  return findFirstUnknown(causes.map((cause) => cause.unknown));
};

const toReason = ({ status }: Unknown): RuleReason => {
  switch (status) {
    case 'stale':
      return 'stale_input';
    case 'missing':
    case 'present': // Its figure cannot be converted.
      return 'missing_input';
    default:
      return 'not_published';
  }
};

const judge = async ({ plan }: Question, facts: readonly Facts[], budget: Budget): Promise<Outcome> => {
  const found = { matched: [] as string[], matchedTotal: 0, unknown: [] as string[], unknownTotal: 0 };
  const causes: Unknown[] = [];
  for (const [code, group] of groupFacts(facts)) {
    const instrument = new Instrument(code, plan, group);
    const result = instrument.result();
    if (result === true && ++found.matchedTotal <= MOST_CODES) found.matched.push(code);
    if (result === null && ++found.unknownTotal <= MOST_CODES) found.unknown.push(code);
    if (result === null && found.matchedTotal === 0) causes.push(findCause(instrument));
    await budget.breathe();
  }
  if (found.matchedTotal > 0) return { state: 'true', reason: null, ...found };
  if (causes.length > 0) return { state: 'unknown', reason: toReason(findFirstUnknown(causes)), ...found };
  return { state: 'false', reason: null, ...found };
};

type Market = { readonly live: LiveMemory; readonly history: HistoryStore | null };

/** The question now, over the newest state. Throws as a screen does. */
export const evaluateNow = async (
  question: Question,
  selected: readonly Selected[],
  { live, history, at }: Market & { readonly at: Micros },
): Promise<Outcome> => {
  const budget = new Budget(BUDGET_MS);
  const terms = { at, units: question.units, bounds: question.bounds };
  const pending = readFacts(question.plan, selected, { live, history, terms, evaluatedAt: at, budget });
  return judge(question, await pending.complete(), budget);
};

type VenueAt = {
  readonly capability: CapabilityVersion | null;
  readonly stateLag: boolean;
  readonly watermark: Micros;
};

type States = Partial<Record<ReadingLayer, LayerState>>;

/** The market at one instant of the log, shared by all its evaluations. */
export class MarketAt {
  readonly at: Micros;
  readonly #market: Market;
  readonly #recent: RecentStates;
  readonly #venues = new Map<string, VenueAt>();
  /** By bounds and listing, of the layers that some question has read so far. */
  readonly #states = new Map<string, Map<LiveListing, States>>();

  constructor(at: Micros, market: Market, recent: RecentStates) {
    this.at = at;
    this.#market = market;
    this.#recent = recent;
  }

  /** The result of the question at this instant. Throws as a screen does. */
  async evaluate(question: Question, selected: readonly Selected[]): Promise<Outcome> {
    const { live, history } = this.#market;
    const budget = new Budget(BUDGET_MS);
    const terms = { at: this.at, units: question.units, bounds: question.bounds };
    const reading = { live, history, terms, evaluatedAt: this.at, budget };
    const pending = readFactsAt(question.plan, selected, { reading, moment: this.#findMoment(question) });
    return judge(question, await pending.complete(), budget);
  }

  #findMoment({ plan, bounds }: Question): Moment {
    const key = JSON.stringify(bounds);
    const held = this.#states.get(key) ?? new Map<LiveListing, States>();
    this.#states.set(key, held);
    return {
      isBehind: (venue) => this.#findVenue(venue).stateLag,
      watermarkOf: (venue) => this.#findVenue(venue).watermark,
      excludesLater: true,
      layersOf: (one) => {
        const states = held.get(one.listing) ?? {};
        held.set(one.listing, states);
        for (const layer of plan.layers) states[layer] ??= this.#findState(one, layer, bounds);
        return states;
      },
    };
  }

  #findState({ listing, version }: Selected, layer: ReadingLayer, bounds: Bounds): LayerState {
    const { capability, stateLag } = this.#findVenue(listing.venue);
    const capabilities = this.#market.live.venue(listing.venue)?.capabilities ?? [];
    const { versions } = listing;
    const newest = this.#recent.readingAt(listing, layer, this.at);
    const reading = findHeldAt(newest, { capabilities, versions, at: this.at });
    const answer = findStatusAt({
      reading,
      policy: findListingPolicy(capability, layer, version),
      lostAt: this.#recent.lostAt(listing, reading, this.at),
      boundMs: bounds[layer],
      at: this.at,
      stateLag,
    });
    return { reading, answer };
  }

  #findVenue(code: string): VenueAt {
    const held = this.#venues.get(code);
    if (held !== undefined) return held;
    const { live } = this.#market;
    const watermark = live.watermark(code) ?? 0;
    const venue: VenueAt = {
      capability: findVersionAt(live.venue(code)?.capabilities ?? [], this.at),
      // The instant is due when every venue has reached it, except those that are too far behind.
      stateLag: watermark < this.at,
      watermark: Math.min(watermark, this.at),
    };
    this.#venues.set(code, venue);
    return venue;
  }
}
