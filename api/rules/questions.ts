// The query of a rule, ready to be evaluated: compiled once per text, shared by every rule with the same query (AG-03).
import { ServiceError } from '../../schemas/errors.ts';
import type { Micros } from '../../schemas/records.ts';
import type { UnitsMode } from '../../schemas/units.ts';
import { refuseOutside, type ScopeChoice, toNarrowing } from '../access/scope.ts';
import { hasLayer } from '../contract/layer-names.ts';
import type { Plan } from '../contract/plans.ts';
import { type Bounds, makeBounds } from '../live/bounds.ts';
import type { Selected } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';
import { makePlan, type Plan as QueryPlan } from '../screen/plan.ts';
import { type Directory, findDirectory } from '../selection/directory.ts';
import { type Names, resolveNames, selectListings } from '../selection/resolve.ts';
import { compileRule } from './check-rule.ts';
import type { RuleDraft } from './rule.ts';

export type Question = {
  /** Rules of one key, under one scope, have one answer at an instant. */
  readonly key: string;
  readonly plan: QueryPlan;
  readonly names: Names;
  /** Codes that its condition names. */
  readonly named: Names;
  /** The selection as a name. */
  readonly where: string;
  readonly units: UnitsMode;
  readonly bounds: Bounds;
};

/**
 * `drop-oldest`, in characters; a rule whose question was dropped is compiled again. A question takes some 36 bytes for each character of its text and
 * 4 kB: these are 50,000 of an ordinary length, and 300 MB of any, while rules of one account that are changed again and again may have 8,192 each.
 */
const MOST_CHARACTERS = 8_000_000;
/** What a question takes besides its text. */
const CHARACTERS_A_QUESTION = 100;

type QuestionText = Pick<RuleDraft, 'query' | 'units' | 'freshness'>;

/** Questions by text. A text that a changed catalogue has made wrong throws ServiceError each time. */
export class Questions {
  readonly #live: LiveMemory;
  readonly #held = new Map<string, Question>();
  readonly #most: number;
  #characters = 0;

  constructor(live: LiveMemory, most = MOST_CHARACTERS) {
    this.#live = live;
    this.#most = most;
  }

  /** Characters of the questions that are held. */
  get size(): number {
    return this.#characters;
  }

  of({ query, units, freshness }: QuestionText): Question {
    const bounds = makeBounds(freshness ?? undefined);
    const asked = JSON.stringify([query, units, bounds]);
    const held = this.#held.get(asked);
    if (held !== undefined) return held;
    const directory = findDirectory(this.#live);
    const { query: checked, string } = compileRule({ query, units }, directory.codes);
    const names = resolveNames(checked.where ?? {}, directory);
    const question: Question = {
      key: JSON.stringify([string, units, bounds]),
      plan: makePlan(checked, units),
      names,
      named: resolveNames(checked.named, directory),
      where: JSON.stringify(Object.entries(names).map(([key, named]) => [key, named.map(({ code }) => code)])),
      units,
      bounds,
    };
    this.#held.set(asked, question);
    this.#characters += asked.length + CHARACTERS_A_QUESTION;
    this.#dropOldest();
    return question;
  }

  #dropOldest(): void {
    for (const asked of this.#held.keys()) {
      if (this.#characters <= this.#most) return;
      this.#held.delete(asked);
      this.#characters -= asked.length + CHARACTERS_A_QUESTION;
    }
  }
}

/** Whether a question names or reads what the plan of its owner does not have: a venue, an instrument, a layer (AC-02). */
export const isOutsidePlan = ({ names, named, plan: { layers } }: Question, plan: Plan, choice: ScopeChoice): boolean =>
  [names, named].some((codes) => refuseOutside(codes, plan, choice).length > 0) ||
  layers.some((layer) => !hasLayer(plan, layer));

/** When versions of listings begin or end to hold: between two of them a selection does not change. */
const listMoments = ({ listings }: Directory): readonly Micros[] =>
  listings
    .flatMap(({ versions }) => versions.flatMap(({ written_at, delisted_at }) => [written_at, delisted_at ?? 0]))
    .sort((a, b) => a - b);

/** `drop-oldest`, counted in listings and by the length of names: rules that were changed or deleted leave theirs behind for as long as the catalogue stays as it is. */
const MOST_SELECTED = 1_000_000;

/** Characters of a name that take as much as a listing. */
const CHARACTERS_A_LISTING = 64;
const countSelected = (key: string, selected: readonly Selected[]): number =>
  selected.length + Math.ceil(key.length / CHARACTERS_A_LISTING);

/** Selected listings of questions at instants, kept until the catalogue changes. */
export class Selections {
  readonly #live: LiveMemory;
  #directory: Directory | null = null;
  #moments: readonly Micros[] = [];
  #span: readonly [from: Micros, to: Micros] = [0, 0];
  readonly #held = new Map<string, readonly Selected[]>();
  readonly #most: number;
  #selected = 0;

  constructor(live: LiveMemory, most = MOST_SELECTED) {
    this.#live = live;
    this.#most = most;
  }

  /** Listings that are held, and what the names of the selections take: those may be empty. */
  get size(): number {
    return this.#selected;
  }

  at(at: Micros, { names, where }: Question, choice: ScopeChoice): readonly Selected[] {
    const directory = findDirectory(this.#live);
    if (directory !== this.#directory) {
      this.#directory = directory;
      this.#moments = listMoments(directory);
      this.#span = [0, 0];
    }
    this.#enterSpan(at);
    const key = `${where}|${choice.venues?.join() ?? '*'}|${choice.instruments?.join() ?? '*'}`;
    const held = this.#held.get(key);
    if (held !== undefined) return held;
    const selected = selectListings(names, directory, { at, narrowing: toNarrowing(choice) });
    this.#held.set(key, selected);
    this.#selected += countSelected(key, selected);
    this.#dropOldest();
    return selected;
  }

  #dropOldest(): void {
    for (const [key, selected] of this.#held) {
      if (this.#selected <= this.#most) return;
      this.#held.delete(key);
      this.#selected -= countSelected(key, selected);
    }
  }

  #enterSpan(at: Micros): void {
    const [from, to] = this.#span;
    if (at >= from && at < to) return;
    const next = this.#moments.findIndex((moment) => moment > at);
    const end = next < 0 ? Number.POSITIVE_INFINITY : (this.#moments[next] as Micros);
    this.#span = [next === 0 ? 0 : (this.#moments[next < 0 ? this.#moments.length - 1 : next - 1] ?? 0), end];
    this.#held.clear();
    this.#selected = 0;
  }
}

/** A fault that belongs to the rule, as text for the log; anything else is ours. */
export const isFaultOfRule = (error: unknown): error is ServiceError => error instanceof ServiceError;
