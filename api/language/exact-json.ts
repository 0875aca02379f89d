// JSON as sent by callers, with the digits of numbers that a double rounds (DQL-09.1).
import { findCanonicalDigits, isExactDouble } from '../../schemas/decimals.ts';
import type { Digits } from '../../schemas/records.ts';

/** By the containing object, then by member. */
const rounded = new WeakMap<object, Map<string, Digits>>();

/** Fifteen digits survive a double. Matches inside strings are false positives, which cost little time. */
const MAY_ROUND = /[0-9.]{16}|[0-9][eE]/;

/** Digits that a double does not represent: canonical, or as sent when they are longer than a figure may be. */
const toExactDigits = (source: string): Digits | null => {
  // Null: longer than any market figure, as a literal of a query may be. A body may have thousands of them, and exceptions would cost more than all other work.
  const digits = findCanonicalDigits(source);
  return digits !== null && isExactDouble(digits) ? null : (digits ?? source);
};

type Context = { readonly source?: string };

function keepDigits(this: object, key: string, value: unknown, { source }: Context): unknown {
  const digits = typeof value === 'number' && source !== undefined ? toExactDigits(source) : null;
  if (digits !== null) rounded.set(this, (rounded.get(this) ?? new Map<string, Digits>()).set(key, digits));
  return value;
}

/** As `JSON.parse`; `findRoundedDigits` then returns what doubles could not represent. */
export const parseExactly = (text: string): unknown =>
  MAY_ROUND.test(text)
    ? JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown)
    : JSON.parse(text);

/** The digits of a member sent as a number that no double represents; undefined for any other. */
export const findRoundedDigits = (holder: object, member: string): Digits | undefined =>
  rounded.get(holder)?.get(member);
