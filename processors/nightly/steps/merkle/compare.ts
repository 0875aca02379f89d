// Compares stored rows of closed days with the kept hashes of their leaves, whole partitions, each at least every 30 days (AN-05).
import { DamagedFile, readFinalRows } from '../../../../infra/runtime/files/final-rows.ts';
import { compareLeaves, type LeafRange } from '../../../../infra/runtime/files/kept-leaves.ts';
import { countLeafRows, readLeafRows } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import { ANCHORED_TABLES, type AnchoredTable } from '../../../../schemas/anchored.ts';
import { MS_PER_DAY } from '../../../../schemas/instants.ts';
import { formatListingId, RETENTION_DAYS } from '../../../../schemas/tables.ts';
import { addDays, type Day, toDayAt } from '../../day.ts';
import { reportIncident } from '../../incidents.ts';
import type { NightlyContext, Step } from '../../step.ts';
import { makeArchiveTarget } from '../archive/archive.ts';
import { readDayListings } from '../archive/listings.ts';
import type { ArchiveTarget } from '../archive/write-set.ts';

const DUE_MS = 7 * 3_600_000;
/** Leaves time for another attempt after a missed night. */
const EVERY_DAYS = 28;

type Due = {
  readonly day: Day;
  readonly table: string;
  readonly treeKey: string;
  readonly closedAt: Date;
  /** Rows past retention exist in their final files only, which are their stored rows then (AR-08); one day of margin. */
  readonly isRetained: boolean;
};
/** Partitions that differ are compared every night, also past retention; of the others final files are not read again. */
const DUE = `select to_char(p.day, 'YYYY-MM-DD') as day, p.table_name as "table", p.tree_key as "treeKey", d.closed_at as "closedAt",
  is_retained as "isRetained"
from anchor_partitions p join archive_days d using (day) join anchor_days using (day)
cross join lateral (
  select p.day > case when p.table_name in ('trades', 'liquidations') then $1::date else $2::date end as is_retained) r
where p.changed_at is not null or (is_retained and (p.compared_at is null or p.compared_at < $3))
order by p.compared_at nulls first, p.day, p.table_name`;
const RECORD = `update anchor_partitions set compared_at = $4, difference = $3,
  changed_at = case when $3::text is null then null else coalesce(changed_at, $4) end where day = $1 and table_name = $2`;

type ListingRange = LeafRange & { readonly listing: string; readonly fileKey: string };

const readRanges = async (
  { database }: ArchiveTarget,
  { day }: Due,
  layer: string,
): Promise<readonly ListingRange[]> => {
  type Found = { venue: string; symbol: string; first: string; rows: number; fileKey: string };
  const { rows } = await database.query<Found>(
    `select s.venue, s.venue_symbol as symbol, s.first_leaf as first, s.rows, f.object_key as "fileKey"
     from archive_sets s join archive_files f on f.day = s.day and f.venue = s.venue and f.venue_symbol = s.venue_symbol
       and f.layer = s.layer and f.replaced_at is null and f.format = 'jsonl'
     where s.day = $1 and s.layer = $2 and s.final order by s.first_leaf`,
    [day, layer],
  );
  return rows.map(({ venue, symbol, first, ...found }) => ({
    ...found,
    listing: formatListingId(venue, symbol),
    first: Number(first),
  }));
};

/** Rows of a listing that no leaf stands for; null: none. */
const findAdded = async (
  target: ArchiveTarget,
  { day, closedAt }: Due,
  { table, known }: { readonly table: AnchoredTable; readonly known: ReadonlySet<string> },
): Promise<string | null> => {
  for (const { id } of await readDayListings(target, table, { day, instruments: new Map() })) {
    const question = { table, listing: id, day, closedAt: closedAt.getTime() * 1_000 };
    const rows = known.has(id) ? 0 : await countLeafRows(target, question);
    if (rows > 0) return `${id}: ${rows} stored rows and no leaf`;
  }
  return null;
};

/** A final file that is lost or damaged differs from its leaves, and so do lost leaves; any other failure of a store rejects. */
const explainFile = (error: unknown, lost: string): string => {
  if (error instanceof DamagedFile) return error.message;
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return `${lost} lost`;
  throw error;
};

const compareListing = async (
  target: ArchiveTarget,
  { day, treeKey, closedAt, isRetained }: Due,
  { table, range }: { readonly table: AnchoredTable; readonly range: ListingRange },
): Promise<string | null> => {
  const { store } = target;
  const kept = { store, treeKey };
  const question = { table, listing: range.listing, day, closedAt: closedAt.getTime() * 1_000 };
  const rows = isRetained ? readLeafRows(target, question) : readFinalRows(table, { store, key: range.fileKey });
  try {
    return (await compareLeaves({ table, rows, range, kept })).difference;
  } catch (error) {
    // A store that lacks the final file, too, may be another one: nothing is known of the day then.
    if (isRetained && (await store.size(range.fileKey)) === null) throw error;
    return explainFile(error, isRetained ? `${treeKey} is` : `${range.fileKey} or its kept hashes are`);
  }
};

const comparePartition = async (target: ArchiveTarget, due: Due, signal?: AbortSignal): Promise<string | null> => {
  const table = ANCHORED_TABLES.find(({ table }) => table === due.table);
  if (table === undefined) return `${due.table} is not an anchored table`;
  const ranges = await readRanges(target, due, table.layer);
  for (const range of ranges) {
    signal?.throwIfAborted();
    const difference = await compareListing(target, due, { table, range });
    if (difference !== null) return `${range.listing}: ${difference}`;
  }
  return due.isRetained
    ? findAdded(target, due, { table, known: new Set(ranges.map(({ listing }) => listing)) })
    : null;
};

const report = ({ day, table }: Due, difference: string, context: NightlyContext): Promise<void> =>
  reportIncident(context, {
    kind: 'anchored_rows_changed',
    subject: `${day} ${table}`,
    note: `Stored rows of ${table} of ${day} differ from what was anchored.`,
    details: { day, table, difference },
  });

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
      signal?.throwIfAborted();
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
