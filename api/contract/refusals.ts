// Refusals that several operations share.
import { CATALOGUE, makeServiceError, type ServiceError } from '../../schemas/errors.ts';

export const makeKeyRequired = (): ServiceError =>
  makeServiceError('AUTH_REQUIRED', 'This endpoint needs a key.', { hint: CATALOGUE.AUTH_REQUIRED.fix });
