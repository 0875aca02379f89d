// How long an API node takes beside a running service: from its start until it listens, is ready, and has the minutes before its start.
//
//   node infra/dev/bench/api-start.ts                  simulated venues and rate as of the demo, five starts after six minutes
//   node infra/dev/bench/api-start.ts --venues binance --listings 500 --rate 1000 --minutes 6 --starts 5
// node infra/dev/bench/api-start.ts --api FILE       another api/main.ts besides, of an earlier commit: the two alternate
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT } from '../engines/java.ts';
import { freePort } from '../engines/ports.ts';
import { createProgress } from '../local/progress.ts';
import { type Service, startService } from '../local/service.ts';
import { simulatedVenues } from '../simulator/venues/index.ts';
import { quantile } from './figures.ts';
import { until } from './until.ts';

const DIR = join(PROJECT_ROOT, '.local', 'bench-api-start');
const FRAMES_A_LISTING = 6;
const PATIENCE = { everyMs: 20, forMs: 240_000 };
const STEPS = ['listens', 'ready', 'whole'] as const;
type Times = Readonly<Record<(typeof STEPS)[number], number | null>>;

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

const answers = async (url: string): Promise<string | null> => {
  const answer = await fetch(url).catch(() => null);
  const text = await answer?.text().catch(() => null);
  return answer?.ok === true ? (text ?? null) : null;
};

const toSettings = ({ endpoints }: Service): Readonly<Record<string, string>> => ({
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
const startOnce = async (file: string, service: Service): Promise<Times> => {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const env = { ...process.env, ...toSettings(service), PORT: String(port), METRICS_PORT: String(metricsPort) };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const when = async (holds: () => Promise<boolean>): Promise<number | null> =>
    (await until(holds, PATIENCE)) ? seconds() : null;
  const readWhole = async (): Promise<RegExpMatchArray | null> =>
    (await answers(`http://127.0.0.1:${metricsPort}/metrics`))?.match(/^perp_api_whole (\d)$/m) ?? null;
  try {
    const listens = await when(async () => (await answers(`http://127.0.0.1:${port}/healthz`)) !== null);
    const ready = await when(async () => (await answers(`http://127.0.0.1:${port}/readyz`)) !== null);
    // A node of an earlier commit has the minutes before its start when it is ready.
    const whole = (await readWhole()) === null ? ready : await when(async () => (await readWhole())?.[1] === '1');
    return { listens, ready, whole };
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
  }
};

const describe = (times: readonly Times[]): string =>
  STEPS.map((step) => {
    const all = times.flatMap(({ [step]: at }) => (at === null ? [] : [at])).sort((a, b) => a - b);
    const told = [quantile(all, 0.5), all[0], all.at(-1)].map((at) => at?.toFixed(2) ?? '-');
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
  const files = [resolve(PROJECT_ROOT, 'api/main.ts'), ...(values.api === undefined ? [] : [resolve(values.api)])];
  const times = new Map<string, Times[]>(files.map((file) => [file, []]));
  for (let start = 0; start < Number(values.starts); start++)
    for (const file of files) {
      const one = await startOnce(file, service);
      progress.print(`${file}: ${JSON.stringify(one)}`);
      times.get(file)?.push(one);
    }
  process.stdout.write(`${venues.length} venues of ${values.listings} listings, ${rate} frames/s\n`);
  for (const [file, of] of times) process.stdout.write(`${file}: ${describe(of)}\n`);
} finally {
  await service.stop();
}
