/** The loopback ports of the embedded engines and the local processes, and a clear error when one is in use. */
import { createServer } from 'node:net';

/** Setting -> port when the setting is absent. */
export const STANDARD_PORTS = {
  KAFKA_PORT: 9092,
  KAFKA_CONTROLLER_PORT: 9093,
  QUESTDB_HTTP_PORT: 9000,
  QUESTDB_PG_PORT: 8812,
  QUESTDB_MIN_PORT: 9003,
  POSTGRES_PORT: 54320,
  RPC_PORT: 8545,
  PORT: 8080,
  MCP_PORT: 8081,
  ACCOUNT_PORT: 8082,
  INTERNAL_PORT: 8083,
  INGEST_METRICS_PORT: 9101,
  PROCESSORS_METRICS_PORT: 9102,
  API_METRICS_PORT: 9103,
  NIGHTLY_METRICS_PORT: 9104,
  WEB_METRICS_PORT: 9105,
  SIM_PORT: 9180,
  FACILITATOR_PORT: 9190,
} as const;

export type PortSetting = keyof typeof STANDARD_PORTS;

export class PortError extends Error {
  override readonly name = 'PortError';
}

/** The ports by their settings (`env` over the standard), each checked to be free; or random free ones. */
export async function choosePorts(
  settings: readonly PortSetting[],
  mode: 'free' | 'standard',
  env: NodeJS.ProcessEnv,
): Promise<Record<PortSetting, number>> {
  const ports: Record<PortSetting, number> = { ...STANDARD_PORTS };
  const taken: string[] = [];
  for (const setting of settings) {
    if (mode === 'free') {
      ports[setting] = await findFreePort();
      continue;
    }
    ports[setting] = readPort(setting, env);
    if (!(await isFree(ports[setting]))) {
      taken.push(`port ${ports[setting]} is taken by another program: set ${setting} to a free one`);
    }
  }
  if (taken.length > 0) throw new PortError(taken.join('\n'));
  return ports;
}

function readPort(setting: PortSetting, env: NodeJS.ProcessEnv): number {
  const text = env[setting];
  if (text === undefined || text === '') return STANDARD_PORTS[setting];
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new PortError(`${setting}=${text} is not a port: use a whole number from 1 to 65535`);
  }
  return port;
}

/**
 * A port that is free now, below the range the kernel assigns to outgoing connections, so that none of those can take
 * it before the engine binds it.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 17_000);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

const given = new Set<number>();

export function isFree(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const server = createServer();
    server.once('error', () => settle(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => settle(true)));
  });
}
