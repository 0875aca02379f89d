-- Payments per call and bought plans (P-04 to P-07). None of these tables contains the content of a request or the address of a caller.

-- Authorisations that were presented and may still be presented again; a row is removed when nothing was served, and some time after its end.
create table payments (
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text not null check (nonce ~ '^0x[0-9a-f]{64}$'),
  state text not null default 'presented'
    check (state in ('presented', 'verified', 'served', 'settling', 'settled', 'failed', 'unknown')),
  receipt_id text not null unique,
  network text not null,
  asset text not null,
  -- Atomic units of the asset.
  amount bigint not null check (amount > 0),
  -- The purchase: one call of a class, or a plan.
  class text,
  plan text check (plan in ('mini', 'standard', 'pro', 'pro_plus')),
  -- The offer it was matched to, and the signed authorisation: together what the facilitator settles.
  offer jsonb not null,
  payload jsonb not null,
  valid_before timestamptz not null,
  presented_at timestamptz not null default now(),
  -- While it is presented or verified: expiry that the serving process renews. Afterwards that process is gone and nothing was served.
  lease_until timestamptz not null,
  -- When the settle call was sent, and when the chain was last queried about it.
  sent_at timestamptz,
  checked_at timestamptz,
  -- When it was settled or failed.
  ended_at timestamptz,
  transaction text check (transaction ~ '^0x[0-9a-f]{64}$'),
  -- Why it failed, as reported to a caller (P-03), and whether the payer's balance or a cancelled nonce is the cause (P-05).
  reason text,
  payers_fault boolean not null default false,
  primary key (payer, nonce),
  check ((class is null) <> (plan is null)),
  check (state <> 'settled' or (transaction is not null and ended_at is not null)),
  check (state <> 'failed' or (reason is not null and ended_at is not null))
);

create index payments_open on payments (state, presented_at) where state not in ('settled', 'failed');
create index payments_ended on payments (ended_at) where state in ('settled', 'failed');

-- One row a settled payment, kept for ten years; rows are only ever added (P-07).
create table payment_ledger (
  receipt_id text primary key,
  transaction text not null,
  network text not null,
  payer text not null,
  nonce text not null,
  amount bigint not null,
  class text,
  plan text,
  presented_at timestamptz not null,
  settled_at timestamptz not null,
  unique (network, payer, nonce),
  check ((class is null) <> (plan is null))
);

create index payment_ledger_settled on payment_ledger (settled_at);

create trigger payment_ledger_append_only before update or delete or truncate on payment_ledger
  for each statement execute function refuse_change();
revoke all on payment_ledger from public;
revoke update, delete, truncate on payment_ledger from current_user;

-- Payers whose payments are refused (P-05); an operator releases one by removing its row.
create table blocked_payers (
  payer text primary key,
  blocked_at timestamptz not null default now(),
  blocked_until timestamptz not null
);

-- Plans that were paid for, with their keys. A key is delivered once; until then the same authorisation requests it again (P-06).
create table plan_purchases (
  payer text not null,
  nonce text not null,
  -- A repeated request has the same signature.
  signature text not null,
  plan text not null,
  -- The newest key: one that was not delivered, or was lost, is revoked and replaced.
  key_id text not null references api_keys (key_id),
  receipt_id text not null unique references payment_ledger (receipt_id),
  delivered_at timestamptz,
  -- The request that is delivering it now; after this instant it has expired and another one may deliver.
  claimed_by text,
  claimed_until timestamptz,
  -- When the key was last recovered by the wallet: an older signed message is not accepted again.
  recovered_at timestamptz,
  primary key (payer, nonce)
);

create index plan_purchases_key on plan_purchases (key_id);

-- Verified and unsettled: these count against a payer (P-04).
create function is_unsettled(p payments) returns boolean language sql stable as
  $$ select p.state in ('served', 'settling', 'unknown') or (p.state = 'verified' and p.lease_until > now()) $$;

-- Moves a presented payment to `verified`, unless its payer has `most` unsettled ones; then it is removed. Counted and moved in one step
-- per payer. `gone`: it is no longer presented.
create function verify_payment(this_receipt text, most integer) returns text language plpgsql as $$
declare
  held payments;
  unsettled integer;
begin
  select * into held from payments p where p.receipt_id = this_receipt and p.state = 'presented';
  if not found then
    return 'gone';
  end if;
  perform pg_advisory_xact_lock(hashtextextended(held.payer, 7305121));
  select count(*) into unsettled from payments p where p.payer = held.payer and is_unsettled(p);
  if unsettled >= most then
    delete from payments p where p.receipt_id = this_receipt and p.state = 'presented';
    return 'limit';
  end if;
  update payments p set state = 'verified' where p.receipt_id = this_receipt and p.state = 'presented';
  return case when found then 'verified' else 'gone' end;
end $$;

-- Ends a payment without a charge. Three failures caused by the payer in 24 hours block it for 24 hours (P-05).
create function fail_payment(this_receipt text, why text, is_payers_fault boolean) returns boolean language plpgsql as $$
declare
  failed payments;
begin
  perform pg_advisory_xact_lock(hashtextextended(p.payer, 7305121)) from payments p where p.receipt_id = this_receipt;
  update payments p set state = 'failed', reason = why, payers_fault = is_payers_fault, ended_at = clock_timestamp()
    where p.receipt_id = this_receipt and p.state in ('settling', 'unknown') returning * into failed;
  if not found then
    return false;
  end if;
  if is_payers_fault and (select count(*) from payments p where p.payer = failed.payer and p.payers_fault
      and p.ended_at > clock_timestamp() - interval '24 hours') >= 3 then
    insert into blocked_payers values (failed.payer, clock_timestamp(), clock_timestamp() + interval '24 hours')
      on conflict on constraint blocked_payers_pkey
      do update set blocked_at = excluded.blocked_at, blocked_until = excluded.blocked_until;
  end if;
  return true;
end $$;

-- Shown to operators and in receipts: settled payments of the ledger, and those in progress or failed (P-07, P-10).
create view v_payments as
  select transaction, network, payer, amount, class, plan, receipt_id, presented_at, settled_at, 'settled'::text as state
  from payment_ledger
  union all
  select transaction, network, payer, amount, class, plan, receipt_id, presented_at, null::timestamptz, state
  from payments where state <> 'settled';
