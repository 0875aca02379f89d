// Three Kafka brokers of one test, which kills them and takes their disks; stopped, and their data removed, when it ends.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Engines, startEngines } from '../../../infra/dev/engines/engines.ts';
import { type KafkaCluster, startKafkaCluster } from '../../../infra/dev/engines/kafka.ts';
import { findFreePort } from '../../../infra/dev/engines/ports.ts';
import { choosePostgresHome } from '../../../infra/dev/engines/postgres.ts';
import type { KafkaHandle } from '../../../infra/runtime/kafka/kafka.ts';
import { waitFor } from '../wait.ts';
import type { Teardown } from './engines.ts';
import { TEST_FOLDER } from './test-folder.ts';

const BROKERS = 3;

export type OwnCluster = { readonly engines: Engines; readonly cluster: KafkaCluster };

/** Replication 3, `min.insync.replicas` 2; QuestDB and PostgreSQL beside it when they are named. */
export const ownCluster = async (
  t: Teardown,
  others: { readonly questdb?: boolean; readonly postgres?: boolean } = {},
): Promise<OwnCluster> => {
  const dir = join(TEST_FOLDER, `own-${process.pid}-brokers`);
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
    rmSync(choosePostgresHome(dir), { recursive: true, force: true });
    rmSync(dir, { recursive: true, force: true });
  });
  const ports = [];
  for (let n = 0; n < BROKERS; n++) ports.push({ broker: await findFreePort(), controller: await findFreePort() });
  return { engines, cluster: await startKafkaCluster(engines.supervisor, engines.dataDir, ports) };
};

const POLL_MS = 100;

/** Resolves when every partition has a leader and all its copies in step; rejects at the common bound with those that have not. */
export const inStep = async (handle: KafkaHandle): Promise<void> => {
  let behind: unknown = 'no answer';
  const isWhole = async (): Promise<boolean> => {
    const admin = await handle.admin();
    const { topics } = await admin.fetchTopicMetadata();
    const found = topics.flatMap(({ name, partitions }) =>
      partitions
        .filter(({ leader, isr, replicas }) => leader < 0 || isr.length < replicas.length)
        .map(({ partitionId, leader, isr }) => `${name}/${partitionId}: leader ${leader}, in step ${isr.join()}`),
    );
    behind = found;
    return found.length === 0;
  };
  await waitFor('all copies are in step', () => isWhole().catch(() => false), {
    everyMs: POLL_MS,
    seen: () => behind,
  });
};

/** Index of the broker that leads most partitions of a topic. */
export const busiestBroker = async (handle: KafkaHandle, topic: string): Promise<number> => {
  const admin = await handle.admin();
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const led = new Array<number>(BROKERS).fill(0);
  for (const { leader } of topics[0]?.partitions ?? []) led[leader - 1] = (led[leader - 1] ?? 0) + 1;
  return led.indexOf(Math.max(...led));
};
