-- Anchored days (AN-01 to AN-12): partitions and their kept hashes, day roots, the progress of their posting, transactions sent to the chain.
-- A day is being closed from `archive_days.closed_at` on, which is its closing instant C. It is closed once it has a row in `anchor_days`.

-- Of a final set: place of the listing's first leaf in its partition. Its leaves are [first_leaf, first_leaf + rows).
alter table archive_sets add column first_leaf bigint check (first_leaf >= 0);
alter table archive_sets add constraint archive_sets_final check (final = (first_leaf is not null));

-- A table's tree of a day, written in one transaction with the final sets of its listings. Its place in the day tree is its rank among the
-- partitions of the day by the bytes of table_name. Never changed but for the comparison.
create table anchor_partitions (
  day date not null references archive_days,
  table_name text not null,
  rows bigint not null check (rows > 0),
  -- Root of the partition and hash of its leaf in the day tree: 64 hex digits.
  root text not null check (root ~ '^[0-9a-f]{64}$'),
  leaf text not null check (leaf ~ '^[0-9a-f]{64}$'),
  -- Key of the hashes of its tree in the object store, leaves first (AR-08): the layout is `keptLevels(rows)` of schemas/merkle/tiles.ts.
  tree_key text not null,
  -- When the whole partition was last compared with the stored rows (AN-05); null: never.
  compared_at timestamptz,
  -- Set when stored rows differ from the leaves; cleared only by a comparison of the whole partition that finds them equal.
  changed_at timestamptz,
  -- The difference, for operators.
  difference text,
  primary key (day, table_name),
  check ((changed_at is null) = (difference is null))
);

create index anchor_partitions_compared on anchor_partitions (compared_at nulls first, day);

-- Contracts deployed or configured for this service. An address means nothing without its chain: a local chain starts empty.
create table anchor_contracts (
  genesis_hash text not null check (genesis_hash ~ '^0x[0-9a-f]{64}$'),
  contract text not null check (contract ~ '^0x[0-9a-f]{40}$'),
  -- CAIP-2: `eip155:8453`.
  network text not null,
  -- Whether the chain is Base itself (AN-04).
  binding boolean not null,
  owner text not null check (owner ~ '^0x[0-9a-f]{40}$'),
  -- Block of the deployment; null until it is mined, or when it was deployed elsewhere.
  block bigint,
  added_at timestamptz not null default now(),
  primary key (genesis_hash, contract)
);

create table anchor_days (
  day date primary key references archive_days,
  schema_version integer not null,
  day_root text not null check (day_root ~ '^[0-9a-f]{64}$'),
  -- When the trees were complete.
  built_at timestamptz not null default now(),
  status text not null default 'pending' check (status in ('pending', 'submitted', 'confirmed', 'failed')),
  -- Null until the chain is known: a response may present the anchor as binding only if `binding` is true.
  network text,
  binding boolean,
  genesis_hash text,
  contract text,
  -- The transaction that posted the root, or the newest one sent.
  tx_hash text check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- Once mined: number, hash and time of its block.
  block bigint,
  block_hash text,
  anchored_at timestamptz,
  confirmed_at timestamptz,
  -- Why the last attempt failed, for operators.
  problem text,
  foreign key (genesis_hash, contract) references anchor_contracts,
  check (status <> 'confirmed' or (tx_hash is not null and block is not null and anchored_at is not null)),
  check (status <> 'submitted' or tx_hash is not null)
);

-- Every transaction we signed, written before it is sent: after a kill the very same bytes are sent again, or found on the chain.
create table anchor_transactions (
  genesis_hash text not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- The day it posts; null: it deploys `contract`.
  day date references anchor_days,
  contract text not null,
  sender text not null,
  nonce bigint not null,
  -- The signed bytes, hex. They hold no secret.
  raw text not null,
  max_fee_per_gas numeric not null,
  max_priority_fee_per_gas numeric not null,
  signed_at timestamptz not null default now(),
  -- Number of times it was sent.
  sends integer not null default 0,
  sent_at timestamptz,
  -- `open` until the chain has decided: mined, reverted, or its nonce used by another transaction.
  state text not null default 'open' check (state in ('open', 'mined', 'reverted', 'replaced')),
  primary key (genesis_hash, tx_hash)
);

create index anchor_transactions_open on anchor_transactions (genesis_hash, sender, nonce) where state = 'open';
create index anchor_transactions_day on anchor_transactions (day);
