// Starts one more API node beside a running service: how long it takes until it listens, is ready, and has the minutes before its start.
import { spawn } from 'node:child_process';
import { findFreePort } from '../../engines/ports.ts';
import type { Service } from '../../local/service.ts';
import { waitUntil } from './until.ts';

export const NODE_STEPS = ['listens', 'ready', 'whole'] as const;
export type NodeTimes = Readonly<Record<(typeof NODE_STEPS)[number], number | null>>;

const PATIENCE = { everyMs: 20, forMs: 240_000 };

const fetchOrNull = async (url: string): Promise<string | null> => {
  const answer = await fetch(url).catch(() => null);
  const text = await answer?.text().catch(() => null);
  return answer?.ok === true ? (text ?? null) : null;
};

const toSettings = ({ endpoints }: Service, venues: readonly string[]): Readonly<Record<string, string>> => ({
  KAFKA_BROKERS: endpoints.kafka ?? '',
  QUESTDB_PG: endpoints.questdb_pg ?? '',
  QUESTDB_USER: endpoints.questdb_user ?? '',
  QUESTDB_PASSWORD: endpoints.questdb_password ?? '',
  DATABASE_URL: endpoints.database_url ?? '',
  VENUES: venues.join(),
  SIMULATED: 'true',
  LOG_LEVEL: 'warn',
});

/** Seconds from the start of one node to each step; null: it was not reached, or this node does not report it. */
export const startNode = async (
  file: string,
  { service, venues }: { readonly service: Service; readonly venues: readonly string[] },
): Promise<NodeTimes> => {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const env = { ...process.env, ...toSettings(service, venues), PORT: String(port), METRICS_PORT: String(metricsPort) };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const when = async (holds: () => Promise<boolean>): Promise<number | null> =>
    (await waitUntil(holds, PATIENCE)) ? seconds() : null;
  const readWhole = async (): Promise<RegExpMatchArray | null> =>
    (await fetchOrNull(`http://127.0.0.1:${metricsPort}/metrics`))?.match(/^perp_api_whole (\d)$/m) ?? null;
  try {
    const listens = await when(async () => (await fetchOrNull(`http://127.0.0.1:${port}/healthz`)) !== null);
    const ready = await when(async () => (await fetchOrNull(`http://127.0.0.1:${port}/readyz`)) !== null);
    // A node of an earlier commit has the minutes before its start when it is ready.
    const whole = (await readWhole()) === null ? ready : await when(async () => (await readWhole())?.[1] === '1');
    return { listens, ready, whole };
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
  }
};
