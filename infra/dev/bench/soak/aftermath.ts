// After a soak, with only the engines over its data: accounts for every frame, processes the log to its end, and processes a copy once more.
import { describeError } from '../../../../schemas/thrown.ts';
import { nameTopics } from '../../../../schemas/topics.ts';
import { openKafka } from '../../../runtime/kafka/kafka.ts';
import { readKafkaSecurity } from '../../../runtime/kafka/settings.ts';
import { createLog } from '../../../runtime/process/log.ts';
import { openQuestdbReader } from '../../../runtime/questdb/reader.ts';
import { findProgram } from '../../build/entries.ts';
import { type Engines, startEngines } from '../../engines/engines.ts';
import { findFreePort } from '../../engines/ports.ts';
import type { Progress } from '../../local/progress.ts';
import type { SoakPlan } from '../plan.ts';
import { VENUE } from '../run.ts';
import { copyRaw, type Hashes, hashNamespace, type LoggedWorld, prepareReplay, waitForReached } from './raw-copy.ts';
import { compareFrames, type FrameAccount, type SentFrames } from './sent-frames.ts';

export type Aftermath = {
  readonly frames: FrameAccount;
  /** Hashes of the run's tables; null when the log could not be processed to its end. */
  readonly live: Hashes | null;
  /** Hashes of its replay; null without one. */
  readonly replayed: Hashes | null;
  /** Failures on the way, in sentences. */
  readonly problems: readonly string[];
};

const READY_MS = 60_000;
const PRINT_EVERY_MS = 30_000;

/** Reports every half minute that a long step continues. */
const waitPatiently = async <T>(progress: Progress, name: string, work: Promise<T>): Promise<T> => {
  progress.print(name);
  const timer = setInterval(() => progress.print(`still ${name}`), PRINT_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
};

const openWorld = (engines: Engines, shards: number): LoggedWorld & { readonly close: () => Promise<void> } => {
  const { kafka, questdb_http, questdb_pg, questdb_user, questdb_password } = engines.endpoints;
  if (!kafka || !questdb_http || !questdb_pg) throw new Error('a replay needs Kafka and QuestDB');
  const auth = { user: questdb_user ?? '', password: questdb_password ?? '' };
  const stores = { kafka, questdb_http, questdb_pg, questdb_user: auth.user, questdb_password: auth.password };
  const log = createLog('bench', 'error');
  const handle = openKafka(
    { brokers: kafka.split(','), clientId: 'bench', security: readKafkaSecurity(process.env) },
    log,
  );
  const reader = openQuestdbReader(questdb_pg, { max: 1, timeoutMs: 30_000, auth, log });
  const close = async (): Promise<void> => {
    await reader.close();
    await handle.close();
  };
  return { stores, handle, reader, base: '', venues: [VENUE], shards, close };
};

/** Processors that add nothing to the log process it to its end; returns the hashes of their tables. */
const workThrough = async (
  engines: Engines,
  world: LoggedWorld,
  { namespace, timeoutMs }: { readonly namespace: string; readonly timeoutMs: number },
): Promise<Hashes> => {
  const { stores, shards, venues } = world;
  const port = String(await findFreePort());
  const processors = await engines.supervisor.start({
    name: `${namespace}processors`,
    command: process.execPath,
    args: [findProgram('processors/main.ts')],
    env: {
      ...{ KAFKA_BROKERS: stores.kafka, QUESTDB_HTTP: stores.questdb_http, QUESTDB_PG: stores.questdb_pg },
      ...{ QUESTDB_USER: stores.questdb_user, QUESTDB_PASSWORD: stores.questdb_password, OWNER_TICKS: 'false' },
      ...{ TOPIC_NAMESPACE: namespace, VENUES: venues.join(), SHARDS: String(shards), METRICS_PORT: port },
    },
    readyTimeoutMs: READY_MS,
    stopGraceMs: 16_000,
    isReady: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
  });
  try {
    await waitForReached(world, namespace, timeoutMs);
  } finally {
    await processors.stop();
  }
  return hashNamespace(world, namespace);
};

type AftermathSpec = {
  readonly dir: string;
  readonly plan: SoakPlan;
  readonly sent: SentFrames;
  readonly progress: Progress;
};

const examine = async (engines: Engines, { plan, sent, progress }: AftermathSpec): Promise<Aftermath> => {
  const world = openWorld(engines, plan.shards);
  const timeoutMs = (10 + 2 * plan.minutes) * 60_000;
  const problems: string[] = [];
  const tried = async (name: string, work: () => Promise<Hashes>): Promise<Hashes | null> => {
    try {
      return await waitPatiently(progress, name, work());
    } catch (error) {
      problems.push(`${name}: ${describeError(error)}`);
      return null;
    }
  };
  try {
    const frames = await waitPatiently(
      progress,
      'holding what was sent against the log',
      compareFrames(world.handle, nameTopics().raw(VENUE), sent),
    );
    const live = await tried('working through the log to its end', () =>
      workThrough(engines, world, { namespace: '', timeoutMs }),
    );
    if (live === null || !plan.replay) return { frames, live, replayed: null, problems };
    const replayed = await tried('working through a copy of the log', async () => {
      const namespace = await prepareReplay(world, 'soak');
      await copyRaw(world, namespace);
      return workThrough(engines, world, { namespace, timeoutMs });
    });
    return { frames, live, replayed, problems };
  } finally {
    await world.close();
  }
};

/** The service of the run must be stopped, so that its collector's log has come to rest. `onEngines` receives what to stop. */
export const examineAftermath = async (
  spec: AftermathSpec,
  onEngines: (engines: Engines) => void,
): Promise<Aftermath> => {
  const none = { postgres: false, anvil: false };
  const engines = await startEngines({ dir: spec.dir, ...none, ports: 'free', log: spec.progress.print });
  onEngines(engines);
  try {
    return await examine(engines, spec);
  } finally {
    await engines.stop();
  }
};
