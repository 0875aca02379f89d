// A reading as the stream and snapshots send it, with figures as digits (`number_format=string`): the members that the explorer uses.

export type ReadingStatus = 'present' | 'stale' | 'missing' | 'not_published' | 'off';

export type Reading = {
  readonly status: ReadingStatus;
  readonly reason?: string;
  readonly gap_cause?: string;
  readonly venue_ts: string | null;
  readonly received_at: string | null;
  readonly age_ms: number | null;
  readonly valid_until: string | null;
  readonly horizon_source?: string | null;
  readonly values: Readonly<Record<string, string | null>>;
  readonly units?: Readonly<Record<string, string>>;
  readonly null_reasons?: Readonly<Record<string, string>>;
  readonly instants?: Readonly<Record<string, string>>;
  readonly bids?: readonly Level[];
  readonly asks?: readonly Level[];
};

/** `[price, size]`. */
export type Level = readonly [string, string];

export type ListingName = { readonly venue: string; readonly venue_symbol: string };
export const toListingKey = ({ venue, venue_symbol }: ListingName): string => `${venue}|${venue_symbol}`;
