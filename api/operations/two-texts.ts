// A request with a query and a selection beside it: each fault names the text that its position lies in (E-06).
import type { Static } from 'typebox';
import type { ApiError } from '../../schemas/errors.ts';
import type { Origin, Selection } from '../language/selection.ts';
import type { Where } from '../language/where-object.ts';
import { readWhere } from './listing-input.ts';

type Texts = { readonly query?: unknown; readonly where?: Static<typeof Where> };
type BodySelection = { readonly selection: Selection | null; readonly errors: readonly ApiError[] };

/** The body's selection; in an answer about two texts its faults name the one they lie in (E-06). */
export const readBodySelection = ({ where, query }: Texts): BodySelection => {
  if (where === undefined) return { selection: null, errors: [] };
  const { selection, errors } = readWhere(where);
  if (typeof where !== 'string' || typeof query !== 'string') return { selection, errors };
  return { selection: placeSelection(selection), errors: placeErrors(errors, '/where') };
};

const placeErrors = (errors: readonly ApiError[], path: string): ApiError[] =>
  errors.map((error) => (error.position === undefined || error.path !== undefined ? error : { ...error, path }));

/** In an answer about two texts the faults of the query name it. */
export const placeInQuery = ({ query, where }: Texts, errors: readonly ApiError[]): readonly ApiError[] =>
  typeof query === 'string' && typeof where === 'string' ? placeErrors(errors, '/query') : errors;

/** A fault at a part of the query; at the member that holds the query when it has no part. */
export const placeAtPart = (texts: Texts, error: ApiError, origin: Origin | null): readonly ApiError[] => {
  const { path: _, ...rest } = error;
  const whole = { path: texts.query === undefined ? '/query_object' : '/query' };
  return placeInQuery(texts, [{ ...rest, ...(origin ?? whole) }]);
};

const placeSelection = (selection: Selection): Selection =>
  Object.fromEntries(
    Object.entries(selection).map(([key, codes]) => [
      key,
      codes.map(({ text, origin }) => ({ text, origin: { ...origin, path: '/where' } })),
    ]),
  );
