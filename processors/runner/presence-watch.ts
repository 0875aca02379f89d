// Raises an alarm when a venue's share of present values stays low, and logs its recovery.
import type { Logger } from '../../infra/runtime/process/log.ts';
import type { ReadingLayer } from '../../schemas/layers/index.ts';
import type { ProcessorMetrics } from '../metrics.ts';
import type { Presence, Presences } from '../task/presence.ts';

/** A reconnect or a snapshot takes seconds: only a longer low share is an alarm. */
const LOW_FOR_MS = 60_000;

type Low = { readonly sinceMs: number; readonly isAlarm: boolean };

type PresenceWatch = {
  /** Takes the current counts of one venue's tasks. */
  readonly look: (venue: string, tasks: readonly Presences[], nowMs: number) => void;
};

/** Share of the listings of a venue's layer that are present. */
type LayerShare = { readonly venue: string; readonly layer: ReadingLayer; readonly share: number };

const sumPresences = (tasks: readonly Presences[]): Map<ReadingLayer, Presence> => {
  const sums = new Map<ReadingLayer, Presence>();
  for (const task of tasks) {
    for (const [layer, { present, of }] of task) {
      const so = sums.get(layer) ?? { present: 0, of: 0 };
      sums.set(layer, { present: so.present + present, of: so.of + of });
    }
  }
  return sums;
};

/** `least`: the share of present listings in a healthy layer. */
export const createPresenceWatch = (least: number, metrics: ProcessorMetrics, log: Logger): PresenceWatch => {
  const low = new Map<string, Low>();
  const updateAlarm = ({ venue, layer, share }: LayerShare, nowMs: number): void => {
    const key = `${venue} ${layer}`;
    const held = low.get(key);
    if (share >= least) {
      low.delete(key);
      if (held?.isAlarm) log.info({ venue, layer, share }, 'present again');
    } else if (held === undefined) low.set(key, { sinceMs: nowMs, isAlarm: false });
    else if (!held.isAlarm && nowMs - held.sinceMs >= LOW_FOR_MS) {
      low.set(key, { ...held, isAlarm: true });
      metrics.presenceLow(venue, layer);
      log.error({ venue, layer, share, least }, 'too few listings are present');
    }
    metrics.presence(venue, layer, { share, isAlarm: low.get(key)?.isAlarm ?? false });
  };
  return {
    look: (venue, tasks, nowMs) => {
      for (const [layer, { present, of }] of sumPresences(tasks))
        updateAlarm({ venue, layer, share: present / of }, nowMs);
    },
  };
};
