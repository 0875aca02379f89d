// dYdX's perpetualMarkets as listings (records.md, V-02 to V-04).
import { TIMEFRAMES } from '../../../schemas/layers/candle.ts';
import { BANDS } from '../../../schemas/layers.ts';
import type { ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readListings } from '../shared/listing-rows.ts';
import { type Fields, isFields, makeWords, readMessage, readRuleOrNull, readText } from '../shared/wire.ts';

/** Recognised by its member `markets`; one scope, complete. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  return readMessage(message.payload, (body) => {
    if (!isFields(body) || !isFields(body.markets)) return null;
    return {
      scope: 'markets',
      ...readListings({ rows: Object.values(body.markets), name: 'ticker' }, (market) =>
        toListing(market, message.received_at),
      ),
      elements: () => splitElements(message.payload, 'ticker'),
    };
  });
};

const toListing = (market: Fields, received_at: Micros): ReferenceAnswer['listings'][number] => {
  const venue_symbol = readText(market.ticker, 'ticker');
  return {
    layer: 'listing',
    venue: 'dydx',
    venue_symbol,
    venue_ts: null,
    received_at,
    values: toValues(market, venue_symbol),
  };
};

const STATUSES = makeWords({
  ACTIVE: 'tradeable',
  POST_ONLY: 'post_only',
  CANCEL_ONLY: 'cancel_only',
  PAUSED: 'halted',
  INITIALIZING: 'pre_launch',
  FINAL_SETTLEMENT: 'settling',
});

/** `BTC-USD`; permissionless markets include the pool: `BUFFI,UNISWAP_V3,0X4C1B…-USD`. */
const splitTicker = (ticker: string): { readonly asset: string; readonly base: string; readonly quote: string } => {
  const dash = ticker.lastIndexOf('-');
  const asset = dash < 0 ? ticker : ticker.slice(0, dash);
  return { asset, base: asset.split(',', 1)[0] ?? asset, quote: dash < 0 ? '' : ticker.slice(dash + 1) };
};

const toValues = (market: Fields, venue_symbol: string): ListingValues => {
  const { asset, base, quote } = splitTicker(venue_symbol);
  const tick_size = readRuleOrNull('tick_size', market.tickSize, 'tickSize');
  const lot_size = readRuleOrNull('lot_size', market.stepSize, 'stepSize');
  return {
    instrument: `${base}-PERP`,
    venue_symbol,
    base,
    quote,
    base_venue_alias: base === asset ? null : asset,
    kind: 'perpetual',
    venue_kind: 'linear',
    pair: null,
    post_only: market.status === 'POST_ONLY',
    status: STATUSES[String(market.status)] ?? 'unknown',
    contract_size: '1',
    multiplier: '1',
    tick_size,
    lot_size,
    min_qty: null,
    min_notional: null,
    price_decimals: null,
    qty_decimals: null,
    units: {
      tick_size: tick_size === null ? null : 'quote',
      lot_size: lot_size === null ? null : 'base',
      min_qty: null,
      min_notional: null,
      contract_size: 'base',
    },
    quantity_unit: 'base',
    funding_interval: '1h',
    funding_interval_source: 'documented',
    funding_normalisation: { venue_field: 'nextFundingRate', transform: 'string_to_number' },
    rules_normalisation: {
      tick_size: { venue_field: 'tickSize', transform: 'string_to_number' },
      lot_size: { venue_field: 'stepSize', transform: 'string_to_number' },
    },
    candles: { base_timeframe: '1m', price_types: ['trade'], timeframes: TIMEFRAMES },
    not_published: [
      'ticker',
      'last',
      'index',
      'basis',
      'next_funding_at',
      'volume_24h',
      'change_24h',
      'min_qty',
      'min_notional',
      'price_decimals',
      'qty_decimals',
    ],
    bands: BANDS,
    oi_sides: null,
    listed_at: null,
    delisted_at: null,
  };
};
