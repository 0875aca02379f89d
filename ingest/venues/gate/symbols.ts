// What Gate's symbols and book frames imply: market, kind, and the chain of a book message.
import type { ClosedMinute } from '../contract/feed.ts';
import type { SymbolQuantity } from '../contract/mapping.ts';
import { makeSnapshotChain } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';

/** `BTC_USDT`, `BTC_USD`; contracts with a delivery end in their date: `BTC_USDT_20250328`. */
export const isPerpetual = (symbol: string): boolean => {
  const at = symbol.indexOf('_');
  return at > 0 && at < symbol.length - 1 && symbol.indexOf('_', at + 1) < 0;
};

/** The currency contracts settle in names the venue's endpoints. */
export const MARKETS = ['usdt', 'usd1', 'btc'] as const;
export type Market = (typeof MARKETS)[number];
export const toMarket = (symbol: string): Market => {
  if (symbol.endsWith('_USD')) return 'btc';
  return symbol.endsWith('_USD1') ? 'usd1' : 'usdt';
};

/** Settled in bitcoin: bitcoin itself is inverse, contracts of one USD; everything else quanto. */
export const inferQuantity = (symbol: string): SymbolQuantity => {
  if (toMarket(symbol) !== 'btc') return { venue_kind: 'linear', contract_size: null, quantity_unit: 'contracts' };
  const isInverse = symbol === 'BTC_USD';
  return {
    venue_kind: isInverse ? 'inverse' : 'quanto',
    contract_size: isInverse ? '1' : null,
    quantity_unit: 'contracts',
  };
};

/** `ob.BTC_USDT.400`: a book with 400 levels a side. */
export const parseStream = (stream: string): { readonly symbol: string; readonly depth: number } | null => {
  const [, symbol, depth] = /^ob\.(.+)\.(\d+)$/.exec(stream) ?? [];
  return symbol === undefined ? null : { symbol, depth: Number(depth) };
};

type Ids = { readonly first: bigint; readonly last: bigint };

export const updateChain = (symbol: string, { first, last }: Ids): Chain => ({
  symbol,
  kind: 'update',
  first,
  last,
  previous: null,
});

export const toSnapshotChain = (symbol: string, last: bigint, full?: Chain['full']): Chain => ({
  ...makeSnapshotChain(symbol, last),
  full,
});

/** Chain of a book frame, or of a snapshot's body (which omits its symbol). */
export const readChain = (text: string): Chain | null => {
  const channel = readChannel(text);
  if (channel === undefined) return readBodyChain(text);
  if (channel !== 'order_book_update' && channel !== 'obu') return null;
  const result = text.slice(Math.max(0, text.indexOf('"result":')));
  const first = /"U":"?(\d{1,40})\b/.exec(result)?.[1];
  const last = /"u":"?(\d{1,40})\b/.exec(result)?.[1];
  const name = /"s":"([^"\\_]*_[^"\\]*)"/.exec(result)?.[1];
  if (last === undefined || name === undefined) return null;
  const symbol = channel === 'obu' ? parseStream(name)?.symbol : name;
  if (symbol === undefined || !isPerpetual(symbol)) return null;
  if (/"full":true/.test(result)) return toSnapshotChain(symbol, BigInt(last));
  return first === undefined ? null : updateChain(symbol, { first: BigInt(first), last: BigInt(last) });
};

const readBodyChain = (text: string): Chain | null => {
  const id =
    text.includes('"asks":[') && text.includes('"current":') ? /"id":"?(\d{1,40})\b/.exec(text)?.[1] : undefined;
  return id === undefined ? null : toSnapshotChain('', BigInt(id));
};

const readChannel = (text: string): string | undefined =>
  /"channel":"futures\.([a-z_]+)"/.exec(text.slice(0, 300))?.[1];

/** Subscription of a frame, such as `tickers:BTC_USDT`, `candlesticks:mark_BTC_USDT`; null for channels that may be quiet. */
export const readSubscription = (text: string): string | null => {
  const channel = readChannel(text);
  if (channel !== 'tickers' && channel !== 'candlesticks') return null;
  const subject = channel === 'tickers' ? /"contract":"([^"\\]+)"/ : /"n":"1m_(mark_[^"\\]+)"/;
  const name = subject.exec(text)?.[1];
  return name === undefined ? null : `${channel}:${name}`;
};

/** The name of a minute of trades. */
const MINUTE = /"n":"1m_(?!mark_|index_)([^"\\]+)"/;

type Candle = ClosedMinute & { readonly isClosed: boolean | null };

/** The newest minute of trades in a frame; closed is null where the venue does not state it. */
const readCandle = (text: string): Candle | null => {
  if (readChannel(text) !== 'candlesticks') return null;
  // Names are searched within one object: a single pattern over both would try each name against the rest of the frame.
  const candle = text.match(/\{[^{}]*\}/g)?.findLast((object) => MINUTE.test(object)) ?? '';
  const open = /"t":"?(\d+)/.exec(candle)?.[1];
  const symbol = MINUTE.exec(candle)?.[1];
  if (symbol === undefined || open === undefined) return null;
  const flag = /"w":(true|false)/.exec(candle)?.[1];
  return { symbol, openMs: Number(open) * 1_000, isClosed: flag === undefined ? null : flag === 'true' };
};

/** The minute that a frame marks as closed. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  if (!text.includes('"w":true')) return null;
  const candle = readCandle(text);
  return candle?.isClosed === true ? { symbol: candle.symbol, openMs: candle.openMs } : null;
};

/** The newest minute of a frame without the closed mark, which not all frames have. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  const candle = readCandle(text);
  return candle?.isClosed === null ? { symbol: candle.symbol, openMs: candle.openMs } : null;
};
