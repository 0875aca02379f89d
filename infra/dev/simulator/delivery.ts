// Sends a frame to its subscribers, after the faults that drop, truncate, duplicate, reorder or delay it.
import type { Connection, Frame, Sockets } from './connection.ts';
import type { Faults, StreamRef } from './faults.ts';

export type Delivery = {
  /** `build` runs only with subscribers. True when the frame is sent whole, now or later: no fault dropped or truncated it. */
  readonly emit: (ref: StreamRef, build: () => string) => boolean;
  /** A frame for one connection only, such as the snapshot after a subscription: faults drop or truncate it, but never hold it. */
  readonly emitTo: (connection: Connection, ref: StreamRef, text: string) => void;
  /** Sends the held frames that are due. */
  readonly release: (nowMs: number) => void;
};

/** A frame without a successor within this time cannot be swapped: it is only late. */
const SWAPPED_WITHIN_MS = 2_000;

/** Held for the subscribers at the time it was made. */
type Held = { readonly dueMs: number; readonly frame: Frame; readonly connections: readonly Connection[] };

/** Truncates a frame in the middle: it is no longer JSON, and no part of it can be trusted. */
function cut(text: string): string {
  return text.slice(0, Math.floor(text.length / 2));
}

const formatStream = ({ scope, name }: StreamRef): string => `${scope} ${name}`;

export const createDelivery = (sockets: Sockets, faults: Faults, nowMs: () => number): Delivery =>
  new FaultyDelivery(sockets, faults, nowMs);

class FaultyDelivery implements Delivery {
  readonly #sockets: Sockets;
  readonly #faults: Faults;
  readonly #nowMs: () => number;
  /** Frames waiting for their successor, by scope and stream. */
  readonly #swapped = new Map<string, { readonly frame: Frame; readonly sinceMs: number }>();
  #held: Held[] = [];

  constructor(sockets: Sockets, faults: Faults, nowMs: () => number) {
    this.#sockets = sockets;
    this.#faults = faults;
    this.#nowMs = nowMs;
  }

  emit(ref: StreamRef, build: () => string): boolean {
    const connections = this.#sockets.subscribers(ref);
    return connections !== undefined && this.#act(connections, { ref, text: build(), encoded: new Map() });
  }

  emitTo(connection: Connection, ref: StreamRef, text: string): void {
    const action = this.#faults.actionOn(ref, this.#nowMs());
    if (action === 'drop') return;
    this.#sockets.sendTo(connection, { ref, text: action === 'malformed' ? cut(text) : text, encoded: new Map() });
  }

  release(now: number): void {
    this.#releaseSwapped(now);
    if (this.#held.length === 0) return;
    const due = this.#held.filter((held) => held.dueMs <= now);
    this.#held = this.#held.filter((held) => held.dueMs > now);
    for (const { connections, frame } of due) this.#sendInTurn(connections, frame);
  }

  #act(connections: ReadonlySet<Connection>, frame: Frame): boolean {
    const action = this.#faults.actionOn(frame.ref, this.#nowMs());
    if (action === 'drop') return false;
    if (action === 'reorder') {
      this.#swapped.set(formatStream(frame.ref), { frame, sinceMs: this.#nowMs() });
      return true;
    }
    const dueMs = this.#findDue(frame, typeof action === 'object' ? action.delayMs : 0);
    if (dueMs > this.#nowMs()) this.#held.push({ dueMs, frame, connections: [...connections] });
    else if (action === 'malformed')
      this.#sockets.send(connections, { ...frame, text: cut(frame.text), encoded: new Map() });
    else {
      if (action === 'duplicate') this.#sockets.send(connections, frame);
      this.#sendInTurn(connections, frame);
    }
    return action !== 'malformed';
  }

  /** A frame never overtakes an older one of its stream that a fault still holds. */
  #findDue({ ref }: Frame, delayMs: number): number {
    const last =
      this.#held.length === 0
        ? undefined
        : this.#held.findLast(({ frame }) => frame.ref.scope === ref.scope && frame.ref.name === ref.name);
    return Math.max(this.#nowMs() + delayMs, last?.dueMs ?? 0);
  }

  #sendInTurn(connections: Iterable<Connection>, frame: Frame): void {
    this.#sockets.send(connections, frame);
    if (this.#swapped.size === 0) return;
    const stream = formatStream(frame.ref);
    const older = this.#swapped.get(stream);
    if (older === undefined) return;
    this.#swapped.delete(stream);
    this.#sockets.send(connections, older.frame);
  }

  #releaseSwapped(now: number): void {
    for (const [stream, { frame, sinceMs }] of this.#swapped) {
      if (now - sinceMs < SWAPPED_WITHIN_MS) continue;
      this.#swapped.delete(stream);
      this.#sockets.send(this.#sockets.subscribers(frame.ref) ?? [], frame);
    }
  }
}
