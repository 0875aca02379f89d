/** A file that begins alone, because it measures time, says to the runner from when on it does not (test/run.ts). */

/** A line of standard error. */
export const MEASURED = 'runner: all that is timed has been measured';

export const endMeasuring = (): void => {
  process.stderr.write(`${MEASURED}\n`);
};
