// Counts the listings with a valid value at the log's time, by layer: for operators, not part of any output.
import { findStatusAt } from '../../schemas/freshness.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Reading } from '../../schemas/topics.ts';
import { isCollected, type TaskContext } from './context.ts';
import type { ListingView, TaskView } from './state.ts';
import { isEndedBy } from './windows.ts';

export type Presence = { readonly present: number; readonly of: number };
export type Presences = ReadonlyMap<ReadingLayer, Presence>;

/** A forgotten connection was lost long ago. */
const findLoss = (state: TaskView, { conn_id: connId }: Reading): Micros | null => {
  const connection = state.connections.get(connId);
  return connection === undefined ? 0 : connection.span.to;
};

const isPresent = (state: TaskView, listing: ListingView, name: ReadingLayer): boolean => {
  const { reading = null, wasOff = false } = listing.layers.get(name) ?? {};
  if (reading === null || wasOff) return false;
  const question = { reading, policy: 'on', boundMs: LAYERS[name].freshnessMs, at: state.recordedAt } as const;
  return findStatusAt({ ...question, lostAt: findLoss(state, reading), stateLag: false }).status === 'present';
};

/** Listings that have not ended, by collected layer. */
export const countPresences = (context: TaskContext): Presences => {
  const { state } = context;
  const listed = [...state.listings.values()].filter((listing) => !isEndedBy(listing, state.recordedAt));
  const found = new Map<ReadingLayer, Presence>();
  for (const name of READING_LAYERS) {
    const of = listed.filter((listing) => isCollected(context, listing, name));
    if (of.length === 0) continue;
    found.set(name, { present: of.filter((listing) => isPresent(state, listing, name)).length, of: of.length });
  }
  return found;
};
