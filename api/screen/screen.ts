// Evaluates a plan over all instruments in slices, so that other calls are answered meanwhile; orders and writes what holds (DQL-19, SC-03, SC-04, SC-06, SC-07).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeServiceError } from '../../schemas/errors.ts';
import { type JsonValue, type NumberFormat, writeJson } from '../../schemas/json.ts';
import { compareBytes } from '../../schemas/text-order.ts';
import type { OrderKey } from '../language/tree.ts';
import { listOwnCauses } from './because.ts';
import type { Facts } from './facts.ts';
import { type Element, Instrument } from './instrument.ts';
import type { Plan, Shown } from './plan.ts';
import { makeValueObject } from './show.ts';
import type { Truth, Value } from './values.ts';

/** Longest time without a turn for others. */
const SLICE_MS = 8;
const CAUSES = 5;
const NARROWER = 'Narrow where, or use smaller windows.';

/** The time an evaluation may take, from when it began (SC-06). */
export class Budget {
  readonly #deadline: number;
  readonly #ms: number;
  #slice = performance.now();

  constructor(ms: number) {
    this.#ms = ms;
    this.#deadline = performance.now() + ms;
  }

  get leftMs(): number {
    return this.#deadline - performance.now();
  }

  /** Throws ServiceError past the budget. */
  check(): void {
    if (this.leftMs <= 0) throw this.#refusal();
  }

  #refusal(hint = NARROWER): Error {
    return makeServiceError('DQL_LIMIT', `The evaluation takes longer than ${this.#ms / 1_000} seconds.`, { hint });
  }

  /** Between two pieces of work: lets others run when this slice has been long. */
  async breathe(): Promise<void> {
    this.check();
    if (performance.now() - this.#slice < SLICE_MS) return;
    await nextTurn();
    this.#slice = performance.now();
  }

  /** The work's result. When the budget ends first, the refusal, with `hint`, unless `findCause` knows what else it was. */
  async within<T>(work: Promise<T>, findCause: () => Promise<Error | null>, hint?: string): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.max(0, this.leftMs));
    });
    try {
      const done = await Promise.race([work.then((value) => ({ value })), late]);
      if (typeof done === 'object') return done.value;
      // Reads under way fill the cache for the next call; their failure is ignored.
      work.catch(() => undefined);
      throw (await findCause()) ?? this.#refusal(hint);
    } finally {
      clearTimeout(timer);
    }
  }
}

type Outcome = { readonly instrument: Instrument; readonly result: Truth; readonly keys: readonly Value[] };

/** Known before unknown in either direction (SC-04). */
const compareKeys = (a: Value, b: Value, { descending }: Pick<OrderKey, 'descending'>): number => {
  const [isA, isB] = [a.kind === 'number' || a.kind === 'text', b.kind === 'number' || b.kind === 'text'];
  if (!isA || !isB) return Number(isB) - Number(isA);
  const order =
    a.kind === 'number' && b.kind === 'number'
      ? a.value - b.value
      : compareBytes(String((a as { value: unknown }).value), String((b as { value: unknown }).value));
  return descending ? -order : order;
};

/** Of outcomes that are in the order of their codes already. */
const createOrder =
  ({ query }: Plan) =>
  (a: Outcome, b: Outcome): number => {
    for (const [i, key] of query.orderBy.entries()) {
      const order = compareKeys(a.keys[i] as Value, b.keys[i] as Value, key);
      if (order !== 0) return order;
    }
    return 0;
  };

const listValues = (shown: readonly Shown[], instrument: Instrument, element: Element | null): JsonValue =>
  new Map(shown.map(({ key, node }) => [key, makeValueObject(node, instrument, element)]));

const listCauses = (instrument: Instrument): JsonValue => {
  const { condition } = instrument.plan.query;
  if (condition === null) return [];
  return listOwnCauses(condition, instrument, null)
    .slice(0, CAUSES)
    .map(({ expr, element, unknown }) => ({
      expr,
      venue: element?.facts.listing.venue ?? null,
      symbol: element?.facts.listing.venueSymbol ?? null,
      status: unknown.status,
      reason: unknown.reason,
    }));
};

const toItem = ({ instrument, result }: Outcome): JsonValue => ({
  instrument: instrument.code,
  result: result === true ? 'true' : 'unknown',
  values: listValues(instrument.plan.shown.instrument, instrument, null),
  venues: instrument.elements.map((element) => ({
    venue: element.facts.listing.venue,
    symbol: element.facts.listing.venueSymbol,
    quote: element.facts.version.record.values.quote,
    values: listValues(instrument.plan.shown.venue, instrument, element),
  })),
  because: result === true ? undefined : listCauses(instrument),
});

/** Listings by instrument, in the order of their codes; those of one in the order given. */
export const groupFacts = (facts: readonly Facts[]): [string, Facts[]][] =>
  [...Map.groupBy(facts, ({ version }) => version.record.values.instrument)].sort(([a], [b]) => compareBytes(a, b));

type ScreenOptions = {
  readonly includeUnknown: boolean;
  readonly numberFormat: NumberFormat;
  readonly budget: Budget;
};

/**
 * The items of an answer as JSON texts, in their order. Without `order by` each instrument is written as soon as it is evaluated: what
 * lives until the end is copied by every collection of garbage meanwhile. Throws ServiceError past the budget.
 */
export const makeScreenItems = async (
  plan: Plan,
  facts: readonly Facts[],
  { includeUnknown, numberFormat, budget }: ScreenOptions,
): Promise<string[]> => {
  const { orderBy } = plan.query;
  const items: string[] = [];
  const write = (outcome: Outcome): void => {
    items.push(writeJson(toItem(outcome), { numberFormat }));
  };
  const outcomes: Outcome[] = [];
  for (const [code, group] of groupFacts(facts)) {
    const instrument = new Instrument(code, plan, group);
    const result = instrument.result();
    if (result === true || (result === null && includeUnknown)) {
      const outcome = { instrument, result, keys: orderBy.map(({ expr }) => instrument.value(expr, null)) };
      if (orderBy.length === 0) write(outcome);
      else outcomes.push(outcome);
    }
    await budget.breathe();
  }
  for (const outcome of outcomes.sort(createOrder(plan))) {
    write(outcome);
    await budget.breathe();
  }
  return items;
};
