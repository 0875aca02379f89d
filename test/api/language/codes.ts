// The codes that the language's tests take as known: a small market with one of each peculiar name.
import { type Codes, foldCase } from '../../../api/language/codes.ts';

const BASES = ['BTC', 'ETH', 'SOL', 'PEPE', 'kPEPE', '1INCH', '币安人生', 'OR', 'SELECT'];

const known = (key: keyof Codes, codes: readonly string[]): ReadonlyMap<string, string> =>
  new Map(codes.map((code) => [foldCase(key, code), code]));

export const CODES: Codes = {
  instrument: known(
    'instrument',
    BASES.map((base) => `${base}-PERP`),
  ),
  base: known('base', BASES),
  venue: known('venue', ['binance', 'bybit', 'kraken-futures', 'okx']),
  quote: known('quote', ['USD', 'USDC', 'USDT']),
};
