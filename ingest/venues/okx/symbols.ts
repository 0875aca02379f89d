// What OKX's symbols and book frames imply: kind, quote, index, and the chain of a book message.
import type { ClosedMinute } from '../contract/feed.ts';
import type { MapContext } from '../contract/mapping.ts';
import type { Chain } from '../shared/book-sync.ts';

/** `BTC-USDT-SWAP`, `BTC-USD-SWAP` (inverse), `BTC-USD_UM-SWAP` (linear, counted in dollars). Everything else has a date, a strike or is spot. */
export const isSwap = (instId: string): boolean => /^[^-]+-[^-]+-SWAP$/.test(instId);

/** `BTC-USD_UM-SWAP` -> `BTC`, `USD`. */
export const splitSymbol = (instId: string): { readonly base: string; readonly quote: string } => {
  const [base = '', family = ''] = instId.split('-');
  return { base, quote: family.replace(/_.*$/, '') };
};

export const isInverse = (instId: string): boolean => /^[^-]+-USD-SWAP$/.test(instId);

/** Index of a pair: contracts in USDC use the dollar's since 2023-04-20. */
export const toIndex = (pair: string): string => pair.replace(/-USDC$/, '-USD');

/** Listings that use an index: the known ones, or while none is known the perpetual with that name. */
export const listSymbolsOfIndex = (index: string, { listings }: MapContext): readonly string[] => {
  if (listings.size === 0) return [`${index}-SWAP`];
  return [...listings.values()]
    .filter(({ values }) => values.pair === index || (values.pair !== null && toIndex(values.pair) === index))
    .map(({ venue_symbol }) => venue_symbol);
};

/** Levels a side of the channels that send a snapshot and then changes. */
export const DEPTHS: ReadonlyMap<string, number> = new Map([
  ['books', 400],
  ['books-l2-tbt', 400],
  ['books50-l2-tbt', 50],
]);

/** A channel's first message has no predecessor (`prevSeqId` -1); messages until 2022 have no ids. */
export const isFirst = (action: unknown, previous: bigint | null): boolean =>
  action === 'snapshot' || (action === undefined && (previous === null || previous === -1n));

/** Chain of a frame of the book; the levels are between the head and the ids. */
export const readChain = (text: string): Chain | null => {
  const channel = /"channel":"(books[^"]*)"/.exec(text)?.[1];
  const symbol = /"instId":"([^"\\]+)"/.exec(text)?.[1];
  if (channel === undefined || symbol === undefined || !DEPTHS.has(channel) || !isSwap(symbol)) return null;
  if (!text.includes('"data":[')) return null;
  const id = (name: string): bigint | null => {
    const digits = new RegExp(`"${name}":"?(-?\\d{1,40})\\b`).exec(text)?.[1];
    return digits === undefined ? null : BigInt(digits);
  };
  const action = /"action":"(\w+)"/.exec(text)?.[1];
  return toChain(symbol, { action, last: id('seqId'), previous: id('prevSeqId') });
};

type Ids = { readonly action: unknown; readonly last: bigint | null; readonly previous: bigint | null };

export const toChain = (symbol: string, { action, last, previous }: Ids): Chain =>
  isFirst(action, previous)
    ? { symbol, kind: 'snapshot', first: null, last, previous: null }
    : { symbol, kind: 'update', first: null, last, previous };

const ARGUMENT_LENGTH = 160;

/** Subscription of a frame, such as `tickers:BTC-USDT-SWAP`; null for channels about all swaps. */
export const readSubscription = (text: string): string | null => {
  const argument = /^\{"arg":\{[^}]*\}/.exec(text.slice(0, ARGUMENT_LENGTH))?.[0] ?? '';
  const channel = /"channel":"([^"\\]+)"/.exec(argument)?.[1];
  const instId = /"instId":"([^"\\]+)"/.exec(argument)?.[1];
  return channel === undefined || instId === undefined ? null : `${channel}:${instId}`;
};

/** The minute that a frame of candles of trades closes: marked by the last of a row's nine columns. */
export const readClosedMinute = (text: string): ClosedMinute | null => {
  if (!text.slice(0, ARGUMENT_LENGTH).includes('"candle1m"')) return null;
  const [channel, symbol] = readSubscription(text)?.split(':') ?? [];
  if (channel !== 'candle1m' || symbol === undefined) return null;
  const open = /\["?(\d+)"?(?:,"?[^",[\]]*"?){7},"?1"?\]/.exec(text)?.[1];
  return open === undefined ? null : { symbol, openMs: Number(open) };
};
