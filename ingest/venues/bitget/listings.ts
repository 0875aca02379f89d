// Bitget's reference answers of v1, v2 and v3: contracts and instruments become listings (records.md, V-02 to V-04).
import { multiply, toStep } from '../../../schemas/decimals.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { Digits, FieldTransform, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { keepPriceCandles } from '../shared/chosen-listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readListings } from '../shared/listing-rows.ts';
import { makeListingValues, toFundingInterval } from '../shared/listing-values.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
  isAbsent,
  makeRefusal,
  makeWords,
  parseRequest,
  readAmountOrNull,
  readCountOrNull,
  readFields,
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { listPriceCandleSymbols } from './budget.ts';
import { isDated, toMarket, toQuantityUnit } from './symbols.ts';

/** An answer is the whole of its product type. */
export const mapReference = (_state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const request = parseRequest(message.request);
  if (
    !/\/api\/(mix\/v1\/market\/contracts|v2\/mix\/market\/contracts|v3\/market\/instruments)$/.test(request?.path ?? '')
  )
    return null;
  const asked = request?.query.get('category') ?? request?.query.get('productType') ?? '';
  if (/^(spot|margin)$/i.test(asked)) return null;
  return readMessage(message.payload, (body) => {
    const answer = readFields(body, 'contracts');
    if (answer.code !== '00000') throw makeRefusal(String(answer.msg));
    const venue_ts = readMsOrNull(answer.requestTime, 'requestTime');
    const { received_at } = message;
    const rows = { rows: readList(answer.data, 'data'), name: 'symbol' };
    const { listings, unreadable } = readListings(rows, (contract) => {
      if (!isPerpetual(contract)) return null;
      const venue_symbol = readText(contract.symbol, 'symbol');
      const values = toValues(contract, venue_symbol, venue_ts ?? received_at);
      return { layer: 'listing', venue: 'bitget', venue_symbol, venue_ts, received_at, values };
    });
    return {
      scope: asked === '' ? 'futures' : asked.toLowerCase(),
      // Candles of mark and index prices take one request for each listing: those beyond the REST budget are not offered.
      listings: request?.path.includes('/v3/')
        ? keepPriceCandles(listings, listPriceCandleSymbols(listings))
        : listings,
      unreadable,
      elements: () => splitElements(message.payload, 'symbol'),
    };
  });
};

/** The kind is `type` in v3 (there `symbolType` is the asset's class), `symbolType` in v2, and in v1 only the symbol shows it. */
const readKind = ({ symbolType, type }: Fields): unknown => (isAbsent(type) ? symbolType : type) ?? 'perpetual';

/** False for spot, a delivery kind or a date in the symbol; any other kind, known or not, counts as perpetual. */
const isPerpetual = (contract: Fields): boolean =>
  !/^(spot|margin)$/i.test(String(contract.category ?? '')) &&
  readKind(contract) !== 'delivery' &&
  !isDated(readText(contract.symbol, 'symbol'));

const STATUSES = makeWords({
  listed: 'pre_launch',
  normal: 'tradeable',
  online: 'tradeable',
  limit_open: 'reduce_only',
  maintain: 'halted',
  off: 'delisted',
  offline: 'halted',
});

/** `offline` is also the word for maintenance (the docs of v3): such a contract has ended once its `offTime` has passed, or when the list drops it. */
const readStatus = (contract: Fields, at: Micros): string => {
  if (readKind(contract) !== 'perpetual') return 'unknown';
  const word = String(contract.symbolStatus ?? contract.status);
  const end = word === 'offline' ? readEndlessMs(contract.offTime, 'offTime') : null;
  return end !== null && end <= at ? 'delisted' : (STATUSES[word] ?? 'unknown');
};

const toValues = (contract: Fields, venue_symbol: string, at: Micros): ListingValues => {
  const asset = readText(contract.baseCoin, 'baseCoin');
  const { rules, normalisation } = readRules(contract);
  return makeListingValues({
    venue_symbol,
    asset,
    ...splitMultiplier(asset),
    isShare: contract.symbolType === 'stock',
    ...rules,
    quote: readText(contract.quoteCoin, 'quoteCoin'),
    venue_kind: toMarket(venue_symbol),
    status: readStatus(contract, at),
    // Sizes are amounts; `sizeMultiplier` is their step.
    contract_size: '1',
    price_decimals: readCountOrNull(...findMember(contract, ['pricePlace', 'pricePrecision'])),
    qty_decimals: readCountOrNull(...findMember(contract, ['volumePlace', 'quantityPrecision'])),
    quantity_unit: toQuantityUnit(venue_symbol),
    ...readFundingInterval(contract.fundInterval),
    funding_normalisation: { venue_field: 'fundingRate', transform: 'string_to_number' },
    rules_normalisation: normalisation,
    price_types: PRICE_TYPES,
    not_published: (['lot_size', 'min_qty', 'min_notional'] as const).filter((rule) => rules[rule] === null),
    listed_at: readEndlessMs(contract.launchTime, 'launchTime'),
    delisted_at: readEndlessMs(contract.offTime, 'offTime'),
  });
};

/** Empty, `0` and `-1` mean: no time. */
const readEndlessMs = (value: unknown, name: string) =>
  value === '' || String(value) === '-1' ? null : readMsOrNull(value, name);

/** Hours; v1 does not publish the interval, and zero is none. */
const readFundingInterval = (value: unknown): ReturnType<typeof toFundingInterval> => {
  const ms = Number(readAmountOrNull(value, 'fundInterval') ?? 0) * 3_600_000;
  return toFundingInterval(Number.isSafeInteger(ms) && ms > 0 ? ms : null);
};

/** The first name that the contract has: versions differ. */
const findMember = (contract: Fields, names: readonly string[]): readonly [value: unknown, name: string] => {
  const name = names.find((each) => !isAbsent(contract[each])) ?? (names[0] as string);
  return [contract[name], name];
};

type Rule = 'tick_size' | 'lot_size' | 'min_qty' | 'min_notional';
type Rules = {
  readonly rules: Readonly<Record<Rule, Digits | null>>;
  readonly normalisation: Readonly<Record<string, FieldTransform>>;
};

/** Trading rules with the venue field of each (V-03). */
const readRules = (contract: Fields): Rules => {
  const normalisation: Record<string, FieldTransform> = {};
  const note = (rule: string, digits: Digits | null, [venue_field, transform]: readonly [string, string]) => {
    if (digits !== null) normalisation[rule] = { venue_field, transform };
    return digits;
  };
  const plain = (rule: Rule, names: readonly string[]): Digits | null => {
    const [value, name] = findMember(contract, names);
    return note(rule, readRuleOrNull(rule, value, name), [name, 'string_to_number']);
  };
  const rules = {
    tick_size: plain('tick_size', ['priceMultiplier']) ?? readTick(contract, note),
    lot_size: plain('lot_size', ['quantityMultiplier', 'sizeMultiplier']) ?? readStep(contract, note),
    min_qty: plain('min_qty', ['minOrderQty', 'minTradeNum']),
    // A minimum in USDT is no quote amount when the quote is another currency.
    min_notional: plain(
      'min_notional',
      contract.quoteCoin === 'USDT' ? ['minOrderAmount', 'minTradeUSDT'] : ['minOrderAmount'],
    ),
  };
  for (const [rule, names] of [
    ['price_decimals', ['pricePlace', 'pricePrecision']],
    ['qty_decimals', ['volumePlace', 'quantityPrecision']],
  ] as const) {
    const [value, name] = findMember(contract, names);
    note(rule, isAbsent(value) ? null : String(value), [name, 'string_to_number']);
  }
  return { rules, normalisation };
};

type Note = (rule: string, digits: Digits | null, from: readonly [string, string]) => Digits | null;

/** v1 and v2: `priceEndStep` counts units of the last of `pricePlace` decimals. */
const readTick = (contract: Fields, note: Note): Digits | null => {
  const steps = readRuleOrNull('tick_size', contract.priceEndStep, 'priceEndStep');
  const places = readCountOrNull(contract.pricePlace, 'pricePlace');
  if (steps === null || places === null || places > MOST_PLACES) return null;
  return note('tick_size', multiply(steps, toStep(places)), ['priceEndStep', `scale:${toStep(places)}`]);
};

/** v1 publishes only the number of decimals of sizes. */
const readStep = (contract: Fields, note: Note): Digits | null => {
  const places = readCountOrNull(contract.volumePlace, 'volumePlace');
  if (places === null || places > MOST_PLACES) return null;
  return note('lot_size', toStep(places), ['volumePlace', 'decimals_to_step']);
};

const MOST_PLACES = 30;
