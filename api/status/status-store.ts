// The status page's data from PostgreSQL: incidents, presence by day, the newest anchored day, failed re-checks. Kept while it is unavailable.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { isYounger } from '../../infra/runtime/time/kept-age.ts';
import { limitTime } from '../../infra/runtime/time/within.ts';

const ANSWER_MS = 5_000;
/** A caller waits no longer for what is being read: the page of the account site waits three seconds. */
const WAIT_MS = 1_500;
/** As old as that they are read again. */
const KEPT_MS = 10_000;
const DAYS = 90;
const MOST_INCIDENTS = 1_000;

type IncidentState = 'open' | 'closed' | 'wontfix';
export type IncidentRow = {
  readonly id: string;
  readonly kind: string;
  readonly venue: string | null;
  readonly layers: readonly string[] | null;
  readonly from: Date;
  /** Null while it is open. */
  readonly to: Date | null;
  readonly gapCause: string | null;
  readonly state: IncidentState;
  readonly note: string;
  readonly updatedAt: Date;
};
export type PresenceRow = {
  readonly day: string;
  readonly venue: string;
  readonly layer: string;
  readonly presentS: number;
  readonly missingS: number;
};
export type KeptStatus = {
  /** Newest first. */
  readonly incidents: readonly IncidentRow[];
  /** Days ascending, then venues and layers. */
  readonly presence: readonly PresenceRow[];
  readonly anchored: { readonly day: string; readonly status: string } | null;
  readonly recheckFailures: number;
  readonly readAt: Date;
};

const INCIDENTS = `select 'inc_' || incident_id as id, kind, venue, layers, coalesce(from_at, opened_at) as "from",
  case when state = 'open' then null else coalesce(to_at, closed_at) end as "to", gap_cause as "gapCause", state, note,
  coalesce(closed_at, to_at, opened_at) as "updatedAt"
from incidents
where kind <> 'disk_full' and (state = 'open' or coalesce(to_at, closed_at) > now() - interval '${DAYS} days')
order by coalesce(from_at, opened_at) desc, incident_id desc limit ${MOST_INCIDENTS}`;
const PRESENCE = `select to_char(day, 'YYYY-MM-DD') as day, venue, layer, present_s::float8 as "presentS", missing_s::float8 as "missingS"
from daily_presence where day > now() - interval '${DAYS} days' order by day, venue, layer`;
const ANCHORED = `select to_char(day, 'YYYY-MM-DD') as day, status from anchor_days where status in ('submitted', 'confirmed')
order by day desc limit 1`;
const RECHECKS = `select count(*)::int as failures from incidents
where kind = 'settled_answer_changed' and opened_at > now() - interval '${DAYS} days'`;

const read = async (pool: Pick<Pool, 'query'>, nowMs: () => number): Promise<KeptStatus> => {
  const [incidents, presence, anchored, rechecks] = await Promise.all([
    pool.query<IncidentRow>(INCIDENTS),
    pool.query<PresenceRow>(PRESENCE),
    pool.query<{ day: string; status: string }>(ANCHORED),
    pool.query<{ failures: number }>(RECHECKS),
  ]);
  return {
    ...{ incidents: incidents.rows, presence: presence.rows, anchored: anchored.rows[0] ?? null },
    recheckFailures: rechecks.rows[0]?.failures ?? 0,
    readAt: new Date(nowMs()),
  };
};

export type StatusStore = {
  /** At most ten seconds old while PostgreSQL answers; else the last answer while it is unavailable, null when there never was one. */
  readonly read: () => Promise<KeptStatus | null>;
};

export const openStatusStore = (pool: Pick<Pool, 'query'>, log: Logger, nowMs = Date.now): StatusStore => {
  const outages = createOutageLog(log, 'the status was not read, the last one is shown');
  let kept: KeptStatus | null = null;
  let reading: Promise<void> | null = null;
  const refresh = async (): Promise<void> => {
    try {
      kept = await limitTime(read(pool, nowMs), ANSWER_MS);
      outages.noteSuccess();
    } catch (err) {
      outages.noteFailure(err);
    } finally {
      reading = null;
    }
  };
  return {
    read: async () => {
      if (kept !== null && isYounger(KEPT_MS, kept.readAt.getTime(), nowMs())) return kept;
      reading ??= refresh();
      await limitTime(reading, WAIT_MS).catch(() => undefined);
      return kept;
    },
  };
};
