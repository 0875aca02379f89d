// Checkpoints: the whole state of a task after one raw offset, saved item by item while the task runs (design section 5).
import type { CheckpointEntry } from '../../schemas/topics.ts';
import { STATE_VERSION, type TaskState } from '../task/state.ts';
import { formatBook, formatCore, formatListing, parseBook, parseCore, parseListing } from '../task/state-json.ts';
import type { Snapshot } from '../task/store.ts';
import type { Task } from '../task/task.ts';

const LISTING = 'listing:';
const BOOK = 'book:';

/** A round in progress: unsaved items, with the state after `offset`. */
export type Round = {
  readonly offset: number;
  readonly watermark: number;
  readonly snapshot: Snapshot;
  saved: number;
};

type Save = (entry: CheckpointEntry) => void;

/** Number of the round's unsaved items. */
export const countUnsaved = ({ snapshot }: Round): number => snapshot.listings.size + snapshot.books.size;

/** Starts a round at the task's current offset. The core is saved at once; `saveSome` saves the rest when there is time. */
export const beginRound = (task: Task, save: Save): Round => {
  const { state, watermark } = task;
  const round: Round = { offset: state.offset, watermark, snapshot: task.beginSnapshot(), saved: 0 };
  saveItem(round, { key: 'core', body: formatCore(state) }, save);
  return round;
};

type Item = { readonly key: string; readonly body: string };

const takeItem = ({ snapshot }: Round): Item | null => {
  const listing = snapshot.listings.take();
  if (listing !== null) return { key: `${LISTING}${listing.key}`, body: formatListing(listing.item) };
  const book = snapshot.books.take();
  return book === null ? null : { key: `${BOOK}${book.key}`, body: formatBook(book.item) };
};

const saveItem = (round: Round, { key, body }: Item, save: Save): void => {
  round.saved += 1;
  save({ round: round.offset, offset: round.offset, kind: 'item', key, body, marker: null });
};

/** Saves at most `most` items, until `deadline` (performance.now clock). Returns true when the round is complete. */
export const saveSome = (
  round: Round,
  { most, deadline }: { readonly most: number; readonly deadline: number },
  save: Save,
): boolean => {
  for (let left = most; left > 0; left--) {
    const item = takeItem(round);
    if (item === null) break;
    saveItem(round, item, save);
    if (performance.now() >= deadline) break;
  }
  return countUnsaved(round) === 0;
};

export const makeMarker = (round: Round): CheckpointEntry => ({
  round: round.offset,
  offset: round.offset,
  kind: 'marker',
  key: null,
  body: null,
  marker: { items: round.saved, version: STATE_VERSION, watermark: round.watermark },
});

/** Why no round can be restored. */
export type RestoreProblem = 'lost' | 'corrupt' | 'version';

/** Collects entries of a checkpoint partition (null: unreadable bytes) and finds the newest complete round below `below`. */
export const createRestorer = (below = Number.POSITIVE_INFINITY) => {
  const rounds = new Map<number, Map<string, string>>();
  let newest: { readonly round: number; readonly items: Map<string, string> } | null = null;
  let problem: RestoreProblem = 'lost';
  const addItem = (round: number, key: string, body: string): void => {
    const items = rounds.get(round) ?? new Map<string, string>();
    rounds.set(round, items.set(key, body));
  };
  const close = (round: number, { items: wanted, version }: NonNullable<CheckpointEntry['marker']>): void => {
    if (version !== STATE_VERSION) problem = 'version';
    const items = rounds.get(round);
    if (!items || version !== STATE_VERSION || items.size < wanted) return;
    if (newest === null || round >= newest.round) newest = { round, items };
    for (const older of rounds.keys()) if (older < round) rounds.delete(older);
  };
  return {
    add(entry: CheckpointEntry | null): void {
      if (entry === null) problem = 'corrupt';
      else if (entry.round >= below) return;
      else if (entry.marker !== null) close(entry.round, entry.marker);
      else if (entry.key !== null && entry.body !== null) addItem(entry.round, entry.key, entry.body);
    },
    /** The round that `state` restores. */
    round: (): number | null => newest?.round ?? null,
    problem: (): RestoreProblem => problem,
    /** Null without a complete round, or when its items are unreadable. */
    state(): TaskState | null {
      if (newest === null) return null;
      const state = restoreState(newest.items);
      if (state === null) problem = 'corrupt';
      return state;
    },
  };
};

/** Restores the state of a complete round; null when an item is missing or unreadable. */
const restoreState = (items: ReadonlyMap<string, string>): TaskState | null => {
  try {
    return buildState(items);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

const buildState = (items: ReadonlyMap<string, string>): TaskState | null => {
  const core = items.get('core');
  if (core === undefined) return null;
  const { state, order } = parseCore(core);
  for (const symbol of order) {
    const body = items.get(`${LISTING}${symbol}`);
    if (body === undefined) return null;
    state.listings.set(symbol, parseListing(body));
  }
  for (const [key, body] of items) {
    if (key.startsWith(BOOK)) state.books.set(key.slice(BOOK.length), parseBook(body));
  }
  return state;
};
