// Faults of the shape that a schema describes, with the catalogue's codes and texts, each with its path (E-01 step 6, N-13, E-08).
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { formatCount } from '../../schemas/counts.ts';
import { type ApiError, findNearest, makeShapeFault } from '../../schemas/errors.ts';
import { clip, describeValue, toPointerName } from '../../schemas/sent-text.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import type { Shape } from '../contract/json-schema.ts';

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

const makeUnknownMember = (error: ErrorObject): ApiError => {
  const name = String(error.params.additionalProperty);
  const known = listKnownMembers(error);
  const near = findNearest(name, known);
  const hint =
    near.length > 0
      ? `Did you mean ${near.join(', ')}?`
      : known.length > 0
        ? `Members are ${known.join(', ')}.`
        : 'It takes no members.';
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

const makeEnumFault = ({ instancePath, params, data }: ErrorObject, name: string): ApiError => {
  const allowed = (params.allowedValues as unknown[]).map(String);
  const near = typeof data === 'string' ? findNearest(data, allowed) : [];
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Send one of ${allowed.join(', ')}.`;
  return makeShapeFault(instancePath, `${name} is ${describeValue(data)}, not one of its values.`, hint);
};

/** Faults of the alternatives of a union whose own kind fits what was sent; those of the other kinds have no meaning. */
const withoutOtherKinds = (errors: readonly ErrorObject[]): readonly ErrorObject[] => {
  let kept = errors;
  for (const union of errors.filter((e) => e.keyword === 'anyOf')) {
    const prefix = `${union.schemaPath}/`;
    const findBranch = (e: ErrorObject): string | null =>
      e.schemaPath.startsWith(prefix) && e.instancePath.startsWith(union.instancePath)
        ? (e.schemaPath.slice(prefix.length).split('/')[0] ?? null)
        : null;
    const isWrongKind = (e: ErrorObject): boolean => e.keyword === 'type' && e.instancePath === union.instancePath;
    const otherKinds = new Set(kept.filter((e) => findBranch(e) !== null && isWrongKind(e)).map(findBranch));
    const inRightKind = kept.some((e) => findBranch(e) !== null && !otherKinds.has(findBranch(e)));
    kept = kept.filter((e) => (e === union ? !inRightKind : findBranch(e) === null || !otherKinds.has(findBranch(e))));
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

/** The faults of the shape of an input, member by member. */
export const findShapeFaults = (endpoint: Pick<Endpoint, 'input'>, input: unknown): ApiError[] => {
  const validate = findValidator(endpoint.input);
  return validate(input) ? [] : withoutOtherKinds(validate.errors ?? []).map(toFault);
};
