// What Bitget's symbols, arguments and book frames imply: product type, what is no perpetual, the chain of a book message.
import type { ClosedMinute } from '../contract/feed.ts';
import { makeSnapshotChain, type Sides, toFullSides } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { hasDigitEnd } from '../shared/symbol-names.ts';

type Market = 'linear' | 'inverse';

/** Margined in the coin (`BTCUSD_CM`, `BTCUSD`, `BTCUSD_DMCBL`): inverse. `BTCUSDT`, `BTCPERP` (USDC) and their v1 names are linear. */
export const toMarket = (symbol: string): Market => (/USD(_DMCBL|_CM)?$/.test(symbol) ? 'inverse' : 'linear');

/** Orders, trades and levels of the unified coin-margined line (`BTCUSD_CM`) are amounts of dollars; all others, also of the older `BTCUSD`, of the base asset. */
export const toQuantityUnit = (symbol: string): 'base' | 'quote' => (symbol.endsWith('USD_CM') ? 'quote' : 'base');

/** `BTCUSDZ24`, `BTCCMZ26`, `ETHUSD_231229`, `BTCUSD_DMCBL_220624`. */
export const isDated = (symbol: string): boolean =>
  hasDigitEnd(symbol) && /_\d{6}$|(USD[TC]?|CM)[FGHJKMNQUVXZ]\d{2}$/.test(symbol);

/** The product types of futures by version: `mc` (v1), `USDT-FUTURES` (v2), `usdt-futures` (v3). Spot and margin share the socket. */
const FUTURES: ReadonlySet<string> = new Set(['mc', 'usdt-futures', 'usdc-futures', 'coin-futures']);

export const isFutures = (instType: unknown): boolean =>
  typeof instType === 'string' && (FUTURES.has(instType) || FUTURES.has(instType.toLowerCase()));

/** Product type of a listing in v3's arguments and requests. */
export const toProduct = (symbol: string): string => {
  if (symbol.endsWith('USDT')) return 'usdt-futures';
  return /(PERP|USDC)$/.test(symbol) ? 'usdc-futures' : 'coin-futures';
};

/** Update ids as text: v3's exceed 2^53. Null where the version has none (v1, early v2). */
export type BookIds = { readonly seq: string | null; readonly pseq: string | null };

/** Ids of the first book in a text. Read before the parse, they keep all digits. */
export const readIds = (text: string): BookIds => ({
  seq: /"seq":"?(\d{1,40})\b/.exec(text)?.[1] ?? null,
  pseq: /"pseq":"?(\d{1,40})\b/.exec(text)?.[1] ?? null,
});

type BookName = { readonly symbol: string; readonly channel: string; readonly action: unknown };

/** A snapshot of the best n levels is whole as far as they reach; an update changes levels, whatever its channel. The best level alone is never our book. */
export const toChain = ({ symbol, channel, action }: BookName, ids: BookIds, sides: Sides | null): Chain | null => {
  if (channel === 'books1') return null;
  const last = ids.seq === null ? null : BigInt(ids.seq);
  if (action === 'update')
    return { symbol, kind: 'update', first: null, last, previous: ids.pseq === null ? null : BigInt(ids.pseq) };
  const chain = makeSnapshotChain(symbol, last);
  const depth = Number(channel.slice('books'.length));
  return depth === 0 || sides === null ? chain : { ...chain, full: toFullSides(sides, depth) };
};

/** v3 puts its argument after the levels, v1 and v2 before them. */
export const readChain = (text: string): Chain | null => {
  const channel = /"(?:channel|topic)":"(books\d*)"/.exec(text)?.[1];
  if (channel === undefined) return null;
  const action = /"action":"(snapshot|update)"/.exec(text)?.[1];
  const symbol = /"(?:symbol|instId)":"([^"\\]+)"/.exec(text)?.[1];
  const instType = /"instType":"([^"\\]+)"/.exec(text)?.[1];
  if (action === undefined || symbol === undefined || isDated(symbol) || !isFutures(instType)) return null;
  return toChain({ symbol, channel, action }, readIds(text), null);
};

/** Subscription of a v3 frame, such as `ticker:BTCUSDT`; null for topics that may be quiet. */
export const readSubscription = (text: string): string | null => {
  const topic = /"topic":"(ticker|books)"/.exec(text)?.[1];
  const symbol = /"(?:symbol|instId)":"([^"\\]+)"/.exec(text)?.[1];
  return topic === undefined || symbol === undefined ? null : `${topic}:${symbol}`;
};

/** The newest minute of a v3 frame of candles, whose rows are lists or objects; no frame marks a minute as closed. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  if (!text.includes('"topic":"kline"') || !text.includes('"interval":"1m"')) return null;
  const symbol = /"(?:symbol|instId)":"([^"\\]+)"/.exec(text)?.[1];
  const starts = [...text.matchAll(/(?:\["?|"start":"?)(\d{13})\b/g)].map(([, start]) => Number(start));
  return symbol === undefined || starts.length === 0 ? null : { symbol, openMs: Math.max(...starts) };
};
