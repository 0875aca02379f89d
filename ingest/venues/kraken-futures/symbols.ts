// What Kraken Futures' symbols and book frames imply: kind, unit of quantities, and the chain of a book message.
import type { PriceType } from '../../../schemas/records.ts';
import type { SymbolQuantity } from '../contract/mapping.ts';
import type { Chain } from '../shared/book-sync.ts';

/**
 * `PI_`: inverse, contracts of one USD. `PF_`: multi-collateral linear, amounts of the base. `PV_` (delisted): linear, contracts of one base.
 * Everything else has a maturity (`FI_`, `FF_`) or is an index (`in_`, `rr_`).
 */
const KINDS: readonly (readonly [prefix: string, quantity: SymbolQuantity])[] = [
  ['PF_', { venue_kind: 'linear', contract_size: '1', quantity_unit: 'base' }],
  ['PI_', { venue_kind: 'inverse', contract_size: '1', quantity_unit: 'contracts' }],
  ['PV_', { venue_kind: 'linear', contract_size: '1', quantity_unit: 'contracts' }],
];

/** Null: no perpetual. Old reference answers have symbols in lower case. */
export const toQuantity = (symbol: string): SymbolQuantity | null =>
  findKind(symbol) ?? findKind(symbol.slice(0, 3).toUpperCase());

const findKind = (symbol: string): SymbolQuantity | null => {
  for (const [prefix, quantity] of KINDS) if (symbol.startsWith(prefix)) return quantity;
  return null;
};

/** Charts of candles. */
export type ChartType = 'trade' | 'mark' | 'spot';
export const PRICE_TYPES: ReadonlyMap<string, PriceType> = new Map<ChartType, PriceType>([
  ['trade', 'trade'],
  ['mark', 'mark'],
  ['spot', 'index'],
]);

/** Snapshots contain the venue's whole book, whatever its depth. */
export const toChain = (symbol: string, kind: Chain['kind'], sequence: bigint): Chain => {
  if (kind === 'update') return { symbol, kind, first: sequence, last: sequence, previous: null };
  return { symbol, kind, first: null, last: sequence, previous: null, full: { bids: true, asks: true } };
};

/** Chain of a `book` or `book_snapshot` frame; feed and product precede the levels. */
export const readChain = (text: string): Chain | null => {
  const head = text.slice(0, 400);
  const feed = /"feed":"(book|book_snapshot)"/.exec(head)?.[1];
  const symbol = /"product_id":"([^"\\]+)"/.exec(head)?.[1];
  const sequence = /"seq":"?(\d+)/.exec(head)?.[1];
  if (feed === undefined || symbol === undefined || sequence === undefined || toQuantity(symbol) === null) return null;
  return toChain(symbol, feed === 'book' ? 'update' : 'snapshot', BigInt(sequence));
};

/** Subscription of a frame, such as `ticker:PF_XBTUSD`. A ticker has its feed after its figures. */
export const readSubscription = (text: string): string | null => {
  const feed = /"feed":"(ticker|book|trade)(?:_snapshot)?"/.exec(text.slice(0, 600))?.[1];
  const symbol = /"product_id":"([^"\\]+)"/.exec(text.slice(0, 600))?.[1];
  return feed === undefined || symbol === undefined ? null : `${feed}:${symbol}`;
};
