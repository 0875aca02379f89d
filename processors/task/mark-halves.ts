// Mark and index that arrive in different messages: values from before a lost connection are not joined with values from after it (F-04, D-476).
import { LAYERS } from '../../schemas/layers/readings.ts';
import type { MarkRecord } from '../../schemas/records.ts';
import type { ConnectionView, LayerState, Part, TaskView } from './state.ts';

const HALVES = ['mark', 'index'] as const;

const WAIT = LAYERS.mark.freshnessMs * 1000;

/** Whether the connection that delivered a part is lost, or was lost after it. A part of an earlier state does not name its connection. */
const isCutOff = (state: TaskView, { conn_id: connId, received_at: receivedAt }: Part): boolean => {
  if (connId === undefined || receivedAt === undefined) return false;
  const span = state.connections.get(connId)?.span;
  return span === undefined || span.to !== null || receivedAt < span.from;
};

const isWhole = ({ parts }: LayerState): boolean => HALVES.every((name) => parts[name] !== undefined);

/** Forgets the parts whose validity ended with their connection (F-02). A layer that had both, or waited for both, waits for both from then on. */
export const dropCutOffParts = (state: TaskView, layer: LayerState, record: MarkRecord): void => {
  if (state.capability?.layers.mark?.horizon_source !== 'connection') return;
  const hasBoth = isWhole(layer) || layer.halfSince !== undefined;
  for (const name of HALVES) {
    const part = layer.parts[name];
    if (part === undefined || !isCutOff(state, part)) continue;
    delete layer.parts[name];
    if (hasBoth) layer.halfSince = record.received_at;
  }
};

/** Records the connection of the parts just accepted, and returns whether their layer waits for the other half, at most for its freshness bound. */
export const noteHalves = (layer: LayerState, record: MarkRecord, { conn_id }: ConnectionView): boolean => {
  const { received_at } = record;
  for (const name of HALVES) {
    const part = layer.parts[name];
    if (part?.received_at === received_at && record.values[name] !== null) layer.parts[name] = { ...part, conn_id };
  }
  const isAwaited = !isWhole(layer) && layer.halfSince !== undefined && received_at - layer.halfSince < WAIT;
  // A layer whose other half was not received has one half only: it does not wait again after the next loss.
  if (!isAwaited) delete layer.halfSince;
  return isAwaited;
};
