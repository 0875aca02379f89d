// Gate's reference answers: contracts of a settlement currency become listings (records.md, V-02 to V-04).
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { FieldTransform, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
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
import { readAnswer, readInterval, readSeconds } from './mapping.ts';
import { isPerpetual, MARKETS, type Market } from './symbols.ts';

/** `contracts` is a whole market; `contracts/BTC_USDT` is a scope of its own. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  if (message.kind !== 'response') return null;
  const path = parseRequest(message.request)?.path ?? '';
  const [, settled, name] = /\/futures\/([a-z0-9]+)\/contracts(?:\/([^/]+))?$/.exec(path) ?? [];
  const market = MARKETS.find((one) => one === settled);
  if (market === undefined) return null;
  return readMessage(message.payload, (answer) => {
    const body = readAnswer(answer);
    return {
      scope: name === undefined ? market : `${market}/${name}`,
      ...toListings(name === undefined ? readList(body, 'contracts') : [body], { market, message }),
      elements: () => splitElements(message.payload, 'name'),
    };
  });
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
  const tick_size = readRuleOrNull('tick_size', contract.order_price_round, 'order_price_round');
  const min_qty = readRuleOrNull('min_qty', contract.order_size_min, 'order_size_min');
  const worth = readWorth(contract, market);
  return makeListingValues({
    venue_symbol: symbol,
    asset,
    ...splitMultiplier(asset),
    isShare: contract.contract_type === 'stocks',
    quote,
    ...worth,
    tick_size,
    min_qty,
    ...toFundingInterval(readInterval(contract)),
    status: toStatus(contract),
    quantity_unit: 'contracts',
    funding_normalisation: { venue_field: 'funding_rate', transform: 'string_to_number' },
    rules_normalisation:
      worth.venue_kind === 'linear' ? { ...NORMALISATION, contract_size: CONTRACT_SIZE } : NORMALISATION,
    price_types: PRICE_TYPES,
    not_published: ['lot_size', 'min_notional', 'price_decimals', 'qty_decimals'],
    // Recorded at one time, `total_size` of a ticker is twice the contract's `position_size`, the positions of one side.
    oi_sides: 'two',
    listed_at: readSeconds(contract.launch_time, 'launch_time') ?? readSeconds(contract.create_time, 'create_time'),
    delisted_at: readSeconds(contract.delisted_time, 'delisted_time'),
  });
};

const NORMALISATION: ListingValues['rules_normalisation'] = {
  tick_size: { venue_field: 'order_price_round', transform: 'string_to_number' },
  min_qty: { venue_field: 'order_size_min', transform: 'string_to_number' },
};
const CONTRACT_SIZE: FieldTransform = { venue_field: 'quanto_multiplier', transform: 'string_to_number' };

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

type Worth = Pick<ListingValues, 'venue_kind' | 'contract_size'>;

const readWorth = ({ quanto_multiplier, type }: Fields, market: Market): Worth => {
  const size = readFigureOrNull(quanto_multiplier, 'quanto_multiplier');
  // Zero: the contract is worth one unit of the quote currency at any price. For a contract named direct, it is no size.
  if (size === '0' && type !== 'direct') return { venue_kind: 'inverse', contract_size: '1' };
  // The settlement currency differs from the quote: the size is an amount of the former, neither base nor quote.
  if (market === 'btc') return { venue_kind: 'quanto', contract_size: null };
  return { venue_kind: 'linear', contract_size: readRuleOrNull('contract_size', size, 'quanto_multiplier') };
};
