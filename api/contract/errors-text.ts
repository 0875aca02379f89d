// The one shape in which errors are sent, over HTTP and in a stream (E-05).
import type { ApiError } from '../../schemas/errors.ts';

/** Members of an error in the documented order (E-05). */
const writeError = ({ code, message, position, hint, path }: ApiError): Record<string, unknown> => ({
  code,
  message,
  position,
  hint,
  path,
});

/** What an answer has under `errors`. */
export const writeErrors = (errors: readonly ApiError[]): Record<string, unknown>[] => errors.map(writeError);

export const printErrors = (errors: readonly ApiError[]): string => JSON.stringify({ errors: writeErrors(errors) });
