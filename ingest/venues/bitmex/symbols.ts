// What BitMEX' symbols and book frames imply: perpetual or not, unit of quantities, and the chain of a book message.
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import type { ClosedMinute } from '../contract/feed.ts';
import type { SymbolQuantity } from '../contract/mapping.ts';
import type { Chain } from '../shared/book-sync.ts';

/** `XBTZ21` has a delivery month, `.BXBT` is an index, `XBT_USDT` is spot, `ETHUSD_ETH` a perpetual in dollars that is settled in its base. */
export const isPerpetual = (symbol: string): boolean =>
  /^(?:[A-Z0-9]+|([A-Z0-9]+)USD_\1)$/.test(symbol) && !/[FGHJKMNQUVXZ]\d{2}$/.test(symbol);

/** Types of perpetual contracts: on crypto, on foreign exchange, on stocks and goods. */
const PERPETUAL_TYPES: ReadonlySet<unknown> = new Set(['FFWCSX', 'FFWCSF', 'FFSCSX']);
export const isPerpetualType = (typ: unknown): boolean => PERPETUAL_TYPES.has(typ);

/** Types other than perpetual: futures, options, swap rates, spot, baskets, indices. For any other type, known or not, the symbol decides. */
export const isOtherType = (typ: unknown): boolean =>
  /^(FFCC|FFIC|FFMC|FMXX|FXXX|SRMC|RCSX|O|IFXXXP|M)/.test(String(typ));

/** Bitcoin in a fiat currency is inverse, with contracts of one unit of it; other symbols imply no unit. */
export const inferQuantity = (symbol: string): SymbolQuantity => {
  const isInverse = /^XBT(USD|EUR)$/.test(symbol);
  return {
    venue_kind: isInverse ? 'inverse' : null,
    contract_size: isInverse ? '1' : null,
    quantity_unit: 'contracts',
  };
};

/** Tables of levels by id: the whole book, or its best 25 a side. */
export type BookTable = 'orderBookL2' | 'orderBookL2_25';
export const isBookTable = (table: unknown): table is BookTable =>
  table === 'orderBookL2' || table === 'orderBookL2_25';

/** The venue numbers nothing: a chain shows only where a book starts. */
export const toChain = (symbol: string, table: BookTable, kind: 'snapshot' | 'update'): Chain => {
  const unnumbered = { symbol, first: null, last: null, previous: null };
  if (kind === 'update') return { ...unnumbered, kind };
  const isWhole = table === 'orderBookL2';
  return { ...unnumbered, kind, full: { bids: isWhole, asks: isWhole } };
};

/**
 * A book that eligible market makers quote beside the public one, in rows of the same tables with the same ids. A subscription gets it only when it asks
 * for it: by default, books are those of both pools together (`Aggregated`).
 */
export const OTHER_POOL = 'Secondary';

/** Chain of a frame of levels; an empty partial has its symbol in its filter only. */
export const readChain = (text: string): Chain | null => {
  const [, table, action] = /^\{"table":"(orderBookL2(?:_25)?)","action":"([a-z]+)"/.exec(text.slice(0, 100)) ?? [];
  if (!isBookTable(table) || text.includes(`"pool":"${OTHER_POOL}"`)) return null;
  const symbol =
    /"filter":\{[^{}]*?"symbol":"([^"\\]+)"/.exec(text.slice(0, 1000))?.[1] ??
    /"data":\[\{"symbol":"([^"\\]+)"/.exec(text)?.[1];
  if (symbol === undefined || !isPerpetual(symbol)) return null;
  return toChain(symbol, table, action === 'partial' ? 'snapshot' : 'update');
};

/**
 * Subscription of a frame, such as `instrument:XBTUSD`; null for tables that may be quiet. An acknowledgement names its own: the partial of an
 * empty table names no symbol.
 */
export const readSubscription = (text: string): string | null => {
  const acknowledged = /^\{"success":true,"subscribe":"([^"\\]+)"/.exec(text.slice(0, 200))?.[1];
  if (acknowledged !== undefined) return acknowledged;
  if (!text.startsWith('{"table":"instrument"')) return null;
  const symbol = /"symbol":"([^"\\]+)"/.exec(text.slice(Math.max(text.indexOf('"data":['), 0)))?.[1];
  return symbol === undefined ? null : `instrument:${symbol}`;
};

/** The minute of a frame of bins: each arrives after its minute, stamped with its end. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  const action = /^\{"table":"tradeBin1m","action":"(partial|insert)"/.exec(text.slice(0, 60))?.[1];
  if (action === undefined) return null;
  const row = text.slice(Math.max(text.indexOf('"data":['), 0));
  const symbol = /"symbol":"([^"\\]+)"/.exec(row)?.[1];
  const endMs = Date.parse(/"timestamp":"([^"\\]+)"/.exec(row)?.[1] ?? '');
  return symbol === undefined || Number.isNaN(endMs) ? null : { symbol, openMs: endMs - MS_PER_MINUTE };
};
