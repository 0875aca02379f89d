// Compares the frames a simulated venue sent with a raw topic: each frame is stored there once or lies inside a recorded loss.
import { codecs } from '../../../../schemas/avro/codec.ts';
import type { Micros } from '../../../../schemas/records.ts';
import type { LostBody, TickBody } from '../../../../schemas/topics.ts';
import { type KafkaHandle, readToEnd } from '../../../runtime/kafka/kafka.ts';
import { digestFrame, type SentConnection, type SentFrame } from '../../simulator/sent-log.ts';

const DIGEST_BYTES = 8;

/** Digests of frames in their order, as bytes: an hour of frames is millions of them. */
class Digests {
  #bytes = Buffer.alloc(64 * DIGEST_BYTES);
  length = 0;

  push(digest: Uint8Array): void {
    const at = this.length * DIGEST_BYTES;
    if (at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * at);
    this.#bytes.set(digest.subarray(0, DIGEST_BYTES), at);
    this.length += 1;
  }

  /** Digest of the first frame; empty without one. */
  first(): string {
    return this.#upTo(Math.min(1, this.length)).toString('hex');
  }

  agrees(other: Digests, frames: number): boolean {
    return this.#upTo(frames).equals(other.#upTo(frames));
  }

  #upTo(frames: number): Buffer {
    return this.#bytes.subarray(0, frames * DIGEST_BYTES);
  }
}

/** The raw records of one connection: whether it opened, its frames, the instant of its `lost`, and that of the last record that names it. */
type RawConnection = { readonly digests: Digests; hasOpened: boolean; lostAt: Micros | null; namedAt: Micros };

/** What was sent over one connection; `sentAt` frame by frame. */
type SentOver = {
  readonly connection: SentConnection;
  readonly digests: Digests;
  readonly sentAt: readonly Micros[];
  /** Index of the first frame that the simulator still had. */
  readonly from: number;
};
export type SentFrames = readonly SentOver[];

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

/** Frames sent this long before the loss was detected were on the wire or in a buffer of the system. */
const ON_THE_WIRE_MS = 1_000;

const fetchAnswer = async (url: string): Promise<Response> => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer;
};

async function* readLines(answer: Response): AsyncGenerator<string> {
  let rest = '';
  for await (const text of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

const fetchFramesOver = async (control: string, connection: SentConnection): Promise<SentOver> => {
  const digests = new Digests();
  const sentAt: Micros[] = [];
  let from = 0;
  for await (const line of readLines(await fetchAnswer(`${control}/sent/frames?connection=${connection.connection}`))) {
    const { index, at, sha256 } = JSON.parse(line) as SentFrame;
    if (sentAt.length === 0) from = index;
    digests.push(Buffer.from(sha256, 'hex'));
    sentAt.push(at);
  }
  return { connection, digests, sentAt, from };
};

/** Everything the simulator of this control page has sent on its sockets; connections may still be open. */
export const readSentFrames = async (control: string): Promise<SentFrames> => {
  const { connections } = (await (await fetchAnswer(`${control}/sent`)).json()) as { connections: SentConnection[] };
  const sent: SentOver[] = [];
  for (const connection of connections) sent.push(await fetchFramesOver(control, connection));
  return sent;
};

const parseBody = (payload: Uint8Array): unknown => JSON.parse(Buffer.from(payload).toString());

const readRaw = async (handle: KafkaHandle, topic: string) => {
  const connections = new Map<string, RawConnection>();
  const lastSeq = new Map<string, number>();
  let repeats = 0;
  const named = (connId: string, at: Micros): RawConnection => {
    const found = connections.get(connId) ?? { digests: new Digests(), hasOpened: false, lostAt: null, namedAt: at };
    connections.set(connId, found);
    found.namedAt = Math.max(found.namedAt, at);
    return found;
  };
  await readToEnd(handle, { topic, from: () => 'earliest' as const }, ({ value, timestampMs }, partition) => {
    if (value === null) return;
    const { conn_id: connId, seq, kind, payload } = codecs.raw.decode(value);
    const at = timestampMs * 1_000;
    if (kind === 'tick') for (const { conn_id: open } of (parseBody(payload) as TickBody).connections) named(open, at);
    if (kind === 'open') named(connId, at).hasOpened = true;
    if (kind !== 'frame' && kind !== 'lost') return;
    const place = `${partition}/${connId}`;
    if (seq <= (lastSeq.get(place) ?? 0)) {
      repeats += 1;
      return;
    }
    lastSeq.set(place, seq);
    const found = named(connId, at);
    if (kind === 'frame') found.digests.push(digestFrame(payload));
    else found.lostAt = (parseBody(payload) as LostBody).lost_at;
  });
  return { connections, repeats };
};

/** A connection whose collector died is lost by the rule on the log: no later record names it (F-02). */
const findEnd = ({ lostAt, namedAt }: RawConnection): Micros => lostAt ?? namedAt;

/** Frames sent after the list was read may be stored too, but only over a connection that was open then. */
const isStored = ({ digests: got }: RawConnection, { connection, digests }: SentOver): boolean => {
  const mayHaveMore = connection.closed_at === null;
  if (got.length > digests.length && !mayHaveMore) return false;
  return got.agrees(digests, Math.min(got.length, digests.length));
};

const computeGap = (got: RawConnection, { connection, sentAt }: SentOver): Micros =>
  Math.abs(findEnd(got) - (connection.closed_at ?? sentAt.at(-1) ?? connection.opened_at));

/** The other side detects an end within this time; connections whose ends are further apart are two. */
const SAME_END: Micros = 5_000_000;

/** Ascending, the best match first: ended together, more frames in common, none besides, ended nearest. */
const rankMatch = (got: RawConnection, over: SentOver): readonly number[] => {
  const gap = computeGap(got, over);
  const agreed = Math.min(got.digests.length, over.digests.length);
  return [gap <= SAME_END ? 0 : 1, -agreed, got.digests.length, gap];
};

const compare = (a: readonly number[], b: readonly number[]): number => {
  const at = a.findIndex((value, n) => value !== b[n]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
};

/** Takes the stored part of a connection out of `byFirst`. First frames may be equal (acknowledgements), and a connection may have stored none. */
const takeStored = (byFirst: Map<string, RawConnection[]>, over: SentOver): RawConnection | undefined => {
  const [best] = [over.digests.first(), '']
    .flatMap((first) => (byFirst.get(first) ?? []).map((got) => ({ first, got })))
    .filter(({ got }) => isStored(got, over))
    .map((candidate) => ({ ...candidate, likeness: rankMatch(candidate.got, over) }))
    .sort((a, b) => compare(a.likeness, b.likeness));
  if (best === undefined) return undefined;
  const from = byFirst.get(best.first) ?? [];
  from.splice(from.indexOf(best.got), 1);
  return best.got;
};

/** Compares the sent frames with the raw topic. A connection's frames are stored from its first one on, without a hole; only its end may be lost. */
export const compareFrames = async (handle: KafkaHandle, topic: string, sent: SentFrames): Promise<FrameAccount> => {
  const { connections, repeats } = await readRaw(handle, topic);
  // An attempt that never opened has a record of its loss too, but received no frames.
  const opened = [...connections.values()].filter(({ hasOpened }) => hasOpened);
  const byFirst = Map.groupBy(opened, ({ digests }) => digests.first());
  const unaccounted: string[] = [];
  let stored = 0;
  let lost = 0;
  let earliestLostMs = 0;
  for (const over of sent) {
    const { connection, digests, sentAt, from } = over;
    if (digests.length === 0) continue;
    const got = takeStored(byFirst, over);
    const kept = Math.min(got?.digests.length ?? 0, digests.length);
    stored += kept;
    const earliest = sentAt[kept];
    if (earliest === undefined) continue;
    const missing = digests.length - kept;
    const beforeMs = got === undefined ? Number.POSITIVE_INFINITY : (findEnd(got) - earliest) / 1000;
    if (beforeMs > ON_THE_WIRE_MS) {
      const name = `connection ${connection.connection} ${connection.path} (${connection.cause ?? 'open'})`;
      const forgotten = from > 0 ? `; the simulator forgot its first ${from}` : '';
      unaccounted.push(
        `${name}: ${missing} of ${digests.length}, from ${beforeMs} ms before its recorded loss${forgotten}`,
      );
      continue;
    }
    lost += missing;
    earliestLostMs = Math.max(earliestLostMs, beforeMs);
  }
  return {
    sent: sent.reduce((sum, { digests }) => sum + digests.length, 0),
    stored,
    lost,
    unaccounted,
    repeats,
    connections: sent.length,
    earliestLostMs,
  };
};
