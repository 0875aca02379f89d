// Turns gap rows into incidents: which data of a venue is missing, from when to when, and why (OP-01). Runs beside the steps, every few seconds.
import type { PoolClient } from 'pg';
import { runInTransaction } from '../../infra/runtime/postgres/postgres.ts';
import { GAP_CAUSES, type GapCause } from '../../schemas/gap-causes.ts';
import { MICROS_PER_MINUTE } from '../../schemas/instants.ts';
import { CANDLES, EVENTS, READINGS } from '../../schemas/layers/index.ts';
import type { Micros } from '../../schemas/records.ts';
import { toTableName } from '../../schemas/tables.ts';
import { EVENT_GAP_WINDOW_MS, findLastEnd, SEALS_AFTER } from '../../schemas/windows.ts';
import type { NightlyContext } from './step.ts';

/** Gap rows of one venue, layer, cause and span. Instants in microseconds. */
export type GapGroup = {
  readonly venue: string;
  readonly layer: string;
  readonly cause: GapCause;
  readonly from: Micros;
  readonly to: Micros;
  readonly listings: number;
  /** One of the listings. */
  readonly listing: string;
};

/** Missing data of a venue with one cause; gap rows that follow each other within `BREAK` are one incident. */
type GapIncident = {
  /** Stored incidents that it is made of, the earliest first; several when a later row joined them. */
  readonly ids: readonly string[];
  readonly venue: string;
  readonly cause: GapCause;
  readonly layers: readonly string[];
  readonly from: Micros;
  readonly to: Micros;
  /** The largest number of listings affected at once. */
  readonly listings: number;
  /** The only listing; null: several. */
  readonly listing: string | null;
};

const LONGEST_WINDOW: Micros = 60_000_000;
/** Gap rows of one outage end at different windows in different layers. */
const BREAK: Micros = LONGEST_WINDOW;
/** How far back the first run reads. */
const FIRST_LOOK: Micros = 90 * 86_400_000_000;
/** Causes that are no fault. */
const EXPECTED: ReadonlySet<string> = new Set<GapCause>(['not_listed']);
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

/**
 * Groups of one layer, with the listings of others of their venue and cause that are missing at their start. Listings of several connections are lost at
 * several instants, so their spans differ; of one listing no two overlap.
 */
export const countAtOnce = (groups: readonly GapGroup[]): GapGroup[] =>
  [...Map.groupBy(groups, ({ venue, cause }) => `${venue} ${cause}`).values()].flatMap((of) => {
    const ending = of.toSorted((a, b) => a.to - b.to);
    let [sum, ended] = [0, 0];
    return of
      .toSorted((a, b) => a.from - b.from)
      .map((group) => {
        for (let next = ending[ended]; next && next.to <= group.from; next = ending[ended]) {
          sum -= next.listings;
          ended += 1;
        }
        sum += group.listings;
        return { ...group, listings: sum };
      });
  });

type Range = { readonly after: Micros; readonly to: Micros };

/** A quiet listing is no incident; a layer without any reading is one. */
const isIncident = ({ cause, listings }: GapGroup, all: number): boolean =>
  !EXPECTED.has(cause) && (cause !== 'no_update' || listings >= all);

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

const toIncident = ({ venue, cause, layer, from, to, listings, listing }: GapGroup): GapIncident => ({
  ...{ ids: [], venue, cause, layers: [layer], from, to, listings },
  listing: listings === 1 ? listing : null,
});

const mergeIncidents = (one: GapIncident, other: GapIncident): GapIncident => ({
  ...one,
  ids: [...one.ids, ...other.ids],
  layers: [...new Set([...one.layers, ...other.layers])].sort(),
  to: Math.max(one.to, other.to),
  listings: Math.max(one.listings, other.listings),
  listing: one.listing === other.listing ? one.listing : null,
});

/** The open incidents with the gap rows added: the same whenever which of them became known. Ordered by their start. */
export const joinGaps = (open: readonly GapIncident[], groups: readonly GapGroup[]): readonly GapIncident[] => {
  const newest = new Map<string, number>();
  const incidents: GapIncident[] = [];
  for (const next of [...open, ...groups.map(toIncident)].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const key = `${next.venue} ${next.cause}`;
    const i = newest.get(key);
    const held = i === undefined ? undefined : incidents[i];
    if (i !== undefined && held !== undefined && next.from <= held.to + BREAK)
      incidents[i] = mergeIncidents(held, next);
    else newest.set(key, incidents.push(next) - 1);
  }
  return incidents;
};

/** True when no further row can join: rows up to `reached` are known, so every one that begins within the break. */
export const isOver = ({ to }: GapIncident, reached: Micros): boolean => to + BREAK + LONGEST_WINDOW <= reached;

/** How many listings were affected at once, of several. */
const countAffected = (listings: number): string => (listings === 1 ? 'One listing at a time' : `${listings} listings`);

export const formatNote = ({ cause, listings, listing, layers }: GapIncident): string =>
  `${GAP_CAUSES[cause] ?? cause} ${listing ?? countAffected(listings)}: ${layers.join(', ')}.`;

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
  const reached = findLastEnd((await context.historyWatermark()) - SEALS_AFTER, EVENT_GAP_WINDOW_MS);
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
