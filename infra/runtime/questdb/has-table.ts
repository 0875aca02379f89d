// Whether QuestDB has a table.
import pg from 'pg';

/**
 * Whether a table or view of that name exists, even if it cannot be read. `tables()` is not reliable: while QuestDB (9.3.4) starts, it lists only the
 * tables that were loaded so far. Rejects when the statement given to `run` was not answered.
 */
export const hasTable = async (run: (text: string) => Promise<unknown>, name: string): Promise<boolean> => {
  try {
    await run(`SELECT 1 FROM '${name}' LIMIT 0`);
    return true;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return error.message !== `table does not exist [table=${name}]`;
  }
};
