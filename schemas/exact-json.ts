// JSON as callers send it, with the digits of numbers that a double rounds (DQL-09.1).
import { canonicalDigits, DecimalError, fitsDouble } from './decimals.ts';
import type { Digits } from './records.ts';

/** By the object they stand in, then by member. */
const rounded = new WeakMap<object, Map<string, Digits>>();

/** Fifteen digits come back from a double. Within a string this finds too much, which costs a little time. */
const MAY_ROUND = /[0-9.]{16}|[0-9][eE]/;

/** Digits that a double does not give back: canonical, or as sent where they are longer than a figure can be. */
const exactly = (source: string): Digits | null => {
  try {
    const digits = canonicalDigits(source);
    return fitsDouble(digits) ? null : digits;
  } catch (error) {
    // Longer than any figure of a market, as a literal of a query may be.
    if (error instanceof DecimalError) return source;
    throw error;
  }
};

type Context = { readonly source?: string };

function keepDigits(this: object, key: string, value: unknown, { source }: Context): unknown {
  const digits = typeof value === 'number' && source !== undefined ? exactly(source) : null;
  if (digits !== null) rounded.set(this, (rounded.get(this) ?? new Map<string, Digits>()).set(key, digits));
  return value;
}

/** As `JSON.parse`; `roundedDigits` then knows what doubles could not hold. */
export const parseExactly = (text: string): unknown =>
  MAY_ROUND.test(text)
    ? JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown)
    : JSON.parse(text);

/** The digits of a member that was sent as a number which no double gives back; undefined for any other. */
export const roundedDigits = (holder: object, member: string): Digits | undefined => rounded.get(holder)?.get(member);
