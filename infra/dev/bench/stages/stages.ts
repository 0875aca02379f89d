// Runs the measurements of a bench one after the other, each from the log's end.
import { availableParallelism } from 'node:os';
import type { Service } from '../../local/service.ts';
import { type HistorySpec, measureHistory } from '../history.ts';
import type { ApiClient } from '../instruments/api-client.ts';
import type { Figure } from '../instruments/figures.ts';
import { findPid, readStolenMs } from '../instruments/machine.ts';
import { ROUNDS } from '../instruments/rounds.ts';
import { waitUntil } from '../instruments/until.ts';
import type { FigurePlan } from '../plan.ts';
import type { Run } from '../run.ts';
import { measureScreens, WORST_BARS } from '../screen.ts';
import { measureHops } from './hops.ts';
import { measureLimits, nameKafkaHop } from './limits.ts';
import { measureRestart } from './restart.ts';
import { measureSeal } from './seal.ts';
import { measureSnapshots } from './snapshots.ts';
import { measureStreams } from './streams.ts';
import { measureMemory, measureThroughput } from './throughput.ts';

type Stage = readonly [name: string, measure: () => Promise<readonly Figure[]>];
type Measuring = { readonly plan: FigurePlan; readonly run: Run; readonly client: ApiClient };

/** Clients, and listings of each. */
const STREAMS = [
  [200, 100],
  [1_000, 10],
] as const;

type Stores = Omit<HistorySpec, 'rounds' | 'calls'>;

const toStores = ({ endpoints }: Service): Stores => {
  const { kafka, questdb_http, questdb_pg, questdb_user, questdb_password, database_url } = endpoints;
  if (!kafka || !questdb_http || !questdb_pg || !database_url) throw new Error('history needs all stores');
  const auth = { questdb_user: questdb_user ?? '', questdb_password: questdb_password ?? '' };
  return { kafka, questdb_http, questdb_pg, database_url, ...auth };
};

const BOOKS_PATIENCE = { everyMs: 500, forMs: 120_000 };

type Item = { readonly layers: { readonly book?: { readonly status: string } } };

/** Number of listings without a book in the API. */
const countMissing = async ({ post }: ApiClient): Promise<number> => {
  const { text } = await post('/v2/snapshots', { layers: ['book'] });
  const { items } = JSON.parse(text) as { items: readonly Item[] };
  return items.filter(({ layers }) => layers.book?.status === 'missing').length;
};

/**
 * Waits for the books: a book without its snapshot is neither applied nor published, so a service without books does half its work.
 * Returns how many books are missing at the deadline.
 */
const waitForBooks = async (client: ApiClient): Promise<number> => {
  let missing = 0;
  await waitUntil(async () => {
    missing = await countMissing(client);
    return missing === 0;
  }, BOOKS_PATIENCE);
  return missing;
};

const listThroughputStages = ({ plan, run }: Measuring): Stage[] => {
  const { seconds, faults, kind } = plan;
  const spec = { seconds, faults, rounds: ROUNDS, settleMs: kind === 'quick' ? 1_000 : 3_000 };
  return plan.rates.map((rate) => [
    `${rate} frames/s for ${seconds} s${faults ? ' with faults' : ''}`,
    () => measureThroughput(run, { ...spec, rate }),
  ]);
};

/** At most as many of the listings as exist, up to the clients' share of them; each changes about ten times a second. */
const listStreamStages = ({ plan, run, client }: Measuring, rate: number): Stage[] =>
  STREAMS.map(([clients, wanted]) => {
    const listings = Math.min(wanted, plan.listings);
    const spec = { clients, listings, rate, seconds: plan.kind === 'quick' ? 1 : 4, rounds: ROUNDS, client };
    return [`${clients} streams of ${listings} listings`, () => measureStreams(run, spec)];
  });

const listSlowStages = ({ run }: Measuring, calm: number, busy: number): Stage[] => [
  ['history', () => measureHistory({ ...toStores(run.service), rounds: ROUNDS, calls: 30 })],
  ['screens', () => measureScreens({ ...toStores(run.service), listings: 1_000, bars: WORST_BARS })],
  [
    'seal to visible',
    () => run.setRate(calm).then(() => measureSeal(run, { waitMs: 150_000, seconds: 10, rounds: ROUNDS })),
  ],
  ['restart', () => measureRestart(run, busy)],
];

/** Stages that do not need the highest rate run at the first one. */
const listStages = (measuring: Measuring): readonly Stage[] => {
  const { plan, run, client } = measuring;
  if (plan.kind === 'profile') return listThroughputStages(measuring);
  const quick = plan.kind === 'quick';
  const calm = plan.rates[0] ?? 1_000;
  const busy = plan.rates.find((rate) => rate >= 3_000) ?? calm;
  const hops = { seconds: quick ? 1 : 4, rounds: ROUNDS, client };
  const hopsAt = (rate: number): Stage => [
    `latency of each hop at ${rate}/s`,
    () => measureHops(run, { ...hops, rate }),
  ];
  const api = findPid(run.dir, 'api');
  const passes = api === null ? [] : [api];
  const snapshots = { client, passes, seconds: quick ? 0.2 : 2, rounds: ROUNDS };
  return [
    ...listThroughputStages(measuring),
    ...[...new Set([busy, calm])].map(hopsAt),
    ['snapshots', () => run.setRate(calm).then(() => measureSnapshots(snapshots))],
    ...listStreamStages(measuring, calm),
    ['memory', async () => measureMemory(run)],
    ...(quick ? [] : listSlowStages(measuring, calm, busy)),
    ['limits of the machine', () => measureLimits(run, { seconds: quick ? 0.5 : 1, rounds: ROUNDS })],
  ];
};

const BEHIND = 'BEGUN WHILE THE TASKS WERE BEHIND';
const CATCH_UP_MS = 60_000;

/** A value passes Kafka twice in any case: to the task, and to the API. */
const withHops = (figures: readonly Figure[]): Figure[] =>
  figures.map((figure) => {
    const q = /(?:frame to served|stamp to client).* (p\d+)$/.exec(figure.name)?.[1];
    const hop = q === undefined ? undefined : figures.find(({ name }) => name === nameKafkaHop(q));
    if (hop?.measured == null) return figure;
    return { ...figure, limit: 2 * hop.measured, limitIs: `two hops through Kafka, while the service rests` };
  });

/** Smaller shares are not printed. */
const PRINTED_FROM = 0.01;

const withNotes = (figure: Figure, notes: readonly string[]): Figure => ({
  ...figure,
  note: [figure.note, ...notes].filter((note) => note !== '').join('; '),
});

/** A failed stage is named and the rest is still measured. */
export const measureStages = async (measuring: Measuring): Promise<Figure[]> => {
  const { plan, run, client } = measuring;
  const { progress } = run;
  const figures: Figure[] = [];
  await run.setRate(plan.rates[0] ?? 1_000);
  const missing = await progress.during('every book', waitForBooks(client));
  if (missing > 0) progress.print(`${missing} books never came: figures are of a service that does less than it will`);
  for (const [name, stage] of listStages(measuring)) {
    await run.setRate(1);
    const behind = !(await progress.during(`the tasks before: ${name}`, run.caughtUp(CATCH_UP_MS)));
    progress.print(behind ? `${name} (${BEHIND.toLowerCase()})` : name);
    const [began, before] = [performance.now(), readStolenMs()];
    try {
      const measured = await progress.during(name, stage());
      const stolen = (readStolenMs() - before) / (performance.now() - began) / availableParallelism();
      const taken = stolen < PRINTED_FROM ? '' : `the host gave ${(stolen * 100).toFixed(0)} % of the cores to others`;
      figures.push(
        ...measured.map((figure) => withNotes(figure, [behind ? BEHIND : '', figure.aim === null ? '' : taken])),
      );
    } catch (error) {
      progress.print(`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  return withHops(figures);
};
