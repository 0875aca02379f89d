// Normalised records: the contents of a venue's message, digit by digit (docs/records.md). Records of a layer are in its file.
import type { GapCause } from './gap-causes.ts';
import type { PriceType, Timeframe } from './layers/candle.ts';
import type { LayerRecord } from './layers/index.ts';
import type { RecordOf } from './layers/layer.ts';
import type { Digits, Micros, QuantityUnit } from './scalars.ts';

export type { BookRecord } from './layers/book.ts';
export type { CandleRecord, PriceType } from './layers/candle.ts';
export type { FundingRecord } from './layers/funding.ts';
export type { LiquidationRecord } from './layers/liquidation.ts';
export type { MarkRecord } from './layers/mark.ts';
export type { OiRecord } from './layers/oi.ts';
export type { StatsRecord } from './layers/stats.ts';
export type { TickerRecord } from './layers/ticker.ts';
export type { TradeRecord } from './layers/trade.ts';
export type { Digits, Level, Micros, QuantityUnit } from './scalars.ts';

/** How a member is computed from a venue's field (V-03). */
export type FieldTransform = { readonly venue_field: string; readonly transform: string };

/** The listing record of the interface without its service-side members (records.md, V-03, V-04). */
export type ListingValues = {
  readonly instrument: string;
  readonly venue_symbol: string;
  readonly base: string;
  readonly quote: string;
  readonly base_venue_alias: string | null;
  readonly kind: 'perpetual';
  readonly venue_kind: 'linear' | 'inverse' | 'quanto' | null;
  readonly pair: string | null;
  readonly post_only: boolean | null;
  /** V-02: tradeable, post_only, reduce_only, cancel_only, halted, pre_launch, settling, delisted, unknown. */
  readonly status: string;
  readonly contract_size: Digits | null;
  readonly multiplier: Digits | null;
  readonly tick_size: Digits | null;
  readonly lot_size: Digits | null;
  readonly min_qty: Digits | null;
  readonly min_notional: Digits | null;
  readonly price_decimals: number | null;
  readonly qty_decimals: number | null;
  readonly units: Readonly<
    Record<'tick_size' | 'lot_size' | 'min_qty' | 'min_notional' | 'contract_size', string | null>
  >;
  /** Unit of the venue's quantities (trades, book, oi) for this listing. */
  readonly quantity_unit: QuantityUnit;
  readonly funding_interval: string | null;
  readonly funding_interval_source: 'venue' | 'documented' | 'measured' | 'assumed' | null;
  readonly funding_normalisation: FieldTransform | null;
  readonly rules_normalisation: Readonly<Record<string, FieldTransform>>;
  readonly candles: {
    readonly base_timeframe: '1m';
    readonly price_types: readonly PriceType[];
    readonly timeframes: readonly Timeframe[];
  };
  readonly not_published: readonly string[];
  readonly bands: readonly string[];
  /** Open interest as counted by the venue. */
  readonly oi_sides: 'one' | 'two' | null;
  readonly listed_at: Micros | null;
  readonly delisted_at: Micros | null;
};
export type ListingRecord = RecordOf<'listing', ListingValues> & {
  /** Layers not collected because of the venue's limits (V-03a); `price_candles` are candles of mark and index prices. */
  readonly off?: readonly string[];
  /** Trades before its launch (`pre_launch`), as a pre-market contract does: it is collected (D-528). */
  readonly isTraded?: true;
};

export type GapRecord = {
  readonly layer: 'gap';
  readonly venue: string;
  readonly venue_symbol: string | null;
  readonly venue_ts: null;
  readonly received_at: Micros;
  readonly values: {
    readonly scope: 'symbol' | 'connection';
    readonly cause: GapCause;
    readonly of: readonly string[];
  };
};

/** The result of mapping a venue's message. */
export type NormalisedRecord = LayerRecord | ListingRecord | GapRecord;
