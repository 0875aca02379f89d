/** Runs the service in the terminal: starts it, prints all addresses, stops it in order on request. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';
import { formatBanner, listPastLines } from './banner.ts';
import type { ServiceOptions } from './options.ts';
import type { ArchivedPast } from './past.ts';
import { createProgress } from './progress.ts';
import { type Service, startService } from './service.ts';
import { runUntilStopped } from './until-stopped.ts';

const ENDPOINTS_FILE = process.env.ENDPOINTS_FILE ?? join(PROJECT_ROOT, '.local', 'endpoints.json');

type RunOptions = Pick<ServiceOptions, 'venues' | 'source' | 'settings' | 'past'> & {
  readonly defaultDir: string;
};

/** Never resolves: the process ends with the service. `--fresh` on the command line removes earlier data. */
export function runService({ defaultDir, ...options }: RunOptions): void {
  const progress = createProgress((text) => process.stdout.write(text));
  const dir = process.env.DATA_DIR ?? join(PROJECT_ROOT, '.local', defaultDir);
  const data = process.argv.includes('--fresh') ? 'wipe' : 'keep';
  runUntilStopped(progress, async (signal) => {
    const service = await startService({ ...options, dir, data, endpointsFile: ENDPOINTS_FILE, progress, signal });
    process.stdout.write(formatBanner(service, { ...options, endpointsFile: ENDPOINTS_FILE }));
    const shown = service.past?.then(async (told) => {
      process.stdout.write(listPastLines(service, { ...told, listing: await findFreeListing(service, told) }));
    });
    // The failure was reported where it occurred; the service continues without a past.
    shown?.catch(() => undefined);
    return async () => {
      rmSync(ENDPOINTS_FILE, { force: true });
      await progress.during('the processes to end', service.stop());
    };
  });
}

/** A listing whose file of yesterday the free plan includes: the day's turnover determines the plan's venues (AC-02). */
async function findFreeListing({ endpoints }: Service, { yesterday }: ArchivedPast): Promise<string> {
  const list = `${endpoints.base_url}/v2/archive?from=${yesterday}&to=${yesterday}&layer=mark`;
  const answer = await fetch(list, { headers: { authorization: `Bearer ${endpoints.keys.free}` } });
  const { items } = (await answer.json()) as { readonly items: readonly { listing: string; included: boolean }[] };
  return items.find(({ included }) => included)?.listing ?? 'binance:BTCUSDT';
}
