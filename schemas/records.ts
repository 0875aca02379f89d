// Normalised records: what a venue's message says, digit by digit (spec/records.md).

/** Microseconds since 1970-01-01T00:00Z; fits a JS number until 2255. */
export type Micros = number;

/** A decimal figure with the venue's digits under N-05 rule 1: no `+`, no exponent, no insignificant zeros. */
export type Digits = string;

/** What a venue counts quantities in. */
export type QuantityUnit = 'base' | 'contracts' | 'quote';

/** `[price, size]`; size `0` removes the level. */
export type Level = readonly [price: Digits, size: Digits];

type Common<L extends string, V> = {
  readonly layer: L;
  readonly venue: string;
  readonly venue_symbol: string;
  /** The venue's stamp for this value; null when the message has none. */
  readonly venue_ts: Micros | null;
  readonly received_at: Micros;
  readonly values: V;
};

export type TickerRecord = Common<'ticker', { readonly last: Digits | null }>;
/** One or both of mark and index; null where this message does not carry it. */
export type MarkRecord = Common<'mark', { readonly mark: Digits | null; readonly index: Digits | null }>;
export type FundingRecord = Common<
  'funding',
  {
    /** Rate for the next settlement, per interval, as a fraction. */
    readonly funding: Digits | null;
    /** Milliseconds; null when only the listing knows it. */
    readonly funding_interval_ms: number | null;
    readonly next_funding_at: Micros | null;
  }
>;
export type OiRecord = Common<'oi', { readonly oi: Digits | null; readonly oi_unit: QuantityUnit }>;
export type BookRecord = Common<
  'book',
  {
    readonly kind: 'snapshot' | 'update';
    readonly bids: readonly Level[];
    readonly asks: readonly Level[];
    /** The venue's own sequence of this message, null when it has none. */
    readonly sequence: string | null;
  }
>;
export type StatsRecord = Common<
  'stats',
  {
    readonly volume_24h: Digits | null;
    readonly volume_unit: QuantityUnit;
    readonly turnover_24h: Digits | null;
    readonly change_24h: Digits | null;
  }
>;
export type TradeRecord = Common<
  'trade',
  {
    readonly id: string | null;
    /** The taker's side. */
    readonly side: 'buy' | 'sell';
    readonly price: Digits;
    readonly quantity: Digits;
    readonly quantity_unit: QuantityUnit;
  }
>;
export type LiquidationRecord = Common<
  'liquidation',
  {
    readonly id: string | null;
    /** The side of the position that was closed. */
    readonly side: 'long' | 'short';
    readonly price: Digits;
    readonly price_kind: 'fill' | 'order' | 'bankruptcy' | 'mark';
    readonly quantity: Digits;
    readonly quantity_unit: QuantityUnit;
  }
>;
export type PriceType = 'trade' | 'mark' | 'index';
export type CandleRecord = Common<
  'candle',
  {
    readonly open_time: Micros;
    readonly price_type: PriceType;
    readonly timeframe: '1m';
    readonly open: Digits | null;
    readonly high: Digits | null;
    readonly low: Digits | null;
    readonly close: Digits | null;
    readonly volume: Digits | null;
    readonly volume_unit: QuantityUnit | null;
    readonly turnover: Digits | null;
    readonly trades: number | null;
    readonly closed: boolean | null;
  }
>;

/** How a member was made from a venue's field (V-03). */
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
    readonly timeframes: readonly string[];
  };
  readonly not_published: readonly string[];
  readonly bands: readonly string[];
  /** Open interest as the venue counts it. */
  readonly oi_sides: 'one' | 'two' | null;
  readonly listed_at: Micros | null;
  readonly delisted_at: Micros | null;
};
export type ListingRecord = Common<'listing', ListingValues> & {
  /** Layers not collected of it because the venue's limits leave no room (V-03a); `price_candles` are candles of mark and index prices. */
  readonly off?: readonly string[];
};

export type GapRecord = {
  readonly layer: 'gap';
  readonly venue: string;
  readonly venue_symbol: string | null;
  readonly venue_ts: null;
  readonly received_at: Micros;
  readonly values: { readonly scope: 'symbol' | 'connection'; readonly cause: string; readonly of: readonly string[] };
};

export type NormalisedRecord =
  | TickerRecord
  | MarkRecord
  | FundingRecord
  | OiRecord
  | BookRecord
  | StatsRecord
  | TradeRecord
  | LiquidationRecord
  | CandleRecord
  | ListingRecord
  | GapRecord;

export type RecordLayer = NormalisedRecord['layer'];
