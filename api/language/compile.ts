// Compiles a query of either form into its checked tree, canonical pair and complexity, or reports all of its faults.
import { makeServiceError } from '../../schemas/errors.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { JsonObject } from '../../schemas/json-object.ts';
import type { Micros } from '../../schemas/records.ts';
import { describeValue } from '../contract/sent-text.ts';
import { type CheckedQuery, checkQuery } from './check-query.ts';
import type { Codes } from './codes.ts';
import { type Complexity, checkCost, checkSize, isWhole } from './cost.ts';
import { Faults, type Place, type Words } from './faults.ts';
import { LIMITS, VERSION } from './limits.ts';
import { readObject } from './object.ts';
import { parseText } from './parser.ts';
import { printQuery, toQueryJson } from './printer.ts';
import type { Origin, Selection } from './selection.ts';
import { NO_CLAUSES, type Query } from './tree.ts';

export type QueryInput =
  | { readonly text: string }
  /** `path` is the JSON pointer of the object in the request. */
  | { readonly object: JsonObject; readonly path: string };

export type Compiled = {
  readonly query: CheckedQuery;
  readonly string: string;
  readonly json: JsonValue;
  readonly complexity: Complexity;
  /** Where a part of the query is, in the form of an answer. */
  readonly originOf: (place: Place) => Origin | null;
};

const refuseVersion = ({ dql }: JsonObject, path: string): void => {
  if (dql === undefined || dql === VERSION) return;
  throw makeServiceError('DQL_VERSION', `The language version is ${describeValue(dql)}, not "${VERSION}".`, {
    hint: `Send dql "${VERSION}".`,
    path: `${path}/dql`,
  });
};

const refuseLength = (text: string): void => {
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.source_bytes) return;
  throw makeServiceError('DQL_COMPLEXITY', `The query has ${bytes} bytes, the limit is ${LIMITS.source_bytes}.`, {
    hint: 'Shorten the query.',
  });
};

/** The query that an answer returns can be sent again (DQL-09); figures, symbols and a separate selection may make it longer. */
const checkCanonicalLength = (string: string, faults: Faults): void => {
  const bytes = Buffer.byteLength(string);
  if (bytes <= LIMITS.source_bytes) return;
  const message = `In canonical form the query has ${bytes} bytes, the limit is ${LIMITS.source_bytes}.`;
  faults.add('DQL_COMPLEXITY', null, { message, hint: 'Use fewer symbols, or figures with fewer digits.' });
};

const read = (input: QueryInput): { readonly query: Query; readonly faults: Faults } => {
  if ('text' in input) {
    refuseLength(input.text);
    const { query, stream } = parseText(input.text);
    return { query, faults: stream.faults };
  }
  refuseVersion(input.object, input.path);
  const faults = new Faults(null, input.path);
  return { query: readObject(input.object, input.path, faults), faults };
};

const computeDepth = ({ condition, select, orderBy }: Query): number =>
  [condition, ...select, ...orderBy.map(({ expr }) => expr)].reduce(
    (most, node) => Math.max(most, node?.depth ?? 0),
    0,
  );

/** The further requirements of a screen (S-06, DQL-07, DQL-24). */
export type Demands = {
  /** Selection of the body; its codes name their place in it. */
  readonly where: Selection | null;
  /** Quantities stay in the units of their listings, so they cannot be added up. */
  readonly refuseQuantitySums: boolean;
  /** Why T cannot be answered; null: it can. */
  readonly outOfRange: (at: Micros) => Words | null;
  /** The query is evaluated again and again, as of now, and only for whether it holds (AG-01). */
  readonly isRule?: true;
};
const NO_DEMANDS: Demands = { where: null, refuseQuantitySums: false, outOfRange: () => null };

/** Clauses that a rule has no use for (AG-01). */
const refuseClauses = ({ asOf, select, orderBy }: CheckedQuery, faults: Faults): void => {
  const found = [
    { name: 'as of', place: asOf?.place, hint: 'A rule is evaluated as of now: leave it out.' },
    { name: 'select', place: select[0]?.place, hint: 'A rule states only whether its query holds: remove it.' },
    { name: 'order by', place: orderBy[0]?.expr.place, hint: 'A rule states only whether its query holds: remove it.' },
  ];
  for (const { name, place, hint } of found) {
    if (place !== undefined) faults.add('DQL_SYNTAX', place, { message: `A rule has no "${name}".`, hint });
  }
};

const withSelection = (query: Query, where: Selection | null, faults: Faults): Query => {
  if (where === null) return query;
  if (query.where === null) return { ...query, where };
  const message = 'The selection is given twice: in the query and in the request.';
  faults.add('DQL_DUPLICATE_CLAUSE', { path: '/where' }, { message, hint: 'Give it once.' });
  return { ...query, repeated: [...query.repeated, { ...NO_CLAUSES, where }] };
};

const refuse = ({ quantitySums }: CheckedQuery, demands: Demands, faults: Faults): void => {
  for (const place of demands.refuseQuantitySums ? quantitySums : []) {
    const message = '"sum" cannot add up a quantity as published across venues.';
    faults.add('DQL_TYPE', place, { message, hint: 'Send units: base.' });
  }
};

/** Every given instant is checked. */
const refuseInstants = (query: Query, demands: Demands, faults: Faults): void => {
  for (const { asOf } of [query, ...query.repeated]) {
    const words = asOf === null ? null : demands.outOfRange(asOf.at);
    if (asOf !== null && words !== null) faults.add('DQL_AS_OF_RANGE', asOf.place, words);
  }
};

/** Compiles a query against the codes known. Throws ServiceError with all its faults. */
export const compile = (input: QueryInput, codes: Codes, demands = NO_DEMANDS): Compiled => {
  const { query: written, faults } = read(input);
  const parsed = withSelection(written, demands.where, faults);
  const query = checkQuery(parsed, { faults, codes });
  refuse(query, demands, faults);
  refuseInstants(parsed, demands, faults);
  if (demands.isRule) refuseClauses(query, faults);
  checkSize(query, computeDepth(parsed), faults);
  // For a query that is only too large every limit is reported (DQL-32); one with other faults has no cost.
  if (faults.hasOther('DQL_COMPLEXITY') || !isWhole(query)) faults.throwIfAny();
  const complexity = checkCost(query, faults);
  const string = printQuery(query);
  checkCanonicalLength(string, faults);
  faults.throwIfAny();
  return { query, string, json: toQueryJson(query), complexity, originOf: (place) => faults.originOf(place) };
};
