-- A clock of the database that was set back: what lies further ahead than it could is of the time before the step, and holds nothing up for as long as
-- the step was. Each function is as before but for the lines named here.

-- A bucket is filled from now on; it was filled again only when the clock had reached the last filling (`refilled_at`).
create or replace function exchange_permits(asked jsonb)
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
    update key_meters m set tokens = held.tokens - permits, refilled_at = now_at,
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

-- A process that was seen in what is the future now counts as seen now: one that has ended is forgotten after five seconds.
create or replace function exchange_places(this_node text, asked jsonb)
returns table (name text, granted integer, others_busy integer, is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
  ask record;
  others integer;
begin
  -- In one order, so that two processes never deadlock.
  for ask in
    select a.*, hashtextextended(a.name, 7305120) as lock
    from jsonb_to_recordset(asked) as a (name text, most integer, held integer, busy integer, wanted integer)
    order by 6
  loop
    perform pg_advisory_xact_lock(ask.lock);
    select coalesce(sum(p.held), 0), coalesce(sum(p.busy), 0) into others, others_busy
      from key_places p join api_nodes n using (node)
      where p.name = ask.name and p.node <> this_node and n.seen_at > clock_timestamp() - interval '5 seconds';
    name := ask.name;
    granted := greatest(0, least(ask.wanted, ask.most - others - ask.held));
    is_new := false;
    if ask.held + granted = 0 then
      delete from key_places p where p.name = ask.name and p.node = this_node;
    else
      insert into key_places values (ask.name, this_node, ask.held + granted, ask.busy)
        on conflict on constraint key_places_pkey do update set held = excluded.held, busy = excluded.busy;
    end if;
    if granted < ask.wanted and others > 0 then
      perform pg_notify('key_places', ask.name);
    end if;
    return next;
  end loop;
  insert into api_nodes values (this_node, clock_timestamp()) on conflict on constraint api_nodes_pkey
    do update set seen_at = excluded.seen_at returning xmax = 0 into is_new;
  if is_new then
    delete from key_places p where not exists (select 1 from api_nodes n where n.node = p.node);
    delete from api_nodes n where n.seen_at < clock_timestamp() - interval '1 minute';
  end if;
  -- Last, when nothing is waited for any more. A row that another process is writing is of a live one.
  update api_nodes n set seen_at = clock_timestamp() where n.node in (
    select o.node from api_nodes o where o.seen_at > clock_timestamp() + interval '1 second' for update skip locked);
  name := null;
  select count(*) into granted from api_nodes n where n.seen_at > clock_timestamp() - interval '5 seconds';
  others_busy := 0;
  return next;
end $$;

-- The same for evaluators of rules and for their leases: the shards of one that has ended go to the others after a lease.
create or replace function lease_rule_shards(this_node text, shards integer, lease_ms integer) returns setof integer language plpgsql as $$
declare
  lease interval := make_interval(secs => lease_ms / 1000.0);
  most integer;
  own integer;
begin
  perform pg_advisory_xact_lock(7305125);
  insert into rule_nodes values (this_node, clock_timestamp())
    on conflict (node) do update set seen_at = excluded.seen_at;
  update rule_nodes n set seen_at = clock_timestamp() where n.seen_at > clock_timestamp() + lease;
  update rule_shards s set lease_until = clock_timestamp() + lease where s.lease_until > clock_timestamp() + 2 * lease;
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
