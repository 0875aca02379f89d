// The values of an expression: known, bounded, or unknown with the reason (DQL-14 to DQL-17, DQL-33f).
import type { Status } from '../../schemas/freshness.ts';
import type { Comparison } from '../language/operators.ts';

/** Null is unknown. */
export type Truth = boolean | null;

export type Unknown = {
  readonly kind: 'unknown';
  /** `present` for a figure that is there and cannot be converted: `unit_unknown` never changes the status (L-07). */
  readonly status: Status;
  readonly reason: string;
};
export type Value =
  | { readonly kind: 'number'; readonly value: number }
  /** Known only to lie within: from `count`, or an aggregate with open elements (DQL-17, DQL-23). */
  | { readonly kind: 'interval'; readonly low: number; readonly high: number }
  /** A code or a status. */
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'truth'; readonly value: Truth }
  | Unknown;

export const makeUnknown = (status: Unknown['status'], reason: string): Unknown => ({
  kind: 'unknown',
  status,
  reason,
});
export const NO_VALUE = makeUnknown('missing', 'no_value');
export const UNIT_UNKNOWN = makeUnknown('present', 'unit_unknown');

/** NaN and infinities do not exist: what would give one has no value (N-05). */
export const toNumber = (value: number): Value => (Number.isFinite(value) ? { kind: 'number', value } : NO_VALUE);

/** A bound that has no room left is a number. */
export const toInterval = (low: number, high: number): Value =>
  low === high ? toNumber(low) : { kind: 'interval', low, high };

const STATUS_ORDER: readonly Unknown['status'][] = ['off', 'not_published', 'missing', 'stale', 'present'];
const REASON_ORDER = [
  ...['policy_off', 'venue_capability', 'connection_lost', 'state_lag', 'horizon_unknown', 'horizon_passed'],
  ...['freshness_bound', 'no_value', 'gap', 'not_retained', 'insufficient_history', 'unit_unknown'],
];
const rankUnknown = ({ status, reason }: Unknown): number =>
  STATUS_ORDER.indexOf(status) * REASON_ORDER.length + REASON_ORDER.indexOf(reason);

/** The first of several unknowns by status, then by reason, then the leftmost (H-16l, DQL-33f). */
export const findFirstUnknown = (unknowns: readonly Unknown[]): Unknown =>
  unknowns.reduce((first, other) => (rankUnknown(other) < rankUnknown(first) ? other : first), unknowns[0] ?? NO_VALUE);

/** Nothing that the venue could have published is missing: such an element does not take part in an aggregate (DQL-21). */
export const isAbsent = (value: Value): boolean =>
  value.kind === 'unknown' && (value.status === 'not_published' || value.status === 'off');

export const joinAnd = (truths: readonly Truth[]): Truth =>
  truths.includes(false) ? false : truths.includes(null) ? null : true;
export const joinOr = (truths: readonly Truth[]): Truth =>
  truths.includes(true) ? true : truths.includes(null) ? null : false;

const isTrue = (op: Comparison, a: number, b: number): boolean => {
  switch (op) {
    case '=':
      return a === b;
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    case '>=':
      return a >= b;
    default: {
      const never: never = op;
      return never;
    }
  }
};

type Bounds = { readonly low: number; readonly high: number };

/** An interval against a known number: known when every value within has the same result (DQL-17). */
const compareBounds = (op: Comparison, { low, high }: Bounds, k: number): Truth => {
  if (op === '=') return k < low || k > high ? false : null;
  const [atLow, atHigh] = [isTrue(op, low, k), isTrue(op, high, k)];
  return atLow === atHigh ? atLow : null;
};

const MIRRORED = { '=': '=', '<': '>', '>': '<', '<=': '>=', '>=': '<=' } as const satisfies Record<
  Comparison,
  Comparison
>;

/** DQL-15, DQL-17. */
export const compare = (op: Comparison, a: Value, b: Value): Truth => {
  if (a.kind === 'text' && b.kind === 'text') return a.value === b.value;
  if (a.kind === 'number' && b.kind === 'number') return isTrue(op, a.value, b.value);
  if (a.kind === 'interval' && b.kind === 'number') return compareBounds(op, a, b.value);
  if (a.kind === 'number' && b.kind === 'interval') return compareBounds(MIRRORED[op], b, a.value);
  return null;
};
