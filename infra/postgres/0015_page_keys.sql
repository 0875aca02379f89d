-- Keys of pages: with them the account site calls the data API for the signed-in account. They are never shown, and do not determine a plan.
alter table api_keys drop constraint api_keys_kind_check,
  add constraint api_keys_kind_check check (kind in ('account', 'purchased', 'connection', 'page'));

create or replace function best_plan(this_account text) returns text language sql stable as $$
  select plan from (
    select a.plan from accounts a where a.account_id = this_account
    union all
    select k.plan from api_keys k where k.account_id = this_account and k.kind in ('account', 'purchased') and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())) p
  order by array_position(array['free', 'mini', 'standard', 'pro', 'pro_plus'], plan) desc limit 1
$$;
