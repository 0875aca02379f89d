// A socket between a simulated venue and a collector in the same process: frames are delivered synchronously.
import { EventEmitter } from 'node:events';
import type { Wire } from '../simulator/connection.ts';

export type MemorySocket = {
  /** The venue's side. */
  readonly wire: Wire;
  /** From the collector to the venue. */
  readonly send: (frame: string) => void;
};

/** `onFrame` receives what the venue sends, `onEnd` is called once when the venue ends the connection. */
export const createMemorySocket = (onFrame: (payload: Buffer) => void, onEnd: () => void): MemorySocket => {
  const client = new EventEmitter();
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onEnd();
  };
  return {
    wire: {
      bufferedAmount: 0,
      send: (bytes) => onFrame(bytes),
      ping: () => client.emit('pong', Buffer.alloc(0)),
      close: end,
      terminate: end,
      on: (event, listener) => client.on(event, listener),
    },
    send: (frame) => void client.emit('message', Buffer.from(frame)),
  };
};
