// MEXC's reference answers: contracts and funding cycles become listings (records.md, V-02 to V-04).
import { formatDuration } from '../../../schemas/durations.ts';
import { TIMEFRAMES } from '../../../schemas/layers/candle.ts';
import { BANDS } from '../../../schemas/layers.ts';
import type { Digits, FieldTransform, ListingRecord, ListingValues } from '../../../schemas/records.ts';
import type { ReferenceAnswer, ReferenceState, VenueMessage } from '../contract/listings.ts';
import { leaveOff } from '../shared/chosen-listings.ts';
import { splitElements } from '../shared/elements.ts';
import { readEntries, readListings } from '../shared/listing-rows.ts';
import { splitMultiplier } from '../shared/symbol-names.ts';
import {
  type Fields,
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
    const { listings: all, unreadable } = readListings(rows, (item) =>
      isPerpetual(item) ? toListing(item, message, known) : null,
    );
    const priced = listPriceCandleSymbols(all);
    const listings = all.map((listing) =>
      priced.has(listing.venue_symbol) ? listing : leaveOff(listing, ['price_candles']),
    );
    return {
      scope: Array.isArray(data) ? 'all' : `contract ${String(readFields(data, 'data').symbol)}`,
      listings,
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
  String(futureType ?? 1) === '1' ? (STATUSES[String(state)] ?? 'unknown') : 'unknown';

const toListing = (item: Fields, { received_at }: VenueMessage, cycles: Cycles): ListingRecord => {
  const venue_symbol = readText(item.symbol, 'symbol');
  const values = toValues(item, cycles[venue_symbol] ?? null);
  return { layer: 'listing', venue: 'mexc', venue_symbol, venue_ts: null, received_at, values };
};

const toValues = (item: Fields, cycle: number | null): ListingValues => {
  const asset = readText(item.baseCoin, 'baseCoin');
  const { base, multiplier } = splitMultiplier(asset);
  const venue_kind = readKind(item);
  const rules = readRules(item);
  return {
    instrument: `${base}-PERP`,
    venue_symbol: readText(item.symbol, 'symbol'),
    base,
    quote: readText(item.quoteCoin, 'quoteCoin'),
    base_venue_alias: base === asset ? null : asset,
    kind: 'perpetual',
    venue_kind,
    pair: null,
    post_only: null,
    status: readStatus(item),
    contract_size: rules.figures.contract_size,
    multiplier,
    tick_size: rules.figures.tick_size,
    lot_size: rules.figures.lot_size,
    min_qty: rules.figures.min_qty,
    min_notional: null,
    price_decimals: readCountOrNull(item.priceScale, 'priceScale'),
    qty_decimals: readCountOrNull(item.volScale, 'volScale'),
    units: {
      tick_size: rules.figures.tick_size === null ? null : 'quote',
      lot_size: rules.figures.lot_size === null ? null : 'contracts',
      min_qty: rules.figures.min_qty === null ? null : 'contracts',
      min_notional: null,
      contract_size: venue_kind === 'inverse' ? 'quote' : 'base',
    },
    quantity_unit: 'contracts',
    funding_interval: cycle === null ? null : formatDuration(cycle),
    funding_interval_source: cycle === null ? null : 'venue',
    funding_normalisation: { venue_field: 'fundingRate', transform: 'identity' },
    rules_normalisation: rules.normalisation,
    candles: { base_timeframe: '1m', price_types: ['trade', 'mark', 'index'], timeframes: TIMEFRAMES },
    // The turnover of an inverse contract counts coins.
    not_published: ['liquidation', 'min_notional', ...(venue_kind === 'inverse' ? ['turnover_24h'] : [])],
    bands: BANDS,
    oi_sides: null,
    listed_at: readMsOrNull(item.openingTime, 'openingTime') ?? readMsOrNull(item.createTime, 'createTime'),
    delisted_at: null,
  };
};

const readKind = ({ baseCoin, quoteCoin, settleCoin }: Fields): ListingValues['venue_kind'] => {
  if (settleCoin === quoteCoin) return 'linear';
  return settleCoin === baseCoin ? 'inverse' : 'quanto';
};

const FIGURES = {
  tick_size: 'priceUnit',
  lot_size: 'volUnit',
  min_qty: 'minVol',
  contract_size: 'contractSize',
} as const;
const DECIMALS = { price_decimals: 'priceScale', qty_decimals: 'volScale' } as const;

type Rules = {
  readonly figures: Readonly<Record<keyof typeof FIGURES, Digits | null>>;
  readonly normalisation: Readonly<Record<string, FieldTransform>>;
};

/** Trading rules with the venue field of each (V-03). */
const readRules = (item: Fields): Rules => {
  const read = (rule: keyof typeof FIGURES): Digits | null => readRuleOrNull(rule, item[FIGURES[rule]], FIGURES[rule]);
  const figures = {
    tick_size: read('tick_size'),
    lot_size: read('lot_size'),
    min_qty: read('min_qty'),
    contract_size: read('contract_size'),
  };
  const named = Object.entries({ ...FIGURES, ...DECIMALS });
  return {
    figures,
    normalisation: Object.fromEntries(
      named.map(([rule, venue_field]) => [rule, { venue_field, transform: 'identity' }]),
    ),
  };
};
