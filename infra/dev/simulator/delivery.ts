// From one frame to its subscribers, past the faults that lose, cut, double, swap or delay it.

import type { Connection, Frame, Sockets } from './connection.ts';
import type { Faults, StreamRef } from './faults.ts';

export type Delivery = {
  /** `build` runs only when somebody listens. True when the frame goes out whole, now or later: a fault neither lost nor cut it. */
  readonly emit: (ref: StreamRef, build: () => string) => boolean;
  /** A frame for one connection only, such as the snapshot that answers its subscription: lost or cut by faults, never held. */
  readonly emitTo: (connection: Connection, ref: StreamRef, text: string) => void;
  /** Sends the held frames that are due. */
  readonly release: (nowMs: number) => void;
};

/** What nothing follows within this time has nothing to swap with: it is only late. */
const SWAPPED_WITHIN_MS = 2_000;

/** Held for those who listened when it was made. */
type Held = { readonly dueMs: number; readonly frame: Frame; readonly connections: readonly Connection[] };

/** Cuts a frame in the middle: no longer JSON, and nothing of it can be trusted. */
function cut(text: string): string {
  return text.slice(0, Math.floor(text.length / 2));
}

export function createDelivery(sockets: Sockets, faults: Faults, nowMs: () => number): Delivery {
  /** Frames waiting for their next one, by scope and stream. */
  const swapped = new Map<string, { readonly frame: Frame; readonly sinceMs: number }>();
  let held: Held[] = [];

  const formatStream = ({ scope, name }: StreamRef): string => `${scope} ${name}`;

  function sendInTurn(connections: Iterable<Connection>, frame: Frame): void {
    sockets.send(connections, frame);
    if (swapped.size === 0) return;
    const key = formatStream(frame.ref);
    const older = swapped.get(key);
    if (older === undefined) return;
    swapped.delete(key);
    sockets.send(connections, older.frame);
  }

  function releaseSwapped(now: number): void {
    for (const [key, { frame, sinceMs }] of swapped) {
      if (now - sinceMs < SWAPPED_WITHIN_MS) continue;
      swapped.delete(key);
      sockets.send(sockets.subscribers(frame.ref) ?? [], frame);
    }
  }

  /** A frame never overtakes an older one of its stream that a fault still holds. */
  function dueOf({ ref }: Frame, delayMs: number): number {
    const last =
      held.length === 0
        ? undefined
        : held.findLast((h) => h.frame.ref.scope === ref.scope && h.frame.ref.name === ref.name);
    return Math.max(nowMs() + delayMs, last?.dueMs ?? 0);
  }

  function act(connections: ReadonlySet<Connection>, frame: Frame): boolean {
    const action = faults.actionOn(frame.ref, nowMs());
    if (action === 'drop') return false;
    if (action === 'reorder') {
      swapped.set(formatStream(frame.ref), { frame, sinceMs: nowMs() });
      return true;
    }
    const dueMs = dueOf(frame, typeof action === 'object' ? action.delayMs : 0);
    if (dueMs > nowMs()) held.push({ dueMs, frame, connections: [...connections] });
    else if (action === 'malformed') sockets.send(connections, { ...frame, text: cut(frame.text), encoded: new Map() });
    else {
      if (action === 'duplicate') sockets.send(connections, frame);
      sendInTurn(connections, frame);
    }
    return action !== 'malformed';
  }

  return {
    emit: (ref, build) => {
      const connections = sockets.subscribers(ref);
      return connections !== undefined && act(connections, { ref, text: build(), encoded: new Map() });
    },
    emitTo: (connection, ref, text) => {
      const action = faults.actionOn(ref, nowMs());
      if (action === 'drop') return;
      sockets.sendTo(connection, { ref, text: action === 'malformed' ? cut(text) : text, encoded: new Map() });
    },
    release: (now) => {
      releaseSwapped(now);
      if (held.length === 0) return;
      const due = held.filter((h) => h.dueMs <= now);
      held = held.filter((h) => h.dueMs > now);
      for (const { connections, frame } of due) sendInTurn(connections, frame);
    },
  };
}
