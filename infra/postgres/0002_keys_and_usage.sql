-- Operators' changes to keys, revocation at once in every process, and counters that all processes of the API share.

alter table api_keys add column plan_since timestamptz;
update api_keys set plan_since = created_at;
alter table api_keys alter column plan_since set default now(), alter column plan_since set not null;

-- Changes to a key and their authors; append-only. A key seen in a URL is reported once (E-02).
create table key_events (
  event_id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  key_id text not null references api_keys (key_id),
  action text not null check (action in ('created', 'revoked', 'plan_changed', 'compromised')),
  actor text not null,
  details jsonb not null default '{}'
);

create index key_events_key on key_events (key_id, event_id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are only ever added', tg_table_name;
end $$;

create trigger key_events_append_only before update or delete or truncate on key_events
  for each statement execute function refuse_change();

-- After any change of a key, by the tool, the account site or by hand, every process drops its cached state of the key.
create function notify_key() returns trigger language plpgsql as $$
begin
  perform pg_notify('api_keys', encode(coalesce(new.hash, old.hash), 'base64'));
  return null;
end $$;

create trigger api_keys_changed
  after insert or delete or update of hash, plan, expires_at, revoked_at on api_keys
  for each row execute function notify_key();

-- One row a key: its token bucket, and the number of the day's requests that were granted to processes (AC-03).
-- No foreign key: account calls are metered under names of their own, and the table is written several times a second.
create table key_meters (
  key_id text primary key,
  tokens double precision not null,
  refilled_at timestamptz not null,
  day date not null,
  granted bigint not null
) with (fillfactor = 50);

-- Counted requests of a key by UTC day and class (AC-01).
create table key_usage (
  key_id text not null,
  day date not null,
  class text not null,
  used bigint not null,
  primary key (key_id, day, class)
);

-- Returns permits, counts and grants new ones, for many keys at once. `asked` is an array of
-- {key_id, day, rate, burst, day_limit, waiting, ahead, returned, day_change, used: {class: count}}:
-- `returned` permits go back to the bucket, `day_change` corrects the day, then at least `waiting` permits are taken if they
-- are there, and up to `ahead` as long as that is no more than a quarter of the bucket. `returned` may be negative: permits a
-- process granted itself while this database was away are owed to the bucket, at most one bucket of them.
create function exchange_permits(asked jsonb)
returns table (key_id text, permits bigint, tokens double precision, granted bigint) language plpgsql as $$
#variable_conflict use_column
declare
  ask record;
  held key_meters;
  now_at timestamptz;
begin
  -- In one order, so that two processes never deadlock.
  for ask in
    select a.* from jsonb_to_recordset(asked) as a (
      key_id text, day date, rate double precision, burst double precision, day_limit bigint,
      waiting bigint, ahead bigint, returned bigint, day_change bigint, used jsonb)
    order by a.key_id, a.day
  loop
    insert into key_meters values (ask.key_id, ask.burst, clock_timestamp(), ask.day, 0) on conflict do nothing;
    select m.* into held from key_meters m where m.key_id = ask.key_id for update;
    now_at := clock_timestamp();
    if held.day < ask.day then
      held.day := ask.day;
      held.granted := 0;
    end if;
    if held.day = ask.day then
      held.granted := greatest(0, held.granted + ask.day_change);
    end if;
    held.tokens := greatest(-ask.burst, least(ask.burst,
      held.tokens + ask.returned + ask.rate * greatest(0, extract(epoch from now_at - held.refilled_at))));
    permits := greatest(0, least(
      greatest(ask.waiting, least(ask.ahead, floor(held.tokens / 4)::bigint)),
      floor(held.tokens)::bigint,
      ask.day_limit - held.granted));
    update key_meters m set tokens = held.tokens - permits, refilled_at = greatest(now_at, held.refilled_at),
      day = held.day, granted = held.granted + permits where m.key_id = ask.key_id;
    insert into key_usage as u
      select ask.key_id, ask.day, c.key, c.value::bigint from jsonb_each_text(ask.used) c
      on conflict on constraint key_usage_pkey do update set used = u.used + excluded.used;
    key_id := ask.key_id;
    tokens := held.tokens - permits;
    granted := held.granted + permits;
    return next;
  end loop;
end $$;
