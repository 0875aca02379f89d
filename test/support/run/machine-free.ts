/** A file that begins alone, because it measures time or starts many processes, reports to the runner from when on others may run (test/run.ts). */

/** A line of standard error. */
export const MACHINE_FREE = 'runner: the machine is free for others';

export const freeMachine = (): void => {
  process.stderr.write(`${MACHINE_FREE}\n`);
};
