-- Concurrent use of a key over all processes of the API: requests in progress and open streams (AC-02, ST-08).
-- A process records the places of a key that it holds; those of a process that was not seen for five seconds no longer count.
-- Unlogged: after a crash of the database every process reports its places again.

create unlogged table api_nodes (
  node text primary key,
  seen_at timestamptz not null
);

create unlogged table key_places (
  name text not null,
  node text not null,
  held integer not null,
  -- Of them in use, as last reported.
  busy integer not null,
  primary key (name, node)
) with (fillfactor = 50);

create index key_places_node on key_places (node);

-- Records the places that a process holds and requests more: `asked` is an array of {name, most, held, busy, wanted}. The row
-- without a name returns the number of live processes, and `is_new`: this process was unknown and must report everything. When a process gets less
-- than it wants, the channel `key_places` notifies the others, and they return what they do not use.
create function exchange_places(this_node text, asked jsonb)
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
  name := null;
  select count(*) into granted from api_nodes n where n.seen_at > clock_timestamp() - interval '5 seconds';
  others_busy := 0;
  return next;
end $$;
