// BitMEX' reference answers: instruments become listings (records.md, V-02 to V-04).
import { divide } from '../../../schemas/decimals.ts';
import type { Digits, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
import {
  type Fields,
  isFields,
  makeWords,
  parseRequest,
  readFigureOrNull,
  readInstantOrNull,
  readList,
  readMessage,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { readInterval } from './instruments.ts';
import { isOtherType, isPerpetual, isPerpetualType } from './symbols.ts';

/**
 * `instrument/active`, also with indices, contains everything at once, instruments with a delivery and spot too. `instrument` contains what was asked for,
 * perhaps only its prices.
 */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  const { path = '', query } = parseRequest(message.request) ?? {};
  const [endpoint, active] = /\/instrument(\/active(?:AndIndices)?)?$/.exec(path) ?? [];
  if (endpoint === undefined) return null;
  return readMessage(message.payload, (body) => {
    if (isFields(body)) return null;
    const rows = readList(body, 'instruments');
    return {
      scope: active === undefined ? `asked ${query}` : 'all',
      ...toListings(active === undefined ? rows.filter((row) => !isFields(row) || isWhole(row)) : rows, message),
      elements: () => splitElements(message.payload, 'symbol'),
    };
  });
};

/** A row with the columns that make a listing. */
const isWhole = (row: Fields): boolean => 'typ' in row && 'state' in row && 'quoteCurrency' in row;

const toListings = (rows: readonly unknown[], { received_at }: VenueMessage): ListingRows =>
  readListings({ rows, name: 'symbol' }, (row) => {
    const venue_symbol = readText(row.symbol, 'symbol');
    if (isOtherType(row.typ) || !isPerpetual(venue_symbol)) return null;
    const venue_ts = readInstantOrNull(row.timestamp, 'timestamp');
    return { layer: 'listing', venue: 'bitmex', venue_symbol, venue_ts, received_at, values: toValues(row) };
  });

const STATUSES = makeWords({
  Open: 'tradeable',
  Closed: 'halted',
  Settled: 'delisted',
  Delisted: 'delisted',
  Unlisted: 'delisted',
});

const toValues = (row: Fields): ListingValues => {
  const symbol = readText(row.symbol, 'symbol');
  const quote = readText(row.quoteCurrency, 'quoteCurrency');
  const venue_kind = toKind(row);
  const tick_size = readRuleOrNull('tick_size', row.tickSize, 'tickSize');
  const lot_size = readRuleOrNull('lot_size', row.lotSize, 'lotSize');
  const worth = readWorth(row, venue_kind);
  return makeListingValues({
    venue_symbol: symbol,
    venue_kind,
    tick_size,
    lot_size,
    contract_size: worth.contract_size,
    ...toFundingInterval(readInterval(row.fundingInterval)),
    ...readBase(symbol, readText(row.underlying, 'underlying'), quote),
    quote: ALIASES[quote] ?? quote,
    status: isPerpetualType(row.typ) ? (STATUSES[String(row.state)] ?? 'unknown') : 'unknown',
    quantity_unit: 'contracts',
    funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
    rules_normalisation: {
      tick_size: { venue_field: 'tickSize', transform: 'identity' },
      lot_size: { venue_field: 'lotSize', transform: 'identity' },
      contract_size: { venue_field: 'multiplier', transform: `scale:${worth.scale}` },
    },
    price_types: ['trade'],
    not_published: ['min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
    listed_at: readDayOrNull(row.listing, 'listing'),
    delisted_at: readDayOrNull(row.expiry, 'expiry'),
  });
};

/** Some listings have a day of the year 2200, which means none; ours end in 2100. */
const readDayOrNull = (value: unknown, name: string): Micros | null =>
  typeof value === 'string' && /^(2[1-9]|[3-9]\d)\d\d-/.test(value) ? null : readInstantOrNull(value, name);

const toKind = ({ isInverse, isQuanto }: Fields): 'linear' | 'inverse' | 'quanto' => {
  if (isQuanto === true) return 'quanto';
  return isInverse === true ? 'inverse' : 'linear';
};

const ALIASES = makeWords({ XBT: 'BTC' });

type Base = { readonly base: string; readonly asset: string; readonly multiplier: Digits };

/** `1000PEPEUSDT` counts thousands of PEPE, whether the underlying is named `PEPE` or `1000PEPE` (V-04). */
const readBase = (symbol: string, underlying: string, quote: string): Base => {
  const asset = symbol.endsWith(quote) ? symbol.slice(0, -quote.length) : underlying;
  const [, multiplier, coin] = /^(10{2,6})([A-Z][A-Z0-9]*)$/.exec(asset) ?? [];
  if (multiplier !== undefined && coin !== undefined && (underlying === coin || underlying === asset))
    return { base: coin, asset, multiplier };
  return { base: ALIASES[underlying] ?? underlying, asset: underlying, multiplier: '1' };
};

/**
 * `multiplier` counts the smallest units of the settlement currency: for a linear contract by point of price, for an inverse one (below zero)
 * by its inverse. A quanto contract has a size neither in base nor in quote.
 */
const readWorth = (row: Fields, kind: ListingValues['venue_kind']): Worth => {
  if (kind === 'quanto') return NO_WORTH;
  const name = kind === 'inverse' ? 'underlyingToSettleMultiplier' : 'quoteToSettleMultiplier';
  const units = readFigureOrNull(row[name], name);
  const multiplier = readFigureOrNull(row.multiplier, 'multiplier');
  if (units === null || multiplier === null) return NO_WORTH;
  const contract_size = readRuleOrNull('contract_size', divide(multiplier, units), 'multiplier');
  return { contract_size, scale: divide('1', units) };
};

type Worth = { readonly contract_size: Digits | null; readonly scale: Digits | null };
const NO_WORTH: Worth = { contract_size: null, scale: null };
