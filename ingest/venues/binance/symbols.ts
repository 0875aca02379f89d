// What Binance's symbols and streams imply: market, unit, dates, and the chain of a book message.
import type { QuantityUnit } from '../../../schemas/records.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import type { MapContext } from '../contract/mapping.ts';
import { makeSnapshotChain } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';

export type Market = 'usdm' | 'coinm';

/** `BTCUSDT`: USD-M; `BTCUSD_PERP`: COIN-M. */
export const toMarket = (symbol: string): Market => (symbol.endsWith('_PERP') ? 'coinm' : 'usdm');
/** Delivery contracts end in their date: `BTCUSD_210924`. Options, which share the sockets of futures, have it inside: `BTC-260327-100000-C`. */
export const isDated = (symbol: string): boolean => /_\d{6}$|-\d{6}-/.test(symbol);
/** USD-M counts base units, COIN-M contracts, in books, trades, open interest and volume. */
export const toQuantityUnit = (symbol: string): QuantityUnit => (toMarket(symbol) === 'usdm' ? 'base' : 'contracts');

/** Pair of a perpetual whose listing names none: what is before `_PERP`. */
export const toPair = (symbol: string): string => symbol.replace(/_PERP$/, '');

/** Market of a request's path. */
export const toMarketOfPath = (path: string): Market => (path.includes('/dapi/') ? 'coinm' : 'usdm');

/** Only for pairs without any known listing: those of COIN-M, and no others, are quoted in dollars (`BTCUSD`). */
const guessMarket = (pair: string): Market => (pair.endsWith('USD') ? 'coinm' : 'usdm');

/** Listings that use a pair's index: the known ones, or while none is known the perpetual with that name. `market`: null where the message has none. */
export const listSymbolsOfPair = (pair: string, market: Market | null, { listings }: MapContext): readonly string[] => {
  if (isDated(pair)) return [];
  if (listings.size === 0) return [(market ?? guessMarket(pair)) === 'usdm' ? pair : `${pair}_PERP`];
  return [...listings.values()]
    .filter((l) => l.values.pair === pair && (market === null || toMarket(l.venue_symbol) === market))
    .map((l) => l.venue_symbol);
};

/** Levels of an answer that is requested for its update id only; whole books are requested with 1,000. */
export const CONFIRMING_LEVELS = '5';

/** Streams of the best 5, 10 or 20 levels: whole messages outside the chain of diffs. */
export const PARTIAL = /@depth(5|10|20)(@|"|$)/;

/** Diffs of the book with orders of retail price improvement, which match no other orders: not the book we follow. */
export const RETAIL = /@rpiDepth(@|"|$)/;

/** Chain of a diff frame, or of a snapshot's body (its symbol is empty where the venue omits it). */
export const readChain = (text: string): Chain | null => {
  const head = text.slice(0, 400);
  if (head.includes('"e":"depthUpdate"')) return PARTIAL.test(head) || RETAIL.test(head) ? null : readDiffChain(head);
  if (head.includes('"e":"')) return null;
  const id = /"lastUpdateId":"?(\d+)/.exec(text)?.[1];
  return id === undefined ? null : makeSnapshotChain(/"symbol":"([^"\\]+)"/.exec(text)?.[1] ?? '', BigInt(id));
};

/** The ids precede the levels; other members may come between them (the venue adds some at times). */
const readDiffChain = (head: string): Chain | null => {
  const symbol = /"s":"([^"\\]+)"/.exec(head)?.[1];
  const first = /"U":"?(\d+)/.exec(head)?.[1];
  const last = /"u":"?(\d+)/.exec(head)?.[1];
  const previous = /"pu":"?(-?\d+)/.exec(head)?.[1];
  if (symbol === undefined || first === undefined || last === undefined || previous === undefined || isDated(symbol))
    return null;
  return { symbol, kind: 'update', first: BigInt(first), last: BigInt(last), previous: BigInt(previous) };
};

/** Streams that are never quiet for long, by the event of their frames. */
const WATCHED: Readonly<Record<string, string>> = {
  depthUpdate: 'depth@100ms',
  markPriceUpdate: 'markPrice@1s',
  indexPriceUpdate: 'indexPrice',
  IndexUpdate: 'indexPrice',
  '24hrTicker': 'ticker',
};

/** Subscription of a frame, such as `btcusdt@markPrice@1s`; null for streams that may be quiet, such as trades. */
export const readSubscription = (text: string): string | null => {
  const stream = WATCHED[readEvent(text)];
  if (stream === undefined) return null;
  const symbol = /"[si]":"([^"\\]+)"/.exec(text.slice(0, HEAD_LENGTH))?.[1];
  return symbol === undefined ? null : `${symbol.toLowerCase()}@${stream}`;
};

const HEAD_LENGTH = 180;

/** The event is the first member, except in the index's frames, where it is last. */
const readEvent = (text: string): string =>
  text.startsWith('{"e":"') ? text.slice(6, text.indexOf('"', 6)) : (/^\{"E":.*"e":"(\w+)"\}$/.exec(text)?.[1] ?? '');

/** The minute that a kline frame closes. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  if (!text.startsWith('{"e":"kline"') || !text.includes('"x":true')) return null;
  const symbol = /"s":"([^"\\]+)"/.exec(text)?.[1];
  const openMs = /"t":"?(\d+)/.exec(text)?.[1];
  return symbol === undefined || openMs === undefined ? null : { symbol, openMs: Number(openMs) };
};
