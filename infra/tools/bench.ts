// `npm run bench`: what this machine reaches with the whole service, real engines and simulated venues; a measurement, never a test.
//
//   npm run bench                      rates 1000, 3000 and 5000 for 20 s each, then every other figure; about six minutes
//   npm run bench -- --quick           one rate, few listings, neither history, screens, sealed windows nor a restart; under a minute
//   npm run bench -- --seconds 300 --faults
//   npm run bench -- --profile         one rate only, then the functions that took the time of each process
//
//   --rates LIST      raw frames a second, ascending (1000,3000,5000)
//   --seconds N       how long each rate is held (20)
//   --listings N      perpetuals the simulated venue lists (500, the most one snapshot may name)
//   --shards N        raw partitions, hence tasks (1)
//   --faults          while a rate is held the venue misbehaves every five seconds: holes, disconnects, nonsense, silence, refusals
//   --json FILE       the figures as JSON too
//
// Prints one table: each figure beside its limit (what this machine does at best for that step, measured in the same run) and
// its aim (design section 10). Engines and data live in a folder of their own, .local/bench, wiped at each start; ports are free
// ones. Ctrl-C stops everything. Figures of a machine that does something else meanwhile say little: its load is printed.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT } from '../engines/java.ts';
import { createProgress, type Progress } from '../local/progress.ts';
import { type Service, startService } from '../local/service.ts';
import { type ApiClient, openApiClient } from './bench/api-client.ts';
import { type Figure, isMet, ratioOf, renderTable } from './bench/figures.ts';
import { type HistorySpec, measureHistory } from './bench/history.ts';
import { measureHops } from './bench/hops.ts';
import { measureLimits } from './bench/limits.ts';
import { describeMachine, pidOf } from './bench/machine.ts';
import { readProfile } from './bench/profile.ts';
import { measureRestart } from './bench/restart.ts';
import { openRun, type Run, VENUE } from './bench/run.ts';
import { measureScreens, WORST_BARS } from './bench/screen.ts';
import { measureSeal } from './bench/seal.ts';
import { measureSnapshots } from './bench/snapshots.ts';
import { measureStreams } from './bench/streams.ts';
import { measureMemory, measureThroughput } from './bench/throughput.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench');
const PROFILES = join(PROJECT_ROOT, '.local', 'bench-profiles');
const PROFILED = ['processors', 'ingest', 'api', 'simulator'] as const;

type Plan = {
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly listings: number;
  readonly shards: number;
  readonly faults: boolean;
  readonly kind: 'full' | 'quick' | 'profile';
  readonly json: string | null;
};

type Stage = readonly [name: string, measure: () => Promise<readonly Figure[]>];

const readPlan = (): Plan => {
  const { values } = parseArgs({
    options: {
      rates: { type: 'string' },
      seconds: { type: 'string' },
      listings: { type: 'string' },
      shards: { type: 'string', default: '1' },
      faults: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const kind = values.profile ? 'profile' : values.quick ? 'quick' : 'full';
  const defaults = { full: '1000,3000,5000', quick: '1000', profile: '3000' } as const;
  const plan = {
    rates: (values.rates ?? defaults[kind]).split(',').map(Number),
    seconds: Number(values.seconds ?? (kind === 'quick' ? 6 : 20)),
    listings: Number(values.listings ?? (kind === 'quick' ? 50 : 500)),
    shards: Number(values.shards),
    faults: values.faults,
    kind,
    json: values.json ?? null,
  } as const;
  const numbers = [...plan.rates, plan.seconds, plan.listings, plan.shards];
  if (numbers.some((n) => !(n > 0))) throw new Error('--rates, --seconds, --listings and --shards are numbers above 0');
  return plan;
};

/** Clients, and listings of each. */
const STREAMS = [
  [200, 100],
  [1_000, 10],
] as const;

const storesOf = ({ endpoints }: Service): Omit<HistorySpec, 'rounds'> => {
  const { kafka, questdb_http, questdb_pg, questdb_user, questdb_password, database_url } = endpoints;
  if (!kafka || !questdb_http || !questdb_pg || !database_url) throw new Error('history needs all stores');
  const auth = { questdb_user: questdb_user ?? '', questdb_password: questdb_password ?? '' };
  return { kafka, questdb_http, questdb_pg, database_url, ...auth };
};

/** What is measured at less than the highest rate is measured at the first one. */
const stagesOf = (plan: Plan, run: Run, client: ApiClient): readonly Stage[] => {
  const quick = plan.kind === 'quick';
  const calm = plan.rates[0] ?? 1_000;
  const hopRate = plan.rates.find((rate) => rate >= 3_000) ?? calm;
  const { seconds, faults } = plan;
  const throughput = plan.rates.map(
    (rate): Stage => [
      `${rate} frames/s for ${seconds} s${faults ? ' with faults' : ''}`,
      () => measureThroughput(run, { rate, seconds, settleMs: quick ? 1_000 : 3_000, faults }),
    ],
  );
  if (plan.kind === 'profile') return throughput;
  // As many of the listings as there are, up to the clients' share of them; each changes about ten times a second.
  const streams = STREAMS.map(([clients, listings]): Stage => {
    const spec = { clients, listings: Math.min(listings, plan.listings), rate: calm, seconds: quick ? 4 : 20, client };
    return [`${clients} streams of ${spec.listings} listings`, () => measureStreams(run, spec)];
  });
  const shared: readonly Stage[] = [
    ...throughput,
    ['latency of each hop', () => measureHops(run, { rate: hopRate, seconds: quick ? 5 : 15, client })],
    ['snapshots', () => run.setRate(calm).then(() => measureSnapshots({ client, seconds: quick ? 1 : 5 }))],
    ...streams,
    ['memory', async () => measureMemory(run)],
  ];
  const slow: readonly Stage[] = [
    ['history', () => measureHistory({ ...storesOf(run.service), rounds: 30 })],
    ['screens', () => measureScreens({ ...storesOf(run.service), listings: 1_000, bars: WORST_BARS })],
    ['seal to visible', () => run.setRate(calm).then(() => measureSeal(run, { waitMs: 150_000, seconds: 22 }))],
    ['restart', () => measureRestart(run, hopRate)],
  ];
  return [...shared, ...(quick ? [] : slow), ['limits of the machine', () => measureLimits(run, quick ? 1 : 3)]];
};

const BEHIND = 'BEGUN WHILE THE TASKS WERE BEHIND';
const CATCH_UP_MS = 60_000;

/** Runs the stages one after the other, each from the log's end; one that fails is named and the rest still measured. */
const measure = async (stages: readonly Stage[], run: Run): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const [name, stage] of stages) {
    await run.setRate(1);
    const behind = !(await run.progress.during(`the tasks before: ${name}`, run.caughtUp(CATCH_UP_MS)));
    run.progress.say(behind ? `${name} (${BEHIND.toLowerCase()})` : name);
    try {
      const measured = await run.progress.during(name, stage());
      figures.push(
        ...(behind ? measured.map((figure) => ({ ...figure, note: `${BEHIND}; ${figure.note}` })) : measured),
      );
    } catch (error) {
      run.progress.say(`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  return figures;
};

const startBenched = (plan: Plan, progress: Progress): Promise<Service> =>
  startService({
    dir: DIR,
    venues: [VENUE],
    source: 'simulated',
    data: 'wipe',
    ports: 'free',
    settings: {
      LOG_LEVEL: 'info',
      SHARDS: String(plan.shards),
      SIM_LISTINGS: String(plan.listings),
      // The books are loaded first, the load comes with the stages.
      SIM_RATE: '1',
      // Every book is asked for at once.
      SIM_WEIGHT: '1000000',
      ...(plan.kind === 'profile' ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${PROFILES}` } : {}),
    },
    progress,
  });

const report = (plan: Plan, figures: readonly Figure[], loadBefore: number): void => {
  const about = {
    machine: describeMachine(),
    listings: plan.listings,
    shards: plan.shards,
    seconds: plan.seconds,
    faults: plan.faults,
    load_before: loadBefore,
  };
  const head = `${about.machine}\n${plan.listings} listings, ${plan.shards} shards, ${plan.seconds} s a rate; load of the machine before: ${loadBefore.toFixed(1)}`;
  process.stdout.write(`\n${head}\n\n${renderTable(figures)}\n`);
  if (plan.json === null) return;
  const rows = figures.map((figure) => ({ ...figure, ratio: ratioOf(figure), met: isMet(figure) }));
  writeFileSync(plan.json, `${JSON.stringify({ ...about, figures: rows }, null, 2)}\n`);
};

const reportProfiles = (pids: ReadonlyMap<string, number>, endedAtMs: number, seconds: number): void => {
  for (const [name, pid] of pids) {
    const text = readProfile({ dir: PROFILES, pid, endedAtMs, seconds });
    process.stdout.write(`\n${name}\n${text ?? 'left no profile'}\n`);
  }
};

/** One run from start to stop; the service is stopped whatever happens. */
const bench = async (plan: Plan, progress: Progress, onService: (service: Service) => void): Promise<void> => {
  const loadBefore = loadavg()[0] ?? 0;
  if (plan.kind === 'profile') {
    rmSync(PROFILES, { recursive: true, force: true });
    mkdirSync(PROFILES, { recursive: true });
  }
  const service = await startBenched(plan, progress);
  onService(service);
  const run = await openRun(service, DIR, progress);
  const client = await openApiClient(service.endpoints.base_url, service.endpoints.database_url ?? '');
  const figures = await measure(stagesOf(plan, run, client), run);
  const endedAtMs = Date.now();
  const pids = new Map(PROFILED.map((name) => [name, pidOf(DIR, name) ?? 0]));
  client.close();
  await run.close();
  await progress.during('the processes to end', service.stop());
  report(plan, figures, loadBefore);
  if (plan.kind === 'profile') reportProfiles(pids, endedAtMs, plan.seconds);
};

const main = async (): Promise<void> => {
  const plan = readPlan();
  const progress = createProgress((text) => process.stderr.write(text));
  let service: Service | null = null;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    // During the start, or a second time: the engines' guard ends what runs.
    if (isStopping || service === null) process.exit(130);
    isStopping = true;
    progress.say('stopping (again to stop at once)');
    await service.stop();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());
  try {
    await bench(plan, progress, (started) => {
      service = started;
    });
    process.exit(0);
  } catch (error) {
    // What broke because the service is being stopped is no news, and `stop` ends the process.
    if (isStopping) return;
    progress.say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    await (service as Service | null)?.stop();
    process.exit(1);
  }
};

await main();
