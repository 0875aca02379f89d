// Whether QuestDB has a table.
import pg from 'pg';

/**
 * Whether a table or view of that name is there, also one that cannot be read. `tables()` cannot tell: while QuestDB (9.3.4) starts it lists only
 * those it has come to. Rejects when the statement `run` is given was not answered.
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
