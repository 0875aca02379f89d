// Writes a venue's messages to its raw topic: encoded once, one record for each shard that the message concerns (design sections 4 and 5).
import { codecs } from '../../schemas/avro/codec.ts';
import type { RawMessage } from '../../schemas/topics.ts';
import type { VenueMeters } from '../feed/meters.ts';
import type { Outlet } from './outlet.ts';

export type RawWriter = {
  /** Keeps the order of the calls in every partition. Never blocks; callers check `isFull`. False: the record is written later, or (a tick) never. */
  readonly write: (shards: readonly number[], message: RawMessage) => boolean;
  /** Messages arrive faster than they are accepted: stop reading until `ready` resolves (overflow policy `block`). */
  readonly isFull: () => boolean;
  readonly ready: () => Promise<void>;
};

type RawWriterOptions = {
  readonly outlet: Outlet;
  readonly topic: string;
  readonly meters: Pick<VenueMeters, 'tickSkipped'>;
};

export const createRawWriter = ({ outlet, topic, meters }: RawWriterOptions): RawWriter => ({
  write: (shards, message) => {
    const value = codecs.raw.encode(message);
    let isWritten = true;
    for (const partition of shards) {
      const record = { topic, partition, key: message.slot, value };
      const isTick = message.kind === 'tick';
      if (isTick ? outlet.writeNow(record) : outlet.write(record)) continue;
      isWritten = false;
      // A tick that had to wait would be untrue once written.
      if (isTick) meters.tickSkipped();
    }
    return isWritten;
  },
  isFull: () => outlet.isFull(),
  ready: () => outlet.ready(),
});
