// The result of checking an expression: its kind, the timeframe it is read at, whether sums may add it (DQL-12, DQL-13, DQL-24).
import type { CodeKey, Codes } from './codes.ts';
import type { Faults, Place } from './faults.ts';
import type { Timeframe } from './limits.ts';
import type { Code } from './selection.ts';
import type { Node } from './tree.ts';

/** `broken`: the fault is reported already; it fits everywhere. */
export type Kind = 'number' | 'duration' | 'code' | 'status' | 'boolean' | 'series' | 'broken';

/** `unknown`: the fault is reported already. */
export type Period = Timeframe | 'unknown';

export type Checked = {
  readonly node: Node;
  readonly kind: Kind;
  /** Of a series; null of anything else. */
  readonly period: Period | null;
  /** Null: a fault that is reported hides it. */
  readonly additive: boolean | null;
  /** Its unit is of the class `quantity`, or that times a price (DQL-24, DQL-33e). */
  readonly isQuantity: boolean;
};

/** The surroundings of an expression. */
export type Where = {
  /** Venue names are allowed here. */
  readonly venueNames: boolean;
  /** Inside a quantifier or aggregate. */
  readonly quantified: boolean;
  /** In a key of `order by`, where a condition is not allowed. */
  readonly isKey?: true;
  /** Of the enclosing series call whose S this is; null elsewhere. */
  readonly series: Period | null;
};

/** The findings while a query is checked. */
export type Findings = {
  readonly faults: Faults;
  readonly codes: Codes;
  /** The `timeframe` clause; null without one. */
  readonly clause: Period | null;
  readonly instrumentNames: Set<string>;
  readonly venueNames: Set<string>;
  readonly functions: Set<string>;
  /** Known codes that expressions compare with, by their field. */
  readonly codesNamed: Map<CodeKey, Code[]>;
  /** Sums of quantities, which screen refuses under `units: published` (DQL-24). */
  readonly quantitySums: Place[];
};

export type Check = (node: Node, where: Where) => Checked;

export const makeChecked = (node: Node, kind: Kind, more: Partial<Checked> = {}): Checked => ({
  node,
  kind,
  period: null,
  additive: false,
  isQuantity: false,
  ...more,
});

export const isNumeric = (kind: Kind): boolean => kind === 'number' || kind === 'series' || kind === 'broken';

const WORDS: Readonly<Record<Kind, string>> = {
  number: 'a number',
  duration: 'a duration',
  code: 'a code',
  status: 'a status',
  boolean: 'a condition',
  series: 'a series',
  broken: 'nothing',
};
export const describeKind = (kind: Kind): string => WORDS[kind];

/** Two series that meet must have one timeframe (DQL-13). */
export const meetPeriods = (
  a: Checked,
  b: Checked,
  { faults, place }: { faults: Faults; place: Place },
): Period | null => {
  if (a.period === null || b.period === null) return a.period ?? b.period;
  if (a.period === 'unknown' || b.period === 'unknown') return 'unknown';
  if (a.period === b.period) return a.period;
  faults.add('DQL_TIMEFRAME_MISMATCH', place, {
    message: `A series of "${a.period}" meets one of "${b.period}".`,
    hint: 'Use one timeframe on both sides.',
  });
  return 'unknown';
};
