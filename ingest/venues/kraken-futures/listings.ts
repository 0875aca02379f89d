// Kraken Futures' reference answer: instruments become listings (records.md, V-02 to V-04).
import { toStep } from '../../../schemas/decimals.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import type { SymbolQuantity } from '../contract/mapping.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import {
  type Fields,
  isAbsent,
  makeBadFrame,
  makeRefusal,
  makeWords,
  parseRequest,
  readFields,
  readInstantOrNull,
  readList,
  readMessage,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { toQuantity } from './symbols.ts';

/** `instruments` contains everything at once, also instruments with a maturity and indices. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (!isInstruments(message)) return null;
  return readMessage(message.payload, (body) => {
    const answer = readFields(body, 'instruments');
    if (answer.result === 'error') throw makeRefusal(String(answer.error));
    return {
      scope: 'futures',
      ...toListings(answer, message),
      elements: () => splitElements(message.payload, 'symbol'),
    };
  });
};

/** Recognised by its request, or without one by its only member. */
const isInstruments = ({ kind, request, payload }: VenueMessage): boolean => {
  if (kind !== 'response') return false;
  if (request !== null) return parseRequest(request)?.path.endsWith('/api/v3/instruments') ?? false;
  return /"instruments"\s*:\s*\[/.test(Buffer.from(payload.subarray(0, 400)).toString('latin1'));
};

const toListings = (answer: Fields, { received_at }: VenueMessage): ListingRows => {
  const venue_ts = readInstantOrNull(answer.serverTime, 'serverTime');
  const rows = { rows: readList(answer.instruments, 'instruments'), name: 'symbol' };
  return readListings(rows, (instrument) => {
    const venue_symbol = readText(instrument.symbol, 'symbol');
    const quantity = toQuantity(venue_symbol);
    if (quantity === null) return null;
    const values = toValues(instrument, quantity, venue_ts);
    return { layer: 'listing', venue: 'kraken-futures', venue_symbol, venue_ts, received_at, values };
  });
};

const toValues = (
  instrument: Fields,
  { venue_kind, quantity_unit }: SymbolQuantity,
  at: Micros | null,
): ListingValues => {
  const symbol = readText(instrument.symbol, 'symbol');
  const assets = readAssets(instrument, symbol);
  const tick_size = readRuleOrNull('tick_size', instrument.tickSize, 'tickSize');
  const qty_decimals = readPrecision(instrument[PRECISION]);
  const contract_size = readRuleOrNull('contract_size', instrument.contractSize, 'contractSize');
  const listed_at = readInstantOrNull(instrument.openingDate, 'openingDate');
  return makeListingValues({
    venue_symbol: symbol,
    ...assets,
    venue_kind,
    pair: isAbsent(instrument.pair) ? null : readText(instrument.pair, 'pair'),
    post_only: typeof instrument.postOnly === 'boolean' ? instrument.postOnly : null,
    status: toStatus(instrument, at !== null && listed_at !== null && listed_at > at ? 'pre_launch' : 'halted'),
    contract_size,
    tick_size,
    lot_size: qty_decimals === null ? null : toStep(qty_decimals),
    qty_decimals,
    quantity_unit,
    // Rates are per hour, and are settled each hour.
    funding_interval: '1h',
    funding_interval_source: 'documented',
    // `funding_rate` is an amount of quote currency, no rate.
    funding_normalisation: { venue_field: 'relative_funding_rate', transform: 'identity' },
    rules_normalisation: {
      tick_size: { venue_field: 'tickSize', transform: 'identity' },
      lot_size: { venue_field: PRECISION, transform: 'decimals_to_step' },
      qty_decimals: { venue_field: PRECISION, transform: 'identity' },
      contract_size: { venue_field: 'contractSize', transform: 'identity' },
    },
    price_types: PRICE_TYPES,
    // Answers of 2021 have no precision of quantities.
    not_published: [
      ...['min_notional', 'min_qty', 'price_decimals'],
      ...(qty_decimals === null ? ['lot_size', 'qty_decimals'] : []),
    ],
    listed_at,
    delisted_at: readInstantOrNull(instrument.lastTradingTime, 'lastTradingTime'),
  });
};

/** `closed`: the status of an instrument that cannot be traded now. */
const toStatus = (instrument: Fields, closed: 'pre_launch' | 'halted'): string => {
  if (instrument.tradeable === true) return instrument.postOnly === true ? 'post_only' : 'tradeable';
  return instrument.tradeable === false ? closed : 'unknown';
};

/** The venue's own names of assets (V-04). */
const ALIASES = makeWords({ XBT: 'BTC', XDG: 'DOGE' });

type Assets = Pick<ListingValues, 'base' | 'quote'> & { readonly asset: string };

/** Older answers have no assets: they are part of the symbol, `pi_xbtusd`. */
const readAssets = (instrument: Fields, symbol: string): Assets => {
  const [, symbolBase, symbolQuote] = /^.._(.+)(USDT|USDC|USD|EUR|XBT)$/.exec(symbol.toUpperCase()) ?? [];
  const asset = readText(instrument.base || symbolBase, 'base');
  // Tokenised shares are written `AAPLx`: codes are upper case (S-03).
  const base = (ALIASES[asset] ?? asset).toUpperCase();
  const quote = readText(instrument.quote || symbolQuote, 'quote');
  return { asset, base, quote: ALIASES[quote] ?? quote };
};

const PRECISION = 'contractValueTradePrecision';

/** Below zero, quantities are multiples of ten, a hundred, a thousand: -3 for PEPE. */
const readPrecision = (value: unknown): number | null => {
  if (isAbsent(value)) return null;
  const decimals = Number(value);
  if (!Number.isInteger(decimals) || Math.abs(decimals) > 30)
    throw makeBadFrame(`${PRECISION} is not a number of decimals`);
  return decimals;
};
