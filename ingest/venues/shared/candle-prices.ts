// Prices of a candle. Four zeros mean a minute without a price, and the venue's volume says whether it had trades.
import { isPositive } from '../../../schemas/decimals.ts';
import type { Digits } from '../../../schemas/records.ts';
import { makeBadFigure, readFigure } from './wire.ts';

type Names = 'open' | 'high' | 'low' | 'close';
type Sent = Readonly<Record<Names, unknown>>;
type CandlePrices = Readonly<Record<Names, Digits | null>>;

const NONE: CandlePrices = { open: null, high: null, low: null, close: null };

type Read = (value: unknown, name: string) => Digits | null;

/**
 * Zeros with a volume of zero: a minute without trades, published as such (H-12), without prices. Zeros without a volume (null: candles of marks and
 * indexes have none, and venues may leave it out): nothing is left of the candle, and the result is null. A zero beside a price or a volume is no figure.
 */
export const readCandlePrices = (sent: Sent, volume: Digits | null, read: Read = readFigure): CandlePrices | null => {
  const open = read(sent.open, 'open');
  const high = read(sent.high, 'high');
  const low = read(sent.low, 'low');
  const close = read(sent.close, 'close');
  const prices = { open, high, low, close };
  const isNone = open === '0' && high === '0' && low === '0' && close === '0';
  if (isNone && volume === null) return null;
  if (isNone && volume === '0') return NONE;
  for (const [name, digits] of Object.entries(prices))
    if (digits !== null && !isPositive(digits)) throw makeBadFigure(name, digits);
  return prices;
};
