// dYdX's perpetualMarkets as listings (records.md, V-02 to V-04).
import type { ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  isFields,
  makeBadFrame,
  makeWords,
  readMessage,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';

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

type Ticker = Readonly<Record<'asset' | 'base' | 'multiplier' | 'quote', string>>;

/** `BTC-USD`; permissionless markets include the pool: `BUFFI,UNISWAP_V3,0X4C1B…-USD`. `1000CAT-USD` counts thousands (V-04). */
const splitTicker = (ticker: string): Ticker => {
  const [, asset, name, quote] = /^(([^,]+)(?:,.*)?)-([^-]+)$/.exec(ticker) ?? [];
  if (asset === undefined || name === undefined || quote === undefined)
    throw makeBadFrame('the ticker has no base or no quote');
  return { asset, quote, ...splitMultiplier(name) };
};

const toValues = (market: Fields, venue_symbol: string): ListingValues =>
  makeListingValues({
    venue_symbol,
    ...splitTicker(venue_symbol),
    venue_kind: 'linear',
    contract_size: '1',
    tick_size: readRuleOrNull('tick_size', market.tickSize, 'tickSize'),
    lot_size: readRuleOrNull('lot_size', market.stepSize, 'stepSize'),
    post_only: market.status === 'POST_ONLY',
    status: STATUSES[String(market.status)] ?? 'unknown',
    quantity_unit: 'base',
    funding_interval: '1h',
    funding_interval_source: 'documented',
    funding_normalisation: { venue_field: 'nextFundingRate', transform: 'string_to_number' },
    rules_normalisation: {
      tick_size: { venue_field: 'tickSize', transform: 'string_to_number' },
      lot_size: { venue_field: 'stepSize', transform: 'string_to_number' },
    },
    price_types: ['trade'],
    not_published: [
      ...['ticker', 'last', 'index', 'basis', 'next_funding_at', 'volume_24h', 'change_24h'],
      ...['min_qty', 'min_notional', 'price_decimals', 'qty_decimals'],
    ],
  });
