// Metrics of the API: requests by route and status, their times, the age of the memory copy and what it holds.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { seriesCacheOf } from '../series/cache.ts';

export type ApiMetrics = {
  readonly observe: (request: { readonly route: string; readonly status: number; readonly seconds: number }) => void;
  /** Says where it is read whether changes of keys are heard of at once; while they are not, a cached key lives 30 s. */
  readonly watchNotices: (notices: { readonly isListening: () => boolean; readonly losses: () => number }) => void;
  /** Says where it is read how many requests were metered without the store of counters. */
  readonly watchMeter: (meter: { readonly takenAlone: number }) => void;
  /** Says where the sizes of the live stream are read. */
  readonly watchStreams: (sizes: () => { readonly streams: number; readonly waitingBytes: number }) => void;
};

const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

export const createApiMetrics = (registry: Registry, live: LiveMemory, nowMicros: () => Micros): ApiMetrics => {
  const registers = [registry];
  const requests = new Counter({
    name: 'perp_api_requests_total',
    help: 'Answers by route and status.',
    labelNames: ['route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'perp_api_request_seconds',
    help: 'Time to answer.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers,
  });
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
    help: 'What the memory copy holds.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, count] of Object.entries(live.sizes())) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'perp_api_whole',
    help: '1 once the minutes before the start are read: calls about them and streams that come back need not wait.',
    registers,
    collect() {
      this.set(live.isReady() && live.isWhole ? 1 : 0);
    },
  });
  new Gauge({
    name: 'perp_api_series_cache_bytes',
    help: 'Bytes of the columns that queries over periods read.',
    registers,
    collect() {
      this.set(seriesCacheOf(live).bytes);
    },
  });
  let streamSizes = (): { readonly streams: number; readonly waitingBytes: number } => ({
    streams: 0,
    waitingBytes: 0,
  });
  new Gauge({
    name: 'perp_api_streams',
    help: 'Open live streams.',
    registers,
    collect() {
      this.set(streamSizes().streams);
    },
  });
  new Gauge({
    name: 'perp_api_stream_waiting_bytes',
    help: 'Bytes that wait for the clients of live streams.',
    registers,
    collect() {
      this.set(streamSizes().waitingBytes);
    },
  });
  return {
    watchNotices({ isListening, losses }) {
      new Gauge({
        name: 'perp_api_key_notices_up',
        help: '1 while PostgreSQL tells this process of changed keys; 0: revocation takes up to a minute.',
        registers,
        collect() {
          this.set(isListening() ? 1 : 0);
        },
      });
      new Gauge({
        name: 'perp_api_key_notices_lost_total',
        help: 'How often that connection was lost.',
        registers,
        collect() {
          this.set(losses());
        },
      });
    },
    watchMeter(meter) {
      new Gauge({
        name: 'perp_api_metered_alone_total',
        help: 'Requests this process metered by itself, for the store of counters did not answer.',
        registers,
        collect() {
          this.set(meter.takenAlone);
        },
      });
    },
    watchStreams(sizes) {
      streamSizes = sizes;
    },
    observe({ route, status, seconds: taken }) {
      requests.inc({ route, status: String(status) });
      seconds.observe({ route }, taken);
    },
  };
};
