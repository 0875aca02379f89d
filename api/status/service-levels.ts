// The service levels of this process within the last hour: answers by endpoint, its lag behind the log by venue, delivery of streams (OP-02).
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { type Quantiles, SlidingQuantiles } from './sliding-quantiles.ts';

/** How often the lag of the memory copy is sampled. */
const SAMPLE_MS = 1_000;

export type ServiceLevels = {
  readonly observeAnswer: (answer: { readonly route: string; readonly status: number; readonly ms: number }) => void;
  /** From the record's append to the log to the write to the clients' sockets. */
  readonly observeDelivery: (ms: number) => void;
  readonly answers: () => ReadonlyMap<string, Quantiles>;
  readonly pipelineLag: (venue: string) => Quantiles | null;
  readonly delivery: () => Quantiles | null;
  /** Looks once at how far the copy is behind; it is done each second. */
  readonly sampleLag: () => void;
  readonly stop: () => void;
};

const ensureQuantiles = (held: Map<string, SlidingQuantiles>, key: string): SlidingQuantiles => {
  const found = held.get(key) ?? new SlidingQuantiles();
  held.set(key, found);
  return found;
};

export const startServiceLevels = (live: LiveMemory, nowMicros: () => Micros): ServiceLevels => {
  const answers = new Map<string, SlidingQuantiles>();
  const lags = new Map<string, SlidingQuantiles>();
  const delivery = new SlidingQuantiles();
  /** Venues of which this process has served a current value. */
  const caughtUp = new Set<string>();
  const nowMs = (): number => nowMicros() / 1_000;
  const sampleLag = (): void => {
    // Until the copy has read the log to its end it serves no request, and until a venue has caught up all its values are withheld: the delay is
    // the age of what is read then.
    if (!live.isReady()) return;
    const at = nowMicros();
    for (const { venue } of live.venues()) {
      const watermark = live.watermark(venue);
      if (watermark === null) continue;
      if (!live.isBehind(venue, at)) caughtUp.add(venue);
      if (caughtUp.has(venue)) ensureQuantiles(lags, venue).add((at - watermark) / 1_000, at / 1_000);
    }
  };
  const timer = setInterval(sampleLag, SAMPLE_MS).unref();
  return {
    // Refusals are quick, and would distort how long an answer takes.
    observeAnswer: ({ route, status, ms }) => {
      if (route.startsWith('/v2/') && status < 300) ensureQuantiles(answers, route).add(ms, nowMs());
    },
    observeDelivery: (ms) => delivery.add(ms, nowMs()),
    answers: () => {
      const read = [...answers].map(([route, held]) => [route, held.read(nowMs())] as const);
      return new Map(read.flatMap(([route, found]) => (found === null ? [] : [[route, found] as const])));
    },
    pipelineLag: (venue) => lags.get(venue)?.read(nowMs()) ?? null,
    delivery: () => delivery.read(nowMs()),
    sampleLag,
    stop: () => clearInterval(timer),
  };
};
