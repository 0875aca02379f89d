// Checkpoints: the whole state of a task as it stood after one raw offset, saved item by item without stopping the task (design section 5).

import type { CheckpointEntry } from '../schemas/topics.ts';
import { copyBookState } from './task/books.ts';
import { copyListing, STATE_VERSION, type TaskState } from './task/state.ts';
import {
  bookFromJson,
  bookToJson,
  coreFromJson,
  coreToJson,
  listingFromJson,
  listingToJson,
} from './task/state-json.ts';
import type { Task } from './task/task.ts';

const LISTING = 'listing:';
const BOOK = 'book:';

/** Writes an item when it is asked to. */
type Text = () => string;

/** A round in the making: items not saved yet, as the state stood after `offset`. */
export type Round = {
  readonly offset: number;
  readonly watermark: number;
  readonly pending: Set<string>;
  /** Items that changed since the offset, as they stood after it: a copy costs a hundredth of writing one, and all change at once. */
  readonly copies: Map<string, Text>;
  saved: number;
};

type Save = (entry: CheckpointEntry) => void;

/** The item as it stands now, whatever becomes of it before it is written. Null when there is no such item. */
const textOf = ({ state }: Task, item: string): Text | null => {
  if (item === 'core') return () => coreToJson(state);
  if (item.startsWith(LISTING)) {
    const listing = state.listings.get(item.slice(LISTING.length));
    if (listing === undefined) return null;
    const copy = copyListing(listing);
    return () => listingToJson(copy);
  }
  const book = state.books.get(item.slice(BOOK.length));
  if (book === undefined) return null;
  const copy = copyBookState(book);
  return () => bookToJson(copy);
};

/**
 * Begins a round at the task's present offset. The core is saved at once; from here on each item is copied before the first record above
 * the offset changes it, and `saveSome` saves all of them when there is time.
 */
export const beginRound = (task: Task, save: Save): Round => {
  const { state } = task;
  const begun = { offset: state.offset, watermark: task.watermark };
  const round: Round = { ...begun, pending: new Set(), copies: new Map(), saved: 0 };
  for (const symbol of state.listings.keys()) round.pending.add(`${LISTING}${symbol}`);
  for (const key of state.books.keys()) round.pending.add(`${BOOK}${key}`);
  saveItem(task, round, 'core', save);
  task.beforeChange = (item) => {
    if (!round.pending.has(item) || round.copies.has(item)) return;
    const text = textOf(task, item);
    if (text !== null) round.copies.set(item, text);
  };
  return round;
};

const saveItem = (task: Task, round: Round, item: string, save: Save): void => {
  const text = round.copies.get(item) ?? textOf(task, item);
  round.pending.delete(item);
  round.copies.delete(item);
  if (text === null) return;
  round.saved += 1;
  save({ round: round.offset, offset: round.offset, kind: 'item', key: item, body: text(), marker: null });
};

/** Saves at most so many items, until `deadline` (performance.now clock). Answers true when the round is whole. */
export const saveSome = (
  task: Task,
  round: Round,
  { most, deadline }: { most: number; deadline: number },
  save: Save,
): boolean => {
  let left = most;
  for (const item of round.pending) {
    if (left-- <= 0) break;
    saveItem(task, round, item, save);
    if (performance.now() >= deadline) break;
  }
  if (round.pending.size > 0) return false;
  task.beforeChange = () => {};
  return true;
};

export const markerOf = (round: Round): CheckpointEntry => ({
  round: round.offset,
  offset: round.offset,
  kind: 'marker',
  key: null,
  body: null,
  marker: { items: round.saved, version: STATE_VERSION, watermark: round.watermark },
});

/** Why no round could be restored. */
export type RestoreProblem = 'lost' | 'corrupt' | 'version';

/** Gathers entries of a checkpoint partition (null: bytes nobody can read) and answers the newest complete round below `below`. */
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
    /** Null when there is no round, or its items cannot be read. */
    state(): TaskState | null {
      if (newest === null) return null;
      const state = restoreState(newest.items);
      if (state === null) problem = 'corrupt';
      return state;
    },
  };
};

/** Builds the state of a complete round; null when an item is missing or cannot be read. */
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
  const { state, order } = coreFromJson(core);
  for (const symbol of order) {
    const body = items.get(`${LISTING}${symbol}`);
    if (body === undefined) return null;
    state.listings.set(symbol, listingFromJson(body));
  }
  for (const [key, body] of items) {
    if (key.startsWith(BOOK)) state.books.set(key.slice(BOOK.length), bookFromJson(body));
  }
  return state;
};
