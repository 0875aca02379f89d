// Metrics of a process and the small server that shows them: /metrics for Prometheus, /healthz for supervisors.
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
};

/** Listens on loopback unless told otherwise; port 0 takes a free one. A taken port rejects and names METRICS_PORT. */
export const serveMetrics = async (
  registry: Registry,
  port: number,
  { host = '127.0.0.1', problem = () => null }: MetricsOptions = {},
): Promise<MetricsServer> => {
  const server = createServer(async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('content-type', registry.contentType).end(await registry.metrics());
      return;
    }
    const reason = request.url === '/healthz' ? problem() : 'not found';
    response.statusCode = reason === null ? 200 : request.url === '/healthz' ? 503 : 404;
    response.setHeader('content-type', 'text/plain').end(`${reason ?? 'ok'}\n`);
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
