// Three Kafka brokers of one test, which kills them and takes their disks; stopped, and their data removed, when it ends.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Engines, startEngines } from '../../infra/dev/engines/engines.ts';
import { type KafkaCluster, startKafkaCluster } from '../../infra/dev/engines/kafka.ts';
import { freePort } from '../../infra/dev/engines/ports.ts';
import { postgresHome } from '../../infra/dev/engines/postgres.ts';
import type { KafkaHandle } from '../../infra/runtime/kafka/kafka.ts';
import type { Teardown } from './engines.ts';

const TEST_ROOT = fileURLToPath(new URL('../../.local/test', import.meta.url));
const BROKERS = 3;

export type OwnCluster = { readonly engines: Engines; readonly cluster: KafkaCluster };

/** Replication 3, `min.insync.replicas` 2; QuestDB and PostgreSQL beside it when they are named. */
export const ownCluster = async (
  t: Teardown,
  others: { readonly questdb?: boolean; readonly postgres?: boolean } = {},
): Promise<OwnCluster> => {
  const dir = join(TEST_ROOT, `own-${process.pid}-brokers`);
  mkdirSync(dir, { recursive: true });
  const { questdb = false, postgres = false } = others;
  const engines = await startEngines({
    dir,
    kafka: false,
    questdb,
    postgres,
    anvil: false,
    ports: 'free',
    isLight: true,
    env: {},
  });
  t.teardown(async () => {
    await engines.stop();
    rmSync(postgresHome(dir), { recursive: true, force: true });
    rmSync(dir, { recursive: true, force: true });
  });
  const ports = [];
  for (let n = 0; n < BROKERS; n++) ports.push({ broker: await freePort(), controller: await freePort() });
  return { engines, cluster: await startKafkaCluster(engines.supervisor, engines.dataDir, ports) };
};

const POLL_MS = 100;

/** Resolves when every partition has a leader and all its copies in step. */
export const inStep = async (handle: KafkaHandle): Promise<void> => {
  const isWhole = async (): Promise<boolean> => {
    const admin = await handle.admin();
    const { topics } = await admin.fetchTopicMetadata();
    const partitions = topics.flatMap((topic) => topic.partitions);
    return partitions.every(({ leader, isr, replicas }) => leader >= 0 && isr.length === replicas.length);
  };
  while (!(await isWhole().catch(() => false))) await pause(POLL_MS);
};

/** Index of the broker that leads most partitions of a topic. */
export const busiestBroker = async (handle: KafkaHandle, topic: string): Promise<number> => {
  const admin = await handle.admin();
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const led = new Array<number>(BROKERS).fill(0);
  for (const { leader } of topics[0]?.partitions ?? []) led[leader - 1] = (led[leader - 1] ?? 0) + 1;
  return led.indexOf(Math.max(...led));
};
