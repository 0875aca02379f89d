// Ends a command for operators: its text on standard output, or its error on standard error, and the exit code.
import { describeError } from '../../../schemas/thrown.ts';

/** Whether a command line asks how it is called. */
export const isHelpAsked = (argv: readonly string[]): boolean => argv.includes('--help') || argv.includes('-h');

/** `failed`: the command ran, and its result is a failure. */
export type Outcome = { readonly text: string; readonly failed?: boolean };

/** Exit code 0, or 1 when the command failed or rejects; then its message is printed. */
export const printOutcome = async (command: Promise<Outcome>): Promise<void> => {
  try {
    const { text, failed = false } = await command;
    process.stdout.write(`${text}\n`);
    process.exitCode = failed ? 1 : 0;
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
};
