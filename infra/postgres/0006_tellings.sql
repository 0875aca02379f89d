-- Reports of counts are numbered per process, and each number counts once: a report without a response is repeated unchanged.

create table meter_tellings (
  node text primary key,
  telling bigint not null,
  told_at timestamptz not null
);

-- As exchange_permits, but a report that is already recorded counts nothing and returns no permits.
create function tell_permits(this_node text, this_telling bigint, asked jsonb)
returns table (key_id text, permits bigint, tokens double precision, granted bigint) language plpgsql as $$
#variable_conflict use_column
begin
  insert into meter_tellings as m values (this_node, this_telling, clock_timestamp())
    on conflict on constraint meter_tellings_pkey do update set telling = excluded.telling, told_at = excluded.told_at
    where m.telling < excluded.telling;
  if not found then
    select jsonb_agg(a || '{"returned": 0, "day_change": 0, "used": {}}') into asked from jsonb_array_elements(asked) a;
  end if;
  return query select * from exchange_permits(asked);
end $$;
