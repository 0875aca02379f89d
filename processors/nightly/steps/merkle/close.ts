// The close step: at D+7 00:00 UTC a day's rows become its leaves permanently. Builds trees, final files, the root of the day (AN-02, AN-12).
import { rm } from 'node:fs/promises';
import { toTreeKey } from '../../../../schemas/anchor-chain.ts';
import { ANCHORED_TABLES, type AnchoredTable, formatPartitionLeaf } from '../../../../schemas/anchored.ts';
import { formatInstantMicros } from '../../../../schemas/instants.ts';
import { hashLeaf } from '../../../../schemas/merkle/hash.ts';
import { createTree } from '../../../../schemas/merkle/tree.ts';
import type { Micros } from '../../../../schemas/records.ts';
import { SEALS_AFTER } from '../../../../schemas/windows.ts';
import { CLOSES_AFTER_MS, type Day, findDayStart } from '../../day.ts';
import { describeReach } from '../../history-watermark.ts';
import { reportIncident } from '../../incidents.ts';
import type { NightlyContext, Step } from '../../step.ts';
import { ARCHIVE_LOCK, makeArchiveTarget } from '../archive/archive.ts';
import { type DayListing, readDayListings, readInstruments } from '../archive/listings.ts';
import { type FileSet, readClosing } from '../archive/manifest.ts';
import { findTier, fixTiers, type Tiers } from '../archive/tiers.ts';
import { writeSet } from '../archive/write-set.ts';
import { fixClosing, hasRoot, readLostSets, readPartitions, recordDay, recordPartition } from './closed-days.ts';
import { type FinishedTree, openTreeFile } from './tree-file.ts';

/** Cold classes in the order of leaves (AN-07). */
const CLASSES = ['core', 'top100', 'other'];

/** Places of the step in their order: tests end the process at each. */
export const CLOSE_PLACES = [
  ...['closing-fixed', 'rows-written', 'file-stored', 'tree-written', 'tree-stored', 'partition-recorded'],
  'day-recorded',
] as const;

type Closing = {
  readonly day: Day;
  readonly closedAt: Micros;
  readonly tiers: Tiers;
  readonly instruments: ReadonlyMap<string, string>;
};

/** The closing instant: that of an earlier run, else D+7; for an early run by hand the newest whole millisecond before history W. */
const chooseClosing = async (day: Day, { database, historyWatermark, early }: NightlyContext): Promise<Micros> => {
  const reached = await historyWatermark();
  const regular = (findDayStart(day) + CLOSES_AFTER_MS) * 1_000;
  const chosen = early === true ? Math.min(regular, Math.floor(reached.at / 1_000) * 1_000) : regular;
  const closedAt = (await readClosing(database, day)) ?? chosen;
  if (reached.at < closedAt) throw new Error(describeReach(reached, formatInstantMicros(closedAt)));
  if (closedAt <= findDayStart(day) * 1_000 + SEALS_AFTER) throw new Error(`${day} has not begun in stored history`);
  return closedAt;
};

/** Listings by cold class; within a class in the order of venue and symbol. */
const sortListings = (listings: readonly DayListing[], tiers: Tiers): DayListing[] => {
  const toClass = ({ instrument }: DayListing): number => CLASSES.indexOf(findTier(tiers, instrument));
  return [...listings].sort((a, b) => toClass(a) - toClass(b));
};

type FinalSets = { readonly sets: readonly FileSet[]; readonly finished: FinishedTree | null };

type Partitioning = { readonly table: AnchoredTable; readonly closing: Closing };

/** Writes the final files of a table, and its tree in `folder`. */
const writeFinal = async (
  { table, closing }: Partitioning,
  folder: string,
  context: NightlyContext,
): Promise<FinalSets> => {
  const { day, closedAt, tiers } = closing;
  const target = makeArchiveTarget(context);
  const tree = await openTreeFile(folder);
  const sets: FileSet[] = [];
  let first = 0;
  try {
    for (const listing of sortListings(await readDayListings(target, table, closing), tiers)) {
      context.signal?.throwIfAborted();
      const tier = findTier(tiers, listing.instrument);
      const leaves = { first, take: tree.append };
      const set = await writeSet(target, { table, listing, day, tier, closedAt, leaves });
      if (set === null) continue;
      sets.push(set);
      first += set.rows;
    }
    return { sets, finished: await tree.finish() };
  } finally {
    await tree.release();
  }
};

/** Stores the final files and tree of a table, and records them only once all are in the store. Returns the number of rows. */
const storePartition = async (work: Partitioning, folder: string, context: NightlyContext): Promise<number> => {
  const { day } = work.closing;
  const { store, signal } = makeArchiveTarget(context);
  const { sets, finished } = await writeFinal(work, folder, context);
  if (finished === null) return 0;
  context.reached?.('tree-written');
  const partition = { day, table: work.table.table, rows: finished.size, root: finished.root.toString('hex') };
  const leaf = hashLeaf(formatPartitionLeaf(partition)).toString('hex');
  const key = toTreeKey(day, partition.table, partition.root);
  signal?.throwIfAborted();
  await store.put(key, finished.path);
  context.reached?.('tree-stored');
  signal?.throwIfAborted();
  await recordPartition(context.database, { ...partition, leaf, treeKey: key }, sets);
  context.reached?.('partition-recorded');
  return finished.size;
};

const closePartition = async (table: AnchoredTable, closing: Closing, context: NightlyContext): Promise<number> => {
  const folder = await makeArchiveTarget(context).store.workFolder(`${closing.day}-${table.table}-tree`);
  try {
    return await storePartition({ table, closing }, folder, context);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The root over the leaves of the partitions; null for a day without rows. */
const computeDayRoot = (leaves: readonly string[]): string | null => {
  const tree = createTree();
  for (const leaf of leaves) tree.append(Buffer.from(leaf, 'hex'));
  return tree.root()?.toString('hex') ?? null;
};

const reportLost = async (day: Day, context: NightlyContext): Promise<void> => {
  const lost = await readLostSets(context.database, day);
  if (lost.length === 0) return;
  const note = `Rows of ${lost.length} archived sets could not be read when ${day} was closed.`;
  await reportIncident(context, { kind: 'archived_rows_lost', subject: day, note, details: { sets: lost } });
};

export const close: Step = {
  name: 'close',
  summary: 'trees and root of the day, final files',
  dueMs: CLOSES_AFTER_MS,
  lock: ARCHIVE_LOCK,
  onlyWhenDue: true,
  run: async (day, context) => {
    const { database, progress } = context;
    const chosen = await chooseClosing(day, context);
    const tiers = await fixTiers(database, day);
    const closedAt = await fixClosing(database, day, chosen);
    context.reached?.('closing-fixed');
    await makeArchiveTarget(context).store.clearWork();
    const isRecorded = await hasRoot(database, day);
    const instruments = await readInstruments(makeArchiveTarget(context), day, formatInstantMicros(closedAt));
    const known = new Set((await readPartitions(database, day)).map(({ table }) => table));
    for (const table of ANCHORED_TABLES) {
      // A table that had no rows then stays out: the root of a closed day never changes.
      if (isRecorded || known.has(table.table)) continue;
      const rows = await closePartition(table, { day, closedAt, tiers, instruments }, context);
      progress(`${day} close: ${rows} leaves of ${table.table}`);
    }
    const partitions = await readPartitions(database, day);
    const root = computeDayRoot(partitions.map(({ leaf }) => leaf));
    if (root === null) return 'no rows: the day has no root';
    context.signal?.throwIfAborted();
    await recordDay(database, day, root);
    context.reached?.('day-recorded');
    await reportLost(day, context);
    const rows = partitions.reduce((sum, partition) => sum + partition.rows, 0);
    return `${rows} leaves in ${partitions.length} partitions; root ${root}`;
  },
};
