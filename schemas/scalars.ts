// The scalar types of all records: instants, figures, levels of a book.

/** Microseconds since 1970-01-01T00:00Z; fits a JS number until 2255. */
export type Micros = number;

/** A decimal figure with the venue's digits under N-05 rule 1: no `+`, no exponent, no insignificant zeros. */
export type Digits = string;

/** The unit in which a venue counts quantities. */
export type QuantityUnit = 'base' | 'contracts' | 'quote';

/** `[price, size]`; size `0` removes the level. */
export type Level = readonly [price: Digits, size: Digits];
