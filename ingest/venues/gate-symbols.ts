// What Gate's symbols and book frames say by themselves: market, kind, and the chain of a book message.
import type { ListingValues } from '../../schemas/records.ts';
import type { Chain } from '../venue.ts';

/** `BTC_USDT`, `BTC_USD`; contracts with a delivery end in their date: `BTC_USDT_20250328`. */
export const isPerpetual = (symbol: string): boolean => /^[^_]+_[^_]+$/.test(symbol);

/** The currency contracts settle in names the venue's endpoints. */
export type Market = 'usdt' | 'btc';
export const marketOf = (symbol: string): Market => (symbol.endsWith('_USD') ? 'btc' : 'usdt');

export type SymbolQuantity = Pick<ListingValues, 'venue_kind' | 'contract_size' | 'quantity_unit'>;

/** Settled in bitcoin: bitcoin itself is inverse, contracts of one USD; everything else quanto. */
export const impliedQuantity = (symbol: string): SymbolQuantity => {
  if (marketOf(symbol) === 'usdt') return { venue_kind: 'linear', contract_size: null, quantity_unit: 'contracts' };
  const isInverse = symbol === 'BTC_USD';
  return {
    venue_kind: isInverse ? 'inverse' : 'quanto',
    contract_size: isInverse ? '1' : null,
    quantity_unit: 'contracts',
  };
};

/** `ob.BTC_USDT.400`: a book of so many levels a side. */
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

export const snapshotChain = (symbol: string, last: bigint, full?: Chain['full']): Chain => ({
  symbol,
  kind: 'snapshot',
  first: null,
  last,
  previous: null,
  full,
});

/** Chain of a book frame, or of a snapshot's body (which leaves its symbol out). */
export const readChain = (text: string): Chain | null => {
  const channel = /"channel":"futures\.([a-z_]+)"/.exec(text.slice(0, 300))?.[1];
  if (channel === undefined) return readBodyChain(text);
  if (channel !== 'order_book_update' && channel !== 'obu') return null;
  const result = text.slice(Math.max(0, text.indexOf('"result":')));
  const first = /"U":(\d+)/.exec(result)?.[1];
  const last = /"u":(\d+)/.exec(result)?.[1];
  const name = /"s":"([^"\\]*_[^"\\]*)"/.exec(result)?.[1];
  if (first === undefined || last === undefined || name === undefined) return null;
  const symbol = channel === 'obu' ? parseStream(name)?.symbol : name;
  if (symbol === undefined || !isPerpetual(symbol)) return null;
  const isFull = /"full":true/.test(result);
  return isFull
    ? snapshotChain(symbol, BigInt(last))
    : updateChain(symbol, { first: BigInt(first), last: BigInt(last) });
};

const readBodyChain = (text: string): Chain | null => {
  const id = text.includes('"asks":[') && text.includes('"current":') ? /"id":(\d+)/.exec(text)?.[1] : undefined;
  return id === undefined ? null : snapshotChain('', BigInt(id));
};
