// Units a value may state and the conversions of quantities between them (N-07, N-08, H-16e).

/** Closed set of units a value object states (N-08). */
export type Unit = 'quote' | 'base' | 'contracts' | 'fraction' | 'count' | 'duration' | 'ms' | 'code';

/** What a venue counts quantities in. */
export type QuantityUnit = 'base' | 'contracts' | 'quote';
