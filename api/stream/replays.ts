// The replays of resumed streams: one slice at a time, as fast as the client reads, interleaved with other replays (ST-05, ST-06).
import type { Micros } from '../../schemas/records.ts';
import type { Changed } from './listing-changes.ts';
import type { EventId } from './positions.ts';
import { createRests, type Rests } from './rests.ts';
import { Replay } from './resume.ts';
import type { Ring } from './ring.ts';
import type { Gap, Stream } from './stream.ts';

/** The longest rest after a slice: by then everything else has had its turn. */
const MOST_REST_MS = 20;

type ReplaysDeps = {
  readonly ring: Ring;
  /** Looks at the clock and sends all streams what time alone has changed; answers the instant. */
  readonly look: () => Micros;
  readonly changedAt: (now: Micros) => Changed;
  /** The stream has reached the present. */
  readonly onPresent: (stream: Stream, now: Micros) => void;
  /** The stream, which follows no listing, begins again after a gap. */
  readonly onLost: (stream: Stream, gap: Gap) => void;
};

export class Replays {
  readonly #deps: ReplaysDeps;
  readonly #going = new Map<Stream, Replay>();
  /** Those whose sockets have taken everything. */
  readonly #ready = new Set<Stream>();
  readonly #rests: Rests;

  constructor(deps: ReplaysDeps) {
    this.#deps = deps;
    this.#rests = createRests(() => this.#takeTurn(), MOST_REST_MS);
  }

  /** Whether the stream has not reached the present yet. */
  has(stream: Stream): boolean {
    return this.#going.has(stream);
  }

  /** What was recorded up to here has been sent to the stream; null when it has reached the present. */
  passedAt(stream: Stream): Micros | null {
    return this.#going.get(stream)?.passedAt ?? null;
  }

  /** Begins immediately; a short replay is complete when this returns. */
  begin(stream: Stream, id: EventId, now: Micros): void {
    const replay = new Replay(stream, id, { ...this.#deps.changedAt(now), ring: this.#deps.ring });
    this.#going.set(stream, replay);
    this.#goOn(stream, replay, now);
  }

  forget(stream: Stream): void {
    this.#going.get(stream)?.leave();
    this.#going.delete(stream);
    this.#ready.delete(stream);
  }

  #goOn(stream: Stream, replay: Replay, now: Micros): void {
    const changed = this.#deps.changedAt(now);
    if (replay.advance(changed)) {
      this.#going.delete(stream);
      replay.join(changed);
      this.#deps.onPresent(stream, now);
      return;
    }
    stream.flush();
    stream.whenTaken(() => this.#queue(stream, replay));
  }

  /** A socket that takes everything at once calls back at once: the next slice never begins within this call. */
  #queue(stream: Stream, replay: Replay): void {
    if (this.#going.get(stream) !== replay) return;
    this.#ready.add(stream);
    this.#rests.wake();
  }

  #takeTurn(): void {
    const [stream, replay] = this.#first() ?? [];
    if (stream === undefined || replay === undefined) return;
    this.#ready.delete(stream);
    this.#rests.take(() => this.#takeSlice(stream, replay));
  }

  /**
   * The one that began first, of those whose sockets have taken everything. One after the other: a stream in the present costs next to nothing, so
   * the sooner it is there, the less there is to replay.
   */
  #first(): [Stream, Replay] | undefined {
    for (const each of this.#going) if (this.#ready.has(each[0])) return each;
    return undefined;
  }

  #takeSlice(stream: Stream, replay: Replay): void {
    const now = this.#deps.look();
    if (replay.isCovered) {
      this.#goOn(stream, replay, now);
      return;
    }
    // Its client took so long that what follows is no longer held.
    this.forget(stream);
    this.#deps.onLost(stream, { from: replay.passedAt, to: now, reason: 'slow_reader', dropped: null, scope: {} });
  }
}
