// Refusals that several operations share.
import { type ApiError, CATALOGUE, makeServiceError, ServiceError } from '../../schemas/errors.ts';

export const makeKeyRequired = (): ServiceError =>
  makeServiceError('AUTH_REQUIRED', 'This endpoint needs a key.', { hint: CATALOGUE.AUTH_REQUIRED.fix });

/** Throws what was collected, if anything was. */
export const throwAll = (errors: readonly ApiError[]): void => {
  if (errors.length > 0) throw new ServiceError(errors);
};
