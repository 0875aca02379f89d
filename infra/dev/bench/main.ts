// `npm run bench`: the performance of this machine with the whole service, real engines and simulated venues; a measurement, never a test.
//
// npm run bench                      rates 1000, 3000, 5000 for 20 s each, then every other figure; fifteen minutes (thirty on a slow machine)
//   npm run bench -- --quick           one rate, few listings, neither history, screens, sealed windows nor a restart; under two minutes
//   npm run bench -- --seconds 300 --faults
//   npm run bench -- --profile         one rate only, then the functions that took the time of each process
// npm run bench -- --minutes 60      a soak: one rate, kills, a sample of everything every ten seconds, then the log processed again
//   npm run bench -- mapping [VENUE…]  our mapping beside tardis-dev and JSON.parse on recordings (mapping.ts); no engines, about a minute
//
//   --rates LIST      raw frames a second, ascending (1000,3000,5000)
//   --seconds N       how long each rate is held (20), cut into five parts
//   --listings N      perpetuals the simulated venue lists (500, the most one snapshot may name)
//   --shards N        raw partitions, hence tasks (1)
//   --faults          while a rate is held the venue misbehaves every five seconds: holes, disconnects, nonsense, silence, refusals
//   --json FILE       the figures as JSON too (.local/bench.json)
//
//   --minutes N       how long a soak is
//   --rate N          its raw frames a second (2000)
//   --kill-every N    seconds from one kill -9 to the next, of ingest, processors and API in turn (120; 0: none)
// --no-replay       do not process the log again
//
// Prints one table: each figure (the median of five, with minimum and maximum) beside its limit (the best this machine does
// for that step, measured in the same run) and its aim (design section 10). Engines and data use a separate folder,
// .local/bench, wiped at each start; ports are free ones. Ctrl-C stops everything. Figures of a machine with other work
// meanwhile mean little: its load is printed.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../runtime/process/log.ts';
import { openQuestdbReader, type QuestdbReader } from '../../runtime/questdb/reader.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { watchParent } from '../local/parent.ts';
import { createProgress, type Progress } from '../local/progress.ts';
import { type Service, startService } from '../local/service.ts';
import { openApiClient } from './instruments/api-client.ts';
import { computeRatio, type Figure, isMet, renderTable } from './instruments/figures.ts';
import { describeMachine, findPid } from './instruments/machine.ts';
import { readProfile } from './instruments/profile.ts';
import { benchMapping } from './mapping/mapping.ts';
import { type FigurePlan, type Plan, PlanError, readPlan, type SoakPlan, USAGE } from './plan.ts';
import { openRun, VENUE } from './run.ts';
import { examineAftermath } from './soak/aftermath.ts';
import { runSoak } from './soak/soak.ts';
import { measureGrowths, renderGrowths, toSoakFigures } from './soak/soak-report.ts';
import { measureStages } from './stages/stages.ts';

const LOCAL = join(PROJECT_ROOT, '.local');
const DIR = join(LOCAL, 'bench');
const PROFILES = join(LOCAL, 'bench-profiles');
const PROFILED = ['processors', 'ingest', 'api', 'simulator'] as const;

const REST_WEIGHT = '1000000';

/** What runs now and is stopped with the bench. */
type Running = { stop(): Promise<void> };
type Bench = {
  readonly progress: Progress;
  readonly onRunning: (running: Running) => void;
  readonly loadBefore: number;
};

const startBenched = async (plan: Plan, { progress, onRunning }: Bench): Promise<Service> => {
  const service = await startService({
    dir: DIR,
    venues: [VENUE],
    source: 'simulated',
    engines: 'full',
    data: 'wipe',
    ports: 'free',
    settings: {
      LOG_LEVEL: 'info',
      SHARDS: String(plan.shards),
      SIM_LISTINGS: String(plan.listings),
      // The load comes with the stages.
      SIM_RATE: '1',
      // All books are requested at once: neither side has a limit that matters.
      SIM_WEIGHT: REST_WEIGHT,
      VENUE_REST_WEIGHTS: `{"${VENUE}":${REST_WEIGHT}}`,
      ...(plan.kind === 'profile' ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${PROFILES}` } : {}),
    },
    progress,
  });
  onRunning(service);
  return service;
};

/** `more`: parts of the JSON that are no figures. */
type Outcome = { readonly figures: readonly Figure[]; readonly more?: object };

const report = (plan: Plan, { loadBefore, progress }: Bench, { figures, more = {} }: Outcome): void => {
  const { json, ...asked } = plan;
  const machine = describeMachine();
  const words = Object.entries(asked).map(([name, value]) => `${name} ${value}`);
  const head = `${machine}\n${words.join(', ')}; load of the machine before: ${loadBefore.toFixed(1)}`;
  process.stdout.write(`\n${head}\n\n${renderTable(figures)}\n`);
  const rows = figures.map((figure) => ({ ...figure, ratio: computeRatio(figure), met: isMet(figure) }));
  const file = json ?? join(LOCAL, 'bench.json');
  const about = { at: new Date().toISOString(), machine, ...asked, load_before: loadBefore };
  writeFileSync(file, `${JSON.stringify({ ...about, figures: rows, ...more }, null, 2)}\n`);
  progress.print(`the same as JSON: ${file}`);
};

const reportProfiles = (pids: ReadonlyMap<string, number>, endedAtMs: number, seconds: number): void => {
  for (const [name, pid] of pids) {
    const text = readProfile({ dir: PROFILES, pid, endedAtMs, seconds });
    process.stdout.write(`\n${name}\n${text ?? 'left no profile'}\n`);
  }
};

const benchFigures = async (plan: FigurePlan, bench: Bench): Promise<void> => {
  if (plan.kind === 'profile') {
    rmSync(PROFILES, { recursive: true, force: true });
    mkdirSync(PROFILES, { recursive: true });
  }
  const service = await startBenched(plan, bench);
  const run = await openRun(service, DIR, bench.progress);
  const client = await openApiClient(service.endpoints.base_url, service.endpoints.database_url ?? '');
  const figures = await measureStages({ plan, run, client });
  const endedAtMs = Date.now();
  const pids = new Map(PROFILED.map((name) => [name, findPid(DIR, name) ?? 0]));
  client.close();
  await run.close();
  await bench.progress.during('the processes to end', service.stop());
  report(plan, bench, { figures });
  if (plan.kind === 'profile') reportProfiles(pids, endedAtMs, plan.seconds);
};

const openReader = ({ endpoints }: Service): QuestdbReader => {
  const { questdb_pg: pg, questdb_user: user, questdb_password: password } = endpoints;
  const auth = { user: user ?? '', password: password ?? '' };
  return openQuestdbReader(pg ?? '', { max: 1, timeoutMs: 15_000, auth, log: createLog('bench', 'error') });
};

const benchSoak = async (plan: SoakPlan, bench: Bench): Promise<void> => {
  const { progress, onRunning } = bench;
  const service = await startBenched(plan, bench);
  const run = await openRun(service, DIR, progress);
  const client = await openApiClient(service.endpoints.base_url, service.endpoints.database_url ?? '');
  const reader = openReader(service);
  const load = await runSoak({ run, client, reader }, plan);
  client.close();
  await reader.close();
  await run.close();
  await progress.during('the processes to end', service.stop());
  const { sent, ...kept } = load;
  const aftermath = await examineAftermath({ dir: DIR, plan, sent, progress }, onRunning);
  const growths = measureGrowths(load.samples);
  const problems = [
    ...(load.caughtUp ? [] : ['the tasks were still behind when the load had ended']),
    ...(load.missed === 0 ? [] : [`${load.missed} looks were not answered`]),
    ...aftermath.problems,
  ];
  const samples = load.samples.map((sample) => ({ ...sample, processes: Object.fromEntries(sample.processes) }));
  const { live, replayed, frames } = aftermath;
  const { kills } = kept;
  const more = { growths, problems, kills, frames, live, replayed, samples };
  report(plan, bench, { figures: toSoakFigures(load, aftermath, plan), more });
  process.stdout.write(`\n${renderGrowths(growths)}\n${problems.map((problem) => `\n${problem}`).join('')}\n`);
};

const readPlanOrExit = (print: (line: string) => void): Plan => {
  try {
    return readPlan(process.argv.slice(2));
  } catch (error) {
    // Node itself refuses an unknown option.
    if (!(error instanceof PlanError || error instanceof TypeError)) throw error;
    print(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
};

const main = async (): Promise<void> => {
  const progress = createProgress((text) => process.stderr.write(text));
  const plan = readPlanOrExit(progress.print);
  let running: Running | null = null;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    // During the start, or a second time: the engines' guard ends what runs.
    if (isStopping || running === null) process.exit(130);
    isStopping = true;
    progress.print('stopping (repeat to stop immediately)');
    await running.stop();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());
  watchParent(() => void stop());
  const bench: Bench = {
    progress,
    loadBefore: loadavg()[0] ?? 0,
    onRunning: (started) => {
      running = started;
    },
  };
  try {
    await (plan.kind === 'soak' ? benchSoak(plan, bench) : benchFigures(plan, bench));
    process.exit(0);
  } catch (error) {
    // Failures while the service stops are ignored, and `stop` ends the process.
    if (isStopping) return;
    progress.print(error instanceof Error ? (error.stack ?? error.message) : String(error));
    await (running as Running | null)?.stop();
    process.exit(1);
  }
};

const [command, ...words] = process.argv.slice(2);
await (command === 'mapping' ? benchMapping(words) : main());
