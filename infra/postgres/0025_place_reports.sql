-- Reports of places are numbered per process. A statement whose connection was lost may still be executed, after the next report of its process: it would
-- record fewer places than that process holds, for as long as they are held, and others would get them.

alter table api_nodes add column report bigint not null default 0;

-- As exchange_places of two parameters, which processes of earlier versions call, but a report that a later one has overtaken changes nothing.
create function exchange_places(this_node text, this_report bigint, asked jsonb)
returns table (name text, granted integer, others_busy integer, is_new boolean) language plpgsql as $$
begin
  return query select * from exchange_places(this_node, asked);
  -- That statement has locked the row of this process, so a report that was there at the same time has ended by now.
  update api_nodes n set report = this_report where n.node = this_node and n.report < this_report;
  if not found then
    raise exception 'report % of places was overtaken', this_report;
  end if;
end $$;
