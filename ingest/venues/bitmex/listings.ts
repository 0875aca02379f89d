// BitMEX' reference answers: instruments become listings (records.md, V-02 to V-04).
import { divide, multiply } from '../../../schemas/decimals.ts';
import { formatDuration } from '../../../schemas/durations.ts';
import { TIMEFRAMES } from '../../../schemas/layers/candle.ts';
import { BANDS } from '../../../schemas/layers.ts';
import type { Digits, FieldTransform, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
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
  const kind = toKind(row);
  const rules = readRules(row, kind);
  const intervalMs = readInterval(row.fundingInterval);
  const { base, alias, multiplier } = readBase(symbol, readText(row.underlying, 'underlying'), quote);
  return {
    instrument: `${base}-PERP`,
    venue_symbol: symbol,
    base,
    quote: ALIASES[quote] ?? quote,
    base_venue_alias: alias,
    kind: 'perpetual',
    venue_kind: kind,
    pair: null,
    post_only: null,
    status: isPerpetualType(row.typ) ? (STATUSES[String(row.state)] ?? 'unknown') : 'unknown',
    contract_size: rules.contract_size,
    multiplier,
    tick_size: rules.tick_size,
    lot_size: rules.lot_size,
    min_qty: null,
    min_notional: null,
    price_decimals: null,
    qty_decimals: null,
    units: {
      tick_size: rules.tick_size === null ? null : 'quote',
      lot_size: rules.lot_size === null ? null : 'contracts',
      min_qty: null,
      min_notional: null,
      contract_size: rules.contract_size === null ? null : kind === 'inverse' ? 'quote' : 'base',
    },
    quantity_unit: 'contracts',
    funding_interval: intervalMs === null ? null : formatDuration(intervalMs),
    funding_interval_source: intervalMs === null ? null : 'venue',
    funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
    rules_normalisation: rules.normalisation,
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: TIMEFRAMES },
    not_published: ['min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
    bands: BANDS,
    oi_sides: null,
    listed_at: readDayOrNull(row.listing, 'listing'),
    delisted_at: readDayOrNull(row.expiry, 'expiry'),
  };
};

/** Some listings have a day of the year 2200, which means none; ours end in 2100. */
const readDayOrNull = (value: unknown, name: string): Micros | null =>
  typeof value === 'string' && /^(2[1-9]|[3-9]\d)\d\d-/.test(value) ? null : readInstantOrNull(value, name);

const toKind = ({ isInverse, isQuanto }: Fields): 'linear' | 'inverse' | 'quanto' => {
  if (isQuanto === true) return 'quanto';
  return isInverse === true ? 'inverse' : 'linear';
};

const ALIASES = makeWords({ XBT: 'BTC' });

type Base = { readonly base: string; readonly alias: string | null; readonly multiplier: Digits };

/** `1000PEPEUSDT` counts thousands of PEPE, whether the underlying is named `PEPE` or `1000PEPE` (V-04). */
const readBase = (symbol: string, underlying: string, quote: string): Base => {
  const asset = symbol.endsWith(quote) ? symbol.slice(0, -quote.length) : underlying;
  const [, multiplier, coin] = /^(10{2,6})([A-Z][A-Z0-9]*)$/.exec(asset) ?? [];
  if (multiplier !== undefined && coin !== undefined && (underlying === coin || underlying === asset))
    return { base: coin, alias: asset, multiplier };
  const base = ALIASES[underlying] ?? underlying;
  return { base, alias: base === underlying ? null : underlying, multiplier: '1' };
};

type Rules = Readonly<Record<'contract_size' | 'tick_size' | 'lot_size', Digits | null>> & {
  readonly normalisation: Readonly<Record<string, FieldTransform>>;
};

/** Trading rules with the venue field of each (V-03). */
const readRules = (row: Fields, kind: ListingValues['venue_kind']): Rules => {
  const normalisation: Record<string, FieldTransform> = {};
  const read = (rule: string, venue_field: string): Digits | null => {
    const digits = readRuleOrNull(rule, row[venue_field], venue_field);
    if (digits !== null) normalisation[rule] = { venue_field, transform: 'identity' };
    return digits;
  };
  const figures = { tick_size: read('tick_size', 'tickSize'), lot_size: read('lot_size', 'lotSize') };
  const multiplier = readFigureOrNull(row.multiplier, 'multiplier');
  const scale = computeSettlementScale(row, kind);
  if (multiplier === null || scale === null) return { ...figures, contract_size: null, normalisation };
  normalisation.contract_size = { venue_field: 'multiplier', transform: `scale:${scale}` };
  return { ...figures, contract_size: multiply(multiplier, scale), normalisation };
};

/**
 * `multiplier` counts the smallest units of the settlement currency: for a linear contract by point of price, for an inverse one (below zero)
 * by its inverse. A quanto contract has a size neither in base nor in quote.
 */
const computeSettlementScale = (row: Fields, kind: ListingValues['venue_kind']): Digits | null => {
  if (kind === 'quanto') return null;
  const name = kind === 'inverse' ? 'underlyingToSettleMultiplier' : 'quoteToSettleMultiplier';
  const units = readFigureOrNull(row[name], name);
  return units === null ? null : divide('1', units);
};
