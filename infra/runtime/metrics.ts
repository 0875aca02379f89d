// Metrics of a process and the small server that shows them: /metrics for Prometheus, /healthz and /readyz for supervisors.
import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';

export type { Registry };

/** One registry a process, with the runtime's own metrics. Make counters and gauges with `registers: [registry]`. */
export const createMetrics = (): Registry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
};

export type MetricsServer = { readonly port: number; readonly close: () => Promise<void> };
export type MetricsOptions = {
  readonly host?: string;
  /** `/healthz` answers 503 with the reason while this gives one. */
  readonly problem?: () => string | null;
  /** `/readyz` answers 503 with the reasons, one a line, while this gives any. Without it `/readyz` is as `/healthz`. */
  readonly unready?: () => readonly string[];
};

const listed = (reason: string | null): readonly string[] => (reason === null ? [] : [reason]);

/** Listens on loopback unless told otherwise; port 0 takes a free one. A taken port rejects and names METRICS_PORT. */
export const serveMetrics = async (
  registry: Registry,
  port: number,
  { host = '127.0.0.1', problem = () => null, unready = () => listed(problem()) }: MetricsOptions = {},
): Promise<MetricsServer> => {
  const reasons = (url: string | undefined): readonly string[] | null => {
    if (url === '/healthz') return listed(problem());
    return url === '/readyz' ? unready() : null;
  };
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('content-type', registry.contentType).end(await registry.metrics());
      return;
    }
    const found = reasons(request.url);
    const [status, lines] = found === null ? [404, ['not found']] : found.length > 0 ? [503, found] : [200, ['ok']];
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain').end(`${lines.join('\n')}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? new Error(`port ${port} of METRICS_PORT is taken`, { cause: error }) : error,
      ),
    );
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
