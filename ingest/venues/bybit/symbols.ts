// What Bybit's symbols and topics imply: market, unit, what is no perpetual, and the chain of a book message.
import type { BookRecord, QuantityUnit } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import { makeSnapshotChain, type Sides, toFullSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { hasDigitEnd } from '../shared/symbol-names.ts';

export type Market = 'linear' | 'inverse';

/** `BTCUSD` is inverse; `BTCUSDT` and the USDC perpetual `BTCPERP` are linear. */
export const toMarket = (symbol: string): Market => (symbol.endsWith('USD') ? 'inverse' : 'linear');
/** Linear books, trades, open interest and volume count the base asset, inverse ones US dollars. */
export const toQuantityUnit = (symbol: string): QuantityUnit => (toMarket(symbol) === 'linear' ? 'base' : 'quote');
/** `BTCUSDT-25DEC26`, `BTC-25DEC26`, options (`BTC-6JAN23-17500-C`) and inverse futures by month code (`BTCUSDU23`). */
const isDated = (symbol: string): boolean =>
  symbol.includes('-') || (hasDigitEnd(symbol) && /USD[FGHJKMNQUVXZ]\d{2}$/.test(symbol));

/** False for dated instruments and for spreads, which are two instruments: `SOLUSDT_SOL/USDT`. */
export const isPerpetual = (symbol: string): boolean => !isDated(symbol) && !symbol.includes('/');

/** The best level alone is repeated every three seconds and is never the followed book: it has no chain. */
const TOP_DEPTH = '1';

/** Kind of a book message: `u` 1 is the whole book after a restart of the venue's service, whatever its type. */
export const toBookKind = (type: unknown, u: bigint): BookRecord['values']['kind'] =>
  type === 'snapshot' || u === 1n ? 'snapshot' : 'update';

type BookIds = {
  readonly symbol: string;
  readonly depth: string;
  readonly kind: BookRecord['values']['kind'];
  readonly u: bigint;
  /** Null when they are not read. */
  readonly sides: Sides | null;
};

/** `u` rises by one a message. */
export const toChain = ({ symbol, depth, kind, u, sides }: BookIds): Chain | null => {
  if (depth === TOP_DEPTH) return null;
  const chain: Chain = { symbol, kind, first: kind === 'snapshot' ? null : u, last: u, previous: null };
  if (sides === null) return chain;
  const levels = Number(depth);
  return kind === 'update' ? { ...chain, depth: levels } : { ...chain, full: toFullSides(sides, levels) };
};

/** The ids follow the levels, so the end of the text is read. */
export const readChain = (text: string): Chain | null => {
  if (text.startsWith('{"retCode":')) return readAnswerChain(text);
  const [, depth, symbol] = /"topic":"orderbook\.(\d+)\.([^"\\]+)"/.exec(text.slice(0, 200)) ?? [];
  if (depth === undefined || symbol === undefined || !isPerpetual(symbol)) return null;
  const id = /"u":"?(\d{1,40})\b/.exec(text.slice(-200))?.[1] ?? /"u":"?(\d{1,40})\b/.exec(text)?.[1];
  if (id === undefined) return null;
  const u = BigInt(id);
  const isSnapshot = text.slice(0, 200).includes('"type":"snapshot"');
  return toChain({ symbol, depth, kind: toBookKind(isSnapshot ? 'snapshot' : 'delta', u), u, sides: null });
};

const readAnswerChain = (text: string): Chain | null => {
  const symbol = /"result":\{"s":"([^"\\]+)"/.exec(text)?.[1];
  const u = /"u":"?(\d{1,40})\b/.exec(text)?.[1];
  return symbol === undefined || u === undefined ? null : makeSnapshotChain(symbol, BigInt(u));
};

/** Topics that are never quiet for long. */
const STEADY = /"topic":"((?:tickers|kline\.1|orderbook\.\d+)\.[^"\\]+)"/;

export const readSubscription = (text: string): string | null => STEADY.exec(text.slice(0, 200))?.[1] ?? null;

const CLOSED = '"confirm":true';

/** The minute that a candle frame closes; `start` and `confirm` are members of one object. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  const symbol = /"topic":"kline\.1\.([^"\\]+)"/.exec(text.slice(0, 200))?.[1];
  if (symbol === undefined) return null;
  if (!text.includes(CLOSED)) return null;
  // A single pattern over both members would try each `start` against the rest of the frame.
  for (const members of text.split(/[{}]/)) {
    const start = /"start":"?(\d+)/.exec(members.slice(0, Math.max(0, members.lastIndexOf(CLOSED))))?.[1];
    if (start !== undefined) return { symbol, openMs: Number(start) };
  }
  return null;
};
