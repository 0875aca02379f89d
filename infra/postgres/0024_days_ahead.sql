-- A process whose clock is days ahead begins no day of a key. The function is as before but for the lines about `latest`.

create or replace function exchange_permits(asked jsonb)
returns table (key_id text, permits bigint, tokens double precision, granted bigint) language plpgsql as $$
#variable_conflict use_column
declare
  ask record;
  held key_meters;
  now_at timestamptz;
  latest date;
begin
  -- In one order, so that two processes never deadlock.
  for ask in
    select a.* from jsonb_to_recordset(asked) as a (
      key_id text, day date, rate double precision, burst double precision, day_limit bigint,
      waiting bigint, ahead bigint, returned bigint, day_change bigint, used jsonb)
    order by a.key_id, a.day
  loop
    -- The day of processes that are at most an hour ahead of this database. A later one would be exhausted before it came, and each key had its day anew.
    latest := (clock_timestamp() + interval '1 hour') at time zone 'UTC';
    ask.day := least(ask.day, latest);
    insert into key_meters values (ask.key_id, ask.burst, clock_timestamp(), ask.day, 0) on conflict do nothing;
    select m.* into held from key_meters m where m.key_id = ask.key_id for update;
    now_at := clock_timestamp();
    held.day := least(held.day, latest);
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
