// The one shape in which errors are sent, over HTTP and in a stream (E-05).
import type { ApiError } from '../../schemas/errors.ts';

/** Members of an error in the documented order (E-05). */
const asWritten = ({ code, message, position, hint, path }: ApiError): Record<string, unknown> => ({
  code,
  message,
  position,
  hint,
  path,
});

export const errorsText = (errors: readonly ApiError[]): string => JSON.stringify({ errors: errors.map(asWritten) });
