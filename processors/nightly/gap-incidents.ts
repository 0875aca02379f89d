// Turns gap rows into incidents: which data of a venue is missing, from when to when, and why (OP-01). Runs beside the steps, every few seconds.
import type { PoolClient } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import type { GapCause } from '../../schemas/gap-causes.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import { CANDLES, EVENTS, READINGS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { toTableName } from '../../schemas/tables.ts';
import { EVENT_GAP_WINDOW_MS, findLastEnd, SEALS_AFTER } from '../../schemas/windows.ts';
import {
  countAtOnce,
  formatNote,
  type GapGroup,
  type GapIncident,
  isIncident,
  isOver,
  joinGaps,
} from './gap-groups.ts';
import type { NightlyContext } from './step.ts';

/** How far back the first run reads. */
const FIRST_LOOK: Micros = 90 * 86_400_000_000;
/** Advisory lock for turning gap rows into incidents (an arbitrary constant). */
const LOCK = 7_305_126;

/** `end`: the designated column, and by how much a row ends after it. */
type GapTable = {
  readonly table: string;
  readonly layer: string;
  readonly from: string;
  readonly end: string;
  readonly endsAfter: Micros;
  readonly only: string;
};
const OWN_SPAN = { from: 'from_at', endsAfter: 0, only: 'from_at IS NOT NULL' };
const GAP_TABLES: readonly GapTable[] = [
  ...READINGS.map(({ table, recordName }) => ({ ...OWN_SPAN, table, layer: recordName, end: 'at' })),
  ...EVENTS.map(({ table, recordName }) => ({ ...OWN_SPAN, table, layer: recordName, end: 'received_at' })),
  // Of candles the minutes: a longer one is a gap because one of them is.
  {
    ...{ table: CANDLES.table, layer: CANDLES.recordName, from: 'open_time', end: 'open_time' },
    ...{ endsAfter: MICROS_PER_MINUTE, only: "timeframe = '1m'" },
  },
];

const selectGaps = (name: string, { from, end, endsAfter, only }: GapTable): string =>
  `SELECT venue, gap_cause, ${from}::long, ${end}::long + ${endsAfter}, count_distinct(listing), min(listing) FROM '${name}'
WHERE ${end} > $1::long::timestamp AND ${end} <= $2::long::timestamp AND status = 'missing' AND NOT late AND ${only}
GROUP BY venue, gap_cause, ${from}, ${end}`;
/** Number of listings with any row. */
const countListings = (name: string, { end }: GapTable): string => `SELECT venue, count_distinct(listing) FROM '${name}'
WHERE ${end} > $1::long::timestamp AND ${end} <= $2::long::timestamp GROUP BY venue`;

type Range = { readonly after: Micros; readonly to: Micros };

const readGaps = async ({ questdb, namespace }: NightlyContext, { after, to }: Range): Promise<GapGroup[]> => {
  const groups: GapGroup[] = [];
  for (const table of GAP_TABLES) {
    const values = [String(after - table.endsAfter), String(to - table.endsAfter)];
    const name = toTableName(namespace, table.table);
    const found = (await questdb.query({ text: selectGaps(name, table), values })).map(
      ([venue, cause, from, until, listings, listing]): GapGroup => ({
        venue: venue ?? '',
        layer: table.layer,
        cause: (cause ?? 'unknown') as GapCause,
        ...{ from: Number(from), to: Number(until), listings: Number(listings), listing: listing ?? '' },
      }),
    );
    const quiet = found.some(({ cause }) => cause === 'no_update');
    const all = new Map(
      quiet ? (await questdb.query({ text: countListings(name, table), values })).map(([v, n]) => [v, Number(n)]) : [],
    );
    groups.push(...countAtOnce(found.filter((group) => isIncident(group, all.get(group.venue) ?? 0))));
  }
  return groups;
};

const READ_OPEN = `select incident_id as id, venue, gap_cause as cause, layers, details,
  (extract(epoch from from_at) * 1000000)::bigint::text as "from", (extract(epoch from to_at) * 1000000)::bigint::text as "to"
from incidents where kind = 'gap' and state = 'open'`;

const readOpen = async (client: PoolClient): Promise<GapIncident[]> => {
  const { rows } = await client.query(READ_OPEN);
  return rows.map(({ id, venue, cause, layers, details, from, to }) => ({
    ...{ ids: [id], venue, cause, layers, from: Number(from), to: Number(to) },
    ...{ listings: details.listings, listing: details.listing },
  }));
};

/** Parameter `n`, in microseconds, as a timestamp. */
const toTimestamp = (n: number): string => `to_timestamp(0) + $${n}::bigint * interval '1 microsecond'`;
const CHANGE = `update incidents set layers = $2, from_at = ${toTimestamp(3)}, to_at = ${toTimestamp(4)}, note = $5, details = $6,
  state = $7, closed_at = case when $7 = 'closed' then now() end where incident_id = $1`;
const OPEN = `insert into incidents (kind, subject, venue, gap_cause, layers, from_at, to_at, note, details, state, closed_at)
values ('gap', $1 || ' ' || $2 || ' ' || $4::bigint::text, $1, $2, $3, ${toTimestamp(4)}, ${toTimestamp(5)}, $6, $7, $8, case when $8 = 'closed' then now() end)`;

const write = async (client: PoolClient, incident: GapIncident, reached: Micros): Promise<void> => {
  const { ids, venue, cause, layers, from, to, listings, listing } = incident;
  const [id, ...joined] = ids;
  const state = isOver(incident, reached) ? 'closed' : 'open';
  const values = [layers, from, to, formatNote(incident), { listings, listing }, state];
  if (id === undefined) await client.query(OPEN, [venue, cause, ...values]);
  else await client.query(CHANGE, [id, ...values]);
  if (joined.length > 0) await client.query('delete from incidents where incident_id = any($1)', [joined]);
};

const readReached = async (client: PoolClient): Promise<Micros | null> => {
  const { rows } = await client.query<{ at: string }>(
    'select (extract(epoch from reached_at) * 1000000)::bigint::text as at from incident_progress',
  );
  return rows[0] === undefined ? null : Number(rows[0].at);
};

const PROGRESS = `insert into incident_progress (reached_at) values (${toTimestamp(1)})
  on conflict (one) do update set reached_at = excluded.reached_at`;

/** One run: reads the gap rows sealed since the last one, and stores its progress in the same transaction. Rejects while a store is unreachable. */
export const reportGaps = async (context: NightlyContext): Promise<void> => {
  // A stretch without events is sealed with its window, so up to the last one that is.
  const { at } = await context.historyWatermark();
  const reached = findLastEnd(at - SEALS_AFTER, EVENT_GAP_WINDOW_MS);
  if (reached <= 0) return;
  await runInTransaction(context.database, async (client) => {
    // Of two runners one works; the other then finds nothing new.
    await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const before = await readReached(client);
    const after = Math.max(before ?? 0, reached - FIRST_LOOK);
    if (after >= reached) return;
    const open = await readOpen(client);
    const groups = await readGaps(context, { after, to: reached });
    for (const incident of joinGaps(open, groups)) await write(client, incident, reached);
    await client.query(PROGRESS, [reached]);
  });
};
