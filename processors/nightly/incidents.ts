// Incidents: what an operator must look at; reported once while open (OP-01, OP-03).
import { makeStorable } from '../../infra/runtime/postgres/storable.ts';
import type { NightlyContext } from './step.ts';

type Incident = {
  readonly kind: string;
  /** Reports with the same kind and subject are one incident. */
  readonly subject: string;
  readonly note: string;
  readonly details: Readonly<Record<string, unknown>>;
};

/** Opens an incident and logs it as an error. One that is open is neither changed nor logged again. */
export const reportIncident = async (
  { database, log }: Pick<NightlyContext, 'database' | 'log'>,
  { kind, subject, note, details }: Incident,
): Promise<void> => {
  const { rowCount } = await database.query(
    `insert into incidents (kind, subject, note, details) values ($1, $2, $3, $4)
     on conflict (kind, subject) where state = 'open' do nothing`,
    [kind, subject, makeStorable(note), details],
  );
  if (rowCount === 1) log.error({ subject, ...details }, note);
};
