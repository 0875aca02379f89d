// The unsent events of one client: written as fast as it reads, merged when it is slow, and the connection closed when it is too slow (ST-06).
import type { Writable } from 'node:stream';
import type { Micros } from '../../schemas/records.ts';

const SLOW_BYTES = 4 * 1_048_576;
const SLOW_AGE: Micros = 5_000_000;
const MOST_BYTES = 16 * 1_048_576;
/** Frames are handed to the socket together, about this many characters at a time. */
const BATCH_LENGTH = 65_536;
/** A client that does not take its last frame is cut off. */
const FAREWELL_MS = 5_000;

export type Frame = {
  readonly id: string;
  readonly event: string;
  /** One JSON object on one line. */
  readonly data: string;
  /** Listing and layer of an update: of those only the newest has to arrive. */
  readonly key: string | null;
};

type Waiting = { readonly frame: Frame; readonly at: Micros; readonly bytes: number };
export type Merged = { readonly from: Micros; readonly to: Micros; readonly dropped: number };

export type OutboxDeps = {
  readonly out: Writable;
  readonly nowMicros: () => Micros;
  /** Data of the `gap` with the number of merged updates. */
  readonly gapData: (merged: Merged) => string;
  /** More than 16 MiB wait: the owner of the outbox sends goodbye. */
  readonly onOverflow: () => void;
};

const writeFrame = ({ id, event, data }: Frame): string => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;

/** An update has its change before its state: the search ends there. */
const CHANGE = /"change":"(\w+)"/;

/** An update that replaces one with another kind of change has both kinds. */
const absorbFrame = (older: Frame, newer: Frame): Frame =>
  CHANGE.exec(older.data)?.[1] === CHANGE.exec(newer.data)?.[1]
    ? newer
    : { ...newer, data: newer.data.replace(CHANGE, '"change":"both"') };

export class Outbox {
  readonly #deps: OutboxDeps;
  /** In the order to send, while the socket is blocked; merged frames are under their key. */
  #waiting = new Map<string | symbol, Waiting>();
  #bytes = 0;
  #isSlow = false;
  #merged: Merged | null = null;
  #sentId: string;
  #isBlocked = false;
  #isEnded = false;
  #onTaken: (() => void) | null = null;

  constructor(deps: OutboxDeps, firstId: string) {
    this.#deps = deps;
    this.#sentId = firstId;
    deps.out.on('drain', () => {
      this.#isBlocked = false;
      this.#pump();
    });
  }

  get waitingBytes(): number {
    return this.#bytes + this.#deps.out.writableLength;
  }

  /** Takes the frames of one step. A client that keeps up gets them at once, in few writes. */
  send(frames: readonly Frame[]): void {
    if (this.#isEnded) return;
    const sent = this.#waiting.size > 0 ? 0 : this.#writeFrom(frames);
    if (sent === frames.length) return;
    const at = this.#deps.nowMicros();
    for (let i = sent; i < frames.length; i++) this.#add(frames[i] as Frame, at);
    if (this.#bytes > MOST_BYTES) this.#deps.onOverflow();
    else this.merge();
  }

  /** Calls back once: when nothing waits, here or for the socket. */
  whenTaken(onTaken: () => void): void {
    this.#onTaken = onTaken;
    this.#checkTaken();
  }

  /** Merges what waits when it is too much or too old; also called by the clock. */
  merge(): void {
    if (this.#isSlow || this.#waiting.size === 0) return;
    const [oldest] = this.#waiting.values();
    const age = this.#deps.nowMicros() - (oldest?.at ?? 0);
    if (this.#bytes <= SLOW_BYTES && age <= SLOW_AGE) return;
    const waiting = [...this.#waiting.values()];
    this.#isSlow = true;
    this.#waiting = new Map();
    this.#bytes = 0;
    for (const { frame, at } of waiting) this.#add(frame, at);
  }

  /** The last frame. With `drop` what waits is given up, because it would not arrive, and the client may resume before it. */
  end(frame: Frame, { drop }: { readonly drop: boolean }): void {
    if (this.#isEnded) return;
    const { out } = this.#deps;
    if (!drop) {
      if (this.#merged !== null) this.#writeGap(this.#merged);
      for (const { frame: held } of this.#waiting.values()) out.write(writeFrame(held));
    }
    this.#isEnded = true;
    this.#waiting.clear();
    this.#bytes = 0;
    out.end(writeFrame(drop ? { ...frame, id: this.#sentId } : frame));
    setTimeout(() => out.destroy(), FAREWELL_MS).unref();
  }

  #add(frame: Frame, at: Micros): void {
    const key = this.#isSlow && frame.key !== null ? frame.key : Symbol();
    const held = this.#waiting.get(key);
    if (held !== undefined) this.#drop(key, held);
    const kept = held === undefined ? frame : absorbFrame(held.frame, frame);
    const bytes = Buffer.byteLength(kept.data);
    this.#waiting.set(key, { frame: kept, at, bytes });
    this.#bytes += bytes;
  }

  #drop(key: string | symbol, { at, bytes }: Waiting): void {
    this.#waiting.delete(key);
    this.#bytes -= bytes;
    const { from = at, to = at, dropped = 0 } = this.#merged ?? {};
    this.#merged = { from: Math.min(from, at), to: Math.max(to, at), dropped: dropped + 1 };
  }

  /** Writes what waits, in its order, until the socket has enough. */
  #pump(): void {
    while (!this.#isBlocked && this.#waiting.size > 0) {
      if (this.#merged !== null) this.#writeGap(this.#merged);
      let text = '';
      for (const [key, { frame, bytes }] of this.#waiting) {
        this.#waiting.delete(key);
        this.#bytes -= bytes;
        this.#sentId = frame.id;
        text += writeFrame(frame);
        if (text.length >= BATCH_LENGTH) break;
      }
      this.#write(text);
    }
    if (this.#waiting.size === 0) this.#isSlow = false;
    this.#checkTaken();
  }

  #checkTaken(): void {
    if (this.#onTaken === null || this.#isBlocked || this.#waiting.size > 0) return;
    const onTaken = this.#onTaken;
    this.#onTaken = null;
    onTaken();
  }

  /** Writes frames that need not wait; answers how many the socket took. */
  #writeFrom(frames: readonly Frame[]): number {
    let sent = 0;
    while (sent < frames.length && !this.#isBlocked) {
      let text = '';
      for (; sent < frames.length && text.length < BATCH_LENGTH; sent++) text += writeFrame(frames[sent] as Frame);
      this.#sentId = frames[sent - 1]?.id ?? this.#sentId;
      this.#write(text);
    }
    return sent;
  }

  #writeGap(merged: Merged): void {
    this.#merged = null;
    this.#write(writeFrame({ id: this.#sentId, event: 'gap', data: this.#deps.gapData(merged), key: null }));
  }

  #write(text: string): void {
    if (!this.#deps.out.write(text)) this.#isBlocked = true;
  }
}
