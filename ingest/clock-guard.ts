// Compares the collector's clock with the broker's: a broker timestamp outside the interval from request to acknowledgement shows an offset.
import { type KafkaHandle, openSender } from '../infra/runtime/kafka/kafka.ts';
import type { Micros } from '../schemas/records.ts';
import { MOST_CLOCK_OFFSET } from '../schemas/windows.ts';

/** An offset above `ALARM_MS` raises an alarm; one above `CLOSE_MS` makes `received_at` worthless (design section 5). */
export const ALARM_MS = 1_000;
export const CLOSE_MS = MOST_CLOCK_OFFSET / 1_000;

type Append = { readonly sentAt: Micros; readonly ackedAt: Micros; readonly appendedMs: number };

/** Minimum lead of the collector's clock in milliseconds (negative: lag); 0 while the broker's time is between request and acknowledgement. */
export const computeClockOffsetMs = ({ sentAt, ackedAt, appendedMs }: Append): number => {
  // The broker truncates its time to whole milliseconds.
  const ahead = sentAt / 1_000 - (appendedMs + 1);
  const behind = ackedAt / 1_000 - appendedMs;
  if (ahead > 0) return ahead;
  return Math.min(behind, 0);
};

type ClockGuard = {
  /** Sends no further probes. */
  readonly stop: () => void;
  readonly close: () => Promise<void>;
};
type ClockGuardOptions = {
  readonly handle: KafkaHandle;
  readonly topic: string;
  /** A record that shows only that the collector is alive. */
  readonly probe: () => { readonly key: string; readonly value: Buffer };
  readonly nowMicros: () => Micros;
  readonly everyMs: number;
  readonly onOffset: (offsetMs: number) => void;
};

/**
 * Appends a probe every `everyMs` through a connection of its own. A failed probe is not retried: its timestamp would not belong to the
 * request. Nothing is reported while the broker is unreachable; the guard resumes by itself.
 */
export const guardClock = (options: ClockGuardOptions): ClockGuard => {
  const { handle, topic, probe, nowMicros, everyMs, onOffset } = options;
  const sender = openSender(handle, { compresses: false });
  const probeClock = async (): Promise<void> => {
    const message = { ...probe(), partition: 0 };
    const sentAt = nowMicros();
    const [ack] = (await sender.attempt([{ topic, message }])).values();
    const appendedMs = ack?.appendedMs ?? null;
    if (appendedMs !== null) onOffset(computeClockOffsetMs({ sentAt, ackedAt: nowMicros(), appendedMs }));
  };
  let isLooking = false;
  // One probe at a time: a probe may wait for an unreachable broker longer than the interval.
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void probeClock()
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
