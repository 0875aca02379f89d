// Incidents: what an operator must look at; reported once while open (OP-01, OP-03).
import type { Pool } from 'pg';

export type Incident = {
  readonly kind: string;
  /** Reports with the same kind and subject are one incident. */
  readonly subject: string;
  readonly note: string;
  readonly details: Readonly<Record<string, unknown>>;
};

/** Returns whether the incident is new: an open one is not changed. */
export const openIncident = async (pool: Pool, { kind, subject, note, details }: Incident): Promise<boolean> => {
  const { rowCount } = await pool.query(
    `insert into incidents (kind, subject, note, details) values ($1, $2, $3, $4)
     on conflict (kind, subject) where state = 'open' do nothing`,
    [kind, subject, note, details],
  );
  return (rowCount ?? 0) > 0;
};
