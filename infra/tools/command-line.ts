// What the command lines of operators share: their arguments, and the error that an operator can correct.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { describeError } from '../../schemas/thrown.ts';

/** An error that the operator can correct, by its message. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

export const NO_DATABASE = 'no database: set DATABASE_URL, or run `npm run demo` in another terminal';

/** Readers of a command's arguments; their refusals end with the usage. */
export const describeCommandLine = <const O extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: O,
) => ({
  parseArguments: (argv: readonly string[]) => {
    try {
      return parseArgs({ args: [...argv], options, allowPositionals: true });
    } catch (error) {
      throw new OperatorError(`${describeError(error)}\n${usage}`);
    }
  },
  requireText: (text: string | undefined, what: string): string => {
    if (text === undefined || text.trim() === '') throw new OperatorError(`${what} is missing\n${usage}`);
    return text;
  },
});
