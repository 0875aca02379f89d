-- Sign-in of agents' clients (T-08 to T-10): registered clients, connections, and the provider's data until it expires.
-- None of these tables contains a token, a code or the address of a page in plain: only its SHA-256, or sealed.

create table oidc_clients (
  client_id text primary key,
  metadata jsonb not null,
  registered_at timestamptz not null default now(),
  -- Of its last authorisation or tokens, by day.
  used_at timestamptz not null default now()
);

create index oidc_clients_used on oidc_clients (used_at);

-- One row for each Allow. It exists until it is ended, or until its newest code or refresh token has expired.
create table connections (
  connection_id text primary key,
  account_id text not null references accounts (account_id),
  client_id text not null,
  -- The client's own name for itself: not verified.
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

-- The response to a renewal, for a client that did not receive it: sealed with the used refresh token, which is not stored (T-09).
create table oidc_renewals (
  used_hash bytea primary key check (length(used_hash) = 32),
  replacement_hash bytea not null check (length(replacement_hash) = 32),
  connection_id text not null references connections (connection_id) on delete cascade,
  answered_at timestamptz not null,
  sealed bytea not null
);

create index oidc_renewals_connection on oidc_renewals (connection_id);
