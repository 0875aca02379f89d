/** Runs the service in the terminal: starts it, prints where everything is, stops it in order when asked. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';
import { createProgress } from './progress.ts';
import { analystUrl, type Service, type ServiceOptions, startService } from './service.ts';
import { runUntilStopped } from './until-stopped.ts';

const ENDPOINTS_FILE = process.env.ENDPOINTS_FILE ?? join(PROJECT_ROOT, '.local', 'endpoints.json');

export type RunOptions = Pick<ServiceOptions, 'venues' | 'source' | 'settings'> & { readonly defaultDir: string };

/** Never resolves into anything: the process ends with the service. `--fresh` on the command line removes earlier data. */
export function runService({ defaultDir, ...options }: RunOptions): void {
  const progress = createProgress((text) => process.stdout.write(text));
  const dir = process.env.DATA_DIR ?? join(PROJECT_ROOT, '.local', defaultDir);
  const data = process.argv.includes('--fresh') ? 'wipe' : 'keep';
  runUntilStopped(progress, async (signal) => {
    const service = await startService({ ...options, dir, data, endpointsFile: ENDPOINTS_FILE, progress, signal });
    process.stdout.write(banner(service, options));
    return async () => {
      rmSync(ENDPOINTS_FILE, { force: true });
      await progress.during('the processes to end', service.stop());
    };
  });
}

function banner(
  { endpoints, engines }: Service,
  { venues, source }: Pick<ServiceOptions, 'venues' | 'source'>,
): string {
  const what =
    source === 'simulated'
      ? `Simulated venues (${venues.join(', ')}): figures are invented by infra/dev/simulator, nothing here is a market.`
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
