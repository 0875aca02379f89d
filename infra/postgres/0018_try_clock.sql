-- A wait is never longer than the longest that there may be: after the clock was set back, an end of a wait that lies further ahead than that
-- is of the time before the step, and refuses nobody for as long as the step was.
create or replace function take_try(this_subject bytea, free integer, most integer) returns integer language plpgsql as $$
declare
  held sign_in_tries;
begin
  insert into sign_in_tries values (this_subject, 0, clock_timestamp(), '-infinity') on conflict do nothing;
  select * into held from sign_in_tries s where s.subject = this_subject for update;
  if held.blocked_until > clock_timestamp() and held.blocked_until <= clock_timestamp() + interval '1 second' * most then
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
