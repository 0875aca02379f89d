/** The loopback ports of the embedded engines and the local processes, and a clear error when one is in use. */
import { createServer, type Server } from 'node:net';

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

class PortError extends Error {
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

/** Below the range that the kernel assigns to outgoing connections, so that none of those can take a port before its engine binds it. */
const FIRST_PORT = 15_000;
const BLOCK_PORTS = 100;
const BLOCKS = 170;

/** Ports of the blocks that we hold that were not given out yet. */
const left: number[] = [];
let taking: Promise<void> | null = null;

/**
 * A port that is free now and that no other process of ours is given while this one lives, so that an engine finds it again when it is started anew.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = left.pop();
    if (port !== undefined) {
      if (await isFree(port)) return port;
      continue;
    }
    taking ??= takeBlock();
    await taking;
  }
}

/** Adds the ports of a block that is ours for the life of this process: it listens on the first of them. */
async function takeBlock(): Promise<void> {
  for (;;) {
    const first = FIRST_PORT + BLOCK_PORTS * Math.floor(Math.random() * BLOCKS);
    const server = await listenOn(first);
    if (server === null) continue;
    server.unref();
    for (let port = first + BLOCK_PORTS - 1; port > first; port--) left.push(port);
    taking = null;
    return;
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port);
  if (server === null) return false;
  await new Promise((settle) => server.close(settle));
  return true;
}

/** Null: somebody else listens on it. */
function listenOn(port: number): Promise<Server | null> {
  return new Promise((settle) => {
    const server = createServer();
    server.once('error', () => settle(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => settle(server));
  });
}
