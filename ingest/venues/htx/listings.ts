// HTX's reference answers: contract elements and contract info become listings (records.md, V-02 to V-04).
import { formatDuration } from '../../../schemas/durations.ts';
import { PRICE_TYPES } from '../../../schemas/layers/candle.ts';
import type { ListingRecord, ListingValues, Micros } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readEntries, readListings } from '../shared/listing-rows.ts';
import { makeListingValues } from '../shared/listing-values.ts';
import { readOrElse } from '../shared/map-each.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import { noteUnexpected } from '../shared/unexpected.ts';
import {
  type Fields,
  isAbsent,
  makeRefusal,
  makeWords,
  parseRequest,
  readCountOrNull,
  readFields,
  readInstantOrNull,
  readList,
  readMessage,
  readMsOrNull,
  readRuleOrNull,
  readText,
} from '../shared/wire.ts';
import { isSwap, type Market, splitSymbol } from './symbols.ts';

/** Hours between settlements by contract code. */
type Hours = Readonly<Record<string, number>>;

const MS_PER_HOUR = 3_600_000;

/** Notes the settlement periods of the elements; an answer of contract info is the whole reference of its market. */
export const mapReference = (state: ReferenceState, message: VenueMessage): ReferenceAnswer | null => {
  const path = parseRequest(message.request)?.path ?? '';
  const [, api, endpoint] = /\/(linear-swap|swap)-api\/v1\/(swap_query_elements|swap_contract_info)$/.exec(path) ?? [];
  if (api === undefined || endpoint === undefined) return null;
  const market: Market = api === 'swap' ? 'inverse' : 'linear';
  return readMessage(message.payload, (body) => {
    const answer = readAnswer(body);
    const data = readList(answer.data, 'data');
    if (endpoint === 'swap_query_elements') {
      state[market] = toHours(data);
      return null;
    }
    const source = { message, market, ts: readMsOrNull(answer.ts, 'ts'), hours: (state[market] ?? {}) as Hours };
    return {
      scope: market,
      ...readListings({ rows: data, name: 'contract_code' }, (item) => toListing(item, source)),
      elements: () => splitElements(message.payload, 'contract_code'),
    };
  });
};

/** An answer or a frame. Throws when the venue refused. */
export const readAnswer = (body: unknown): Fields => {
  const answer = readFields(body, 'message');
  if (!isAbsent(answer.status) && answer.status !== 'ok') {
    // Market data spell it with a hyphen, reference data with an underscore.
    throw makeRefusal(
      `${String(answer['err-code'] ?? answer.err_code)} ${String(answer['err-msg'] ?? answer.err_msg)}`,
    );
  }
  // v5 has no `status`: its `code` is 200 when it serves.
  if (!isAbsent(answer.code) && String(answer.code) !== '200') {
    throw makeRefusal(`${String(answer.code)} ${String(answer.message ?? answer.msg)}`);
  }
  return answer;
};

const toHours = (data: readonly unknown[]): Hours =>
  readEntries(data, (item) => {
    const hours = readHours(item, 'settle_period');
    return hours === null ? null : [readText(item.contract_code, 'contract_code'), hours];
  });

/** Hours between settlements; zero is none. */
const readHours = (item: Fields, name: 'settle_period' | 'settlement_period'): number | null =>
  readCountOrNull(item[name], name) || null;

type Source = {
  readonly message: VenueMessage;
  readonly market: Market;
  readonly ts: Micros | null;
  readonly hours: Hours;
};

const toListing = (item: Fields, source: Source): ListingRecord | null => {
  const venue_symbol = readText(item.contract_code, 'contract_code');
  if (!isSwap(venue_symbol)) return null;
  return {
    layer: 'listing',
    venue: 'htx',
    venue_symbol,
    venue_ts: source.ts,
    received_at: source.message.received_at,
    values: toValues(item, venue_symbol, source),
  };
};

/** `contract_status`; 4 and 9 are on their way to suspension, 5 to 7 are steps of a settlement. */
const STATUSES = makeWords({
  '0': 'delisted',
  '1': 'tradeable',
  '2': 'pre_launch',
  '3': 'halted',
  '4': 'halted',
  '5': 'settling',
  '6': 'settling',
  '7': 'settling',
  '8': 'delisted',
  '9': 'halted',
});

const toValues = (item: Fields, code: string, { market, hours }: Source): ListingValues => {
  const { base: asset, quote } = splitSymbol(code);
  return makeListingValues({
    venue_symbol: code,
    asset,
    ...splitMultiplier(asset),
    isShare: Array.isArray(item.labels) && item.labels.includes('stock'),
    quote,
    venue_kind: market,
    contract_size: readRuleOrNull('contract_size', item.contract_size, 'contract_size'),
    tick_size: readRuleOrNull('tick_size', item.price_tick, 'price_tick'),
    pair: isAbsent(item.pair) ? code : readText(item.pair, 'pair'),
    status: STATUSES[String(item.contract_status)] ?? 'unknown',
    quantity_unit: 'contracts',
    ...readFundingInterval(item, hours[code]),
    funding_normalisation: { venue_field: 'funding_rate', transform: 'string_to_number' },
    rules_normalisation: {
      tick_size: { venue_field: 'price_tick', transform: 'identity' },
      contract_size: { venue_field: 'contract_size', transform: 'identity' },
    },
    price_types: PRICE_TYPES,
    not_published: [
      ...['change_24h', 'lot_size', 'min_notional', 'min_qty', 'price_decimals', 'qty_decimals'],
      // Coin-margined volumes are counted in contracts and in coins, never in dollars.
      ...(market === 'inverse' ? ['turnover_24h'] : []),
    ],
    // Documented: positions of both sides for linear swaps, of a single side for coin-margined ones.
    oi_sides: market === 'linear' ? 'two' : 'one',
    listed_at: readDate(item.create_date),
    delisted_at: readMsOrNull(item.delivery_time, 'delivery_time'),
  });
};

type Interval = Pick<ListingValues, 'funding_interval' | 'funding_interval_source'>;

/** The contracts themselves name it since 2026, the elements did before; eight hours is the venue's usual period. */
const readFundingInterval = (item: Fields, ofElement: number | undefined): Interval => {
  const period = readOrElse<number | null | undefined>(
    () => readHours(item, 'settlement_period'),
    // Named, and cannot be read: not the usual eight.
    ({ kind }) => {
      noteUnexpected(kind);
      return undefined;
    },
  );
  if (period === undefined) return { funding_interval: null, funding_interval_source: null };
  const hours = period ?? ofElement;
  return {
    funding_interval: formatDuration((hours ?? 8) * MS_PER_HOUR),
    funding_interval_source: hours === undefined ? 'assumed' : 'venue',
  };
};

/** `20201021`: a day, taken at its start in UTC. */
const readDate = (value: unknown): Micros | null =>
  isAbsent(value)
    ? null
    : readInstantOrNull(String(value).replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3'), 'create_date');
