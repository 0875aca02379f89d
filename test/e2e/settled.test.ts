// Settled answers stay: requested when they settle, after everything was killed, and from a replay of the raw log into empty tables, with one hash.
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { hashNamespace, waitForReached } from '../../infra/dev/bench/soak/raw-copy.ts';
import { createRandom } from '../../infra/dev/simulator/random.ts';
import {
  type AnsweredQuestion,
  askAgain,
  askSettled,
  keep,
  makeQuestion,
  type Question,
  type Service,
} from '../../infra/dev/tools/settled-requests.ts';
import {
  type OwnService,
  openWorld,
  recovered,
  replayElsewhere,
  startOwnService,
} from '../support/services/own-service.ts';
import { type Api, startApi, startIngest, startProcessors } from '../support/services/pipeline.ts';
import { QUIET, sameHashes } from '../support/tasks/purity.ts';

/** The full show is 200 requests over ten minutes: SETTLED_REQUESTS=200 SETTLED_SECONDS=600. */
const REQUESTS = Number(process.env['SETTLED_REQUESTS'] ?? 30);
const SECONDS = Number(process.env['SETTLED_SECONDS'] ?? 90);
const SEED = Number(process.env['SETTLED_SEED'] ?? 3);
const LISTINGS = process.env['SETTLED_LISTINGS'] ?? '12';
const SHARDS = 2;
/** No answer is settled earlier after its last instant (N-11). */
const SETTLES_MS = 120_000;
/** Longer than the limit for late messages, so that messages received meanwhile are late. */
const LATE_MS = 130_000;

type Listed = { readonly symbol: string };

/** All faults that leave gaps, spread over the run; a run of five minutes and more is without Kafka long enough that rows are late. */
const injectFaults = async (service: OwnService, symbols: readonly string[]): Promise<void> => {
  const { simulator, spec, engines } = service;
  const began = performance.now();
  const at = (share: number): Promise<void> => pause(Math.max(0, began + share * SECONDS * 1_000 - performance.now()));
  await at(0.1);
  await simulator.fault({ kind: 'silence', stream: 'mark', durationMs: 21_000, symbols: symbols.slice(0, 4) });
  await simulator.fault({ kind: 'crossed_book', durationMs: 12_000, symbols: symbols.slice(4, 8) });
  await at(0.2);
  await simulator.fault({ kind: 'sequence_hole', count: 2 });
  await at(0.35);
  await service.ingest.kill('SIGKILL');
  await pause(25_000);
  service.ingest = startIngest(spec, simulator.endpoints);
  await at(0.7);
  await simulator.fault({ kind: 'disconnect', durationMs: 12_000 });
  await simulator.fault({ kind: 'listing_delisted', symbols: symbols.slice(-1) });
  if (SECONDS >= 300) {
    await engines.hold('kafka');
    await pause(LATE_MS);
    await engines.restart('kafka');
  }
  await at(1);
};

const isRaw = ({ body }: Question): boolean => body.raw === true;

/** More than are kept: some will have nothing in them. In the order in which they settle. */
const makeQuestions = (symbols: readonly string[], since: number): Question[] => {
  const span = { since: since * 1_000, until: (since + SECONDS * 1_000) * 1_000 };
  const from = { draw: createRandom(SEED).next, symbols };
  const questions = Array.from({ length: REQUESTS * 3 }, () => makeQuestion(from, span));
  return questions.sort((a, b) => a.until - b.until);
};

/** Requests each from before it can be settled, until it is; `unsettled` counts answers that were not. */
const askAsTheySettle = async (
  at: Service,
  questions: readonly Question[],
): Promise<{ asked: AnsweredQuestion[]; unsettled: number }> => {
  const asked: AnsweredQuestion[] = [];
  let unsettled = 0;
  for (const question of questions) {
    await pause(Math.max(0, question.until / 1_000 + SETTLES_MS - 500 - Date.now()));
    const answer = await askSettled(at, question, { tries: 6_000, waitMs: 100 });
    unsettled += answer.unsettled;
    const kept = keep(question, answer);
    if (kept.rows > 0) asked.push(kept);
  }
  return { asked, unsettled };
};

const toService = ({ baseUrl, keys }: Api): Service => ({ base_url: baseUrl, keys });

/** Their supervisor starts them again. */
const ENGINES = ['kafka', 'questdb', 'postgres'] as const;

const killEverything = async (service: OwnService): Promise<void> => {
  const { processors, api, engines, spec, database } = service;
  await Promise.all([processors, api.child].map((child) => child.kill('SIGKILL')));
  for (const name of ENGINES) await engines.kill(name);
  for (const name of ENGINES) await engines.ready(name);
  service.processors = startProcessors(spec);
  service.api = await startApi(spec, database);
};

const answers = async (api: Api): Promise<void> => {
  for (const end = performance.now() + 60_000; performance.now() < end; await pause(100)) {
    const venues = await fetch(`${api.baseUrl}/v2/venues`).catch(() => null);
    if (venues?.ok === true) return;
  }
  throw new Error('the API does not answer');
};

const sameAgain = async (t: Test, name: string, api: Api, asked: readonly AnsweredQuestion[]): Promise<void> => {
  await answers(api);
  t.same(await askAgain(toService(api), asked), [], `${name}: ${asked.length} equal hashes`);
};

t.setTimeout(3_600_000);

t.test('a settled answer has the same hash for ever', { timeout: 3_600_000 }, async (t) => {
  const service = await startOwnService(t, { seed: SEED, listings: LISTINGS, rate: '200', shards: SHARDS });
  const world = openWorld(t, service);
  await recovered(service);
  const since = Date.now();
  const symbols = (await service.simulator.get<readonly Listed[]>('/listings')).map(({ symbol }) => symbol);
  const questions = makeQuestions(symbols, since);
  const run = async (): Promise<void> => {
    await injectFaults(service, symbols);
    await service.ingest.kill('SIGTERM');
    await service.simulator.child.kill('SIGTERM');
  };
  const asking = askAsTheySettle(
    toService(service.api),
    questions.filter((question) => !isRaw(question)),
  );
  const [first] = await Promise.all([asking, run()]);
  // Late rows may still join a raw answer, so those are requested once everything was received.
  const raw = await askAsTheySettle(toService(service.api), questions.filter(isRaw));
  const asked = [...first.asked, ...raw.asked];
  const holed = asked.filter(({ holes }) => holes > 0).length;
  t.ok(asked.length >= REQUESTS, `${asked.length} settled requests, none of them empty`);
  t.ok(holed >= REQUESTS / 4, `${holed} of them over gaps or late rows`);
  t.ok(first.unsettled > 0, `${first.unsettled} answers were not settled yet`);
  t.same(await askAgain(toService(service.api), asked), [], 'requested twice');

  await killEverything(service);
  await sameAgain(t, 'everything killed and restarted', service.api, asked);

  // Their ticks seal windows until they end, and the sink has not written the last ones.
  await service.processors.kill('SIGKILL');
  service.processors = startProcessors(service.spec, QUIET);
  await waitForReached(world, world.base);
  await service.processors.kill('SIGTERM');
  const { api, namespace } = await replayElsewhere(t, service, world);
  await sameAgain(t, 'replayed from raw into empty tables', api, asked);
  sameHashes(t, 'replay', await hashNamespace(world, namespace), await hashNamespace(world, world.base));
});
