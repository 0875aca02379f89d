// The archive step: writes a day's files at D+1 06:00 UTC, and rewrites those of earlier days when rows were added (AR-03).
import { countLeafRows } from '../../../../infra/runtime/questdb/leaf-rows.ts';
import { ANCHORED_TABLES } from '../../../../schemas/anchored.ts';
import { formatInstantMicros, MS_PER_DAY } from '../../../../schemas/instants.ts';
import type { Micros } from '../../../../schemas/records.ts';
import { addDays, CLOSES_AFTER_MS, type Day, findDayStart } from '../../day.ts';
import { refuseUnsealed } from '../../history-watermark.ts';
import type { NightlyContext, Step } from '../../step.ts';
import { readDayListings, readInstruments } from './listings.ts';
import { forgetFile, readClosing, readReplaced, readSets, recordSet } from './manifest.ts';
import { findTier, fixTiers } from './tiers.ts';
import { type ArchiveTarget, writeSet } from './write-set.ts';

const DUE_MS = MS_PER_DAY + 6 * 3_600_000;
/** A day is written at 06:00 of the next day and may be rewritten on the five after it. */
const REWRITTEN_DAYS = 5;
/** Links expire after 15 minutes; an hour allows for clock differences. */
const LINKS_END_MS = 3_600_000;

/** Lock of the steps that write sets of files: the archive of a day rewrites sets of five others, until their closing. */
export const ARCHIVE_LOCK = 'archive';

/** Places of the step in their order: tests end the process at each. */
export const ARCHIVE_PLACES = ['tiers-fixed', 'rows-written', 'file-stored', 'set-recorded', 'file-removed'] as const;

export const makeArchiveTarget = (context: NightlyContext): ArchiveTarget => {
  const { database, questdb, namespace, store, reached, signal } = context;
  if (store === null) throw new Error('set ARCHIVE_DIR: there is no store for archive files');
  return { database, questdb, namespace, store, reached, signal };
};

type Written = { sets: number; rows: number };

/** Writes a day's new files: sets whose number of rows has changed since the last write. */
const archiveDay = async (day: Day, context: NightlyContext): Promise<Written> => {
  const target = makeArchiveTarget(context);
  // A run may be late by days.
  const closedAt: Micros = Math.min(context.nowMs(), findDayStart(day) + CLOSES_AFTER_MS) * 1_000;
  const tiers = await fixTiers(context.database, day);
  context.reached?.('tiers-fixed');
  const isClosing = (await readClosing(context.database, day)) !== null;
  const instruments = await readInstruments(target, day, formatInstantMicros(closedAt));
  const known = new Map(
    (await readSets(context.database, day)).map((set) => [`${set.layer}|${set.venue}:${set.venueSymbol}`, set]),
  );
  const written: Written = { sets: 0, rows: 0 };
  // The closing writes the final files.
  if (isClosing) return written;
  for (const table of ANCHORED_TABLES) {
    for (const listing of await readDayListings(target, table, { day, instruments })) {
      context.signal?.throwIfAborted();
      const held = known.get(`${table.layer}|${listing.id}`);
      const question = { table, listing: listing.id, day, closedAt };
      if (held?.final === true || held?.rows === (await countLeafRows(target, question))) continue;
      const tier = findTier(tiers, listing.instrument);
      const set = await writeSet(target, { table, listing, day, tier, closedAt, leaves: null });
      if (set === null) continue;
      context.signal?.throwIfAborted();
      await recordSet(context.database, set);
      context.reached?.('set-recorded');
      written.rows += set.rows;
      written.sets += 1;
    }
    context.progress(`${day} archive: ${table.table} written`);
  }
  return written;
};

const removeReplaced = async (context: NightlyContext): Promise<void> => {
  const { store } = makeArchiveTarget(context);
  for (const key of await readReplaced(context.database, new Date(context.nowMs() - LINKS_END_MS))) {
    context.signal?.throwIfAborted();
    await store.remove(key);
    context.reached?.('file-removed');
    await forgetFile(context.database, key);
  }
};

export const archive: Step = {
  name: 'archive',
  summary: 'files of the day by listing and layer; late rows of the five days before',
  dueMs: DUE_MS,
  lock: ARCHIVE_LOCK,
  onlyWhenDue: true,
  run: async (day, context) => {
    await refuseUnsealed(day, context);
    await makeArchiveTarget(context).store.clearWork();
    const { sets, rows } = await archiveDay(day, context);
    let again = 0;
    for (let back = 1; back <= REWRITTEN_DAYS; back++) {
      const { rows: earlier } = await context.database.query(
        'select 1 from archive_days where day = $1 and closed_at is null',
        [addDays(day, -back)],
      );
      if (earlier.length > 0) again += (await archiveDay(addDays(day, -back), context)).sets;
    }
    await removeReplaced(context);
    return `${sets} sets of ${rows} rows; ${again} sets of earlier days written again`;
  },
};
