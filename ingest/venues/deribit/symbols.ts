// What Deribit's instrument names imply: kind, unit, and the perpetuals that use an index.
import type { QuantityUnit } from '../../../schemas/records.ts';
import type { MapContext } from '../contract/mapping.ts';

/** `BTC-PERPETUAL`, `BTC_USDC-PERPETUAL`; not `BTC-26DEC25`, `BTC-FS-30SEP22_PERP`, `BTC-8JUN20-8750-P`. */
export const isPerpetual = (instrument: string): boolean => /^[A-Z0-9]+(_[A-Z0-9]+)?-PERPETUAL$/i.test(instrument);
/** A pair before the dash is settled in its quote. */
export const isLinear = (instrument: string): boolean => instrument.includes('_');
/** Books, trades and open interest: amounts of base (linear) or of USD (inverse). */
export const toQuantityUnit = (instrument: string): QuantityUnit => (isLinear(instrument) ? 'base' : 'quote');

/** Perpetuals that use an index such as `btc_usd`: the known ones, or while none is known the one with that name. */
export const listSymbolsOfIndex = (index: string, { listings }: MapContext): readonly string[] => {
  if (listings.size > 0)
    return [...listings.values()].filter(({ values }) => values.pair === index).map((listing) => listing.venue_symbol);
  const [base = '', quote = ''] = index.toUpperCase().split('_');
  return [quote === 'USD' ? `${base}-PERPETUAL` : `${base}_${quote}-PERPETUAL`];
};
