// Logs of a process: JSON lines on stderr, object first, constant message second; stdout stays free for the output of tools.
import { type Logger, pino } from 'pino';

export type { Logger };

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The log is needed before configuration is read, so `LOG_LEVEL` is the one variable read outside config.ts. */
const toLevel = (text: string | undefined): string => (text !== undefined && LEVELS.includes(text) ? text : 'info');

/** error: someone must act; warn: degraded and handled; info: state changes; debug: per message. */
export const createLog = (name: string, level = toLevel(process.env.LOG_LEVEL)): Logger =>
  pino(
    { name, level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    // Synchronous: the line with the cause of an exit must not be lost in a buffer.
    pino.destination({ fd: 2, sync: true }),
  );
