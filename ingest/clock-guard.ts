// Compares the collector's clock with the broker's: an append whose broker time lies outside the instants around it shows the difference.
import { type KafkaHandle, openSender } from '../infra/runtime/kafka/kafka.ts';
import type { Micros } from '../schemas/records.ts';

/** More is an alarm, and more than `CLOSE_MS` makes `received_at` worthless (design section 5). */
export const ALARM_MS = 1_000;
export const CLOSE_MS = 5_000;

type Append = { readonly sentAt: Micros; readonly ackedAt: Micros; readonly appendedMs: number };

/** Milliseconds the collector is ahead (negative: behind) at least; 0 while the broker's time lies between sending and answer. */
export const clockOffsetMs = ({ sentAt, ackedAt, appendedMs }: Append): number => {
  // The broker counts whole milliseconds, cut off.
  const ahead = sentAt / 1_000 - (appendedMs + 1);
  const behind = ackedAt / 1_000 - appendedMs;
  if (ahead > 0) return ahead;
  return Math.min(behind, 0);
};

type ClockGuard = {
  /** No further probes. */
  readonly stop: () => void;
  readonly close: () => Promise<void>;
};
type ClockGuardOptions = {
  readonly handle: KafkaHandle;
  readonly topic: string;
  /** A record that says nothing but that the collector lives. */
  readonly probe: () => { readonly key: string; readonly value: Buffer };
  readonly nowMicros: () => Micros;
  readonly everyMs: number;
  readonly onOffset: (offsetMs: number) => void;
};

/**
 * Appends a probe every `everyMs` through a connection of its own. A probe that fails is not repeated: its time would not be the broker's answer
 * to it. While the broker is away nothing is reported, and it goes on by itself.
 */
export const guardClock = (options: ClockGuardOptions): ClockGuard => {
  const { handle, topic, probe, nowMicros, everyMs, onOffset } = options;
  const sender = openSender(handle, { compresses: false });
  const look = async (): Promise<void> => {
    const message = { ...probe(), partition: 0 };
    const sentAt = nowMicros();
    const [ack] = (await sender.attempt([{ topic, message }])).values();
    const appendedMs = ack?.appendedMs ?? null;
    if (appendedMs !== null) onOffset(clockOffsetMs({ sentAt, ackedAt: nowMicros(), appendedMs }));
  };
  let isLooking = false;
  // One at a time: a probe may wait for a broker that is away longer than the next is due.
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false;
      });
  }, everyMs);
  return {
    stop: () => clearInterval(timer),
    close: async () => {
      clearInterval(timer);
      await sender.close();
    },
  };
};
