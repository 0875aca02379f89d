// What MEXC's symbols and book messages imply: kind, and the range of versions a message covers.
import type { ClosedMinute } from '../contract/feed.ts';
import type { SymbolQuantity } from '../contract/mapping.ts';
import { makeSnapshotChain } from '../shared/book-sides.ts';
import type { Chain } from '../shared/book-sync.ts';
import { hasDigitEnd } from '../shared/symbol-names.ts';

/** `BTC_USD` is settled in coins; `BTC_USDT`, `BTC_USDC` and `BTC_USD1` in their quote. */
export const isInverse = (symbol: string): boolean => symbol.endsWith('_USD');

/** A contract with a delivery has its date as a third part: `BTC_USDT_260327`. */
export const isDated = (symbol: string): boolean => hasDigitEnd(symbol) && /_\d+$/.test(symbol);

/** Every quantity counts contracts; only the listing has their worth. */
export const toQuantity = (symbol: string): SymbolQuantity => ({
  venue_kind: isInverse(symbol) ? 'inverse' : 'linear',
  contract_size: null,
  quantity_unit: 'contracts',
});

type Range = { readonly begin: bigint | null; readonly end: bigint };

/** A merged update covers the versions `begin` to `end`, any other only its own. */
export const updateChain = (symbol: string, { begin, end }: Range): Chain => ({
  symbol,
  kind: 'update',
  first: begin ?? end,
  last: end,
  previous: null,
});

/** Chain of an update, or of a whole book's body, which omits its symbol. Other channels of the book are not part of it. */
export const readChain = (text: string): Chain | null => {
  const id = (name: string): bigint | null => {
    const digits = new RegExp(`"${name}":\\s*"?(\\d{1,40})\\b`).exec(text)?.[1];
    return digits === undefined ? null : BigInt(digits);
  };
  const channel = /"channel":\s*"([^"\\]*)"/.exec(text)?.[1];
  const version = id('version');
  if (version === null || !text.includes('"bids"')) return null;
  const symbol = /"symbol":\s*"([^"\\]+)"/.exec(text)?.[1] ?? '';
  if (channel === undefined || channel === 'push.depth.snapshot') return makeSnapshotChain(symbol, version);
  if (channel !== 'push.depth' || symbol === '') return null;
  return updateChain(symbol, { begin: id('begin'), end: id('end') ?? version });
};

const readSymbol = (text: string): string | undefined => /"symbol":\s*"([^"\\]+)"/.exec(text)?.[1];

/** Subscription of a frame, such as `ticker:BTC_USDT`; null for channels that may be quiet. */
export const readSubscription = (text: string): string | null => {
  const symbol = text.includes('"channel":"push.ticker"') ? readSymbol(text) : undefined;
  return symbol === undefined ? null : `ticker:${symbol}`;
};

/** The minute of a candle, taken as the newest: none is marked as closed. */
export const readNewestMinute = (text: string): ClosedMinute | null => {
  if (!text.includes('"channel":"push.kline"') || !text.includes('"interval":"Min1"')) return null;
  const symbol = readSymbol(text);
  const start = /"t":"?(\d+)/.exec(text)?.[1];
  return symbol === undefined || start === undefined ? null : { symbol, openMs: Number(start) * 1000 };
};
