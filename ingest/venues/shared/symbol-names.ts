// Parses venue symbols: multipliers before a base, dates at the end of a symbol.
import type { Digits } from '../../../schemas/records.ts';
import { makeWords } from './wire.ts';

/** `1000PEPE`, `10000000AIDOGE`, `1000X`, `1MBABYDOGE`: one listed unit is that many of the base (V-04). `1INCH` is a name. */
export const splitMultiplier = (asset: string): { readonly base: string; readonly multiplier: Digits } => {
  const [, ahead, name] = /^(10{3,7}|1M)([A-Z][A-Z0-9]*)$/.exec(MILLIONS[asset] ?? asset) ?? [];
  if (ahead === undefined || name === undefined) return { base: asset, multiplier: '1' };
  return { base: name, multiplier: ahead === '1M' ? '1000000' : ahead };
};

/** Names whose `M` means a million, as their price shows; MANA's does not. */
const MILLIONS = makeWords({ MBABYDOGE: '1MBABYDOGE' });

/**
 * Tickers of a coin that a share has too, at some venue or other, as seen in September 2026 (D-1177): BlackBerry, Caterpillar, ON Semiconductor,
 * Hyperliquid Strategies, Quantinuum, RTX.
 */
const SHARED_TICKERS: ReadonlySet<string> = new Set(['BB', 'CAT', 'ON', 'PURR', 'QNT', 'RTX']);

/** The code of a share: the coin has the ticker (V-04). */
export const toShareCode = (ticker: string): string => (SHARED_TICKERS.has(ticker) ? `${ticker}2` : ticker);

/** Whether a symbol ends in a digit, as a date does: spares most symbols a slower test. */
export const hasDigitEnd = (symbol: string): boolean => {
  const last = symbol.charCodeAt(symbol.length - 1);
  return last >= 0x30 && last <= 0x39;
};
