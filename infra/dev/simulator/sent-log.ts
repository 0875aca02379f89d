// Every frame sent, by connection: count and hash, so that a test can find each one in the raw topic or inside a recorded loss.
import { hash } from 'node:crypto';

export type SentFrame = {
  readonly connection: number;
  readonly index: number;
  readonly stream: string;
  readonly at: number;
  readonly sha256: string;
};
export type SentConnection = {
  readonly connection: number;
  readonly venue: string;
  readonly path: string;
  /** Microseconds; `closed_at` null while open. */
  readonly opened_at: number;
  closed_at: number | null;
  cause: string | null;
  frames: number;
  readonly streams: Record<string, number>;
};

export type ConnectionLog = {
  readonly summary: SentConnection;
  readonly add: (stream: string, digest: Buffer, atMs: number) => void;
  readonly closed: (cause: string, atMs: number) => void;
};
export type SentLog = {
  readonly open: (venue: string, path: string, atMs: number) => ConnectionLog;
  readonly connections: readonly SentConnection[];
  readonly frames: (connection: number, fromIndex: number) => Iterable<SentFrame>;
};

/** First eight bytes of the frame's SHA-256, which identify the frame. */
export function digestFrame(frame: Uint8Array): Buffer {
  return hash('sha256', frame, 'buffer').subarray(0, DIGEST_BYTES);
}

const DIGEST_BYTES = 8;
const CHUNK = 16_384;
/** Chunks of frames that are kept of all connections, besides the newest of each open one (`drop-oldest`): 4 million frames take 72 MB. */
const KEPT_CHUNKS = 256;

type Chunk = { readonly digests: Buffer; readonly atMs: Float64Array; readonly streams: Uint16Array };
type Stored = { readonly summary: SentConnection; readonly chunks: Chunk[]; readonly names: string[]; dropped: number };

const makeChunk = (): Chunk => ({
  digests: Buffer.alloc(CHUNK * DIGEST_BYTES),
  atMs: new Float64Array(CHUNK),
  streams: new Uint16Array(CHUNK),
});

function* readFrames(stored: Stored, fromIndex: number): Iterable<SentFrame> {
  for (let index = Math.max(fromIndex, stored.dropped); index < stored.summary.frames; index += 1) {
    const chunk = stored.chunks[Math.floor((index - stored.dropped) / CHUNK)];
    const slot = index % CHUNK;
    if (chunk === undefined) return;
    const sha256 = chunk.digests.toString('hex', slot * DIGEST_BYTES, (slot + 1) * DIGEST_BYTES);
    const stream = stored.names[chunk.streams[slot] ?? 0] ?? '';
    yield {
      connection: stored.summary.connection,
      index,
      stream,
      at: Math.round((chunk.atMs[slot] ?? 0) * 1_000),
      sha256,
    };
  }
}

/** Makes room: `held` names the connection of each chunk, the oldest first. */
function dropOldest(held: Stored[]): void {
  const oldest = held.findIndex(({ chunks, summary }) => chunks.length > 1 || summary.closed_at !== null);
  const [stored] = oldest < 0 ? [] : held.splice(oldest, 1);
  if (stored === undefined) return;
  stored.chunks.shift();
  stored.dropped += CHUNK;
}

/** Counts and keeps the frames of one connection. */
function keepFrames(stored: Stored, held: Stored[]): ConnectionLog {
  const { summary } = stored;
  const numbers = new Map<string, number>();
  const toNumber = (stream: string): number => {
    const number = numbers.get(stream) ?? stored.names.push(stream) - 1;
    numbers.set(stream, number);
    return number;
  };
  /** The last chunk, which has room for the next frame. */
  const openChunk = (): Chunk => {
    const last = stored.chunks.at(-1);
    if (last !== undefined && summary.frames % CHUNK > 0) return last;
    const chunk = makeChunk();
    stored.chunks.push(chunk);
    held.push(stored);
    if (held.length > KEPT_CHUNKS) dropOldest(held);
    return chunk;
  };
  return {
    summary,
    add: (stream, digest, atMs) => {
      const chunk = openChunk();
      const slot = summary.frames % CHUNK;
      digest.copy(chunk.digests, slot * DIGEST_BYTES);
      chunk.atMs[slot] = atMs;
      chunk.streams[slot] = toNumber(stream);
      summary.frames += 1;
      summary.streams[stream] = (summary.streams[stream] ?? 0) + 1;
    },
    closed: (cause, atMs) => {
      summary.closed_at ??= atMs * 1_000;
      summary.cause ??= cause;
    },
  };
}

export function createSentLog(): SentLog {
  const all: Stored[] = [];
  const connections: SentConnection[] = [];
  const held: Stored[] = [];

  function open(venue: string, path: string, atMs: number): ConnectionLog {
    const summary: SentConnection = {
      connection: all.length + 1,
      venue,
      path,
      opened_at: atMs * 1_000,
      closed_at: null,
      cause: null,
      frames: 0,
      streams: {},
    };
    const stored: Stored = { summary, chunks: [], names: [], dropped: 0 };
    all.push(stored);
    connections.push(summary);
    return keepFrames(stored, held);
  }

  return {
    open,
    connections,
    frames: function* (connection, fromIndex) {
      const stored = all[connection - 1];
      if (stored !== undefined) yield* readFrames(stored, fromIndex);
    },
  };
}
