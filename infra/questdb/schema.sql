-- Made by infra/dev/tools/print-ddl.ts from processors/sinks/tables.ts: change those, then print again.

CREATE TABLE IF NOT EXISTS 'ticker' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  last DOUBLE,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'mark' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  mark DOUBLE,
  index_price DOUBLE,
  basis DOUBLE,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'funding' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  funding DOUBLE,
  funding_8h DOUBLE,
  funding_interval DOUBLE,
  next_funding_at TIMESTAMP,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'open_interest' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  oi DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'book' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  bid DOUBLE,
  ask DOUBLE,
  mid DOUBLE,
  bid_size DOUBLE,
  ask_size DOUBLE,
  spread DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'stats' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  volume_24h DOUBLE,
  turnover_24h DOUBLE,
  change_24h DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'book_bands' (
  at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  horizon_ms LONG,
  horizon_source SYMBOL,
  anchor SYMBOL,
  valid_until TIMESTAMP,
  mid DOUBLE,
  depth_bid_10bps DOUBLE,
  depth_ask_10bps DOUBLE,
  depth_bid_value_10bps DOUBLE,
  depth_ask_value_10bps DOUBLE,
  levels_bid_10bps DOUBLE,
  levels_ask_10bps DOUBLE,
  depth_bid_25bps DOUBLE,
  depth_ask_25bps DOUBLE,
  depth_bid_value_25bps DOUBLE,
  depth_ask_value_25bps DOUBLE,
  levels_bid_25bps DOUBLE,
  levels_ask_25bps DOUBLE,
  depth_bid_50bps DOUBLE,
  depth_ask_50bps DOUBLE,
  depth_bid_value_50bps DOUBLE,
  depth_ask_value_50bps DOUBLE,
  levels_bid_50bps DOUBLE,
  levels_ask_50bps DOUBLE,
  depth_bid_100bps DOUBLE,
  depth_ask_100bps DOUBLE,
  depth_bid_value_100bps DOUBLE,
  depth_ask_value_100bps DOUBLE,
  levels_bid_100bps DOUBLE,
  levels_ask_100bps DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(at, listing, src_offset, late);

CREATE TABLE IF NOT EXISTS 'candles' (
  open_time TIMESTAMP,
  close_time TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  price_type SYMBOL,
  timeframe SYMBOL,
  venue_ts TIMESTAMP,
  received_at TIMESTAMP,
  recorded_at TIMESTAMP,
  open DOUBLE,
  high DOUBLE,
  low DOUBLE,
  close DOUBLE,
  volume DOUBLE,
  turnover DOUBLE,
  quantity_unit SYMBOL,
  trades LONG,
  minutes_expected LONG,
  minutes_present LONG,
  minutes_no_trades LONG,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(open_time) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(open_time, listing, price_type, timeframe, src_offset, late);

CREATE TABLE IF NOT EXISTS 'trades' (
  received_at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  recorded_at TIMESTAMP,
  id VARCHAR,
  side SYMBOL,
  price DOUBLE,
  quantity DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(received_at) PARTITION BY DAY TTL 92 DAYS WAL
DEDUP UPSERT KEYS(received_at, listing, id);

CREATE TABLE IF NOT EXISTS 'liquidations' (
  received_at TIMESTAMP,
  from_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  status SYMBOL,
  gap_cause SYMBOL,
  late BOOLEAN,
  venue_ts TIMESTAMP,
  recorded_at TIMESTAMP,
  id VARCHAR,
  side SYMBOL,
  price DOUBLE,
  price_kind SYMBOL,
  quantity DOUBLE,
  quantity_unit SYMBOL,
  conn VARCHAR,
  digits VARCHAR,
  null_reasons VARCHAR,
  src_offset LONG
) TIMESTAMP(received_at) PARTITION BY DAY TTL 92 DAYS WAL
DEDUP UPSERT KEYS(received_at, listing, id);

CREATE TABLE IF NOT EXISTS 'connections' (
  from_at TIMESTAMP,
  to_at TIMESTAMP,
  venue SYMBOL,
  task SYMBOL,
  conn VARCHAR,
  slot VARCHAR,
  cause SYMBOL,
  recorded_at TIMESTAMP,
  src_offset LONG
) TIMESTAMP(from_at) PARTITION BY DAY TTL 402 DAYS WAL
DEDUP UPSERT KEYS(from_at, task, conn, src_offset);

CREATE TABLE IF NOT EXISTS 'listings' (
  written_at TIMESTAMP,
  listing SYMBOL INDEX,
  venue SYMBOL,
  venue_symbol VARCHAR,
  instrument SYMBOL,
  base SYMBOL,
  quote SYMBOL,
  venue_kind SYMBOL,
  status SYMBOL,
  quantity_unit SYMBOL,
  oi_sides SYMBOL,
  contract_size DOUBLE,
  multiplier DOUBLE,
  tick_size DOUBLE,
  lot_size DOUBLE,
  min_qty DOUBLE,
  min_notional DOUBLE,
  funding_interval VARCHAR,
  listed_at TIMESTAMP,
  first_seen_at TIMESTAMP,
  delisted_at TIMESTAMP,
  record VARCHAR,
  digits VARCHAR,
  src_offset LONG
) TIMESTAMP(written_at) PARTITION BY YEAR WAL
DEDUP UPSERT KEYS(written_at, listing);

CREATE TABLE IF NOT EXISTS 'capabilities' (
  written_at TIMESTAMP,
  venue SYMBOL,
  task SYMBOL,
  layers VARCHAR,
  src_offset LONG
) TIMESTAMP(written_at) PARTITION BY YEAR WAL
DEDUP UPSERT KEYS(written_at, venue, task);

CREATE OR REPLACE VIEW 'v_ticker' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, last, conn, digits, null_reasons FROM 'ticker' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_mark' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, mark, index_price, basis, conn, digits, null_reasons FROM 'mark' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_funding' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, funding, funding_8h, funding_interval, next_funding_at, conn, digits, null_reasons FROM 'funding' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_open_interest' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, oi, quantity_unit, conn, digits, null_reasons FROM 'open_interest' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_book' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, bid, ask, mid, bid_size, ask_size, spread, quantity_unit, conn, digits, null_reasons FROM 'book' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_stats' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, volume_24h, turnover_24h, change_24h, quantity_unit, conn, digits, null_reasons FROM 'stats' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_book_bands' AS (
SELECT at, listing, venue, venue_ts, received_at, recorded_at, horizon_ms, horizon_source, anchor, valid_until, mid, depth_bid_10bps, depth_ask_10bps, depth_bid_value_10bps, depth_ask_value_10bps, levels_bid_10bps, levels_ask_10bps, depth_bid_25bps, depth_ask_25bps, depth_bid_value_25bps, depth_ask_value_25bps, levels_bid_25bps, levels_ask_25bps, depth_bid_50bps, depth_ask_50bps, depth_bid_value_50bps, depth_ask_value_50bps, levels_bid_50bps, levels_ask_50bps, depth_bid_100bps, depth_ask_100bps, depth_bid_value_100bps, depth_ask_value_100bps, levels_bid_100bps, levels_ask_100bps, quantity_unit, conn, digits, null_reasons FROM 'book_bands' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_candles' AS (
SELECT open_time, close_time, listing, venue, price_type, timeframe, venue_ts, received_at, recorded_at, open, high, low, close, volume, turnover, quantity_unit, trades, minutes_expected, minutes_present, minutes_no_trades, conn, digits, null_reasons FROM 'candles' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_trades' AS (
SELECT received_at, listing, venue, venue_ts, recorded_at, id, side, price, quantity, quantity_unit, conn, digits, null_reasons FROM 'trades' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_liquidations' AS (
SELECT received_at, listing, venue, venue_ts, recorded_at, id, side, price, price_kind, quantity, quantity_unit, conn, digits, null_reasons FROM 'liquidations' WHERE status = 'present' AND NOT late
);

CREATE OR REPLACE VIEW 'v_gaps' AS (
SELECT listing, venue, layer, min(from_at) from_at, max(to_at) to_at, cause FROM (
SELECT listing, venue, layer, from_at, to_at, cause,
  sum(opens) OVER (PARTITION BY listing, layer, cause ORDER BY from_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) island FROM (
SELECT listing, venue, layer, from_at, to_at, cause,
  CASE WHEN lag(to_at) OVER (PARTITION BY listing, layer, cause ORDER BY from_at) = from_at THEN 0 ELSE 1 END opens FROM (
SELECT listing, venue, 'ticker' layer, from_at from_at, at to_at, gap_cause cause FROM 'ticker' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'mark' layer, from_at from_at, at to_at, gap_cause cause FROM 'mark' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'funding' layer, from_at from_at, at to_at, gap_cause cause FROM 'funding' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'oi' layer, from_at from_at, at to_at, gap_cause cause FROM 'open_interest' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'book' layer, from_at from_at, at to_at, gap_cause cause FROM 'book' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'stats' layer, from_at from_at, at to_at, gap_cause cause FROM 'stats' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'book_bands' layer, from_at from_at, at to_at, gap_cause cause FROM 'book_bands' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'trades' layer, from_at from_at, received_at to_at, gap_cause cause FROM 'trades' WHERE status = 'missing' AND NOT late
UNION ALL
SELECT listing, venue, 'liquidation' layer, from_at from_at, received_at to_at, gap_cause cause FROM 'liquidations' WHERE status = 'missing' AND NOT late
))) GROUP BY listing, venue, layer, cause, island
);
