-- Sign-in of agents' clients (T-08 to T-10): registered clients, connections, and what the provider keeps until it expires.
-- No token, no code and no address of a page stands in any of these tables: only its SHA-256, or it is sealed.

create table oidc_clients (
  client_id text primary key,
  metadata jsonb not null,
  registered_at timestamptz not null default now(),
  -- Of its last authorisation or tokens, by day.
  used_at timestamptz not null default now()
);

create index oidc_clients_used on oidc_clients (used_at);

-- One row for each Allow. It lives until it is ended, or until its newest code or refresh token has expired.
create table connections (
  connection_id text primary key,
  account_id text not null references accounts (account_id),
  client_id text not null,
  -- As the client calls itself: nobody has verified it.
  client_name text,
  redirect_uri text not null,
  key_id text not null unique references api_keys (key_id),
  created_at timestamptz not null default now(),
  -- By minute.
  last_used_at timestamptz,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('user', 'replaced', 'client', 'reuse', 'account_closed', 'expired')),
  check ((ended_at is null) = (end_reason is null))
);

create unique index connections_client on connections (account_id, client_id) where ended_at is null;
create index connections_expiry on connections (expires_at) where ended_at is null;

create table oidc_items (
  model text not null check (model in ('AccessToken', 'AuthorizationCode', 'RefreshToken', 'Interaction')),
  id_hash bytea not null check (length(id_hash) = 32),
  payload jsonb not null,
  -- No code and no token without a connection.
  connection_id text references connections (connection_id) on delete cascade,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (model, id_hash),
  check ((connection_id is null) = (model = 'Interaction'))
);

create index oidc_items_connection on oidc_items (connection_id) where connection_id is not null;
create index oidc_items_expiry on oidc_items (expires_at);

-- The answer to a renewal, for who did not hear it: sealed with the refresh token that was used up, which is nowhere stored (T-09).
create table oidc_renewals (
  used_hash bytea primary key check (length(used_hash) = 32),
  replacement_hash bytea not null check (length(replacement_hash) = 32),
  connection_id text not null references connections (connection_id) on delete cascade,
  answered_at timestamptz not null,
  sealed bytea not null
);

create index oidc_renewals_connection on oidc_renewals (connection_id);
