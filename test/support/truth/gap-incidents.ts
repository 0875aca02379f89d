// The incidents of a run against its gap rows: each row inside one incident of its venue and cause, each incident exactly as long as its rows.
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { reportGaps } from '../../../processors/nightly/gap-incidents.ts';
import { openContext } from '../../../processors/nightly/open-context.ts';
import { EVENTS, READINGS } from '../../../schemas/layers/index.ts';
import { openRows } from './true-rows.ts';
import type { World } from './true-world.ts';

/** The longest window, in microseconds: what follows within it is the same outage. */
const BREAK = 60_000_000;

export type StoredIncident = {
  readonly venue: string;
  readonly cause: string;
  readonly layers: readonly string[];
  readonly state: string;
  /** Microseconds. */
  readonly from: number;
  readonly to: number;
};
type GapRow = {
  readonly venue: string;
  readonly listing: string;
  readonly layer: string;
  readonly cause: string;
  readonly from: number;
  readonly to: number;
};
type Incidents = {
  readonly incidents: readonly StoredIncident[];
  /** Sealed by the time of the look. */
  readonly rows: readonly GapRow[];
};

const readGapRows = async (t: Test, world: World, reached: number): Promise<readonly GapRow[]> => {
  const { rows, close } = openRows(world);
  t.teardown(close);
  const span = { from: 'from_at', only: 'from_at IS NOT NULL' };
  const tables = [
    ...READINGS.map(({ table, recordName }) => ({ ...span, table, layer: recordName, end: 'at' })),
    ...EVENTS.map(({ table, recordName }) => ({ ...span, table, layer: recordName, end: 'received_at' })),
    { table: 'candles', layer: 'candles', from: 'open_time', end: 'close_time', only: "timeframe = '1m'" },
  ];
  const found: GapRow[] = [];
  for (const { table, layer, from, end, only } of tables) {
    const columns = ['venue', 'listing', 'gap_cause', from, end];
    for (const row of await rows(table, columns, `status = 'missing' AND NOT late AND ${only}`)) {
      const { venue = '', listing = '', gap_cause: cause = '' } = row as Record<string, string>;
      const to = Number(row[end]);
      if (to <= reached) found.push({ venue, listing, layer, cause, from: Number(row[from]), to });
    }
  }
  return found;
};

/** Looks once as the nightly process does, and reads what it wrote and what it looked at. */
export const reportedIncidents = async (t: Test, world: World): Promise<Incidents> => {
  const { stores, namespace } = world.spec;
  const env = {
    DATABASE_URL: world.database,
    KAFKA_BROKERS: stores.kafka,
    TOPIC_NAMESPACE: namespace,
    ...{ QUESTDB_PG: stores.questdb_pg, QUESTDB_USER: stores.questdb_user, QUESTDB_PASSWORD: stores.questdb_password },
  };
  const log = createLog('incidents-test', 'warn');
  const { context, close } = await openContext(env, new Registry(), { log, progress: () => undefined });
  t.teardown(close);
  await reportGaps(context);
  const { rows: progress } = await context.database.query<{ at: string }>(
    'select (extract(epoch from reached_at) * 1000000)::bigint::text as at from incident_progress',
  );
  const { rows } = await context.database.query<Record<'from' | 'to', string> & StoredIncident>(
    `select venue, gap_cause as cause, layers, state, (extract(epoch from from_at) * 1000000)::bigint::text as "from",
      (extract(epoch from to_at) * 1000000)::bigint::text as "to" from incidents where kind = 'gap' order by from_at, venue`,
  );
  const incidents = rows.map((row) => ({ ...row, from: Number(row.from), to: Number(row.to) }));
  return { incidents, rows: await readGapRows(t, world, Number(progress[0]?.at)) };
};

const holds = (incident: StoredIncident, row: GapRow): boolean =>
  incident.venue === row.venue && incident.cause === row.cause && incident.from <= row.from && row.to <= incident.to;

/** Descriptions of differences; empty when ranges and layers are those of the rows. */
export const incidentFaults = ({ incidents, rows }: Incidents): readonly string[] => {
  // A quiet or unlisted listing causes no incident.
  const counted = rows.filter(({ cause }) => cause !== 'not_listed' && cause !== 'no_update');
  const homeless = counted.flatMap((row) => {
    const count = incidents.filter((incident) => holds(incident, row)).length;
    return count === 1 ? [] : [`${row.listing} ${row.layer} ${row.cause} at ${row.to}: in ${count} incidents`];
  });
  const wrong = incidents.flatMap((incident) => {
    const own = rows.filter((row) => holds(incident, row));
    const name = `${incident.venue} ${incident.cause} from ${incident.from}`;
    const layers = new Set(own.map(({ layer }) => layer));
    const isRange =
      Math.min(...own.map(({ from }) => from)) === incident.from &&
      Math.max(...own.map(({ to }) => to)) === incident.to;
    const other = incidents.find(
      (one) =>
        one !== incident &&
        one.venue === incident.venue &&
        one.cause === incident.cause &&
        one.from <= incident.to + BREAK &&
        incident.from <= one.to + BREAK,
    );
    return [
      ...(isRange ? [] : [`${name}: its range is not that of its ${own.length} rows`]),
      ...(incident.layers.every((layer) => layers.has(layer))
        ? []
        : [`${name}: layers ${incident.layers} of ${[...layers]}`]),
      ...(other === undefined ? [] : [`${name}: another one follows it without a break`]),
    ];
  });
  return [...homeless, ...wrong];
};
