-- The account site: credentials of an account, its sessions, its events, queued mail, and the site's own keys (E-03, AC-04, AC-05).
-- No password, session, code or key is stored in plain: only its hash.

alter table accounts
  -- argon2id, as its text form; null: this account signs in with a passkey, or belongs to a wallet.
  add column password_hash text,
  -- A password alone does not sign in: a passkey is required after it.
  add column needs_passkey boolean not null default false,
  add column confirmed_at timestamptz,
  -- A closed account keeps its row for the keys and events that name it; its address is free again.
  add column closed_at timestamptz,
  add constraint accounts_email_is_normal check (email = lower(email));

-- A form that is submitted twice creates one key.
alter table api_keys add column form_id text, add constraint api_keys_form unique (account_id, form_id);

create table account_sessions (
  -- The identifier by which pages show and end it; the cookie is another text, of which only the hash is stored.
  session_id text primary key,
  account_id text not null references accounts (account_id),
  token_hash bytea not null unique check (length(token_hash) = 32),
  agent text not null,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- When the password or a passkey was last presented: changes of credentials require it again.
  proven_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz
);

create index account_sessions_account on account_sessions (account_id) where ended_at is null;
create index account_sessions_expired on account_sessions (expires_at);

create table account_passkeys (
  credential_id text primary key,
  account_id text not null references accounts (account_id),
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);

create index account_passkeys_account on account_passkeys (account_id);

-- A challenge is used once, by the browser that received it.
create table passkey_challenges (
  challenge text primary key,
  -- The session, or the browser before it has one.
  binding text not null,
  -- The account whose password was correct and whose passkey is still required; null: any passkey is accepted.
  account_id text references accounts (account_id),
  expires_at timestamptz not null
);

create index passkey_challenges_expired on passkey_challenges (expires_at);

-- Codes that set a new password: ten that the owner keeps, and those that were mailed. Each is valid once.
create table recovery_codes (
  account_id text not null references accounts (account_id),
  code_hash bytea not null check (length(code_hash) = 32),
  kind text not null check (kind in ('kept', 'mailed')),
  made_at timestamptz not null default now(),
  expires_at timestamptz,
  used_at timestamptz,
  primary key (account_id, code_hash)
);

-- Attempts to sign in, by their target: the hash of a mail address or of the network. Kept for a day after the last.
create table sign_in_tries (
  subject bytea primary key check (length(subject) = 32),
  tries integer not null,
  last_at timestamptz not null,
  blocked_until timestamptz not null
);

-- Counts an attempt before its outcome is known, so that concurrent attempts all count. Returns the seconds to wait; 0: it may be made.
-- Beyond `free` attempts each doubles the wait, up to `most` seconds; a day without an attempt resets it.
create function take_try(this_subject bytea, free integer, most integer) returns integer language plpgsql as $$
declare
  held sign_in_tries;
begin
  insert into sign_in_tries values (this_subject, 0, clock_timestamp(), '-infinity') on conflict do nothing;
  select * into held from sign_in_tries s where s.subject = this_subject for update;
  if held.blocked_until > clock_timestamp() then
    return greatest(1, ceil(extract(epoch from held.blocked_until - clock_timestamp())));
  end if;
  if held.last_at < clock_timestamp() - interval '1 day' then
    held.tries := 0;
  end if;
  held.tries := held.tries + 1;
  update sign_in_tries s set tries = held.tries, last_at = clock_timestamp(),
    blocked_until = case when held.tries < free then '-infinity'::timestamptz
      else clock_timestamp() + interval '1 second' * least(most, 2 ^ least(held.tries - free, 30)) end
    where s.subject = this_subject;
  return 0;
end $$;

-- Letters to owners: sent where there is a mail server, read by the operator where there is none.
create table mail_outbox (
  mail_id bigint generated always as identity primary key,
  account_id text not null references accounts (account_id),
  recipient text not null,
  subject text not null,
  body text not null,
  made_at timestamptz not null default now(),
  -- Not before this instant; moved by each failure.
  due_at timestamptz not null default now(),
  failures integer not null default 0,
  sent_at timestamptz
);

create index mail_outbox_due on mail_outbox (due_at) where sent_at is null;

-- Changes to an account and their authors; append-only. Changes to a key are in key_events.
create table account_events (
  event_id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  account_id text not null references accounts (account_id),
  action text not null,
  actor text not null,
  details jsonb not null default '{}'
);

create index account_events_account on account_events (account_id, event_id);

create trigger account_events_append_only before update or delete or truncate on account_events
  for each statement execute function refuse_change();

-- Keys shared by the processes of the site, each created by the first process that needs it.
create table site_keys (
  name text primary key,
  secret bytea not null check (length(secret) = 32),
  made_at timestamptz not null default now()
);

-- The best of the account's own plan and the plans of its live keys; connections derive their plan from it and do not count.
create function best_plan(this_account text) returns text language sql stable as $$
  select plan from (
    select a.plan from accounts a where a.account_id = this_account
    union all
    select k.plan from api_keys k where k.account_id = this_account and k.kind <> 'connection' and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())) p
  order by array_position(array['free', 'mini', 'standard', 'pro', 'pro_plus'], plan) desc limit 1
$$;
