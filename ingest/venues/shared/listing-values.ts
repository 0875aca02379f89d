// The values of a listing, from its venue's data: missing values are null (records.md, V-03).
import { formatDuration } from '../../../schemas/durations.ts';
import { BANDS } from '../../../schemas/layers/book-bands.ts';
import { type PriceType, TIMEFRAMES } from '../../../schemas/layers/candle.ts';
import type { Digits, ListingValues } from '../../../schemas/records.ts';
import { toShareCode } from './symbol-names.ts';

type Rules = Pick<ListingValues, 'contract_size' | 'tick_size' | 'lot_size' | 'min_qty' | 'min_notional'>;
/** Absent where the venue publishes none. */
type Optional = Rules &
  Pick<
    ListingValues,
    'pair' | 'post_only' | 'price_decimals' | 'qty_decimals' | 'oi_sides' | 'listed_at' | 'delisted_at'
  >;
type Derived = 'instrument' | 'base_venue_alias' | 'kind' | 'multiplier' | 'units' | 'candles' | 'bands';
type Told = Omit<ListingValues, keyof Optional | Derived> &
  Partial<Optional> & {
    /** The venue's name of the base; the base itself when absent. */
    readonly asset?: string;
    /** One when absent. */
    readonly multiplier?: Digits;
    /** The venue says that the base is a share, no coin. */
    readonly isShare?: boolean;
    /** Prices whose candles the venue publishes. */
    readonly price_types: readonly PriceType[];
  };

export const makeListingValues = (told: Told): ListingValues => {
  const { asset = told.base } = told;
  const base = told.isShare === true ? toShareCode(told.base) : told.base;
  const { tick_size = null, lot_size = null, min_qty = null, min_notional = null } = told;
  // A quanto contract has a size neither in base nor in quote.
  const contract_size = told.venue_kind === 'quanto' ? null : (told.contract_size ?? null);
  const rules = { contract_size, tick_size, lot_size, min_qty, min_notional };
  return {
    instrument: `${base}-PERP`,
    venue_symbol: told.venue_symbol,
    base,
    quote: told.quote,
    base_venue_alias: base === asset ? null : asset,
    kind: 'perpetual',
    venue_kind: told.venue_kind,
    pair: told.pair ?? null,
    post_only: told.post_only ?? null,
    status: told.status,
    contract_size,
    multiplier: told.multiplier ?? '1',
    tick_size,
    lot_size,
    min_qty,
    min_notional,
    price_decimals: told.price_decimals ?? null,
    qty_decimals: told.qty_decimals ?? null,
    units: toUnits(rules, told),
    quantity_unit: told.quantity_unit,
    funding_interval: told.funding_interval,
    funding_interval_source: told.funding_interval_source,
    funding_normalisation: told.funding_normalisation,
    rules_normalisation: told.rules_normalisation,
    candles: { base_timeframe: '1m', price_types: told.price_types, timeframes: TIMEFRAMES },
    not_published: told.not_published,
    bands: BANDS,
    oi_sides: told.oi_sides ?? null,
    listed_at: told.listed_at ?? null,
    delisted_at: told.delisted_at ?? null,
  };
};

type Quantity = Pick<ListingValues, 'venue_kind' | 'quantity_unit'>;

/** A rule without a value has no unit. */
const toUnits = (rules: Rules, quantity: Quantity): ListingValues['units'] => {
  const toUnit = (rule: keyof Rules, unit: string | null): string | null => (rules[rule] === null ? null : unit);
  return {
    tick_size: toUnit('tick_size', 'quote'),
    lot_size: toUnit('lot_size', quantity.quantity_unit),
    min_qty: toUnit('min_qty', quantity.quantity_unit),
    min_notional: toUnit('min_notional', 'quote'),
    contract_size: toUnit('contract_size', toSizeUnit(quantity)),
  };
};

/** What a contract is worth is an amount of quote (inverse) or of base; where quantities are amounts, the size is one of them. */
const toSizeUnit = ({ venue_kind, quantity_unit }: Quantity): string | null => {
  if (quantity_unit !== 'contracts') return quantity_unit;
  return venue_kind === null ? null : venue_kind === 'inverse' ? 'quote' : 'base';
};

/** The interval that the venue states of a listing, in milliseconds; null: none. */
export const toFundingInterval = (
  ms: number | null,
): Pick<ListingValues, 'funding_interval' | 'funding_interval_source'> =>
  ms === null
    ? { funding_interval: null, funding_interval_source: null }
    : { funding_interval: formatDuration(ms), funding_interval_source: 'venue' };
