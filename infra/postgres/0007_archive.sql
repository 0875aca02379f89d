-- The archive (AR-01 to AR-08): the tiers of a day, and which file holds which rows. Files are named by their own hash, so a row of this
-- table is true of its file for ever.

-- Written by the first archive run of a day and never changed: the listing of an instrument has its tier (AR-04).
create table archive_days (
  day date primary key,
  -- {instrument: "core" | "top100"}; every other instrument is "other".
  tiers jsonb not null,
  tiers_fixed_at timestamptz not null default now(),
  -- The closing instant C; null while the day may still gain rows (AN-02).
  closed_at timestamptz
);

-- The newest version of the rows of a listing, layer and day.
create table archive_sets (
  day date not null references archive_days,
  venue text not null,
  venue_symbol text not null,
  layer text not null,
  instrument text not null,
  tier text not null check (tier in ('core', 'top100', 'other')),
  rows integer not null,
  schema_version integer not null,
  final boolean not null default false,
  written_at timestamptz not null default now(),
  primary key (day, venue, venue_symbol, layer)
);

create index archive_sets_order on archive_sets (venue collate "C", venue_symbol collate "C", layer collate "C", day);

-- One file in one format. A replaced one stays until the links to it have ended.
create table archive_files (
  object_key text primary key,
  day date not null,
  venue text not null,
  venue_symbol text not null,
  layer text not null,
  format text not null check (format in ('parquet', 'csv', 'jsonl')),
  bytes bigint not null,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  written_at timestamptz not null default now(),
  replaced_at timestamptz,
  foreign key (day, venue, venue_symbol, layer) references archive_sets
);

create unique index archive_files_current on archive_files (day, venue, venue_symbol, layer, format) where replaced_at is null;
create index archive_files_replaced on archive_files (replaced_at) where replaced_at is not null;
