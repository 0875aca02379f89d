-- The 24 h turnover by which narrowing plans choose their venues and instruments (AC-02, S-07): one row a UTC day, never changed.
-- A nightly step writes it from stored history; on the first day of an installation the first API process that has seen
-- statistics writes it from its memory copy. Every node uses the newest row, so all choose alike, after a restart too.

create table daily_turnover (
  day date primary key,
  source text not null check (source in ('history', 'live')),
  -- {venue: {instrument: "digits in quote currency"}}, every current listing summed; "0" where nothing is published.
  turnover jsonb not null,
  written_at timestamptz not null default now()
);

create function notify_turnover() returns trigger language plpgsql as $$
begin
  perform pg_notify('daily_turnover', new.day::text);
  return null;
end $$;

create trigger daily_turnover_written after insert on daily_turnover for each row execute function notify_turnover();
