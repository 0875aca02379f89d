// One log line for each outage and reason, however many attempts fail meanwhile.
import { describeError } from '../../../schemas/thrown.ts';
import type { Logger } from './log.ts';

export type OutageLog = {
  /** Logs the first failure of an outage, and each failure for another reason, with further members of the line. */
  readonly noteFailure: (err: unknown, details?: Readonly<Record<string, unknown>>) => void;
  /** The next failure begins another outage. */
  readonly noteSuccess: () => void;
};

/** A broker that is restarted with another password is first unavailable, then refuses the login. The limit is for texts that differ each time. */
const MOST_REASONS = 5;

export const createOutageLog = (log: Pick<Logger, 'warn'>, text: string): OutageLog => {
  const reasons = new Set<string>();
  return {
    noteFailure: (err, details = {}) => {
      const reason = describeError(err);
      if (reasons.has(reason) || reasons.size === MOST_REASONS) return;
      reasons.add(reason);
      log.warn({ err, ...details }, text);
    },
    noteSuccess: () => {
      reasons.clear();
    },
  };
};
