// Logs of a process: JSON lines on stderr, object first, constant message second; stdout stays free for the output of tools.
import { type Logger, pino } from 'pino';

export type { Logger };

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The log is needed before configuration is read, so `LOG_LEVEL` is the one variable read outside config.ts. */
const toLevel = (text: string | undefined): string => (text !== undefined && LEVELS.includes(text) ? text : 'info');

/** Bytes of lines that stderr does not take; they are written when it does. Further lines are dropped. */
const MOST_WAITING = 256 * 1_024;

/** error: someone must act; warn: degraded and handled; info: state changes; debug: per message. */
export const createLog = (name: string, level = toLevel(process.env.LOG_LEVEL)): Logger => {
  // Synchronous: the line with the cause of an exit must not be lost in a buffer.
  const stderr = pino.destination({ fd: 2, sync: true, maxLength: MOST_WAITING });
  // A full disk under the log, or nobody who reads it, must not end a service.
  stderr.on('error', () => undefined);
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ name, level, timestamp: pino.stdTimeFunctions.isoTime, formatters }, stderr);
};
