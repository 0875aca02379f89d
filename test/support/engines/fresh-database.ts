// A database of the test alone, with the tables of the service.
import type { Pool } from 'pg';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPostgres } from '../../../infra/runtime/postgres/postgres.ts';
import { type Teardown, useEngines } from './engines.ts';

/** `max`: connections of the pool. */
export const freshDatabase = async (t: Teardown, max = 10): Promise<{ readonly url: string; readonly pool: Pool }> => {
  const url = await (await useEngines(t, ['postgres'])).database();
  const pool = openPostgres(url, { max });
  t.teardown(() => pool.end());
  await migrate(pool);
  return { url, pool };
};

export const freshPool = async (t: Teardown, max?: number): Promise<Pool> => (await freshDatabase(t, max)).pool;
