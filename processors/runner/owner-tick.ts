// The tick that a task's owner writes into its raw partition when no record arrives: the log keeps moving without a collector.
import { codecs } from '../../schemas/avro/codec.ts';

export const encodeOwnerTick = (nowMs: number): Buffer =>
  codecs.raw.encode({
    slot: 'owner',
    conn_id: 'owner',
    seq: 0,
    received_at: nowMs * 1000,
    kind: 'tick',
    request: null,
    payload: Buffer.from('{"collector":null,"connections":[]}'),
  });
