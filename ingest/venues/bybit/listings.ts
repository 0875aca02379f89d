// Bybit's reference answers: instruments-info becomes listings (records.md, V-02 to V-04).
import { MS_PER_MINUTE } from '../../../schemas/instants.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { Digits, ListingRecord, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, UnreadableListing, VenueMessage } from '../contract/listings.ts';
import { listSymbols } from '../shared/chosen-listings.ts';
import { splitElements } from '../shared/elements.ts';
import { type ListingRows, readListings } from '../shared/listing-rows.ts';
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
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { isPerpetual, type Market } from './symbols.ts';

/**
 * Folds instruments-info. Listings before their launch are a separate answer, which comes first and is held until the market's own: so a
 * launching listing moves from one to the other within a scope. Another page (`cursor`) is a scope of its own; we request pages of 1,000.
 */
export const mapReference = (state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const request = parseRequest(message.request);
  if (!request?.path.endsWith('/v5/market/instruments-info')) return null;
  return readMessage(message.payload, (body) => {
    const answer = readFields(body, 'instruments-info');
    if (Number(answer.retCode ?? 0) !== 0) throw makeRefusal(String(answer.retMsg));
    const result = readFields(answer.result, 'result');
    const market = isAbsent(result.category) ? request.query.get('category') : result.category;
    if (market !== 'linear' && market !== 'inverse') return null;
    const venueTs = readMsOrNull(answer.time, 'time');
    const { listings, unreadable: rows } = toListings(result, { market, message, venueTs });
    const unreadable = isCut(result, request.query.get('limit')) ? [...rows, REST] : rows;
    const elements = () => splitElements(message.payload, 'symbol');
    const early = `${market}.pre_launch`;
    const earlyElements = `${early}.elements`;
    const earlyUnreadable = `${early}.unreadable`;
    if (request.query.get('status') === 'PreLaunch') {
      state[early] = listings;
      state[earlyElements] = [...elements()];
      state[earlyUnreadable] = unreadable;
      return null;
    }
    const open = new Set(listSymbols(listings));
    const held = ((state[early] ?? []) as readonly ListingRecord[]).filter(
      ({ venue_symbol }) => !open.has(venue_symbol),
    );
    const heldElements = (state[earlyElements] ?? []) as readonly (readonly [string, string])[];
    const cursor = request.query.get('cursor');
    if (cursor !== null) return { scope: `${market}.${cursor}`, listings, unreadable, elements };
    const heldUnreadable = (state[earlyUnreadable] ?? []) as readonly UnreadableListing[];
    return {
      scope: market,
      listings: [...listings, ...held],
      unreadable: [...unreadable, ...heldUnreadable.filter(({ symbol }) => symbol === null || !open.has(symbol))],
      elements: () => new Map([...heldElements, ...elements()]),
    };
  });
};

/** The listings on the pages after a full one, which may be any. */
const REST: UnreadableListing = {
  symbol: null,
  code: 'VENUE_UNKNOWN_LISTING',
  kind: 'unknown_listing',
  text: 'the answer is a page of several',
};

/** Maximum number of rows in an answer when the request sets none. */
const DEFAULT_LIMIT = 500;

const isCut = ({ list, nextPageCursor }: Fields, limit: string | null): boolean =>
  !isAbsent(nextPageCursor) && readList(list, 'list').length >= Number(limit ?? DEFAULT_LIMIT);

type Source = { readonly market: Market; readonly message: VenueMessage; readonly venueTs: Micros | null };

const toListings = (result: Fields, { market, message, venueTs }: Source): ListingRows =>
  readListings({ rows: readList(result.list, 'list'), name: 'symbol' }, (instrument) => {
    if (!isListed(instrument)) return null;
    const venue_symbol = readText(instrument.symbol, 'symbol');
    const { received_at } = message;
    const values = toValues(instrument, market);
    const early = values.status === 'pre_launch' && isAuctioned(instrument) ? ({ isTraded: true } as const) : {};
    return { layer: 'listing', venue: 'bybit', venue_symbol, venue_ts: venueTs, received_at, values, ...early };
  });

/** Whether the auctions before the launch are over: then a pre-market contract trades without restriction, still as `PreLaunch` (D-528). */
const isAuctioned = ({ preListingInfo }: Fields): boolean =>
  (preListingInfo as Fields | null | undefined)?.curAuctionPhase === 'ContinuousTrading';

/** False for a date or a spread in the symbol, or a future type (`LinearFutures`); any other type, known or not, is undated. */
const isListed = ({ symbol, contractType }: Fields): boolean =>
  isPerpetual(readText(symbol, 'symbol')) && !/Futures$/.test(String(contractType));

const STATUSES = makeWords({
  PreLaunch: 'pre_launch',
  Trading: 'tradeable',
  Settling: 'settling',
  Delivering: 'settling',
  Closed: 'delisted',
});

const readStatus = ({ contractType, status }: Fields): string =>
  /^(Linear|Inverse)Perpetual$/.test(String(contractType)) ? (STATUSES[String(status)] ?? 'unknown') : 'unknown';

const toValues = (instrument: Fields, market: Market): ListingValues => {
  const venue_symbol = readText(instrument.symbol, 'symbol');
  const asset = readText(instrument.baseCoin, 'baseCoin');
  const rules = readRules(instrument);
  return makeListingValues({
    venue_symbol,
    asset,
    ...splitAsset(asset),
    isShare: instrument.symbolType === 'stock',
    ...rules,
    contract_size: '1',
    quote: readText(instrument.quoteCoin, 'quoteCoin'),
    venue_kind: market,
    status: readStatus(instrument),
    // Linear sizes are amounts of the base asset, inverse ones of US dollars: neither counts contracts.
    quantity_unit: market === 'linear' ? 'base' : 'quote',
    ...readFundingInterval(instrument.fundingInterval),
    funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
    rules_normalisation: NORMALISATION,
    price_types: PRICE_TYPES,
    not_published: [
      'qty_decimals',
      ...(rules.min_notional === null ? ['min_notional'] : []),
      // The turnover of an inverse listing counts the base asset; its volume is in US dollars already.
      ...(market === 'inverse' ? ['turnover_24h'] : []),
    ],
    oi_sides: 'two',
    listed_at: readMsOrNull(instrument.launchTime, 'launchTime'),
    // End time of a perpetual; zero: none is set.
    delisted_at: readMsOrNull(instrument.deliveryTime, 'deliveryTime'),
  });
};

/** `SHIB1000`, besides the forms that all venues use. */
const splitAsset = (asset: string): { readonly base: string; readonly multiplier: Digits } => {
  const [, stem, behind] = /^([A-Z]{2,})(10{3,7})$/.exec(asset) ?? [];
  return stem === undefined || behind === undefined ? splitMultiplier(asset) : { base: stem, multiplier: behind };
};

/** Minutes; zero is none. */
const readFundingInterval = (value: unknown): ReturnType<typeof toFundingInterval> =>
  toFundingInterval((readCountOrNull(value, 'fundingInterval') ?? 0) * MS_PER_MINUTE || null);

const RULE_FIELDS = {
  tick_size: ['priceFilter', 'tickSize'],
  lot_size: ['lotSizeFilter', 'qtyStep'],
  min_qty: ['lotSizeFilter', 'minOrderQty'],
  min_notional: ['lotSizeFilter', 'minNotionalValue'],
} as const;
type Rule = keyof typeof RULE_FIELDS;
type Rules = Readonly<Record<Rule, Digits | null>> & { readonly price_decimals: number | null };

const readRules = (instrument: Fields): Rules => {
  const read = (rule: Rule): Digits | null => {
    const [filter, field] = RULE_FIELDS[rule];
    return readRuleOrNull(rule, readFields(instrument[filter] ?? {}, filter)[field], field);
  };
  return {
    tick_size: read('tick_size'),
    lot_size: read('lot_size'),
    min_qty: read('min_qty'),
    min_notional: read('min_notional'),
    price_decimals: readCountOrNull(instrument.priceScale, 'priceScale'),
  };
};

const NORMALISATION: ListingValues['rules_normalisation'] = {
  ...Object.fromEntries(
    Object.entries(RULE_FIELDS).map(([rule, [filter, field]]) => [
      rule,
      { venue_field: `${filter}.${field}`, transform: 'string_to_number' },
    ]),
  ),
  price_decimals: { venue_field: 'priceScale', transform: 'string_to_number' },
};
