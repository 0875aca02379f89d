// Gate's reference answers: contracts of a settlement currency become listings (records.md, V-02 to V-04).
import { formatDuration } from '../../../schemas/durations.ts';
import { TIMEFRAMES } from '../../../schemas/layers/candle.ts';
import { BANDS } from '../../../schemas/layers.ts';
import type { Digits, FieldTransform, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  isAbsent,
  makeWords,
  parseRequest,
  readFigureOrNull,
  readList,
  readMessage,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { readInterval, readSeconds } from './mapping.ts';
import { isPerpetual, MARKETS, type Market } from './symbols.ts';

/** `contracts` is a whole market; `contracts/BTC_USDT` is a scope of its own. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  const path = parseRequest(message.request)?.path ?? '';
  const [, settled, name] = /\/futures\/([a-z0-9]+)\/contracts(?:\/([^/]+))?$/.exec(path) ?? [];
  const market = MARKETS.find((one) => one === settled);
  if (market === undefined) return null;
  return readMessage(message.payload, (body) => ({
    scope: name === undefined ? market : `${market}/${name}`,
    ...toListings(name === undefined ? readList(body, 'contracts') : [body], { market, message }),
    elements: () => splitElements(message.payload, 'name'),
  }));
};

type Source = { readonly market: Market; readonly message: VenueMessage };

const toListings = (contracts: readonly unknown[], { market, message }: Source): ListingRows =>
  readListings({ rows: contracts, name: 'name' }, (contract) => {
    const venue_symbol = readText(contract.name, 'name');
    if (!isPerpetual(venue_symbol)) return null;
    const { received_at } = message;
    return {
      layer: 'listing',
      venue: 'gate',
      venue_symbol,
      venue_ts: null,
      received_at,
      values: toValues(contract, market),
    };
  });

const toValues = (contract: Fields, market: Market): ListingValues => {
  const symbol = readText(contract.name, 'name');
  const [asset = symbol, quote = ''] = symbol.split('_');
  const { base, multiplier } = splitMultiplier(asset);
  const rules = readRules(contract, market);
  const interval = readInterval(contract);
  return {
    instrument: `${base}-PERP`,
    venue_symbol: symbol,
    base,
    quote,
    base_venue_alias: base === asset ? null : asset,
    kind: 'perpetual',
    venue_kind: rules.venue_kind,
    pair: null,
    post_only: null,
    status: toStatus(contract),
    contract_size: rules.contract_size,
    multiplier,
    tick_size: rules.tick_size,
    lot_size: null,
    min_qty: rules.min_qty,
    min_notional: null,
    price_decimals: null,
    qty_decimals: null,
    units: {
      tick_size: rules.tick_size === null ? null : 'quote',
      lot_size: null,
      min_qty: rules.min_qty === null ? null : 'contracts',
      min_notional: null,
      contract_size: rules.contract_size === null ? null : rules.venue_kind === 'inverse' ? 'quote' : 'base',
    },
    quantity_unit: 'contracts',
    funding_interval: interval === null ? null : formatDuration(interval),
    funding_interval_source: interval === null ? null : 'venue',
    funding_normalisation: { venue_field: 'funding_rate', transform: 'string_to_number' },
    rules_normalisation: rules.normalisation,
    candles: { base_timeframe: '1m', price_types: ['trade', 'mark', 'index'], timeframes: TIMEFRAMES },
    not_published: ['lot_size', 'min_notional', 'price_decimals', 'qty_decimals'],
    bands: BANDS,
    oi_sides: null,
    listed_at: readSeconds(contract.launch_time, 'launch_time') ?? readSeconds(contract.create_time, 'create_time'),
    delisted_at: readSeconds(contract.delisted_time, 'delisted_time'),
  };
};

const STATUSES = makeWords({
  prelaunch: 'pre_launch',
  trading: 'tradeable',
  delisting: 'reduce_only',
  delisted: 'delisted',
  circuit_breaker: 'halted',
});

/** Without `status`: a contract being delisted accepts closing orders until no position is left. */
const toStatus = ({ status, in_delisting, position_size }: Fields): string => {
  if (!isAbsent(status)) return STATUSES[String(status)] ?? 'unknown';
  if (in_delisting === false) return 'tradeable';
  if (in_delisting !== true) return 'unknown';
  return Number(position_size) === 0 ? 'delisted' : 'reduce_only';
};

type Rules = Pick<ListingValues, 'venue_kind' | 'contract_size' | 'tick_size' | 'min_qty'> & {
  readonly normalisation: Readonly<Record<string, FieldTransform>>;
};

/** Trading rules with the venue field of each (V-03). */
const readRules = (contract: Fields, market: Market): Rules => {
  const normalisation: Record<string, FieldTransform> = {};
  const read = (rule: string, venue_field: string): Digits | null => {
    const digits = readRuleOrNull(rule, contract[venue_field], venue_field);
    if (digits !== null) normalisation[rule] = { venue_field, transform: 'string_to_number' };
    return digits;
  };
  const figures = { tick_size: read('tick_size', 'order_price_round'), min_qty: read('min_qty', 'order_size_min') };
  const size = readFigureOrNull(contract.quanto_multiplier, 'quanto_multiplier');
  // Zero: the contract is worth one unit of the quote currency at any price.
  if (size === '0') return { ...figures, venue_kind: 'inverse', contract_size: '1', normalisation };
  // The settlement currency differs from the quote: the size is an amount of the former, neither base nor quote.
  if (market === 'btc') return { ...figures, venue_kind: 'quanto', contract_size: null, normalisation };
  const contract_size = readRuleOrNull('contract_size', size, 'quanto_multiplier');
  if (contract_size !== null)
    normalisation.contract_size = { venue_field: 'quanto_multiplier', transform: 'string_to_number' };
  return { ...figures, venue_kind: 'linear', contract_size, normalisation };
};
