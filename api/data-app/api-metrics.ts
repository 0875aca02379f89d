// Metrics of the API: requests by route and status, their times, the age of the memory copy and what it holds.
import { Gauge } from 'prom-client';
import { bindMetrics, type Registry } from '../../infra/runtime/process/metrics.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { openSeriesCache } from '../series/cache.ts';

export type ApiMetrics = {
  readonly observe: (request: { readonly route: string; readonly status: number; readonly seconds: number }) => void;
  /** Whether notices of changed keys arrive; while they do not, a cached key lives 30 s. */
  readonly watchNotices: (notices: { readonly isListening: () => boolean; readonly losses: () => number }) => void;
  /** How many requests were metered without the store of counters. */
  readonly watchMeter: (meter: { readonly takenAlone: number }) => void;
  /** The sizes of the live streams. */
  readonly watchStreams: (sizes: () => { readonly streams: number; readonly waitingBytes: number }) => void;
};

const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

const countRequests = (registry: Registry): ApiMetrics['observe'] => {
  const { makeCounter, makeHistogram } = bindMetrics(registry);
  const requests = makeCounter('perp_api_requests_total', 'Answers by route and status.', ['route', 'status']);
  const times = makeHistogram('perp_api_request_seconds', 'Time to answer.', {
    buckets: BUCKETS,
    labelNames: ['route'],
  });
  return ({ route, status, seconds }) => {
    requests.inc({ route, status: String(status) });
    times.observe({ route }, seconds);
  };
};

const describeMemory = (registry: Registry, live: LiveMemory, nowMicros: () => Micros): void => {
  const { watchGauge } = bindMetrics(registry);
  const registers = [registry];
  new Gauge({
    name: 'perp_api_live_lag_seconds',
    help: 'Now minus the watermark of the memory copy.',
    labelNames: ['venue'],
    registers,
    collect() {
      for (const { venue } of live.venues()) {
        const watermark = live.watermark(venue);
        if (watermark !== null) this.set({ venue }, (nowMicros() - watermark) / 1e6);
      }
    },
  });
  new Gauge({
    name: 'perp_api_memory_entries',
    help: 'Number of items in the memory copy.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, count] of Object.entries(live.sizes())) this.set({ kind }, count);
    },
  });
  const help =
    '1 once the minutes before the start have been read. Until then, calls about them and resumed streams wait.';
  watchGauge('perp_api_whole', help, () => (live.isReady() && live.isWhole ? 1 : 0));
  watchGauge(
    'perp_api_series_cache_bytes',
    'Bytes of the columns that queries over periods read.',
    () => openSeriesCache(live).bytes,
  );
};

/** The gauges are 0 until the returned function has set the source of the sizes. */
const describeStreams = (registry: Registry): ApiMetrics['watchStreams'] => {
  const { watchGauge } = bindMetrics(registry);
  let read = (): { readonly streams: number; readonly waitingBytes: number } => ({ streams: 0, waitingBytes: 0 });
  watchGauge('perp_api_streams', 'Open live streams.', () => read().streams);
  watchGauge(
    'perp_api_stream_waiting_bytes',
    'Bytes that wait for the clients of live streams.',
    () => read().waitingBytes,
  );
  return (sizes) => {
    read = sizes;
  };
};

export const createApiMetrics = (registry: Registry, live: LiveMemory, nowMicros: () => Micros): ApiMetrics => {
  const { watchGauge, watchCounter } = bindMetrics(registry);
  const observe = countRequests(registry);
  describeMemory(registry, live, nowMicros);
  return {
    observe,
    watchStreams: describeStreams(registry),
    watchNotices({ isListening, losses }) {
      const help = '1 while PostgreSQL notifies this process of changed keys; 0: revocation takes up to a minute.';
      watchGauge('perp_api_key_notices_up', help, () => (isListening() ? 1 : 0));
      watchCounter('perp_api_key_notices_lost_total', 'How often that connection was lost.', losses);
    },
    watchMeter(meter) {
      const help = 'Requests that this process metered alone because the store of counters did not respond.';
      watchCounter('perp_api_metered_alone_total', help, () => meter.takenAlone);
    },
  };
};
