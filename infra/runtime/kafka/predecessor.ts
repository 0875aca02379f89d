// Removes the dead predecessor of a named process from its consumer group, instead of waiting until its session expires.
import type { KafkaHandle } from './client.ts';
import { createCluster } from './cluster.ts';
import { createSocketFactory } from './security.ts';

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
  const cluster = createCluster(handle, createSocketFactory());
  try {
    await cluster.connect();
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    for (const memberId of memberIds) await coordinator.leaveGroup({ groupId, memberId });
    handle.log.info({ groupId, members: memberIds.length }, 'predecessor taken out of its group');
  } finally {
    await cluster.disconnect();
  }
};
