// The largest request and answer of each endpoint, whatever the plan, as the catalogue shows them (interface, Limits; T-04).

export const ENDPOINT_LIMITS = {
  snapshots_listings: 500,
  history_listings: 100,
  history_rows_per_layer: 2_000,
  history_raw_rows: 100_000,
  candles_listings: 100,
  candles_per_listing: 1_500,
  books_listings: 100,
  book_depth: 25,
  stream_listings: 500,
  response_bytes: 8_388_608,
} as const;

/** The least that `X-Service-Max-Bytes` may lower `response_bytes` to (T-04). */
export const LEAST_BYTES = 4_096;
