// A query from either form to its checked tree, canonical pair and complexity; or every fault of it.
import { serviceError } from '../../schemas/errors.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Codes } from '../selection/resolve.ts';
import { type CheckedQuery, checkQuery } from './check-query.ts';
import { type Complexity, checkCost, checkSize } from './cost.ts';
import { Faults } from './faults.ts';
import { LIMITS, VERSION } from './limits.ts';
import { readObject } from './object.ts';
import type { JsonObject } from './object-shape.ts';
import { parseText } from './parser.ts';
import { printQuery, queryJson } from './printer.ts';
import type { Query } from './tree.ts';

export type QueryInput =
  | { readonly text: string }
  /** `path` is the JSON pointer of the object in the request. */
  | { readonly object: JsonObject; readonly path: string };

export type Compiled = {
  readonly query: CheckedQuery;
  readonly string: string;
  readonly json: JsonValue;
  readonly complexity: Complexity;
};

const refuseVersion = ({ dql }: JsonObject, path: string): void => {
  if (dql === undefined || dql === VERSION) return;
  throw serviceError('DQL_VERSION', `The language version is ${clipped(dql)}, not "${VERSION}".`, {
    hint: `Send dql "${VERSION}".`,
    path: `${path}/dql`,
  });
};
const clipped = (value: unknown): string => (typeof value === 'string' ? `"${value.slice(0, 40)}"` : typeof value);

const refuseLength = (text: string): void => {
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.source_bytes) return;
  throw serviceError('DQL_COMPLEXITY', `The query has ${bytes} bytes, the limit is ${LIMITS.source_bytes}.`, {
    hint: 'Shorten the query.',
  });
};

const read = (input: QueryInput): { readonly query: Query; readonly faults: Faults } => {
  if ('text' in input) {
    refuseLength(input.text);
    const { query, stream } = parseText(input.text);
    return { query, faults: stream.faults };
  }
  refuseVersion(input.object, input.path);
  const faults = new Faults(null);
  return { query: readObject(input.object, input.path, faults), faults };
};

const depthOf = ({ condition, select, orderBy }: Query): number =>
  [condition, ...select, ...orderBy.map(({ expr }) => expr)].reduce(
    (most, node) => Math.max(most, node?.depth ?? 0),
    0,
  );

/** Compiles a query against the codes known. Throws ServiceError with all its faults. */
export const compile = (input: QueryInput, codes: Codes): Compiled => {
  const { query: parsed, faults } = read(input);
  const query = checkQuery(parsed, { faults, codes });
  checkSize(query, depthOf(parsed), faults);
  faults.throwIfAny();
  const complexity = checkCost(query, faults);
  faults.throwIfAny();
  return { query, string: printQuery(query), json: queryJson(query), complexity };
};
