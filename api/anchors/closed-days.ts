// Closed days in PostgreSQL: root, partitions, state of the posting, position of the leaves of a listing (AN-01 to AN-05).
import type { Pool } from 'pg';
import type { LeafRange } from '../../infra/runtime/files/kept-leaves.ts';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import type { AnchorStatus } from '../../schemas/anchor-chain.ts';
import type { Micros } from '../../schemas/records.ts';
import type { SetName } from '../contract/archive.ts';

/** How far the posting of a root is; members that are not known yet are null (AN-03). */
type Posting = {
  readonly status: AnchorStatus;
  readonly contract: string | null;
  readonly txHash: string | null;
  readonly block: number | null;
  /** Time of the block. */
  readonly anchoredAt: Micros | null;
};
export type ClosedPartition = {
  readonly table: string;
  readonly rows: number;
  readonly root: string;
  /** Hash of its leaf in the day tree. */
  readonly leaf: string;
  readonly treeKey: string;
  /** Whether stored rows were found to differ from the leaves, and no comparison found them equal since (AN-05). */
  readonly changed: boolean;
};
export type ClosedDay = {
  readonly day: string;
  readonly schemaVersion: number;
  readonly closedAt: Micros;
  readonly root: string;
  /** CAIP-2; null while no chain is known. */
  readonly network: string | null;
  /** Whether the chain is Base itself (AN-04); false while no chain is known. */
  readonly binding: boolean;
  readonly posting: Posting;
  /** In the order of the day tree. */
  readonly partitions: readonly ClosedPartition[];
};
/** Leaves of a listing and the final file of its rows. */
export type ListingLeaves = LeafRange & { readonly instrument: string; readonly fileKey: string };

export type ClosedDays = {
  /** Null for a day that has no root. */
  readonly find: (day: string) => Promise<ClosedDay | null>;
  /** Null while no day has a root. */
  readonly first: () => Promise<string | null>;
  /** Null for a listing that has no leaf of that layer and day. */
  readonly leavesOf: (name: SetName) => Promise<ListingLeaves | null>;
  /** Marks a partition whose stored rows differ, and opens the incident, which stays for a person (AN-05). */
  readonly markChanged: (
    partition: { readonly day: string; readonly table: string },
    difference: string,
  ) => Promise<void>;
};

/** A day that no chain is known of will be posted where the newest contract is. */
const FIND = `select d.schema_version as "schemaVersion", a.closed_at as "closedAt", d.day_root as root,
  coalesce(d.network, c.network) as network, coalesce(d.binding, c.binding, false) as binding,
  d.status, d.contract, d.tx_hash as "txHash", d.block, d.anchored_at as "anchoredAt"
from anchor_days d join archive_days a using (day)
left join lateral (select network, binding from anchor_contracts order by added_at desc limit 1) c on d.network is null
where d.day = $1`;
const PARTITIONS = `select table_name as "table", rows, root, leaf, tree_key as "treeKey", changed_at is not null as changed
from anchor_partitions where day = $1 order by table_name collate "C"`;
const LEAVES = `select s.first_leaf as first, s.rows, s.instrument, f.object_key as "fileKey"
from archive_sets s join archive_files f on f.day = s.day and f.venue = s.venue and f.venue_symbol = s.venue_symbol
  and f.layer = s.layer and f.replaced_at is null and f.format = 'jsonl'
where s.day = $1 and s.venue = $2 and s.venue_symbol = $3 and s.layer = $4 and s.final`;
const MARK = `with marked as (
  update anchor_partitions set changed_at = now(), difference = $3 where day = $1 and table_name = $2 and changed_at is null)
insert into incidents (kind, subject, note, details) values ('anchored_rows_changed', $4, $5, $6)
on conflict (kind, subject) where state = 'open' do nothing`;

type DayRow = Omit<ClosedDay, 'day' | 'closedAt' | 'posting' | 'partitions'> &
  Pick<Posting, 'status' | 'contract' | 'txHash'> & {
    readonly closedAt: Date;
    readonly block: string | null;
    readonly anchoredAt: Date | null;
  };

const toMicros = (at: Date): Micros => at.getTime() * 1_000;

const toDay = (
  day: string,
  { status, contract, txHash, block, anchoredAt, closedAt, ...row }: DayRow,
  partitions: readonly ClosedPartition[],
): ClosedDay => ({
  ...row,
  day,
  closedAt: toMicros(closedAt),
  posting: {
    ...{ status, contract, txHash },
    block: block === null ? null : Number(block),
    anchoredAt: anchoredAt === null ? null : toMicros(anchoredAt),
  },
  partitions,
});

export const openClosedDays = (pool: Pick<Pool, 'query'>): ClosedDays => ({
  find: async (day) => {
    const [found, partitions] = await Promise.all([
      pool.query<DayRow>(FIND, [day]),
      pool.query<Omit<ClosedPartition, 'rows'> & { readonly rows: string }>(PARTITIONS, [day]),
    ]);
    const [row] = found.rows;
    if (row === undefined) return null;
    return toDay(
      day,
      row,
      partitions.rows.map((partition) => ({ ...partition, rows: Number(partition.rows) })),
    );
  },
  first: async () => {
    const { rows } = await pool.query<{ day: string | null }>(
      "select to_char(min(day), 'YYYY-MM-DD') as day from anchor_days",
    );
    return rows[0]?.day ?? null;
  },
  leavesOf: async ({ day, venue, venueSymbol, layer }) => {
    if (!isStorable(venueSymbol)) return null;
    const { rows } = await pool.query<{ first: string; rows: number; instrument: string; fileKey: string }>(LEAVES, [
      ...[day, venue, venueSymbol, layer],
    ]);
    const [row] = rows;
    return row === undefined ? null : { ...row, first: Number(row.first) };
  },
  markChanged: async ({ day, table }, difference) => {
    const note = `Stored rows of ${table} of ${day} differ from what was anchored.`;
    await pool.query(MARK, [day, table, difference, `${day} ${table}`, note, { day, table, difference }]);
  },
});
