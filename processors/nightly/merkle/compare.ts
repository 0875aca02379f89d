// Compares stored rows of closed days with the kept hashes of their leaves, whole partitions, each at least every 30 days (AN-05).
import { compareLeaves, type LeafRange } from '../../../infra/runtime/kept-leaves.ts';
import { countLeafRows, readLeafRows } from '../../../infra/runtime/questdb/leaf-rows.ts';
import { ANCHORED_TABLES } from '../../../schemas/anchored.ts';
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { formatListingId, RETENTION_DAYS } from '../../../schemas/tables.ts';
import { makeArchiveTarget } from '../archive/archive.ts';
import { readDayListings } from '../archive/listings.ts';
import type { ArchiveTarget } from '../archive/write-set.ts';
import { addDays, type Day, toDayAt } from '../day.ts';
import { openIncident } from '../incidents.ts';
import type { NightlyContext, Step } from '../step.ts';

const DUE_MS = 7 * 3_600_000;
/** Leaves time for another attempt after a missed night. */
const EVERY_DAYS = 28;

type Due = {
  readonly day: Day;
  readonly table: string;
  readonly treeKey: string;
  readonly closedAt: Date;
};
/** Rows past retention exist in their final files only; one day of margin. Partitions that differ are compared every night. */
const DUE = `select to_char(p.day, 'YYYY-MM-DD') as day, p.table_name as "table", p.tree_key as "treeKey", d.closed_at as "closedAt"
from anchor_partitions p join archive_days d using (day) join anchor_days using (day)
where p.day > case when p.table_name in ('trades', 'liquidations') then $1::date else $2::date end
  and (p.changed_at is not null or p.compared_at is null or p.compared_at < $3)
order by p.compared_at nulls first, p.day, p.table_name`;
const RECORD = `update anchor_partitions set compared_at = $4, difference = $3,
  changed_at = case when $3::text is null then null else coalesce(changed_at, $4) end where day = $1 and table_name = $2`;

type ListingRange = LeafRange & { readonly listing: string };

const readRanges = async (
  { database }: ArchiveTarget,
  { day }: Due,
  layer: string,
): Promise<readonly ListingRange[]> => {
  const { rows } = await database.query<{ venue: string; symbol: string; first: string; rows: number }>(
    `select venue, venue_symbol as symbol, first_leaf as first, rows from archive_sets
     where day = $1 and layer = $2 and final order by first_leaf`,
    [day, layer],
  );
  return rows.map(({ venue, symbol, first, rows }) => ({
    listing: formatListingId(venue, symbol),
    first: Number(first),
    rows,
  }));
};

const comparePartition = async (target: ArchiveTarget, due: Due, signal?: AbortSignal): Promise<string | null> => {
  const table = ANCHORED_TABLES.find(({ table }) => table === due.table);
  if (table === undefined) return `${due.table} is no anchored table`;
  const closedAt = due.closedAt.getTime() * 1_000;
  const ranges = await readRanges(target, due, table.layer);
  for (const range of ranges) {
    signal?.throwIfAborted();
    const rows = readLeafRows(target, { table, listing: range.listing, day: due.day, closedAt });
    const kept = { store: target.store, treeKey: due.treeKey };
    const { difference } = await compareLeaves({ table, rows, range, kept });
    if (difference !== null) return `${range.listing}: ${difference}`;
  }
  const known = new Set(ranges.map(({ listing }) => listing));
  for (const { id } of await readDayListings(target, table, { day: due.day, instruments: new Map() })) {
    const rows = known.has(id) ? 0 : await countLeafRows(target, { table, listing: id, day: due.day, closedAt });
    if (rows > 0) return `${id}: ${rows} stored rows and no leaf`;
  }
  return null;
};

const report = async ({ day, table }: Due, difference: string, { database, log }: NightlyContext): Promise<void> => {
  const note = `Stored rows of ${table} of ${day} differ from what was anchored.`;
  const subject = `${day} ${table}`;
  const details = { day, table, difference };
  if (await openIncident(database, { kind: 'anchored_rows_changed', subject, note, details })) log.error(details, note);
};

export const compare: Step = {
  name: 'compare',
  summary: 'stored rows of closed days compared with their leaves',
  dueMs: DUE_MS,
  lock: 'compare',
  run: async (_, context) => {
    const { database, nowMs, metrics, progress, signal } = context;
    const target = makeArchiveTarget(context);
    const floor = (days: number): Day => addDays(toDayAt(nowMs()), 1 - days);
    const { rows: partitions } = await database.query<Due>(DUE, [
      ...[floor(RETENTION_DAYS.events), floor(RETENTION_DAYS.readings)],
      new Date(nowMs() - EVERY_DAYS * MS_PER_DAY),
    ]);
    let wrong = 0;
    for (const due of partitions) {
      const difference = await comparePartition(target, due, signal);
      await database.query(RECORD, [due.day, due.table, difference, new Date(nowMs())]);
      metrics.compared(difference === null ? 'equal' : 'different');
      if (difference === null) continue;
      wrong += 1;
      await report(due, difference, context);
      progress(`${due.day} compare: ${due.table}: ${difference}`);
    }
    return `${partitions.length} partitions compared, ${wrong} differ`;
  },
};
