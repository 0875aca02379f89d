// The processes of a local run for the supervisor: their environment, and when they are ready.
import { findProgram } from '../build/entries.ts';
import type { Engines } from '../engines/engines.ts';
import type { PortSetting } from '../engines/ports.ts';
import type { ProcessSpec } from '../engines/supervisor.ts';

export type Ports = Engines['ports'];

export const PROCESS_PORTS: readonly PortSetting[] = [
  'PORT',
  'MCP_PORT',
  'ACCOUNT_PORT',
  'INTERNAL_PORT',
  'INGEST_METRICS_PORT',
  'PROCESSORS_METRICS_PORT',
  'API_METRICS_PORT',
  'NIGHTLY_METRICS_PORT',
  'WEB_METRICS_PORT',
];

/** V8's young generation grows with the rate of allocation and keeps its pages: 40 to 100 MB that a process without a hot path does not need. */
export const SMALL_YOUNG_GENERATION = '--max-semi-space-size=8';

/** Of processes that allocate little: loaded, they take 6 to 10 MB less than with semi-spaces of 8 MB. */
const SMALLER_YOUNG_GENERATION = '--max-semi-space-size=4';

/** Arguments of a Node process without a hot path. */
export function listSmallProcessArguments(file: string): string[] {
  return [SMALLER_YOUNG_GENERATION, findProgram(file)];
}

/** On a busy machine the API takes minutes to follow five minutes of `live`; a dead process is detected at once. */
const READY_TIMEOUT_MS = 600_000;

export function makeNodeProcess(
  name: 'ingest' | 'processors',
  common: Record<string, string>,
  metricsPort: number,
): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: [findProgram(`${name}/main.ts`)],
    // One process of each kind: after a restart it replaces its predecessor at once.
    env: { ...common, PROCESSOR_ID: 'processors-local', METRICS_PORT: String(metricsPort) },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopGraceMs: 16_000,
    isReady: () => isOk(`http://127.0.0.1:${metricsPort}/healthz`),
  };
}

/** A name, not an address: sign-in with a passkey requires one (AC-06). */
export function makeMcpUrl(ports: Ports): string {
  return `http://localhost:${ports.MCP_PORT}/mcp`;
}

/** Of pages and of sign-in: a name too. */
export function makeAccountUrl(ports: Ports): string {
  return `http://localhost:${ports.ACCOUNT_PORT}`;
}

/** The account site and the sign-in; it calls the API like any client. */
export function makeWebProcess(common: Record<string, string>, ports: Ports): ProcessSpec {
  return {
    name: 'web',
    command: process.execPath,
    args: listSmallProcessArguments('api/web.ts'),
    env: {
      ...common,
      HOST: '127.0.0.1',
      ACCOUNT_PORT: String(ports.ACCOUNT_PORT),
      ACCOUNT_URL: makeAccountUrl(ports),
      BASE_URL: `http://127.0.0.1:${ports.PORT}`,
      MCP_URL: makeMcpUrl(ports),
      INTERNAL_HOST: '127.0.0.1',
      INTERNAL_PORT: String(ports.INTERNAL_PORT),
      METRICS_PORT: String(ports.WEB_METRICS_PORT),
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopGraceMs: 16_000,
    isReady: () => isOk(`http://127.0.0.1:${ports.ACCOUNT_PORT}/healthz`),
  };
}

export function makeApiProcess(common: Record<string, string>, ports: Ports): ProcessSpec {
  const base = `http://127.0.0.1:${ports.PORT}`;
  return {
    name: 'api',
    command: process.execPath,
    args: [findProgram('api/main.ts')],
    env: {
      ...common,
      HOST: '127.0.0.1',
      PORT: String(ports.PORT),
      BASE_URL: base,
      MCP_URL: makeMcpUrl(ports),
      MCP_PORT: String(ports.MCP_PORT),
      MCP_HOSTS: `127.0.0.1:${ports.MCP_PORT}`,
      ACCOUNT_URL: makeAccountUrl(ports),
      AUTH_URL: makeAccountUrl(ports),
      INTERNAL_URL: `http://127.0.0.1:${ports.INTERNAL_PORT}`,
      METRICS_PORT: String(ports.API_METRICS_PORT),
      // The account site of a simulated run accepts webhooks on this machine, so they are delivered too.
      WEBHOOKS_LOOPBACK: common['SIMULATED'] ?? 'false',
    },
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopGraceMs: 16_000,
    isReady: () => isOk(`${base}/readyz`),
  };
}

/** Calls the API like any client, so it starts after it. */
export function makeNightlyProcess(env: Record<string, string>, ports: Ports): ProcessSpec {
  const port = String(ports.NIGHTLY_METRICS_PORT);
  return {
    name: 'nightly',
    command: process.execPath,
    args: [SMALL_YOUNG_GENERATION, findProgram('processors/nightly.ts')],
    env: { ...env, BASE_URL: `http://127.0.0.1:${ports.PORT}`, METRICS_PORT: port },
    readyTimeoutMs: 60_000,
    stopGraceMs: 16_000,
    isReady: () => isOk(`http://127.0.0.1:${port}/readyz`),
  };
}

/** Throws what the process answers while it is not ready. */
async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answers ${response.status} ${text}`);
  return true;
}
