// Reports and requests places of keys: through a table in PostgreSQL for all processes, or nowhere.
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

/** The places of one name that this process holds, and how many more it requests. */
export type PlaceAsk = {
  readonly name: string;
  /** The most that all processes may hold together. */
  readonly most: number;
  readonly held: number;
  /** Places in use. */
  readonly busy: number;
  readonly wanted: number;
};
export type PlaceGrant = { readonly granted: number; readonly othersBusy: number };

export type PlaceStore = {
  /** One grant per request, in their order. Rejects when the store does not respond; the next report corrects any effect. */
  readonly exchange: (asks: readonly PlaceAsk[]) => Promise<PlaceAnswer>;
};
export type PlaceAnswer = {
  readonly grants: readonly PlaceGrant[];
  /** The store knew nothing of this process: it must report everything. */
  readonly isForgotten: boolean;
  /** How many processes live, this one included. */
  readonly processes: number;
};

/** Grants of a process that counts alone. */
export const grantAlone = (asks: readonly PlaceAsk[]): readonly PlaceGrant[] =>
  asks.map(({ most, held, wanted }) => ({ granted: Math.max(0, Math.min(wanted, most - held)), othersBusy: 0 }));

/** Places of this process alone. */
export const createLocalPlaces = (): PlaceStore => ({
  exchange: async (asks) => ({ grants: grantAlone(asks), isForgotten: false, processes: 1 }),
});

/** The PostgreSQL channel for a process that needs places which others may not use. */
export const PLACES_CHANNEL = 'key_places';

type GrantRow = {
  /** Null in the row about the process itself. */
  readonly name: string | null;
  readonly granted: number;
  readonly others_busy: number;
  readonly is_new: boolean;
};
const EXCHANGE = 'select name, granted, others_busy, is_new from exchange_places($1, $2, $3)';

/** Places that all processes on one database share. */
export const createSharedPlaces = (pool: Pick<Pool, 'query'>, node: string = randomUUID()): PlaceStore => {
  let lastReport = 0;
  return {
    async exchange(asks) {
      lastReport += 1;
      const { rows } = await pool.query<GrantRow>(EXCHANGE, [node, lastReport, JSON.stringify(asks)]);
      const byName = new Map(rows.map((row) => [row.name, row]));
      const grants = asks.map(({ name }) => {
        const row = byName.get(name);
        return { granted: row?.granted ?? 0, othersBusy: row?.others_busy ?? 0 };
      });
      const self = byName.get(null);
      return { grants, isForgotten: self?.is_new === true, processes: self?.granted ?? 1 };
    },
  };
};
