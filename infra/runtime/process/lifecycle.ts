// The life of a process: `start` returns `stop`; signals stop it within a deadline, a second signal ends it at once.
import { flushCompileCache } from 'node:module';
import { createLog } from './log.ts';

export type Stop = () => Promise<void>;

const STOP_DEADLINE_MS = 15_000;

/**
 * Runs `start` and, on SIGTERM or SIGINT, the `stop` it returned. Exit codes: 0 stopped in order, 1 failed (start or stop
 * threw, an error was not caught, or the deadline passed), 128 + signal at the second signal.
 */
export const runProcess = (name: string, start: () => Promise<Stop>): void => {
  const log = createLog(name);
  let stopping = false;
  const fail = (error: unknown, reason: string): void => {
    log.fatal({ err: error }, reason);
    process.exit(1);
  };
  process.on('uncaughtException', (error) => fail(error, 'nobody caught this error'));
  process.on('unhandledRejection', (error) => fail(error, 'nobody awaited this failure'));

  // One tick later, so that a signal during the start finds its handler.
  const started = Promise.resolve().then(start);
  started.then(
    () => {
      log.info('started');
      // Node writes its compile cache when a process ends in order: a killed process would leave none to its successor (D-62).
      flushCompileCache();
    },
    (error: unknown) => fail(error, 'could not start'),
  );
  const onSignal = (signal: NodeJS.Signals, number: number): void => {
    if (stopping) process.exit(128 + number);
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(
      () => fail(new Error(`not stopped after ${STOP_DEADLINE_MS} ms`), 'stop took too long'),
      STOP_DEADLINE_MS,
    );
    started
      .then((stop) => stop())
      .then(
        () => {
          log.info('stopped');
          process.exit(0);
        },
        (error: unknown) => fail(error, 'could not stop in order'),
      );
  };
  process.on('SIGTERM', () => onSignal('SIGTERM', 15));
  process.on('SIGINT', () => onSignal('SIGINT', 2));
};
