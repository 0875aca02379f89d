// How long an API node takes beside a running service: from its start until it listens, is ready, and has the minutes before its start.
//
//   node infra/dev/bench/api-start.ts                  simulated venues and rate as of the demo, five starts after six minutes
//   node infra/dev/bench/api-start.ts --venues binance --listings 500 --rate 1000 --minutes 6 --starts 5
// node infra/dev/bench/api-start.ts --api FILE       another api/main.ts besides, of an earlier commit: the two alternate
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findProgram } from '../build/entries.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { createProgress } from '../local/progress.ts';
import { startService } from '../local/service.ts';
import { simulatedVenues } from '../simulator/venues/index.ts';
import { findQuantile } from './instruments/figures.ts';
import { NODE_STEPS, type NodeTimes, startNode } from './instruments/node-start.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-api-start');
const FRAMES_A_LISTING = 6;

const { values } = parseArgs({
  options: {
    venues: { type: 'string', default: simulatedVenues.map(({ id }) => id).join() },
    /** Per venue. */
    listings: { type: 'string', default: '10' },
    rate: { type: 'string' },
    minutes: { type: 'string', default: '6' },
    starts: { type: 'string', default: '5' },
    api: { type: 'string' },
  },
});
const venues = values.venues.split(',');
const rate = values.rate ?? String(venues.length * Number(values.listings) * FRAMES_A_LISTING);

const describe = (times: readonly NodeTimes[]): string =>
  NODE_STEPS.map((step) => {
    const all = times.flatMap(({ [step]: at }) => (at === null ? [] : [at])).sort((a, b) => a - b);
    const told = [findQuantile(all, 0.5), all[0], all.at(-1)].map((at) => at?.toFixed(2) ?? '-');
    return `${step} ${told[0]} s (${told[1]} to ${told[2]}, ${all.length} of ${times.length})`;
  }).join('; ');

const progress = createProgress((text) => process.stderr.write(text));
rmSync(DIR, { recursive: true, force: true });
const service = await startService({
  ...{ dir: DIR, venues, source: 'simulated', engines: 'full', data: 'wipe', ports: 'free', progress },
  settings: { LOG_LEVEL: 'warn', SIM_LISTINGS: values.listings, SIM_RATE: rate },
});
try {
  await pause(Number(values.minutes) * 60_000);
  const files = [findProgram('api/main.ts'), ...(values.api === undefined ? [] : [resolve(values.api)])];
  const times = new Map<string, NodeTimes[]>(files.map((file) => [file, []]));
  for (let start = 0; start < Number(values.starts); start++)
    for (const file of files) {
      const one = await startNode(file, { service, venues });
      progress.print(`${file}: ${JSON.stringify(one)}`);
      times.get(file)?.push(one);
    }
  process.stdout.write(`${venues.length} venues of ${values.listings} listings, ${rate} frames/s\n`);
  for (const [file, of] of times) process.stdout.write(`${file}: ${describe(of)}\n`);
} finally {
  await service.stop();
}
