// The writes of one request of the provider are one transaction: all of it or nothing, whenever the process ends.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';

export type Query = <R extends QueryResultRow>(text: string, values: readonly unknown[]) => Promise<QueryResult<R>>;

/** Begins with its first query, so that a request that is refused before holds no connection of the pool. */
class Unit {
  readonly #pool: Pool;
  #client: PoolClient | null = null;
  /** The provider sends several queries at once, a connection answers one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  readonly query: Query = (text, values) => {
    const answered = this.#last.then(() => this.#run(text, values));
    this.#last = answered.catch(() => undefined);
    return answered as Promise<QueryResult<never>>;
  };

  async #run(text: string, values: readonly unknown[]): Promise<QueryResult> {
    if (this.#client === null) {
      this.#client = await this.#pool.connect();
      await this.#client.query('begin');
    }
    return this.#client.query(text, [...values]);
  }

  async end(outcome: 'commit' | 'rollback'): Promise<void> {
    await this.#last;
    const client = this.#client;
    if (client === null) return;
    this.#client = null;
    try {
      await client.query(outcome);
      client.release();
    } catch (error) {
      // A connection that cannot end its transaction is closed, and the transaction with it.
      client.release(error as Error);
      if (outcome === 'commit') throw error;
    }
  }
}

export type Units = {
  /** In the transaction of the request, or by itself where there is none. */
  readonly query: Query;
  /** Outside any transaction. */
  readonly alone: Query;
  /**
   * Runs `work` in the current transaction, or in one of its own. Its own is committed when `isKept` accepts the result, and rolled back on a
   * rejection.
   */
  readonly run: <T>(work: () => Promise<T>, isKept?: (result: T) => boolean) => Promise<T>;
};

export const createUnits = (pool: Pool): Units => {
  const current = new AsyncLocalStorage<Unit>();
  const alone: Query = (text, values) => pool.query(text, [...values]);
  return {
    alone,
    query: (text, values) => (current.getStore()?.query ?? alone)(text, values),
    run: (work, isKept = () => true) => {
      if (current.getStore() !== undefined) return work();
      const unit = new Unit(pool);
      return current.run(unit, async () => {
        let result: Awaited<ReturnType<typeof work>>;
        try {
          result = await work();
        } catch (error) {
          await unit.end('rollback');
          throw error;
        }
        await unit.end(isKept(result) ? 'commit' : 'rollback');
        return result;
      });
    },
  };
};
