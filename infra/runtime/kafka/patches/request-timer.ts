// The timer of a connection's queued requests. Upstream: tulios/kafkajs issues 1556, 1604, 1704 and 1751, pull request 1667 (open).
import { requirePart } from './replace.ts';

type RequestQueue = {
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly throttledUntil: number;
  readonly pending: readonly unknown[];
  checkPendingRequests: () => void;
  scheduleCheckPendingRequests: () => void;
  requestTimeoutIntervalId: NodeJS.Timeout | null;
  scheduleRequestTimeoutCheck: () => void;
};

/**
 * kafkajs 2.2.4 re-arms a timer of -1 ms endlessly on each connection, four per cent of a core when idle
 * (github.com/tulios/kafkajs/issues/1556, pull request 1667). This sets a timer only when a request waits.
 */
const repairTimer = (): void => {
  const { prototype } = requirePart<{ readonly prototype: RequestQueue }>('kafkajs/src/network/requestQueue');
  prototype.scheduleCheckPendingRequests = function schedule(this: RequestQueue) {
    if (this.throttleCheckTimeoutId !== null) return;
    const wait = this.throttledUntil - Date.now();
    if (this.pending.length === 0 && wait <= 0) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      wait > 0 ? wait : 10,
    );
  };
};
repairTimer();

/** A connection that is lost while it opens leaves its interval behind. The interval must not keep a process alive; sockets do that. */
const releaseInterval = (): void => {
  const { prototype } = requirePart<{ readonly prototype: RequestQueue }>('kafkajs/src/network/requestQueue');
  const schedule = prototype.scheduleRequestTimeoutCheck;
  prototype.scheduleRequestTimeoutCheck = function scheduleWithoutHold(this: RequestQueue) {
    schedule.call(this);
    this.requestTimeoutIntervalId?.unref();
  };
};
releaseInterval();
