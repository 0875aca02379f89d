/** Runs the service in the terminal: starts it, prints where everything is, stops it in order at Ctrl-C. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';
import { createProgress } from './progress.ts';
import { analystUrl, type Service, type ServiceOptions, startService } from './service.ts';

const ENDPOINTS_FILE = process.env.ENDPOINTS_FILE ?? join(PROJECT_ROOT, '.local', 'endpoints.json');
const PARENT_LOOK_MS = 1000;
const SAME_WISH_MS = 500;
const STOP_DEADLINE_MS = 60_000;

export type RunOptions = Pick<ServiceOptions, 'venues' | 'source' | 'settings'> & { readonly defaultDir: string };

/** Never resolves into anything: the process ends with the service. `--fresh` on the command line removes earlier data. */
export function runService({ defaultDir, ...options }: RunOptions): void {
  const progress = createProgress((text) => process.stdout.write(text));
  const dir = process.env.DATA_DIR ?? join(PROJECT_ROOT, '.local', defaultDir);
  const data = process.argv.includes('--fresh') ? 'wipe' : 'keep';
  let service: Service | null = null;
  let stoppingSince: number | null = null;

  const stop = async (reason: string): Promise<void> => {
    // One wish may come twice, from the terminal and from whoever started us.
    if (stoppingSince !== null && performance.now() - stoppingSince < SAME_WISH_MS) return;
    // A second wish, or one during the start: the guard ends what runs.
    if (stoppingSince !== null || service === null) {
      progress.say(`${reason}: stopping at once`);
      process.exit(130);
    }
    stoppingSince = performance.now();
    setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref();
    progress.say(`${reason}: stopping (again to stop at once)`);
    rmSync(ENDPOINTS_FILE, { force: true });
    await progress.during('the processes to end', service.stop());
    progress.say('stopped');
    process.exit(0);
  };
  process.on('SIGINT', () => void stop('Ctrl-C'));
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGHUP', () => void stop('terminal closed'));
  stopWithParent(() => void stop('the starting process is gone'));

  startService({ ...options, dir, data, endpointsFile: ENDPOINTS_FILE, progress }).then(
    (started) => {
      service = started;
      process.stdout.write(banner(started, options));
    },
    (error: unknown) => {
      progress.say(`could not start: ${error instanceof Error ? error.message : String(error)}`);
      process.exit(1);
    },
  );
}

/** A starter that was killed with -9 cannot tell us; our parent is another one then. */
function stopWithParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, PARENT_LOOK_MS);
  timer.unref();
}

function banner(
  { endpoints, engines }: Service,
  { venues, source }: Pick<ServiceOptions, 'venues' | 'source'>,
): string {
  const what =
    source === 'simulated'
      ? `Simulated venues (${venues.join(', ')}): figures are invented by infra/simulator, nothing here is a market.`
      : `Live venues: ${venues.join(', ')}.`;
  const body = JSON.stringify({ where: 'base = BTC', layers: ['mark', 'funding', 'book'] });
  const lines = [
    '',
    what,
    '',
    'Try it:',
    '',
    `  ${exampleCall(endpoints.base_url, endpoints.keys.pro, body)}`,
    '',
    `API          ${endpoints.base_url}   (/openapi.json, /readyz)`,
    `Kafka        ${endpoints.kafka}`,
    `QuestDB      ${endpoints.questdb_http}   SQL, read only: psql '${analystUrl(endpoints)}'`,
    `PostgreSQL   ${endpoints.database_url}`,
    `EVM chain    ${endpoints.rpc_url}`,
    ...(endpoints.control_url === null ? [] : [`Simulator    ${endpoints.control_url}   (faults, truth)`]),
    `Metrics      ${Object.values(endpoints.metrics_urls).join(' ')}`,
    `Keys         ${Object.entries(endpoints.keys)
      .map(([plan, key]) => `${plan} ${key}`)
      .join('\n             ')}`,
    `Logs         ${join(engines.dataDir.path, 'log')}`,
    `Addresses    ${ENDPOINTS_FILE}`,
    '',
    'Ctrl-C stops everything.',
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function exampleCall(baseUrl: string, key: string, body: string): string {
  const headers = `-H 'authorization: Bearer ${key}' -H 'content-type: application/json'`;
  return `curl -s ${baseUrl}/v2/snapshots ${headers} -d '${body}'`;
}
