// Decides when a task begins its next checkpoint: when a restart without it would take long enough, and the cost of the last one has been recovered (D-57).
// The tasks of a process restart together, so the records and items of all of them count.

/** A second and a half of a restart: about 10,000 records a second are applied again. */
const REPLAYED_RECORDS = 15_000;
/** An item is about as much work as a record: checkpoints then take a fifth of a process at most. */
const RECORDS_AN_ITEM = 4;
/** A checkpoint is made over two seconds. */
const LEAST_MS = 5_000;
/** Windows that end are work too, without records. */
const MOST_MS = 30_000;

export type CheckpointPace = {
  /** Called for each record that a task of this process applies. */
  readonly countRecord: () => void;
  /** Called as a task is restored or begins a checkpoint, with its items (listings and books). */
  readonly begin: (task: string, items: number, nowMs: number) => void;
  /** Called as a task stops: another process may own it next. */
  readonly end: (task: string) => void;
  /** Whether the next checkpoint of the task is due (performance.now clock). */
  readonly isDue: (task: string, nowMs: number) => boolean;
};

type Begun = { readonly atMs: number; readonly records: number; readonly items: number };

export const createCheckpointPace = (): CheckpointPace => {
  const tasks = new Map<string, Begun>();
  let [records, items] = [0, 0];
  return {
    countRecord: () => {
      records += 1;
    },
    begin: (task, its, atMs) => {
      items += its - (tasks.get(task)?.items ?? 0);
      tasks.set(task, { atMs, records, items: its });
    },
    end: (task) => {
      items -= tasks.get(task)?.items ?? 0;
      tasks.delete(task);
    },
    isDue: (task, nowMs) => {
      const begun = tasks.get(task);
      if (begun === undefined) return false;
      const sinceMs = nowMs - begun.atMs;
      const enough = Math.max(REPLAYED_RECORDS, RECORDS_AN_ITEM * items);
      return sinceMs >= MOST_MS || (sinceMs >= LEAST_MS && records - begun.records >= enough);
    },
  };
};
