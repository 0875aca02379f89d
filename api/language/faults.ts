// All faults of a query in one answer: at most twenty, ordered by place; only those returned get a text (E-05, Q-02).
import { type ApiError, type ErrorCode, ServiceError, withoutLateLimits } from '../../schemas/errors.ts';
import { clip } from '../contract/sent-text.ts';
import type { Origin as Located } from './selection.ts';
import type { Source, Span } from './source.ts';

/** The place of something: in the text, at a JSON pointer of the object, or (limits of the whole) none in particular. */
export type Place = Span | { readonly path: string } | null;
export type Words = { readonly message: string; readonly hint: string };
type Origin = Located | Record<never, never>;
type Fault = { readonly code: ErrorCode; readonly origin: Origin; readonly words: () => Words };

/** From the start of the first to the end of the last. */
export const joinPlaces = (first: Place, last: Place): Place =>
  first !== null && last !== null && 'from' in first && 'from' in last ? { from: first.from, to: last.to } : first;

const MOST_TOLD = 20;

/** What an unknown name is not, and the nearest known ones (interface, Query-language codes). */
export const describeUnknown = (name: string, what: string, near: readonly string[]): string =>
  `"${clip(name)}" is not ${what}${near.length === 0 ? '' : `: the nearest known ${near.length === 1 ? 'is' : 'are'} ${near.join(', ')}`}.`;

const findOffset = ({ origin }: Fault): number =>
  'position' in origin ? origin.position.offset : Number.POSITIVE_INFINITY;
const findPath = ({ origin }: Fault): string => ('path' in origin ? origin.path : '');

/** By position, then those without one by path. */
const compareFaults = (a: Fault, b: Fault): number => {
  const [x, y] = [findOffset(a), findOffset(b)];
  if (x !== y) return x < y ? -1 : 1;
  const [p, q] = [findPath(a), findPath(b)];
  return p < q ? -1 : p > q ? 1 : 0;
};

export class Faults {
  readonly #source: Source | null;
  readonly #whole: Origin;
  readonly #faults: Fault[] = [];
  #isTooDeep = false;

  /** `source` is the text that spans lie in; null for the object form. `whole` is the path of the object, the place of faults that concern it as a whole. */
  constructor(source: Source | null, whole?: string) {
    this.#source = source;
    this.#whole = whole === undefined ? {} : { path: whole };
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  /** Whether parsing stopped at the depth limit of nodes, which was reported there (DQL-30). */
  get isTooDeep(): boolean {
    return this.#isTooDeep;
  }

  addTooDeep(place: Place, words: Words): void {
    this.#isTooDeep = true;
    this.add('DQL_COMPLEXITY', place, words);
  }

  hasOther(code: ErrorCode): boolean {
    return this.#faults.some((fault) => fault.code !== code);
  }

  /** `words` runs only for the faults that are returned: suggestions cost, and a caller can make thousands of faults. */
  add(code: ErrorCode, place: Place, words: Words | (() => Words)): void {
    this.addAt(code, this.originOf(place) ?? this.#whole, words);
  }

  /** As `add`, for what carries its place in the form of the answer. */
  addAt(code: ErrorCode, origin: Origin, words: Words | (() => Words)): void {
    this.#faults.push({ code, origin, words: typeof words === 'function' ? words : () => words });
  }

  /** Faults of the code that `check` finds are not reported: they follow from an earlier fault. */
  without(code: ErrorCode, check: () => void): void {
    const before = this.#faults.length;
    check();
    this.#faults.push(...this.#faults.splice(before).filter((fault) => fault.code !== code));
  }

  /** A place in the form of the answer; null when there is none. */
  originOf(place: Place): Located | null {
    if (place === null) return null;
    if ('path' in place) return { path: place.path };
    return this.#source === null ? null : { position: this.#source.positionOf(place) };
  }

  /** The first twenty faults to report, in order, with their texts. */
  told(): ApiError[] {
    const first = [...withoutLateLimits(this.#faults)].sort(compareFaults).slice(0, MOST_TOLD);
    return first.map(({ code, origin, words }): ApiError => ({ code, ...words(), ...origin }));
  }

  /** Throws ServiceError when there is any. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ServiceError(this.told());
  }
}
