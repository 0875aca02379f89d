// What KuCoin's symbols and topics imply: kind, unit, index, stamps, and the chain of a book message.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { Micros, QuantityUnit } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import type { MapContext, SymbolQuantity } from '../contract/mapping.ts';
import { makeSnapshotChain } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { isAbsent, makeBadFrame, readId } from '../shared/wire.ts';

/** Contracts with a delivery date end in its month and year: `XBTMM22`. */
export const isDated = (symbol: string): boolean => /M[FGHJKMNQUVXZ]\d{2}$/.test(symbol);

/** `XBTUSDM` counts dollars, `XBTUSDTM` coins. */
export const isInverse = (symbol: string): boolean => symbol.endsWith('USDM');

/** Books, trades, open interest and candles count lots. */
export const toQuantity = (symbol: string): SymbolQuantity => ({
  venue_kind: isInverse(symbol) ? 'inverse' : 'linear',
  contract_size: isInverse(symbol) ? '1' : null,
  quantity_unit: 'contracts',
});

/** The day's volume counts coins, or lots for inverse contracts, whose turnover counts coins and is no quote amount. */
export const toVolumeUnit = (symbol: string): QuantityUnit => (isInverse(symbol) ? 'contracts' : 'base');

/** Listings that use an index (`.KXBTUSDT`): the known ones, or while none is known the perpetual with that name. */
export const listSymbolsOfIndex = (index: string, { listings }: MapContext): readonly string[] => {
  if (listings.size > 0) {
    return [...listings.values()].filter(({ values }) => values.pair === index).map((l) => l.venue_symbol);
  }
  const name = /^\.[KB](.+)$/.exec(index)?.[1];
  if (name === undefined) return [];
  return [/USD[TC]?$/.test(name) ? `${name}M` : `${name}USDM`];
};

/** `.XBTUSDTMFPI8H` is the funding rate of `XBTUSDTM`. */
export const toFundedSymbol = (name: string): string => /^\.(.+)FPI(?:\d+H)?$/.exec(name)?.[1] ?? name;

/** 2001 in microseconds, and in nanoseconds: the venue stamps in all three units, two of them on one topic. */
const FIRST_MICROS = 10n ** 15n;
const FIRST_NANOS = 10n ** 18n;
/** 2100-01-01 in microseconds, the end of our range (N-03). */
const LATEST_MICROS = 4_102_444_800_000_000n;

/** Milliseconds, microseconds or nanoseconds, distinguished by their size, to microseconds (truncated). Null, absent and zero: no stamp. */
export const readStamp = (value: unknown, name: string): Micros | null => {
  if (isAbsent(value)) return null;
  const stamp = BigInt(readId(value, name));
  if (stamp === 0n) return null;
  const micros = stamp >= FIRST_NANOS ? stamp / 1000n : stamp >= FIRST_MICROS ? stamp : stamp * 1000n;
  if (stamp < 0n || micros > LATEST_MICROS) throw makeBadFrame(`${name} is not an instant`);
  return Number(micros);
};

/** Chain of an update, or of a whole book's body. Other topics of the book (`level2Depth5`) are not part of it. */
export const readChain = (text: string): Chain | null => {
  const sequence = /"sequence":\s*"?(-?\d{1,40})\b/.exec(text)?.[1];
  if (sequence === undefined) return null;
  const symbol = /"topic":\s*"\/contractMarket\/level2:([^"\\]+)"/.exec(text)?.[1];
  if (symbol !== undefined) return isDated(symbol) ? null : updateChain(symbol, BigInt(sequence));
  if (text.includes('"topic"') || !text.includes('"bids"')) return null;
  return makeSnapshotChain(/"symbol":\s*"([^"\\]+)"/.exec(text)?.[1] ?? '', BigInt(sequence));
};

/** One change a message: each sequence is the last one plus one. */
export const updateChain = (symbol: string, sequence: bigint): Chain => ({
  symbol,
  kind: 'update',
  first: sequence,
  last: sequence,
  previous: sequence - 1n,
});

/** The topic of a frame of marks or of the day's figures, which arrive at stated rates; null for topics that may be quiet. */
export const readSubscription = (text: string): string | null =>
  /"topic":"(\/contract\/instrument:[^",]+|\/contractMarket\/snapshot:[^",]+)"/.exec(text)?.[1] ?? null;

/** The minute of a candle sent after its end. No frame marks it, and the last frame within a minute may lack the trades of its last second. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  const symbol = /"topic":"\/contractMarket\/limitCandle:([^",]+)_1min"/.exec(text)?.[1];
  const start = /"candles":\["?(\d+)\b/.exec(text)?.[1];
  const sentMs = /"time":"?(\d{13})\b/.exec(text)?.[1];
  if (symbol === undefined || start === undefined || sentMs === undefined || isDated(symbol)) return null;
  const openMs = Number(start) * 1000;
  return Number(sentMs) >= openMs + MS_PER_MINUTE ? { symbol, openMs } : null;
};
