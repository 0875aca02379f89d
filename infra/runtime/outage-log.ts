// One log line for each outage, however many attempts fail meanwhile.
import type { Logger } from './log.ts';

export type OutageLog = {
  /** Logs the first failure of an outage, with what else the line says. */
  readonly noteFailure: (err: unknown, details?: Readonly<Record<string, unknown>>) => void;
  /** The next failure begins another outage. */
  readonly noteSuccess: () => void;
};

export const createOutageLog = (log: Pick<Logger, 'warn'>, text: string): OutageLog => {
  let isAway = false;
  return {
    noteFailure: (err, details = {}) => {
      if (!isAway) log.warn({ err, ...details }, text);
      isAway = true;
    },
    noteSuccess: () => {
      isAway = false;
    },
  };
};
