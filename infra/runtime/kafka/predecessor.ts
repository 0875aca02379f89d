// Removes the dead predecessor of a named process from its consumer group, instead of waiting until its session expires.
import { createRequire } from 'node:module';
import type { ISocketFactory, KafkaConfig } from 'kafkajs';
import type { KafkaHandle } from './client.ts';
import { createSocketFactory } from './security.ts';

// The parts of kafkajs 2.2.4 behind its consumer that this file uses.
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
 * a process that starts under the id has replaced the one before. A group that does not respond is left unchanged.
 */
export const evictPredecessors = async (handle: KafkaHandle, groupId: string): Promise<void> => {
  try {
    const dead = await findPredecessors(handle, groupId);
    if (dead.length > 0) await takeOut(handle, groupId, dead);
  } catch (error) {
    handle.log.warn({ err: error, groupId }, 'the predecessor was not removed from the group: its session will expire');
  }
};

/** Ids of the members under this handle's client id; none for a group that does not exist yet. */
const findPredecessors = async (handle: KafkaHandle, groupId: string): Promise<readonly string[]> => {
  const admin = await handle.admin();
  const existing = await admin.listGroups();
  if (!existing.groups.some((group) => group.groupId === groupId)) return [];
  const { groups } = await admin.describeGroups([groupId]);
  const members = groups.flatMap((group) => group.members);
  return members.filter(({ clientId }) => clientId === handle.settings.clientId).map(({ memberId }) => memberId);
};

const takeOut = async (handle: KafkaHandle, groupId: string, memberIds: readonly string[]): Promise<void> => {
  const socketFactory = createSocketFactory();
  const logger = handle.kafka.logger();
  const cluster = new ClusterClass({ ...handle.settings, logger, socketFactory, metadataMaxAge: 60_000 });
  try {
    await cluster.connect();
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    for (const memberId of memberIds) await coordinator.leaveGroup({ groupId, memberId });
    handle.log.info({ groupId, members: memberIds.length }, 'predecessor taken out of its group');
  } finally {
    await cluster.disconnect();
  }
};
