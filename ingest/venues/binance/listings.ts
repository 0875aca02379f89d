// Binance's reference answers: exchangeInfo and fundingInfo become listings (records.md, V-02 to V-04).
import { formatDuration } from '../../../schemas/durations.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { Digits, FieldTransform, ListingRecord, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { keepPriceCandles } from '../shared/chosen-listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readEntries, readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import { readOrElse } from '../shared/map-each.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import { noteUnexpected } from '../shared/unexpected.ts';
import {
  type Fields,
  isAbsent,
  makeWords,
  parseRequest,
  readCountOrNull,
  readFields,
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { listPriceCandleSymbols } from './budget.ts';
import { readAnswer } from './mapping.ts';
import { isDated, type Market, toPair } from './symbols.ts';

/** Hours by venue symbol, from the scope's fundingInfo; absent before its first answer. Null: adjusted, to an unknown interval. */
type FundingHours = Readonly<Record<string, number | null>>;

const MS_PER_HOUR = 3_600_000;

/** Folds fundingInfo, then exchangeInfo. A scope is a market, complete with its exchangeInfo. */
export const mapReference = (venue: string, state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const request = parseRequest(message.request);
  const match = /\/(fapi|dapi)\/v\d\/(exchangeInfo|fundingInfo)$/.exec(request?.path ?? '');
  if (!match) return null;
  const market: Market = match[1] === 'fapi' ? 'usdm' : 'coinm';
  if (match[2] === 'fundingInfo') {
    state[market] = readMessage(message.payload, toFundingHours);
    return null;
  }
  const hours = state[market] as FundingHours | undefined;
  return readMessage(message.payload, (body) => ({
    scope: market,
    ...toListings(body, { venue, message, market, hours }),
    elements: () => splitElements(message.payload, 'symbol'),
  }));
};

const toFundingHours = (body: unknown): FundingHours =>
  readEntries<number | null>(readList(readAnswer(body), 'fundingInfo'), ({ symbol, fundingIntervalHours }) => {
    const hours = readOrElse(
      () => readCountOrNull(fundingIntervalHours, 'fundingIntervalHours'),
      // Adjusted, to hours that cannot be read: not the usual eight.
      ({ kind }) => {
        noteUnexpected(kind);
        return null;
      },
    );
    return [readText(symbol, 'symbol'), hours === 0 ? null : hours];
  });

type Source = {
  readonly venue: string;
  readonly message: VenueMessage;
  readonly market: Market;
  readonly hours: FundingHours | undefined;
};

const toListings = (body: unknown, source: Source): ListingRows => {
  const answer = readFields(readAnswer(body), 'exchangeInfo');
  const venue_ts = readMsOrNull(answer.serverTime, 'serverTime');
  const rows = { rows: readList(answer.symbols, 'symbols'), name: 'symbol' };
  const read = (symbol: Fields): ListingRecord | null => {
    if (!isPerpetual(symbol)) return null;
    const venue_symbol = readText(symbol.symbol, 'symbol');
    const { venue, message } = source;
    return {
      layer: 'listing',
      venue,
      venue_symbol,
      venue_ts,
      received_at: message.received_at,
      values: toValues(symbol, source),
    };
  };
  const { listings, unreadable } = readListings(rows, read);
  return { listings: keepPriceCandles(listings, listPriceCandleSymbols(listings)), unreadable };
};

/** False for a date in the symbol or a dated type (`CURRENT_QUARTER`, `NEXT_QUARTER DELIVERING`); any other type, known or not, is undated. */
const isPerpetual = ({ symbol, contractType }: Fields): boolean =>
  !isDated(readText(symbol, 'symbol')) && !/^(CURRENT|NEXT)_/.test(String(contractType));

const STATUSES = makeWords({
  PENDING_TRADING: 'pre_launch',
  TRADING: 'tradeable',
  HALT: 'halted',
  BREAK: 'halted',
  TRADING_HALT: 'halted',
  TRADING_CANCEL_ONLY: 'cancel_only',
  PRE_DELIVERING: 'settling',
  DELIVERING: 'settling',
  PRE_SETTLE: 'settling',
  SETTLING: 'settling',
  DELIVERED: 'delisted',
  CLOSE: 'delisted',
});

/** `PERPETUAL`, `TRADIFI_PERPETUAL`; in settlement `PERPETUAL_DELIVERING` (USD-M) or `PERPETUAL DELIVERING` (COIN-M); empty before trading. */
const readStatus = ({ contractType, status, contractStatus }: Fields): string => {
  const word = STATUSES[String(isAbsent(status) ? contractStatus : status)] ?? 'unknown';
  const type = String(contractType ?? '');
  if (/(^|_)PERPETUAL[ _]DELIVERING$/.test(type)) return word === 'delisted' ? word : 'settling';
  return type === '' || /(^|_)PERPETUAL$/.test(type) ? word : 'unknown';
};

/** Binance names the type of the contract, Aster the sort of its base. */
const isShare = ({ contractType, underlyingSubType }: Fields): boolean =>
  /^TRADIFI_/.test(String(contractType)) || (Array.isArray(underlyingSubType) && underlyingSubType.includes('STOCK'));

/** Delivery date of a listing without an end (2100-12-25). */
const NO_DELIVERY_MS = 4_133_404_800_000;

const toValues = (symbol: Fields, { market, hours }: Source): ListingValues => {
  const venue_symbol = readText(symbol.symbol, 'symbol');
  const asset = readText(symbol.baseAsset, 'baseAsset');
  const isLinear = market === 'usdm';
  return makeListingValues({
    venue_symbol,
    asset,
    ...splitMultiplier(asset),
    isShare: isShare(symbol),
    ...readFilters(symbol),
    contract_size: isLinear ? '1' : readRuleOrNull('contract_size', symbol.contractSize, 'contractSize'),
    quote: readText(symbol.quoteAsset, 'quoteAsset'),
    venue_kind: isLinear ? 'linear' : 'inverse',
    pair: isAbsent(symbol.pair) ? toPair(venue_symbol) : readText(symbol.pair, 'pair'),
    status: readStatus(symbol),
    price_decimals: readCountOrNull(symbol.pricePrecision, 'pricePrecision'),
    qty_decimals: readCountOrNull(symbol.quantityPrecision, 'quantityPrecision'),
    quantity_unit: isLinear ? 'base' : 'contracts',
    ...readFundingInterval(hours, venue_symbol),
    funding_normalisation: { venue_field: 'r', transform: 'string_to_number' },
    rules_normalisation: isLinear ? NORMALISATION : { ...NORMALISATION, contract_size: CONTRACT_SIZE },
    price_types: PRICE_TYPES,
    // COIN-M counts its 24 h volume in contracts and in base, never in quote.
    not_published: isLinear ? [] : ['min_notional', 'turnover_24h'],
    listed_at: readMsOrNull(symbol.onboardDate, 'onboardDate'),
    delisted_at: readEnd(symbol.deliveryDate),
  });
};

/** fundingInfo names the symbols with an adjusted interval; the docs state eight hours for the others. */
const readFundingInterval = (
  hours: FundingHours | undefined,
  symbol: string,
): Pick<ListingValues, 'funding_interval' | 'funding_interval_source'> => {
  const adjusted = hours?.[symbol];
  if (adjusted === null) return { funding_interval: null, funding_interval_source: null };
  if (adjusted !== undefined)
    return { funding_interval: formatDuration(adjusted * MS_PER_HOUR), funding_interval_source: 'venue' };
  return { funding_interval: '8h', funding_interval_source: hours === undefined ? 'assumed' : 'documented' };
};

const readEnd = (deliveryDate: unknown): Micros | null =>
  Number(deliveryDate) >= NO_DELIVERY_MS ? null : readMsOrNull(deliveryDate, 'deliveryDate');

const FILTER_FIELDS = {
  tick_size: ['PRICE_FILTER', 'tickSize'],
  lot_size: ['LOT_SIZE', 'stepSize'],
  min_qty: ['LOT_SIZE', 'minQty'],
  min_notional: ['MIN_NOTIONAL', 'notional'],
} as const;
type Filtered = keyof typeof FILTER_FIELDS;

/** `pricePrecision` is not the tick. */
const readFilters = (symbol: Fields): Readonly<Record<Filtered, Digits | null>> => {
  const filters = readList(symbol.filters ?? [], 'filters').map((item) => readFields(item, 'filter'));
  const read = (rule: Filtered): Digits | null => {
    const [type, field] = FILTER_FIELDS[rule];
    return readRuleOrNull(rule, filters.find((f) => f.filterType === type)?.[field], field);
  };
  return {
    tick_size: read('tick_size'),
    lot_size: read('lot_size'),
    min_qty: read('min_qty'),
    min_notional: read('min_notional'),
  };
};

const NORMALISATION: ListingValues['rules_normalisation'] = {
  ...Object.fromEntries(
    Object.entries(FILTER_FIELDS).map(([rule, [type, field]]) => [
      rule,
      { venue_field: `filters.${type}.${field}`, transform: 'string_to_number' },
    ]),
  ),
  price_decimals: { venue_field: 'pricePrecision', transform: 'identity' },
  qty_decimals: { venue_field: 'quantityPrecision', transform: 'identity' },
};
const CONTRACT_SIZE: FieldTransform = { venue_field: 'contractSize', transform: 'identity' };
