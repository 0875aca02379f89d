// From one frame to its subscribers, past the faults that lose, cut, double, swap or delay it.
import type { Frame, Sockets } from './binance-sockets.ts';
import type { Faults, StreamRef } from './faults.ts';
import type { Market } from './listings.ts';

export type Delivery = {
  /** `build` runs only when somebody listens. */
  readonly emit: (market: Market, ref: StreamRef, build: () => string) => void;
  /** Sends the held frames that are due. */
  readonly release: (nowMs: number) => void;
};

type Held = { readonly dueMs: number; readonly market: Market; readonly frame: Frame };

/** Cuts a frame in the middle: no longer JSON, and nothing of it can be trusted. */
function cut(text: string): string {
  return text.slice(0, Math.floor(text.length / 2));
}

export function createDelivery(sockets: Sockets, faults: Faults, nowMs: () => number): Delivery {
  /** Frames waiting for their next one, by market and stream. */
  const swapped = new Map<string, Frame>();
  let held: Held[] = [];

  function send(market: Market, frame: Frame): void {
    const connections = sockets.subscribers(market, frame.stream);
    if (connections !== undefined) sockets.send(connections, frame);
  }

  function sendInTurn(market: Market, frame: Frame): void {
    send(market, frame);
    const key = `${market} ${frame.stream}`;
    const older = swapped.size > 0 ? swapped.get(key) : undefined;
    if (older === undefined) return;
    swapped.delete(key);
    send(market, older);
  }

  /** A frame never overtakes an older one of its stream that a fault still holds. */
  function dueOf(market: Market, frame: Frame, delayMs: number): number {
    const last =
      held.length === 0 ? undefined : held.findLast((h) => h.market === market && h.frame.stream === frame.stream);
    return Math.max(nowMs() + delayMs, last?.dueMs ?? 0);
  }

  function act(market: Market, ref: StreamRef, frame: Frame): void {
    const action = faults.actionOn(ref, nowMs());
    if (action === 'drop') return;
    if (action === 'reorder') {
      swapped.set(`${market} ${ref.name}`, frame);
      return;
    }
    const dueMs = dueOf(market, frame, typeof action === 'object' ? action.delayMs : 0);
    if (dueMs > nowMs()) held.push({ dueMs, market, frame });
    else if (action === 'malformed') send(market, { ...frame, text: cut(frame.text) });
    else {
      if (action === 'duplicate') send(market, frame);
      sendInTurn(market, frame);
    }
  }

  return {
    emit: (market, ref, build) => {
      if (sockets.subscribers(market, ref.name) !== undefined)
        act(market, ref, { stream: ref.name, text: build(), encoded: new Map() });
    },
    release: (now) => {
      if (held.length === 0) return;
      const due = held.filter((h) => h.dueMs <= now);
      held = held.filter((h) => h.dueMs > now);
      for (const { market, frame } of due) sendInTurn(market, frame);
    },
  };
}
