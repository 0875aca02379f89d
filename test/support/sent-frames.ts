// Holds what a simulated venue sent, frame by frame, against a raw topic: each frame stands there once or inside a recorded loss.
import { type KafkaHandle, readToEnd } from '../../infra/runtime/kafka.ts';
import { frameDigest, type SentConnection, type SentFrame } from '../../infra/simulator/sent-log.ts';
import { codecs } from '../../schemas/avro/codec.ts';
import type { Micros } from '../../schemas/records.ts';
import type { LostBody, TickBody } from '../../schemas/topics.ts';
import type { Simulator } from './pipeline.ts';

/** What one connection wrote to the raw topic: the frames' names in order, the instant of its `lost`, and of the last record that names it. */
type RawConnection = { readonly digests: string[]; lostAt: Micros | null; namedAt: Micros };
/** What was sent, by connection. */
export type SentFrames = readonly { readonly connection: SentConnection; readonly frames: readonly SentFrame[] }[];

export type FrameAccount = {
  readonly sent: number;
  readonly stored: number;
  /** Sent, not stored, and inside the recorded loss of their connection. */
  readonly lost: number;
  /** The same without a recorded loss that covers them; one line each. */
  readonly unaccounted: readonly string[];
  /** Messages that a connection wrote twice; readers drop them by `seq`. */
  readonly repeats: number;
  readonly connections: number;
  /** The earliest lost frame, before the recorded loss of its connection. */
  readonly earliestLostMs: number;
};

/** Frames that left the venue this long before the loss was seen were on the wire or in a buffer of the system. */
const ON_THE_WIRE_MS = 1_000;

/** Everything the simulator sent on its sockets so far. */
export const readSent = async (simulator: Simulator): Promise<SentFrames> => {
  const { connections } = await simulator.get<{ connections: SentConnection[] }>('/sent');
  const sent: SentFrames[number][] = [];
  for (const connection of connections) {
    const answer = await fetch(`${simulator.control}/sent/frames?connection=${connection.connection}`);
    const lines = (await answer.text()).split('\n').filter((line) => line !== '');
    sent.push({ connection, frames: lines.map((line) => JSON.parse(line) as SentFrame) });
  }
  return sent;
};

const bodyOf = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString());

const readRaw = async (handle: KafkaHandle, topic: string) => {
  const connections = new Map<string, RawConnection>();
  const lastSeq = new Map<string, number>();
  let repeats = 0;
  const named = (connId: string, at: Micros): RawConnection => {
    const found = connections.get(connId) ?? { digests: [], lostAt: null, namedAt: at };
    connections.set(connId, found);
    found.namedAt = Math.max(found.namedAt, at);
    return found;
  };
  await readToEnd(handle, { topic, from: () => 'earliest' as const }, ({ value, timestampMs }, partition) => {
    if (value === null) return;
    const { conn_id: connId, seq, kind, payload } = codecs.raw.decode(value);
    const at = timestampMs * 1_000;
    if (kind === 'tick') for (const { conn_id: open } of (bodyOf(payload) as TickBody).connections) named(open, at);
    if (kind !== 'frame' && kind !== 'lost') return;
    const place = `${partition}/${connId}`;
    if (seq <= (lastSeq.get(place) ?? 0)) {
      repeats += 1;
      return;
    }
    lastSeq.set(place, seq);
    const found = named(connId, at);
    if (kind === 'frame') found.digests.push(frameDigest(payload).toString('hex'));
    else found.lostAt = (bodyOf(payload) as LostBody).lost_at;
  });
  return { connections, repeats };
};

/** A connection whose collector died is lost by the rule on the log: no record names it any more (F-02). */
const endOf = ({ lostAt, namedAt }: RawConnection): Micros => lostAt ?? namedAt;

const isPrefix = (got: readonly string[], sent: readonly SentFrame[]): boolean =>
  got.length <= sent.length && got.every((digest, index) => digest === sent[index]?.sha256);

/** Compares what was sent with the raw topic. A connection's frames are stored from its first one on, without a hole; only its end may be lost. */
export const accountFrames = async (handle: KafkaHandle, topic: string, sent: SentFrames): Promise<FrameAccount> => {
  const { connections, repeats } = await readRaw(handle, topic);
  const byFirst = Map.groupBy(connections.values(), ({ digests }) => digests[0] ?? '');
  const unaccounted: string[] = [];
  let stored = 0;
  let lost = 0;
  let earliestLostMs = 0;
  for (const { connection, frames } of sent) {
    const [first] = frames;
    if (first === undefined) continue;
    const candidates = byFirst.get(first.sha256) ?? [];
    const at = candidates.findIndex(({ digests }) => isPrefix(digests, frames));
    const [got] = at === -1 ? [] : candidates.splice(at, 1);
    const name = `connection ${connection.connection} ${connection.path} (${connection.cause ?? 'open'})`;
    stored += got?.digests.length ?? 0;
    const missing = frames.slice(got?.digests.length ?? 0);
    const [earliest] = missing;
    if (earliest === undefined) continue;
    const beforeMs = got === undefined ? Number.POSITIVE_INFINITY : (endOf(got) - earliest.at) / 1000;
    if (beforeMs > ON_THE_WIRE_MS) {
      unaccounted.push(`${name}: ${missing.length} of ${frames.length}, from ${beforeMs} ms before its recorded loss`);
      continue;
    }
    lost += missing.length;
    earliestLostMs = Math.max(earliestLostMs, beforeMs);
  }
  return {
    sent: sent.reduce((sum, { frames }) => sum + frames.length, 0),
    stored,
    lost,
    unaccounted,
    repeats,
    connections: sent.length,
    earliestLostMs,
  };
};
