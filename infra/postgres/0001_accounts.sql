-- Accounts and their API keys. A key is never stored, only its SHA-256 (decision E-03).
create table accounts (
  account_id text primary key,
  email text unique,
  plan text not null default 'free',
  created_at timestamptz not null default now()
);

create table api_keys (
  key_id text primary key,
  account_id text not null references accounts (account_id),
  hash bytea not null unique check (length(hash) = 32),
  -- The first eight characters, for display.
  display text not null,
  name text not null,
  plan text not null check (plan in ('free', 'mini', 'standard', 'pro', 'pro_plus')),
  kind text not null default 'account' check (kind in ('account', 'purchased', 'connection')),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  compromised_at timestamptz
);

create index api_keys_account on api_keys (account_id);
