// Share of time present by day, venue and layer: windows with a reading divided by all windows (OP-02).
import { MS_PER_DAY } from '../../../schemas/instants.ts';
import { READINGS } from '../../../schemas/layers/index.ts';
import { toTableName } from '../../../schemas/tables.ts';
import { addDays } from '../day.ts';
import { refuseUnsealed } from '../history-watermark.ts';
import type { Step } from '../step.ts';

/** Five minutes after the end of the day, whose last window is sealed after 100 s. */
const DUE_MS = MS_PER_DAY + 5 * 60_000;

/** A window that ends at midnight belongs to the day that ends there; no gap row crosses it (D-06). */
const sumSeconds = (table: string, windowMs: number): string => `SELECT venue, count_distinct(listing),
  sum(CASE WHEN status = 'present' THEN ${windowMs / 1_000} ELSE 0 END),
  sum(CASE WHEN status = 'missing' THEN coalesce(datediff('s', from_at, at), ${windowMs / 1_000}) ELSE 0 END)
FROM '${table}' WHERE at > $1 AND at <= $2 AND NOT late GROUP BY venue`;

const KEEP = `insert into daily_presence (day, venue, layer, listings, present_s, missing_s) values ($1, $2, $3, $4, $5, $6)
  on conflict (day, venue, layer) do update set listings = excluded.listings, present_s = excluded.present_s,
    missing_s = excluded.missing_s`;

export const presence: Step = {
  name: 'presence',
  summary: 'the share of time with readings, by venue and layer',
  dueMs: DUE_MS,
  independentDays: true,
  run: async (day, context) => {
    await refuseUnsealed(day, context);
    const bounds = [day, addDays(day)].map((text) => `${text}T00:00:00.000000Z`);
    let kept = 0;
    for (const { table, recordName, windowMs } of READINGS) {
      const text = sumSeconds(toTableName(context.namespace, table), windowMs);
      const rows = await context.questdb.query({ text, values: bounds });
      for (const [venue, ...counts] of rows) await context.database.query(KEEP, [day, venue, recordName, ...counts]);
      kept += rows.length;
    }
    return `${kept} venues and layers`;
  },
};
