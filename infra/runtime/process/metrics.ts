// Metrics of a process and the small server that exposes them: /metrics for Prometheus, /healthz and /readyz for supervisors.
import { createServer } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { describeError } from '../../../schemas/thrown.ts';
import { awaitTurn } from '../network/answer-turns.ts';
import { explainListen } from '../network/listen.ts';
import { limitRequestTime } from '../network/request-time.ts';
import type { ConfigSpec } from './config.ts';

export type { Registry };

/** The setting that every process with metrics has besides METRICS_PORT. */
export const METRICS_CONFIG = {
  METRICS_HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'Address that METRICS_PORT listens on; 0.0.0.0 or :: for all of the machine.',
  },
} as const satisfies ConfigSpec;

/** How often a process looks how late it is. Each look wakes it: a hundred a second, as by default, are most of what an idle process does (D-1071). */
const LAG_LOOK_MS = 100;

/** One registry a process, with the runtime's own metrics. Create counters and gauges with `registers: [registry]`. */
export const createMetrics = (): Registry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_LOOK_MS });
  return registry;
};

type HistogramOptions = { readonly buckets: number[]; readonly labelNames?: string[] };

/** Makers of a registry's metrics, each by name, help and the names of its labels. */
export const bindMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    makeCounter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    makeGauge: (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name, help, labelNames, registers }),
    makeHistogram: (name: string, help: string, options: HistogramOptions) =>
      new Histogram({ name, help, ...options, registers }),
    /** A gauge that is read when metrics are requested. */
    watchGauge: (name: string, help: string, read: () => number): void => {
      new Gauge({
        ...{ name, help, registers },
        collect() {
          this.set(read());
        },
      });
    },
    /** A counter that is read when metrics are requested. */
    watchCounter: (name: string, help: string, read: () => number): void => {
      new Counter({
        ...{ name, help, registers },
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
  };
};

type MetricsServer = { readonly port: number; readonly close: () => Promise<void> };
type MetricsOptions = {
  readonly host?: string;
  /** `/healthz` returns 503 with the reason while this returns one. */
  readonly problem?: () => string | null;
  /** `/readyz` returns 503 with the reasons, one a line, while this returns any. When absent `/readyz` equals `/healthz`. */
  readonly unready?: () => readonly string[] | Promise<readonly string[]>;
  /** The longest time of a request, in milliseconds. */
  readonly requestMs?: number;
};

type Answer = { readonly status: number; readonly type: string; readonly text: string };
const PLAIN = 'text/plain';

const listReason = (reason: string | null): readonly string[] => (reason === null ? [] : [reason]);

/** Listens on loopback by default; port 0 takes a free one. Rejects for a port in use and names METRICS_PORT. */
export const serveMetrics = async (
  registry: Registry,
  port: number,
  { host = '127.0.0.1', problem = () => null, unready = () => listReason(problem()), requestMs }: MetricsOptions = {},
): Promise<MetricsServer> => {
  const findReasons = async (url: string | undefined): Promise<readonly string[] | null> => {
    if (url === '/healthz') return listReason(problem());
    return url === '/readyz' ? unready() : null;
  };
  const answer = async (url: string | undefined): Promise<Answer> => {
    if (url === '/metrics') return { status: 200, type: registry.contentType, text: await registry.metrics() };
    const found = await findReasons(url);
    const [status, lines] = found === null ? [404, ['not found']] : found.length > 0 ? [503, found] : [200, ['ok']];
    return { status, type: PLAIN, text: `${lines.join('\n')}\n` };
  };
  // A figure that cannot be read must not end the process.
  const explain = (error: unknown): Answer => ({ status: 500, type: PLAIN, text: `${describeError(error)}\n` });
  const { requestTimeout, connectionTimeout, http } = limitRequestTime(requestMs);
  const server = createServer({ requestTimeout, ...http }, async (request, response) => {
    if (!(await awaitTurn({ raw: request }, { raw: response }))) return;
    const { status, type, text } = await answer(request.url).catch(explain);
    response.writeHead(status, { 'content-type': type }).end(text);
  });
  server.timeout = connectionTimeout;
  const place = { host: ['METRICS_HOST', host], port: ['METRICS_PORT', port] } as const;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explainListen(error, place)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
