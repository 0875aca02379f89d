-- Past data of /status.json and /incidents.json: share of time present by day, and up to where gap rows were turned into incidents (OP-01, OP-02).

-- Seconds of sealed windows with a reading and without one, summed over the listings of a venue.
create table daily_presence (
  day date not null,
  venue text not null,
  layer text not null,
  listings integer not null,
  present_s bigint not null,
  missing_s bigint not null,
  primary key (day, venue, layer)
);

-- One row: gap rows that end at or before `reached_at` have been turned into incidents.
create table incident_progress (
  one boolean primary key default true check (one),
  reached_at timestamptz not null
);

create index incidents_from on incidents (from_at) where from_at is not null;
