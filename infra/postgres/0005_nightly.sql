-- State of the nightly runner: each step of each day, settled requests to be repeated, incidents (OP-01, OP-03).

create table nightly_steps (
  day date not null,
  step text not null,
  state text not null check (state in ('running', 'done', 'failed')),
  attempts integer not null default 1,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  -- One line for operators: the result, or the obstacle.
  report text,
  primary key (step, day)
);

-- A sample of requests whose answer can never change, with the hash of their answer. No key, account or address.
create table settled_requests (
  -- SHA-256 of the operation's path and the request's text: the same request is kept once, with its first answer.
  request_hash bytea primary key check (length(request_hash) = 32),
  path text not null,
  request jsonb not null,
  items_sha256 text not null check (items_sha256 ~ '^[0-9a-f]{64}$'),
  -- Earliest instant the answer looks at; once retention has passed it the answer changes lawfully (N-10).
  earliest timestamptz not null,
  asked_at timestamptz not null default now(),
  checked_at timestamptz
);

create index settled_requests_checked on settled_requests (checked_at nulls first, asked_at);

create table incidents (
  incident_id bigint generated always as identity primary key,
  kind text not null,
  -- Identifies the incident of a report: while it is open it is reported once.
  subject text not null,
  state text not null default 'open' check (state in ('open', 'closed', 'wontfix')),
  opened_at timestamptz not null default now(),
  closed_at timestamptz,
  -- As returned by /incidents.json; null where the incident is not about venues.
  venue text,
  layers text[],
  from_at timestamptz,
  to_at timestamptz,
  gap_cause text,
  note text not null,
  details jsonb not null default '{}'
);

create unique index incidents_open on incidents (kind, subject) where state = 'open';
