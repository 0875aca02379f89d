// Faults of the shape that a schema describes, with the catalogue's codes and texts, each with its path (E-01 step 6, N-13, E-08).
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseDuration } from '../../schemas/durations.ts';
import { type ApiError, findNearest, makeShapeFault } from '../../schemas/errors.ts';
import { formatCount } from '../contract/counts.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import type { Shape } from '../contract/json-schema.ts';
import { clip, describeValue, toPointerName } from '../contract/sent-text.ts';

const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true });
// Patterns of texts are for readers of the document. `refine` checks them here, with specific messages.
ajv.removeKeyword('pattern').removeKeyword('propertyNames');
const compiled = new WeakMap<Shape, ValidateFunction>();

const findValidator = (schema: Shape): ValidateFunction => {
  const held = compiled.get(schema);
  if (held !== undefined) return held;
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
};

/** Compiles an operation's schema ahead of its first request. */
export const prepareValidator = ({ input }: Endpoint): void => void findValidator(input);

const nameSubject = (path: string): string => (path === '' ? 'The request' : `"${clip(path.slice(1))}"`);

/** Members the object of an error may have, by its schema. */
const listKnownMembers = (error: ErrorObject): string[] => {
  const parent: unknown = error.parentSchema;
  const properties = typeof parent === 'object' && parent !== null && 'properties' in parent ? parent.properties : {};
  return Object.keys(properties as object);
};

/** Members of other APIs that are parts of a member here: that member, and what to write there. */
const PARTS: Readonly<Record<string, readonly [member: string, hint: string]>> = {
  instrument: ['where', 'Send where, such as instrument = BTC-PERP.'],
  base: ['where', 'Send where, such as base = BTC.'],
  venue: ['where', 'Send where with a term venue = CODE.'],
  quote: ['where', 'Send where, such as quote = USDT.'],
  symbol: ['where', 'Send where, such as symbol = "BTCUSDT".'],
  as_of: ['query', 'End the query with as of 2026-01-15T12:00:00Z.'],
  timeframe: ['query', 'Add a clause to the query, such as timeframe 1h.'],
  select: ['query', 'Add a clause to the query, such as select mark.'],
  order_by: ['query', 'Add a clause to the query, such as order by max(venues, mark) desc.'],
};

const findMemberHint = (name: string, known: readonly string[]): string => {
  const [whole, hint] = (Object.hasOwn(PARTS, name) ? PARTS[name] : undefined) ?? [];
  if (whole !== undefined && hint !== undefined && known.includes(whole)) return hint;
  const near = findNearest(name, known);
  if (near.length > 0) return `Did you mean ${near.join(', ')}?`;
  return known.length > 0 ? `Members are ${known.join(', ')}.` : 'It takes no members.';
};

const makeUnknownMember = (error: ErrorObject): ApiError => {
  const name = String(error.params.additionalProperty);
  const hint = findMemberHint(name, listKnownMembers(error));
  return makeShapeFault(`${error.instancePath}/${toPointerName(name)}`, `"${clip(name)}" is not a member here.`, hint);
};

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  array: 'a list',
  object: 'an object',
};

const makeValueFault = (error: ErrorObject): ApiError => {
  const { instancePath: path, keyword, params, data } = error;
  const name = nameSubject(path);
  switch (keyword) {
    case 'type':
      return makeShapeFault(
        path,
        `${name} is ${describeValue(data)}, not ${WORDS[String(params.type)] ?? params.type}.`,
        `Send ${WORDS[String(params.type)] ?? params.type}.`,
      );
    case 'enum':
      return makeEnumFault(error, name);
    case 'required': {
      const missing = String(params.missingProperty);
      return makeShapeFault(`${path}/${toPointerName(missing)}`, `"${missing}" is missing.`, `Send ${missing}.`);
    }
    case 'minimum':
    case 'maximum':
      return makeShapeFault(
        path,
        `${name} is ${describeValue(data)}, outside its range.`,
        `Send a number of at ${keyword === 'minimum' ? 'least' : 'most'} ${params.limit}.`,
      );
    case 'minItems':
    case 'minProperties':
      return makeShapeFault(path, `${name} is empty.`, 'Send at least one member, or leave it out.');
    case 'maxItems':
      return makeShapeFault(
        path,
        `${name} has more than ${formatCount(Number(params.limit), 'member')}.`,
        `Send at most ${params.limit}.`,
      );
    case 'minLength':
      return makeShapeFault(path, `${name} is empty.`, 'Send a text.');
    case 'maxLength':
      return makeShapeFault(
        path,
        `${name} has more than ${params.limit} characters.`,
        `Send at most ${params.limit} characters.`,
      );
    default:
      return makeShapeFault(
        path,
        `${name} is ${describeValue(data)}, which is not of its shape.`,
        'Send what its description asks for.',
      );
  }
};

/** Of durations only one of the same length is meant: `60m` looks like `30m`, and is `1h`. */
const findValueHint = (sent: unknown, allowed: readonly string[]): string => {
  const all = `Send one of ${allowed.join(', ')}.`;
  if (typeof sent !== 'string') return all;
  if (allowed.every((value) => parseDuration(value) !== null)) {
    const ms = parseDuration(sent);
    const same = ms === null ? undefined : allowed.find((value) => parseDuration(value) === ms);
    return same === undefined ? all : `Write ${same}.`;
  }
  const near = findNearest(sent, allowed);
  return near.length > 0 ? `Did you mean ${near.join(', ')}?` : all;
};

const makeEnumFault = ({ instancePath, params, data }: ErrorObject, name: string): ApiError => {
  const hint = findValueHint(data, (params.allowedValues as unknown[]).map(String));
  return makeShapeFault(instancePath, `${name} is ${describeValue(data)}, not one of its values.`, hint);
};

/** The index from which on the errors at the end of the list are within a union; the union's own error directly follows them. */
const findStartWithin = (errors: readonly ErrorObject[], union: ErrorObject): number => {
  const branches = `${union.schemaPath}/`;
  return (
    1 +
    errors.findLastIndex(
      ({ schemaPath, instancePath }) =>
        !schemaPath.startsWith(branches) || !instancePath.startsWith(union.instancePath),
    )
  );
};

/** Faults of the alternatives of a union whose own kind fits what was sent; those of the other kinds have no meaning. */
const withoutOtherKinds = (errors: readonly ErrorObject[]): readonly ErrorObject[] => {
  const kept: ErrorObject[] = [];
  for (const error of errors) {
    if (error.keyword !== 'anyOf') {
      kept.push(error);
      continue;
    }
    const within = kept.splice(findStartWithin(kept, error));
    const begin = error.schemaPath.length + 1;
    const findBranch = ({ schemaPath }: ErrorObject): string => schemaPath.slice(begin, schemaPath.indexOf('/', begin));
    const isWrongKind = (e: ErrorObject): boolean => e.keyword === 'type' && e.instancePath === error.instancePath;
    const otherKinds = new Set(within.filter(isWrongKind).map(findBranch));
    const ofRightKind = within.filter((e) => !otherKinds.has(findBranch(e)));
    for (const one of ofRightKind) kept.push(one);
    if (ofRightKind.length === 0) kept.push(error);
  }
  return kept;
};

const makeUnionFault = ({ instancePath, parentSchema, data }: ErrorObject): ApiError => {
  // An enumeration states no type: its values are texts.
  const branches = (parentSchema?.anyOf ?? []) as readonly { readonly type?: string }[];
  const kinds = [...new Set(branches.map(({ type = 'string' }) => WORDS[type] ?? type))].join(' or ');
  return makeShapeFault(
    instancePath,
    `${nameSubject(instancePath)} is ${describeValue(data)}, not ${kinds}.`,
    `Send ${kinds}.`,
  );
};

const toFault = (error: ErrorObject): ApiError => {
  if (error.keyword === 'additionalProperties') return makeUnknownMember(error);
  return error.keyword === 'anyOf' ? makeUnionFault(error) : makeValueFault(error);
};

/** A body can contain tens of thousands of wrong items, of which twenty are reported: at most this number is checked per list. */
const MOST_OF_A_LIST = 1_000;

const isListAt = (input: unknown, path: string): boolean => {
  let value = input;
  for (const name of path.split('/').slice(1)) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return Array.isArray(value);
};

/** The first faults of each list; a single fault makes the list unusable for later checks. */
const cutLists = (errors: readonly ErrorObject[], input: unknown): readonly ErrorObject[] => {
  if (errors.length <= MOST_OF_A_LIST) return errors;
  const byParent = new Map<string, { count: number; readonly isList: boolean }>();
  return errors.filter(({ instancePath }) => {
    const parent = instancePath.slice(0, Math.max(0, instancePath.lastIndexOf('/')));
    const held = byParent.get(parent) ?? { count: 0, isList: isListAt(input, parent) };
    byParent.set(parent, held);
    held.count++;
    return !held.isList || held.count <= MOST_OF_A_LIST;
  });
};

/** The faults of the shape of an input, member by member. */
export const findShapeFaults = (endpoint: Pick<Endpoint, 'input'>, input: unknown): ApiError[] => {
  const validate = findValidator(endpoint.input);
  return validate(input) ? [] : withoutOtherKinds(cutLists(validate.errors ?? [], input)).map(toFault);
};
