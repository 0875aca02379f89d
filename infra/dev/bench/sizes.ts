// What a listing costs: the whole service with more and more listings, each of them at the same calm rate.
//
//   node infra/dev/bench/sizes.ts                      1,250, 2,500, 5,000 and 10,000 listings of five simulated venues
//   node infra/dev/bench/sizes.ts --sizes 500,1000 --rate 3 --step 1 --seconds 20   (a size is 160 at least)
//
// Prints one column a size. `growth` is the exponent of the figure over the sizes: 1 is linear, 2 is the square.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findProgram } from '../build/entries.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { createProgress } from '../local/progress.ts';
import { type Service, startService } from '../local/service.ts';
import { COINS } from '../simulator/listings.ts';
import { simulatedVenues } from '../simulator/venues/index.ts';
import { type ApiClient, openApiClient } from './instruments/api-client.ts';
import { listTimes, measureCalls } from './instruments/calls.ts';
import { findQuantile } from './instruments/figures.ts';
import { computeCores, readUsage } from './instruments/machine.ts';
import { startNode } from './instruments/node-start.ts';
import { readSteps, toStepFigures } from './instruments/steps.ts';
import { renderColumns } from './instruments/table.ts';
import { waitUntil } from './instruments/until.ts';
import { fetchText } from './run.ts';
import { fitLines } from './soak/slopes.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-sizes');
const OURS = ['simulator', 'ingest', 'processors', 'api'] as const;
const PATIENCE = { everyMs: 500, forMs: 300_000 };
const CALLS = 30;
const REST_WEIGHT = 100_000_000;
const SCREEN = { query: 'any(venues where funding > 1bps and spread < 5bps)', limit: 10 };
/** Listed on every venue; a `where` has no more members. */
const BASES = Object.keys(COINS).slice(0, 32);
const SNAPSHOT = { where: { base: BASES } };

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1250,2500,5000,10000' },
    /** Frames a second of a listing, and seconds between its steady ones: a tenth of what a demo sends. */
    rate: { type: 'string', default: '0.3' },
    step: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
  },
});
const sizes = values.sizes.split(',').map(Number);
const venues = simulatedVenues.map(({ id }) => id);
const progress = createProgress((text) => process.stderr.write(text));

/** One figure of one size, by its name with the unit. */
type Figures = Map<string, number | null>;

const start = (listings: number): Promise<Service> => {
  const rates = Object.fromEntries(venues.map((venue) => [venue, REST_WEIGHT]));
  return startService({
    ...{ dir: DIR, venues, source: 'simulated', engines: 'full', data: 'wipe', ports: 'free', progress },
    settings: {
      LOG_LEVEL: 'warn',
      SIM_LISTINGS: String(listings / venues.length),
      SIM_RATE: String(Math.round(listings * Number(values.rate))),
      SIM_STEP_S: values.step,
      SIM_WEIGHT: String(REST_WEIGHT),
      VENUE_REST_WEIGHTS: JSON.stringify(rates),
    },
  });
};

type Venues = { readonly items: readonly { readonly listings: number; readonly listings_collected: number }[] };

/** Listings that have readings. */
const countCollected = async ({ endpoints }: Service): Promise<number> => {
  const { items } = JSON.parse(await fetchText(`${endpoints.base_url}/v2/venues`)) as Venues;
  return items.reduce((total, { listings_collected: collected }) => total + collected, 0);
};

const measureMedian = async (work: () => Promise<unknown>): Promise<number | null> =>
  findQuantile(listTimes(await measureCalls(CALLS, work)), 0.5);

/** Milliseconds until a stream is ready. */
const openStream = async (client: ApiClient): Promise<number> => {
  const began = performance.now();
  const end = await client.stream({ layers: 'mark,funding', where: `base in (${BASES.join(', ')})` }, () => undefined);
  const ms = performance.now() - began;
  end();
  return ms;
};

const measureSize = async (listings: number): Promise<Figures> => {
  const figures: Figures = new Map();
  const note = (name: string, value: number | null): void => {
    figures.set(name, value);
    progress.print(`${name}: ${value?.toPrecision(3) ?? '-'}`);
  };
  const service = await start(listings);
  const client = await openApiClient(service.endpoints.base_url, service.endpoints.database_url ?? '');
  try {
    const began = performance.now();
    const all = await waitUntil(async () => (await countCollected(service)) >= listings, PATIENCE);
    note('every listing collected, s', all ? (performance.now() - began) / 1_000 : null);
    const [usage, steps, from] = [readUsage(DIR), await readSteps({ service }), performance.now()];
    await pause(Number(values.seconds) * 1_000);
    const after = readUsage(DIR);
    const cores = computeCores(usage, after, (performance.now() - from) / 1_000);
    for (const { name, measured } of toStepFigures('', steps, await readSteps({ service })))
      note(`${name.replace(' ,', '')}, ms`, measured);
    for (const name of OURS) note(`${name}, cores`, cores.get(name) ?? null);
    for (const name of OURS) note(`${name}, MB`, after.get(name)?.ownMb ?? null);
    note('screen of two fields, ms', await measureMedian(() => client.post('/v2/screen', SCREEN)));
    note(`snapshot of ${BASES.length} bases, ms`, await measureMedian(() => client.post('/v2/snapshots', SNAPSHOT)));
    note(`stream of ${BASES.length} bases ready, ms`, await openStream(client));
    const node = await startNode(findProgram('api/main.ts'), { service, venues });
    note('API node ready, s', node.ready);
    note('API node whole, s', node.whole);
    return figures;
  } finally {
    client.close();
    await service.stop();
  }
};

/** Exponent of the figure over the sizes: the slope of their logarithms; null where a figure is missing. */
const computeGrowth = (measured: readonly (number | null)[]): number | null => {
  const line = measured.flatMap((value, i) =>
    value === null || value <= 0 ? [] : [{ x: Math.log(sizes[i] ?? 1), y: Math.log(value) }],
  );
  return line.length < measured.length ? null : (fitLines([line])?.slope ?? null);
};

rmSync(DIR, { recursive: true, force: true });
const measured: Figures[] = [];
for (const size of sizes) {
  progress.print(`${size} listings`);
  measured.push(await measureSize(size));
}
const names = [...(measured[0]?.keys() ?? [])];
const rows = names.map((name) => {
  const all = measured.map((figures) => figures.get(name) ?? null);
  return [name, ...all.map((value) => value?.toPrecision(3) ?? '-'), computeGrowth(all)?.toFixed(2) ?? '-'];
});
const head = ['figure', ...sizes.map(String), 'growth'];
process.stdout.write(`${renderColumns(head, rows, new Set([...head.keys()].slice(1)))}\n`);
process.exit(0);
