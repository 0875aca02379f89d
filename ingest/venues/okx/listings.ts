// OKX's reference answers: instruments and funding rates become listings (records.md, V-02 to V-04).
import { multiply } from '../../../schemas/decimals.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { Digits, ListingRecord, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readEntries, readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
import {
  type Fields,
  isAbsent,
  isFields,
  makeBadFrame,
  makeRefusal,
  makeWords,
  parseRequest,
  readFields,
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { isSwap, splitSymbol } from './symbols.ts';

/** Milliseconds by venue symbol, from the answers about funding. */
type Intervals = Record<string, number>;

/** Notes the intervals of a funding-rate answer, if any; an instruments answer about swaps is the whole reference. */
export const mapReference = (state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const request = parseRequest(message.request);
  const endpoint = /\/api\/v5\/public\/(funding-rate|instruments)$/.exec(request?.path ?? '')?.[1];
  if (endpoint === undefined) return null;
  return readMessage(message.payload, (body) => {
    // Without this answer the listings have no interval, but they exist.
    if (endpoint === 'funding-rate' && isRefused(body)) return null;
    const rows = readData(body);
    if (endpoint === 'funding-rate') {
      const known = (state.intervals ?? {}) as Intervals;
      state.intervals = { ...known, ...toIntervals(rows) };
      return null;
    }
    const swaps = rows.filter((row) => !isFields(row) || isPerpetual(row));
    // An answer about spot or dated contracts does not concern our listings, nor which were delisted.
    if (!swaps.some(isFields)) return null;
    const intervals = (state.intervals ?? {}) as Intervals;
    return {
      scope: 'swap',
      ...readListings({ rows: swaps, name: 'instId' }, (item) => toListing(item, message, intervals)),
      elements: () => splitElements(message.payload, 'instId'),
    };
  });
};

/** Types other than swap; for any other type, known or not, the name decides. */
const OTHER_TYPES: ReadonlySet<unknown> = new Set(['SPOT', 'MARGIN', 'FUTURES', 'OPTION']);

const isPerpetual = ({ instType, instId }: Fields): boolean =>
  instType === 'SWAP' || (isSwap(String(instId)) && !OTHER_TYPES.has(instType));

const isRefused = (body: unknown): boolean => String(readFields(body, 'answer').code) !== '0';

/** `data` of an answer. Throws when the venue refused. */
const readData = (body: unknown): readonly unknown[] => {
  const answer = readFields(body, 'answer');
  if (isRefused(body)) throw makeRefusal(`${String(answer.code)} ${String(answer.msg)}`);
  return readList(answer.data, 'data');
};

/** The same with each element as an object; a list is the member `row` of one. */
export const readAnswer = (body: unknown): readonly Fields[] =>
  readData(body).map((item) => (Array.isArray(item) ? { row: item } : readFields(item, 'data')));

const toIntervals = (data: readonly unknown[]): Intervals =>
  readEntries(data, (item) => {
    const interval = readInterval(item);
    return interval === null ? null : [readText(item.instId, 'instId'), interval];
  });

/** The coming settlement and the one after it define the interval, which the venue may change at any time (8, 6, 4, 2 or 1 hours). */
export const readInterval = (item: Fields): number | null => {
  const coming = readMsOrNull(item.fundingTime, 'fundingTime');
  const after = readMsOrNull(item.nextFundingTime, 'nextFundingTime');
  return coming === null || after === null || after <= coming ? null : (after - coming) / 1000;
};

const STATUSES = makeWords({
  live: 'tradeable',
  suspend: 'halted',
  rebase: 'halted',
  post_only: 'post_only',
  preopen: 'pre_launch',
  settling: 'settling',
  expired: 'delisted',
});

/** An announced swap has no type yet, and no rules. */
const readStatus = ({ instType, ctType, state }: Fields): string =>
  instType === 'SWAP' && (isAbsent(ctType) || readKind(ctType) !== null)
    ? (STATUSES[String(state)] ?? 'unknown')
    : 'unknown';

const toListing = (item: Fields, message: VenueMessage, intervals: Intervals): ListingRecord => {
  const venue_symbol = readText(item.instId, 'instId');
  if (!isSwap(venue_symbol)) throw makeBadFrame(`${venue_symbol} is not a swap`);
  return {
    layer: 'listing',
    venue: 'okx',
    venue_symbol,
    venue_ts: null,
    received_at: message.received_at,
    values: toValues(item, venue_symbol, intervals[venue_symbol]),
  };
};

const toValues = (item: Fields, symbol: string, interval: number | undefined): ListingValues => {
  const { base, quote } = splitSymbol(symbol);
  const worth = readWorth(item, { base, quote });
  return makeListingValues({
    venue_symbol: symbol,
    // A contract may contain a million coins, but its price is for one.
    base,
    // Categories of the base: 1 is crypto, 3 shares, 4 metals and goods.
    isShare: String(item.instCategory) === '3',
    quote,
    tick_size: readRuleOrNull('tick_size', item.tickSz, 'tickSz'),
    lot_size: readRuleOrNull('lot_size', item.lotSz, 'lotSz'),
    min_qty: readRuleOrNull('min_qty', item.minSz, 'minSz'),
    contract_size: worth.contract_size,
    venue_kind: readKind(item.ctType),
    pair: readPair(item),
    status: readStatus(item),
    quantity_unit: 'contracts',
    ...toFundingInterval(interval ?? null),
    funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
    rules_normalisation: {
      ...NORMALISATION,
      contract_size: { venue_field: 'ctVal', transform: worth.transform },
    },
    price_types: PRICE_TYPES,
    // `volCcy24h` counts base, and the day's change is not sent (only the price a day ago).
    not_published: ['change_24h', 'min_notional', 'price_decimals', 'qty_decimals', 'turnover_24h'],
    listed_at: readMsOrNull(item.listTime, 'listTime'),
    delisted_at: readMsOrNull(item.expTime, 'expTime'),
  });
};

const NORMALISATION: ListingValues['rules_normalisation'] = {
  tick_size: { venue_field: 'tickSz', transform: 'string_to_number' },
  lot_size: { venue_field: 'lotSz', transform: 'string_to_number' },
  min_qty: { venue_field: 'minSz', transform: 'string_to_number' },
};

type Worth = { readonly contract_size: Digits | null; readonly transform: string };

/** What a contract is worth: `ctVal` of its currency, times `ctMult`. In the other of its two currencies it is no size of its kind. */
const readWorth = ({ ctVal, ctMult, ctValCcy, ctType }: Fields, { base, quote }: Assets): Worth => {
  const size = readRuleOrNull('contract_size', ctVal, 'ctVal');
  const times = isAbsent(ctMult) ? '1' : readRuleOrNull('contract_size', ctMult, 'ctMult');
  const isOther = ctValCcy === (ctType === 'inverse' ? base : quote);
  return {
    contract_size: size === null || times === null || isOther ? null : multiply(size, times),
    transform: times === null || times === '1' ? 'string_to_number' : `scale:${times}`,
  };
};

type Assets = ReturnType<typeof splitSymbol>;

const readKind = (ctType: unknown): 'linear' | 'inverse' | null =>
  ctType === 'linear' || ctType === 'inverse' ? ctType : null;

const readPair = (item: Fields): string | null => {
  const pair = isAbsent(item.uly) ? item.instFamily : item.uly;
  return isAbsent(pair) ? null : readText(pair, 'uly');
};
