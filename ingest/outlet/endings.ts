// Writes `lost` for the connections of a crashed collector: only its spool names them, so no other process can report their end.
import { codecs } from '../../schemas/avro/codec.ts';
import type { LostBody, RawMessage } from '../../schemas/topics.ts';
import type { SpoolRecord } from './spool-format.ts';

type Last = { readonly message: RawMessage; readonly places: Map<string, Pick<SpoolRecord, 'topic' | 'partition'>> };

type Endings = {
  readonly note: (record: SpoolRecord) => void;
  /**
   * A `lost` for each connection whose end is not among the noted records, placed at its last message, because later messages are
   * lost. Without it the drained records would name the connection now, and tasks would treat it as alive (F-02).
   */
  readonly take: () => readonly SpoolRecord[];
  /** Records that, noted by another process, leave it the endings of this one: the newest of each connection, without its payload. */
  readonly list: () => readonly SpoolRecord[];
};

const toLost = ({ slot, conn_id, seq, received_at }: RawMessage): RawMessage => {
  const body: LostBody = {
    lost_at: received_at,
    cause: 'collector_down',
    detail: 'its collector died; this was its last message on disk',
  };
  const payload = Buffer.from(JSON.stringify(body));
  return { slot, conn_id, seq: seq + 1, received_at, kind: 'lost', request: null, payload };
};

const decode = (value: Buffer): RawMessage | null => {
  try {
    return codecs.raw.decode(value);
  } catch {
    // The task sends it to the dead letters.
    return null;
  }
};

/** A record at each place of each connection. */
const placeRecords = (open: Iterable<Last>, toRecord: (message: RawMessage) => RawMessage): readonly SpoolRecord[] =>
  [...open].flatMap(({ message, places }) => {
    const value = codecs.raw.encode(toRecord(message));
    return [...places.values()].map((place) => ({ ...place, key: message.slot, value }));
  });

const withoutPayload = (message: RawMessage): RawMessage => ({ ...message, payload: Buffer.alloc(0) });

export const createEndings = (): Endings => {
  const open = new Map<string, Last>();
  return {
    note: ({ topic, partition, value }) => {
      const message = decode(value);
      // Ticks and capabilities have no connection: they belong to the collector.
      if (message === null || message.seq === 0) return;
      const places = open.get(message.conn_id)?.places ?? new Map();
      places.set(`${topic}/${partition}`, { topic, partition });
      open.set(message.conn_id, { message, places });
      if (message.kind === 'lost') open.delete(message.conn_id);
    },
    take: () => {
      const records = placeRecords(open.values(), toLost);
      open.clear();
      return records;
    },
    list: () => placeRecords(open.values(), withoutPayload),
  };
};
