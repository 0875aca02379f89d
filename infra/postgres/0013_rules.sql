-- Agent rules: queries that are evaluated periodically, their states, and the states returned to each caller (AG-01 to AG-06).
-- Instants of evaluations are microseconds since 1970, as in the log.

create table rules (
  rule_id text primary key check (rule_id ~ '^rule_[0-9A-HJKMNP-TV-Z]{26}$'),
  account_id text not null references accounts (account_id),
  name text not null check (length(name) between 1 and 100),
  query text not null,
  -- Seconds.
  interval_s integer not null check (interval_s between 10 and 86400),
  units text not null check (units in ('published', 'base', 'quote')),
  -- As submitted: null, a duration, or durations by layer.
  freshness jsonb,
  enabled boolean not null,
  shared boolean not null,
  -- Rises with every change; an evaluation of an earlier version is dropped.
  version integer not null default 1,
  -- A function of rule_id: the second of its interval at which it is evaluated, and its shard.
  phase integer not null check (phase >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create index rules_account on rules (account_id, created_at);

-- Earlier definitions of a rule, by version, with the author of the change.
create table rule_versions (
  rule_id text not null references rules (rule_id) on delete cascade,
  version integer not null,
  at timestamptz not null default now(),
  actor text not null,
  rule jsonb not null,
  primary key (rule_id, version)
);

-- The newest state of a rule. Written at every evaluation.
create table rule_states (
  rule_id text primary key references rules (rule_id) on delete cascade,
  version integer not null,
  state text not null default 'unknown' check (state in ('true', 'false', 'unknown')),
  reason text default 'never_evaluated' check (reason in (
    'never_evaluated', 'stale_input', 'missing_input', 'not_published', 'disabled', 'plan_venue', 'evaluation_error')),
  since bigint not null,
  -- Instants up to it are not evaluated: the change that made this version, or the newest evaluation.
  after bigint not null,
  evaluated_at bigint,
  -- When `fresh=true` was last granted.
  fresh_at bigint,
  -- At most twenty codes each.
  matched text[] not null default '{}',
  matched_total integer not null default 0,
  unknown text[] not null default '{}',
  unknown_total integer not null default 0,
  check ((state = 'unknown') = (reason is not null))
) with (fillfactor = 50);

-- Every move between two states. Kept for 30 days.
create table rule_transitions (
  transition_id bigint generated always as identity primary key,
  rule_id text not null references rules (rule_id) on delete cascade,
  version integer not null,
  at bigint not null,
  from_state text not null,
  to_state text not null check (to_state <> from_state),
  reason text,
  matched text[] not null default '{}',
  matched_total integer not null default 0,
  recorded_at timestamptz not null default now(),
  -- One evaluation a rule and instant, whichever process dies.
  unique (rule_id, version, at)
);

create index rule_transitions_age on rule_transitions (recorded_at);

-- The state last returned to each caller, a key or the address of a payer.
create table rule_told (
  rule_id text not null references rules (rule_id) on delete cascade,
  caller text not null,
  state text not null,
  told_at timestamptz not null default now(),
  primary key (rule_id, caller)
);

-- Leases of rules to their evaluators: shards of the phase, leased to API processes. Unlogged: after a crash they are leased again.
create unlogged table rule_nodes (
  node text primary key,
  seen_at timestamptz not null
);
create unlogged table rule_shards (
  shard integer primary key,
  node text not null,
  lease_until timestamptz not null
);

-- Addresses of an account that receive every transition of its rules, signed with the secret.
create table rule_webhooks (
  webhook_id text primary key,
  account_id text not null references accounts (account_id),
  url text not null,
  secret text not null,
  created_at timestamptz not null default now(),
  -- Set when a message could not be delivered for 24 hours, with the reason as a sentence.
  disabled_at timestamptz,
  notice text
);

create index rule_webhooks_account on rule_webhooks (account_id);

create table rule_deliveries (
  delivery_id bigint generated always as identity primary key,
  webhook_id text not null references rule_webhooks (webhook_id) on delete cascade,
  transition_id bigint not null references rule_transitions (transition_id) on delete cascade,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
  made_at timestamptz not null default now(),
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  -- The outcome of the last attempt, as a sentence.
  outcome text,
  ended_at timestamptz,
  unique (webhook_id, transition_id)
);

create index rule_deliveries_due on rule_deliveries (next_at) where state = 'waiting';

-- Processes are notified of changed rules and of transitions; a transition is queued for its webhooks in the transaction that records it.
create function notify_rule() returns trigger language plpgsql as $$
begin
  perform pg_notify('rules', coalesce(new.rule_id, old.rule_id));
  return null;
end $$;

create trigger rules_changed after insert or update or delete on rules for each row execute function notify_rule();

create function queue_rule_move() returns trigger language plpgsql as $$
begin
  insert into rule_deliveries (webhook_id, transition_id)
    select w.webhook_id, new.transition_id from rules r join rule_webhooks w using (account_id)
    where r.rule_id = new.rule_id and w.disabled_at is null;
  perform pg_notify('rule_moves', new.transition_id::text);
  return null;
end $$;

create trigger rule_transitions_queued after insert on rule_transitions for each row execute function queue_rule_move();

-- Records the results of evaluations, each rule at most once a call: `results` is an array of
-- {rule_id, version, at, state, reason, matched, matched_total, unknown, unknown_total}. Drops results of an earlier version, or not later than
-- the newest evaluation, so a second evaluation of an instant changes nothing. Returns the rules that were written.
create function record_evaluations(results jsonb) returns table (rule_id text) language sql as $$
  with result as (
    select r.* from jsonb_to_recordset(results) as r (
      rule_id text, version integer, at bigint, state text, reason text,
      matched text[], matched_total integer, unknown text[], unknown_total integer)),
  -- In one order, so that two processes never deadlock.
  held as (
    select s.rule_id, s.state from rule_states s join result e on e.rule_id = s.rule_id
    where s.version = e.version and s.after < e.at order by s.rule_id for update of s),
  written as (
    update rule_states s set
      state = e.state, reason = e.reason, since = case when h.state = e.state then s.since else e.at end,
      after = e.at, evaluated_at = e.at,
      matched = e.matched, matched_total = e.matched_total, unknown = e.unknown, unknown_total = e.unknown_total
    from held h join result e on e.rule_id = h.rule_id
    where s.rule_id = h.rule_id and s.version = e.version
    returning s.rule_id, s.version, e.at, h.state as from_state, s.state, s.reason, s.matched, s.matched_total),
  moved as (
    insert into rule_transitions (rule_id, version, at, from_state, to_state, reason, matched, matched_total)
    select w.rule_id, w.version, w.at, w.from_state, w.state, w.reason, w.matched, w.matched_total
    from written w where w.from_state <> w.state)
  select w.rule_id from written w
$$;

-- Returns the states of rules to one caller and records them as returned: one step, however many requests of one caller are concurrent.
-- Without `ids` the rules of `account`; with them also shared rules of others. `before`: the state last returned to the caller.
create function tell_rule_states(asking text, account text, ids text[])
returns table (rule_id text, before text, state text, reason text, since bigint, evaluated_at bigint,
  matched text[], matched_total integer, unknown text[], unknown_total integer) language plpgsql as $$
#variable_conflict use_column
begin
  perform pg_advisory_xact_lock(hashtextextended(asking, 7305123));
  return query
    with asked as (
      select s.* from rule_states s join rules r using (rule_id)
      where case when ids is null then r.account_id = account
        else r.rule_id = any(ids) and (r.shared or r.account_id = account) end),
    told as (
      insert into rule_told as t (rule_id, caller, state) select a.rule_id, asking, a.state from asked a
      on conflict (rule_id, caller) do update set state = excluded.state, told_at = now()
        where t.state <> excluded.state)
    select a.rule_id, t.state, a.state, a.reason, a.since, a.evaluated_at,
      a.matched, a.matched_total, a.unknown, a.unknown_total
    from asked a left join rule_told t on t.rule_id = a.rule_id and t.caller = asking;
end $$;

-- Renews the leases of a process, and assigns every live process its share of the shards 0 to `shards` - 1. Returns those it holds now.
create function lease_rule_shards(this_node text, shards integer, lease_ms integer) returns setof integer language plpgsql as $$
declare
  lease interval := make_interval(secs => lease_ms / 1000.0);
  most integer;
  own integer;
begin
  perform pg_advisory_xact_lock(7305125);
  insert into rule_nodes values (this_node, clock_timestamp())
    on conflict (node) do update set seen_at = excluded.seen_at;
  delete from rule_nodes where seen_at < clock_timestamp() - lease;
  select ceil(shards::numeric / count(*)) into most from rule_nodes;
  delete from rule_shards s where s.lease_until < clock_timestamp();
  -- Releases shards above its share, so that a process that started later gets its own.
  delete from rule_shards s where s.shard in (
    select h.shard from rule_shards h where h.node = this_node order by h.shard offset most);
  update rule_shards s set lease_until = clock_timestamp() + lease where s.node = this_node;
  get diagnostics own = row_count;
  insert into rule_shards
    select free.shard, this_node, clock_timestamp() + lease from generate_series(0, shards - 1) as free (shard)
    where not exists (select 1 from rule_shards s where s.shard = free.shard) limit greatest(0, most - own);
  return query select s.shard from rule_shards s where s.node = this_node order by 1;
end $$;
