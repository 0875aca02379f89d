// Checkpoints: the whole state of a task as it stood after one raw offset, saved item by item without stopping the task (design section 5).

import type { CheckpointEntry } from '../schemas/topics.ts';
import { bookStateFromJson, bookStateToJson } from './task/books.ts';
import {
  coreFromJson,
  coreToJson,
  listingFromJson,
  listingToJson,
  STATE_VERSION,
  type TaskState,
} from './task/state.ts';
import type { Task } from './task/task.ts';

const LISTING = 'listing:';
const BOOK = 'book:';

/** A round in the making: items not saved yet, as the state stood after `offset`. */
export type Round = {
  readonly offset: number;
  readonly watermark: number;
  readonly pending: Set<string>;
  saved: number;
};

type Save = (entry: CheckpointEntry) => void;

const serialise = (state: TaskState, item: string): string | null => {
  if (item === 'core') return coreToJson(state);
  if (item.startsWith(LISTING)) {
    const listing = state.listings.get(item.slice(LISTING.length));
    return listing ? listingToJson(listing) : null;
  }
  const book = state.books.get(item.slice(BOOK.length));
  return book ? bookStateToJson(book) : null;
};

/**
 * Begins a round at the task's present offset. The core is saved at once; from here on each item is saved before the
 * first record above the offset changes it, and `saveSome` saves the rest when there is time.
 */
export const beginRound = (task: Task, save: Save): Round => {
  const { state } = task;
  const round: Round = { offset: state.offset, watermark: task.watermark, pending: new Set(), saved: 0 };
  for (const symbol of state.listings.keys()) round.pending.add(`${LISTING}${symbol}`);
  for (const key of state.books.keys()) round.pending.add(`${BOOK}${key}`);
  saveItem(task, round, 'core', save);
  task.beforeChange = (item) => {
    if (round.pending.has(item)) saveItem(task, round, item, save);
  };
  return round;
};

const saveItem = (task: Task, round: Round, item: string, save: Save): void => {
  round.pending.delete(item);
  const body = serialise(task.state, item);
  if (body === null) return;
  round.saved += 1;
  save({ round: round.offset, offset: round.offset, kind: 'item', key: item, body, marker: null });
};

/** Saves items until `deadline` (performance.now clock). Answers true when the round is whole. */
export const saveSome = (task: Task, round: Round, deadline: number, save: Save): boolean => {
  for (const item of round.pending) {
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

/** Gathers entries of a checkpoint partition and answers the newest complete round of this state version. */
export const createRestorer = () => {
  const rounds = new Map<number, Map<string, string>>();
  let newest: { readonly offset: number; readonly items: Map<string, string> } | null = null;
  return {
    add(entry: CheckpointEntry): void {
      if (entry.kind === 'item' && entry.key !== null && entry.body !== null) {
        let items = rounds.get(entry.round);
        if (!items) {
          items = new Map();
          rounds.set(entry.round, items);
        }
        items.set(entry.key, entry.body);
        return;
      }
      const items = rounds.get(entry.round);
      if (!items || entry.marker?.version !== STATE_VERSION || items.size < entry.marker.items) return;
      if (newest === null || entry.round >= newest.offset) newest = { offset: entry.round, items };
      for (const round of rounds.keys()) if (round < entry.round) rounds.delete(round);
    },
    state(): TaskState | null {
      return newest === null ? null : restoreState(newest.items);
    },
  };
};

/** Builds the state of a complete round. */
export const restoreState = (items: ReadonlyMap<string, string>): TaskState | null => {
  const core = items.get('core');
  if (core === undefined) return null;
  const { state, order } = coreFromJson(core);
  for (const symbol of order) {
    const body = items.get(`${LISTING}${symbol}`);
    if (body === undefined) return null;
    state.listings.set(symbol, listingFromJson(body));
  }
  for (const [key, body] of items) {
    if (key.startsWith(BOOK)) state.books.set(key.slice(BOOK.length), bookStateFromJson(body));
  }
  return state;
};
