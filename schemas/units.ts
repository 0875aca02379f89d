// Units of values and the conversions of quantities between them (N-07, N-08, H-16e).
import { divide, multiply } from './decimals.ts';
import type { Digits, QuantityUnit } from './scalars.ts';

/** Closed set of units of value objects (N-08). */
export type Unit = 'quote' | 'base' | 'contracts' | 'fraction' | 'count' | 'duration' | 'ms' | 'code';

/** The `units` request parameter. */
export const UNITS_MODES = ['published', 'base', 'quote'] as const;
export type UnitsMode = (typeof UNITS_MODES)[number];

/** The members of a listing that determine its conversions. */
export type QuantityRule = {
  readonly venue_kind: 'linear' | 'inverse' | 'quanto' | null;
  readonly multiplier: Digits | null;
  readonly contract_size: Digits | null;
};

type Conversion = {
  readonly digits: Digits;
  readonly unit: QuantityUnit;
  readonly mode: UnitsMode;
  readonly listing: QuantityRule;
  /** The listing's mark at the instant, or a book level's own price; null without one. */
  readonly mark: Digits | null;
};

/** The unit of a quantity under a mode. */
export const chooseQuantityUnit = (unit: QuantityUnit, mode: UnitsMode): QuantityUnit =>
  mode === 'published' ? unit : mode;

/** Whether a quantity is an amount of quote currency: inverse contracts are. */
const isInQuote = ({ unit, listing }: Pick<Conversion, 'unit' | 'listing'>): boolean =>
  unit === 'quote' || (unit === 'contracts' && listing.venue_kind === 'inverse');

/** Whether a conversion divides or multiplies by the mark (N-07). */
export const needsMark = (unit: QuantityUnit, mode: UnitsMode, listing: QuantityRule): boolean => {
  if (mode === 'published' || listing.venue_kind === 'quanto') return false;
  return (mode === 'base') === isInQuote({ unit, listing });
};

/** An amount of quote currency, before any division; null when a required rule is unknown. */
const toQuoteAmount = ({ digits, unit, listing }: Conversion): Digits | null => {
  if (unit === 'quote') return digits;
  return listing.contract_size === null ? null : multiply(digits, listing.contract_size);
};

/** An amount of listed units (before the multiplier) of a linear listing, or of one counted in base. */
const toListedAmount = ({ digits, unit, listing }: Conversion): Digits | null => {
  if (unit === 'base') return digits;
  if (listing.venue_kind !== 'linear' || listing.contract_size === null) return null;
  return multiply(digits, listing.contract_size);
};

const toBase = (conversion: Conversion): Digits | null => {
  const { listing, mark } = conversion;
  if (listing.multiplier === null) return null;
  if (!isInQuote(conversion)) {
    const amount = toListedAmount(conversion);
    return amount === null ? null : multiply(amount, listing.multiplier);
  }
  const amount = toQuoteAmount(conversion);
  return amount === null || mark === null ? null : divide(multiply(amount, listing.multiplier), mark);
};

/** `base * mark / multiplier`: the multiplier cancels exactly, but an unknown one leaves the base unknown (N-07). */
const toQuote = (conversion: Conversion): Digits | null => {
  const { listing, mark } = conversion;
  if (isInQuote(conversion)) return toQuoteAmount(conversion);
  const amount = toListedAmount(conversion);
  return amount === null || mark === null || listing.multiplier === null ? null : multiply(amount, mark);
};

/** A quantity under a mode: exact products before the one division (H-16l). Null: `unit_unknown`. */
export const convertQuantity = (conversion: Conversion): Digits | null => {
  if (conversion.mode === 'published') return conversion.digits;
  if (conversion.listing.venue_kind === 'quanto') return null;
  return conversion.mode === 'base' ? toBase(conversion) : toQuote(conversion);
};
