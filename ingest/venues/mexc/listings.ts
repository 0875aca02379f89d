// MEXC's reference answers: contracts and funding cycles become listings (records.md, V-02 to V-04).
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { ListingRecord, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { keepPriceCandles } from '../shared/chosen-listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readEntries, readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  isAbsent,
  makeRefusal,
  makeWords,
  parseRequest,
  readCountOrNull,
  readFields,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { listPriceCandleSymbols } from './plan.ts';
import { isDated } from './symbols.ts';

/** Milliseconds by venue symbol, from the answers about funding. */
type Cycles = Record<string, number>;

/** Notes the cycles of a funding answer. The list of contracts is the whole reference, the answer about one a scope of its own. */
export const mapReference = (state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const path = parseRequest(message.request)?.path ?? '';
  const isFunding = /\/contract\/funding_rate(\/[^/]+)?$/.test(path) && !path.endsWith('/history');
  // The docs call the list of contracts `detail/country` since 2026.
  if (!isFunding && !/\/contract\/detail(\/country)?$/.test(path)) return null;
  return readMessage(message.payload, (body) => {
    const data = readAnswer(body);
    const items: readonly unknown[] = Array.isArray(data) ? data : [data];
    const known = (state.cycles ?? {}) as Cycles;
    if (isFunding) {
      state.cycles = { ...known, ...toCycles(items) };
      return null;
    }
    const rows = { rows: items, name: 'symbol' };
    const { listings, unreadable } = readListings(rows, (item) =>
      isPerpetual(item) ? toListing(item, message, known) : null,
    );
    return {
      scope: Array.isArray(data) ? 'all' : `contract ${String(readFields(data, 'data').symbol)}`,
      listings: keepPriceCandles(listings, listPriceCandleSymbols(listings)),
      unreadable,
      elements: () => splitElements(message.payload, 'symbol'),
    };
  });
};

/** `data` of an answer. Throws when the venue refused. */
export const readAnswer = (body: unknown): unknown => {
  const answer = readFields(body, 'answer');
  if (answer.success !== true) throw makeRefusal(`${String(answer.code)} ${String(answer.message)}`);
  return answer.data;
};

const toCycles = (items: readonly unknown[]): Cycles =>
  readEntries(items, (item) => {
    const cycle = readCycle(item);
    return cycle === null ? null : [readText(item.symbol, 'symbol'), cycle];
  });

const MS_PER_HOUR = 3_600_000;

/** `collectCycle` hours, in milliseconds. */
export const readCycle = (item: Fields): number | null => {
  const hours = readCountOrNull(item.collectCycle, 'collectCycle');
  return hours === null || hours === 0 ? null : hours * MS_PER_HOUR;
};

/** `futureType` 2 has a delivery date, and a third part in its symbol; any number but 1, known or not, is undated. */
const isPerpetual = ({ symbol, futureType }: Fields): boolean =>
  String(futureType) !== '2' && !isDated(readText(symbol, 'symbol'));

/** By `state`; numbers come as numbers or as their source text. */
const STATUSES = makeWords({
  0: 'tradeable',
  1: 'settling',
  2: 'delisted',
  3: 'delisted',
  4: 'halted',
});

/** `futureType` was not sent before 2025. */
const readStatus = ({ futureType, state }: Fields): string =>
  String(isAbsent(futureType) ? 1 : futureType) === '1' ? (STATUSES[String(state)] ?? 'unknown') : 'unknown';

const toListing = (item: Fields, { received_at }: VenueMessage, cycles: Cycles): ListingRecord => {
  const venue_symbol = readText(item.symbol, 'symbol');
  const values = toValues(item, cycles[venue_symbol] ?? null);
  return { layer: 'listing', venue: 'mexc', venue_symbol, venue_ts: null, received_at, values };
};

const toValues = (item: Fields, cycle: number | null): ListingValues => {
  const asset = readText(item.baseCoin, 'baseCoin');
  const venue_kind = readKind(item);
  return makeListingValues({
    venue_symbol: readText(item.symbol, 'symbol'),
    asset,
    ...splitMultiplier(asset),
    venue_kind,
    tick_size: readRuleOrNull('tick_size', item.priceUnit, 'priceUnit'),
    lot_size: readRuleOrNull('lot_size', item.volUnit, 'volUnit'),
    min_qty: readRuleOrNull('min_qty', item.minVol, 'minVol'),
    contract_size: readRuleOrNull('contract_size', item.contractSize, 'contractSize'),
    quote: readText(item.quoteCoin, 'quoteCoin'),
    status: readStatus(item),
    price_decimals: readCountOrNull(item.priceScale, 'priceScale'),
    qty_decimals: readCountOrNull(item.volScale, 'volScale'),
    quantity_unit: 'contracts',
    ...toFundingInterval(cycle),
    funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
    rules_normalisation: NORMALISATION,
    price_types: PRICE_TYPES,
    // The turnover of an inverse contract counts coins.
    not_published: ['liquidation', 'min_notional', ...(venue_kind === 'inverse' ? ['turnover_24h'] : [])],
    listed_at: readMsOrNull(item.openingTime, 'openingTime') ?? readMsOrNull(item.createTime, 'createTime'),
  });
};

const NORMALISATION: ListingValues['rules_normalisation'] = {
  tick_size: { venue_field: 'priceUnit', transform: 'identity' },
  lot_size: { venue_field: 'volUnit', transform: 'identity' },
  min_qty: { venue_field: 'minVol', transform: 'identity' },
  contract_size: { venue_field: 'contractSize', transform: 'identity' },
  price_decimals: { venue_field: 'priceScale', transform: 'identity' },
  qty_decimals: { venue_field: 'volScale', transform: 'identity' },
};

const readKind = ({ baseCoin, quoteCoin, settleCoin }: Fields): ListingValues['venue_kind'] => {
  if (settleCoin === quoteCoin) return 'linear';
  return settleCoin === baseCoin ? 'inverse' : 'quanto';
};
