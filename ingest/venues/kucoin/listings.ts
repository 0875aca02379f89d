// KuCoin's reference answers: contracts become listings (records.md, V-02 to V-04).
import { subtract } from '../../../schemas/decimals.ts';
import type { Digits, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  makeBadFrame,
  makeRefusal,
  makeWords,
  parseRequest,
  readCountOrNull,
  readFields,
  readFigureOrNull,
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { isDated } from './symbols.ts';

/** `contracts/active` contains everything at once; the answer about one contract is a scope of its own. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const name = /\/api\/v1\/contracts\/([^/]+)$/.exec(parseRequest(message.request)?.path ?? '')?.[1];
  if (name === undefined) return null;
  return readMessage(message.payload, (body) => {
    const data = readAnswer(body);
    const elements = () => splitElements(message.payload, 'symbol');
    if (name === 'active') return { scope: 'active', ...toListings(readList(data, 'data'), message), elements };
    const contract = readFields(data, 'data');
    const scope = `contract ${readText(contract.symbol, 'symbol')}`;
    return { scope, ...toListings([contract], message), elements };
  });
};

/** `data` of an answer. Throws when the venue refused. */
export const readAnswer = (body: unknown): unknown => {
  const answer = readFields(body, 'answer');
  if (String(answer.code) !== '200000') {
    throw makeRefusal(`${String(answer.code)} ${String(answer.msg)}`);
  }
  return answer.data;
};

/** Contracts with a delivery date are `FFICSX` and have it in their symbol; any type but `FFWCSX`, known or not, is undated. */
export const isPerpetual = ({ symbol, type }: Fields): boolean =>
  type !== 'FFICSX' && !isDated(readText(symbol, 'symbol'));

const toListings = (contracts: readonly unknown[], { received_at }: VenueMessage): ListingRows =>
  readListings({ rows: contracts, name: 'symbol' }, (contract) => {
    if (!isPerpetual(contract)) return null;
    const venue_symbol = readText(contract.symbol, 'symbol');
    return { layer: 'listing', venue: 'kucoin', venue_symbol, venue_ts: null, received_at, values: toValues(contract) };
  });

const STATUSES = makeWords({
  Init: 'pre_launch',
  Open: 'tradeable',
  Paused: 'halted',
  CancelOnly: 'cancel_only',
  BeingSettled: 'settling',
  Settled: 'delisted',
  Closed: 'delisted',
});

/** The venue's own names of assets (V-04). */
const ALIASES = makeWords({ XBT: 'BTC' });

const toValues = (contract: Fields): ListingValues => {
  const asset = readText(contract.baseCurrency, 'baseCurrency');
  const venue_kind = readKind(contract);
  const worth = readWorth(contract, venue_kind);
  return makeListingValues({
    venue_symbol: readText(contract.symbol, 'symbol'),
    asset,
    ...splitMultiplier(ALIASES[asset] ?? asset),
    isShare: contract.assetClass === 'STOCK',
    venue_kind,
    tick_size: readRuleOrNull('tick_size', contract.tickSize, 'tickSize'),
    lot_size: readRuleOrNull('lot_size', contract.lotSize, 'lotSize'),
    contract_size: worth.contract_size,
    ...toFundingInterval(readInterval(contract)),
    quote: readText(contract.quoteCurrency, 'quoteCurrency'),
    pair: typeof contract.indexSymbol === 'string' && contract.indexSymbol !== '' ? contract.indexSymbol : null,
    status: contract.type === 'FFWCSX' ? (STATUSES[String(contract.status)] ?? 'unknown') : 'unknown',
    quantity_unit: 'contracts',
    funding_normalisation: { venue_field: 'fundingFeeRate', transform: 'identity' },
    rules_normalisation: {
      tick_size: { venue_field: 'tickSize', transform: 'identity' },
      lot_size: { venue_field: 'lotSize', transform: 'identity' },
      contract_size: { venue_field: 'multiplier', transform: worth.transform },
    },
    price_types: ['trade'],
    not_published: [
      ...['liquidation', 'min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
      ...(venue_kind === 'inverse' ? ['turnover_24h'] : []),
    ],
    listed_at: readMsOrNull(contract.firstOpenDate, 'firstOpenDate'),
    delisted_at: readMsOrNull(contract.expireDate, 'expireDate'),
  });
};

/** `isQuanto` is true for some linear contracts: the settlement currency decides. */
const readKind = (contract: Fields): ListingValues['venue_kind'] => {
  if (typeof contract.isInverse !== 'boolean') throw makeBadFrame('isInverse is not a flag');
  if (contract.isInverse) return 'inverse';
  return contract.settleCurrency === contract.quoteCurrency ? 'linear' : 'quanto';
};

/** Milliseconds between settlements; the current one takes precedence, because the venue may change it at any time. */
export const readInterval = (contract: Fields): number | null =>
  readCountOrNull(contract.currentFundingRateGranularity, 'currentFundingRateGranularity') ||
  readCountOrNull(contract.fundingRateGranularity, 'fundingRateGranularity') ||
  null;

/** The multiplier of an inverse contract is negative: -1 is one dollar. One of the other sign is no size of its kind. */
const readWorth = (
  contract: Fields,
  kind: ListingValues['venue_kind'],
): { readonly contract_size: Digits | null; readonly transform: string } => {
  const signed = readFigureOrNull(contract.multiplier, 'multiplier');
  const isInverse = kind === 'inverse';
  const size = isInverse && signed !== null ? subtract('0', signed) : signed;
  const contract_size = readRuleOrNull('contract_size', size, 'multiplier');
  return { contract_size, transform: isInverse ? 'scale:-1' : 'identity' };
};
