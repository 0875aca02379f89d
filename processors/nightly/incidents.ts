// Incidents: what someone must look at; told once while it is open (OP-01, OP-03).
import type { Pool } from 'pg';

export type Incident = {
  readonly kind: string;
  /** What makes two reports the same incident. */
  readonly subject: string;
  readonly note: string;
  readonly details: Readonly<Record<string, unknown>>;
};

/** Whether it is new: an incident that is open already stays as it was. */
export const openIncident = async (pool: Pool, { kind, subject, note, details }: Incident): Promise<boolean> => {
  const { rowCount } = await pool.query(
    `insert into incidents (kind, subject, note, details) values ($1, $2, $3, $4)
     on conflict (kind, subject) where state = 'open' do nothing`,
    [kind, subject, note, details],
  );
  return (rowCount ?? 0) > 0;
};
