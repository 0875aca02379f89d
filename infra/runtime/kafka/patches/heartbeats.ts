// Heartbeats of a group's member after the wall clock was set back. Upstream: no issue found about them.
import { requirePart } from './replace.ts';

type Heartbeat = (options: { readonly interval: number }) => Promise<void>;
type ConsumerGroup = { lastRequest: number; heartbeat: Heartbeat };

/**
 * kafkajs 2.2.4 sends the next heartbeat when the wall clock is an interval past the last one. Set back by an hour, a member sends none for an hour:
 * the broker gives its partitions to others while the member continues to process them.
 */
const repairHeartbeats = (): void => {
  const { prototype } = requirePart<{ readonly prototype: ConsumerGroup }>('kafkajs/src/consumer/consumerGroup');
  const { heartbeat } = prototype;
  prototype.heartbeat = function heartbeatByAnyClock(this: ConsumerGroup, options) {
    this.lastRequest = Math.min(this.lastRequest, Date.now());
    return heartbeat.call(this, options);
  };
};
repairHeartbeats();
