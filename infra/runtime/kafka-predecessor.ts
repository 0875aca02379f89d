// Takes the dead predecessor of a named process out of its consumer group, instead of waiting until its session ends.
import { createRequire } from 'node:module';
import type { ISocketFactory, KafkaConfig } from 'kafkajs';
import { createCuttableSockets, type KafkaHandle } from './kafka-client.ts';

// The parts of kafkajs 2.2.4 behind its consumer, as this file uses them.
type Coordinator = { readonly leaveGroup: (left: { groupId: string; memberId: string }) => Promise<unknown> };
type Cluster = {
  readonly connect: () => Promise<void>;
  readonly disconnect: () => Promise<void>;
  readonly findGroupCoordinator: (group: { readonly groupId: string }) => Promise<Coordinator>;
};
const require = createRequire(import.meta.url);
const ClusterClass = require('kafkajs/src/cluster') as new (
  options: KafkaConfig & {
    readonly logger: unknown;
    readonly socketFactory: ISocketFactory;
    readonly metadataMaxAge: number;
  },
) => Cluster;

/**
 * Removes every member of the group that joined under this handle's client id. Only for ids that one living process has:
 * whoever starts under the id has taken the place of the one before. A group that does not answer is left as it is.
 */
export const evictPredecessors = async (handle: KafkaHandle, groupId: string): Promise<void> => {
  const { clientId } = handle.settings;
  const admin = await handle.admin();
  const { groups } = await admin.describeGroups([groupId]);
  const dead = groups.flatMap(({ members }) => members.filter((member) => member.clientId === clientId));
  if (dead.length === 0) return;
  const cluster = new ClusterClass({
    ...handle.settings,
    logger: handle.kafka.logger(),
    socketFactory: createCuttableSockets().factory,
    metadataMaxAge: 60_000,
  });
  try {
    await cluster.connect();
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    for (const { memberId } of dead) await coordinator.leaveGroup({ groupId, memberId });
    handle.log.info({ groupId, members: dead.length }, 'predecessor taken out of its group');
  } catch (error) {
    handle.log.warn({ err: error, groupId }, 'predecessor not taken out: its session ends by itself');
  } finally {
    await cluster.disconnect();
  }
};
