-- The key that signs links to archive files (AR-06): one row, created by the first API process, so that every process accepts the links of all.
create table link_key (
  single boolean primary key default true check (single),
  secret bytea not null check (length(secret) = 32),
  made_at timestamptz not null default now()
);
