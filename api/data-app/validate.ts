// Shape of parameters and bodies: every fault at once, in the catalogue's words, with its path (E-01 step 6, N-13, E-08).
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { type ApiError, nearest, ServiceError } from '../../schemas/errors.ts';
import { parseExactly } from '../../schemas/exact-json.ts';
import type { Endpoint } from '../operations/operation.ts';

const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true });
const compiled = new WeakMap<TSchema, ValidateFunction>();

const validatorOf = (schema: TSchema): ValidateFunction => {
  const held = compiled.get(schema);
  if (held !== undefined) return held;
  const validate = ajv.compile(schema);
  compiled.set(schema, validate);
  return validate;
};

/** Compiles an operation's schema ahead of its first request. */
export const prepareValidator = ({ input }: Endpoint): void => void validatorOf(input);

const CLIPPED = 40;
const clip = (text: string): string => (text.length > CLIPPED ? `${text.slice(0, CLIPPED)}…` : text);
const pointer = (name: string): string => clip(name).replaceAll('~', '~0').replaceAll('/', '~1');

const fault = (path: string, message: string, hint: string): ApiError => ({
  code: 'DQL_JSON_SCHEMA',
  message,
  hint,
  path,
});

const show = (value: unknown): string => {
  if (typeof value === 'string') return `"${clip(value)}"`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
};

const subject = (path: string): string => (path === '' ? 'The request' : `"${clip(path.slice(1))}"`);

/** Members the object of an error may have, by its schema. */
const knownMembers = (error: ErrorObject): string[] => {
  const parent: unknown = error.parentSchema;
  const properties = typeof parent === 'object' && parent !== null && 'properties' in parent ? parent.properties : {};
  return Object.keys(properties as object);
};

const unknownMember = (error: ErrorObject): ApiError => {
  const name = String(error.params.additionalProperty);
  const known = knownMembers(error);
  const near = nearest(clip(name), known);
  const hint =
    near.length > 0
      ? `Did you mean ${near.join(', ')}?`
      : known.length > 0
        ? `Members are ${known.join(', ')}.`
        : 'It takes no members.';
  return fault(`${error.instancePath}/${pointer(name)}`, `"${clip(name)}" is not a member here.`, hint);
};

const WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  array: 'a list',
  object: 'an object',
};

const valueFault = (error: ErrorObject): ApiError => {
  const { instancePath: path, keyword, params, data } = error;
  const name = subject(path);
  switch (keyword) {
    case 'type':
      return fault(
        path,
        `${name} is ${show(data)}, not ${WORDS[String(params.type)] ?? params.type}.`,
        `Send ${WORDS[String(params.type)] ?? params.type}.`,
      );
    case 'enum':
      return enumFault(error, name);
    case 'required': {
      const missing = String(params.missingProperty);
      return fault(`${path}/${pointer(missing)}`, `"${missing}" is missing.`, `Send ${missing}.`);
    }
    case 'minimum':
    case 'maximum':
      return fault(
        path,
        `${name} is ${show(data)}, outside its range.`,
        `Send a number ${params.comparison} ${params.limit}.`,
      );
    case 'minItems':
    case 'minProperties':
      return fault(path, `${name} is empty.`, 'Send at least one member, or leave it out.');
    case 'maxItems':
      return fault(path, `${name} has more than ${params.limit} members.`, `Send at most ${params.limit}.`);
    default:
      return fault(path, `${name} ${error.message ?? 'is not of its shape'}.`, 'See /openapi.json.');
  }
};

const enumFault = ({ instancePath, params, data }: ErrorObject, name: string): ApiError => {
  const allowed = (params.allowedValues as unknown[]).map(String);
  const near = typeof data === 'string' ? nearest(clip(data), allowed) : [];
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Send one of ${allowed.join(', ')}.`;
  return fault(instancePath, `${name} is ${show(data)}, not one of its values.`, hint);
};

/** Faults of the alternatives of a union whose own kind fits what was sent; those of the other kinds say nothing. */
const withoutOtherKinds = (errors: readonly ErrorObject[]): readonly ErrorObject[] => {
  let kept = errors;
  for (const union of errors.filter((e) => e.keyword === 'anyOf')) {
    const prefix = `${union.schemaPath}/`;
    const branchOf = (e: ErrorObject): string | null =>
      e.schemaPath.startsWith(prefix) && e.instancePath.startsWith(union.instancePath)
        ? (e.schemaPath.slice(prefix.length).split('/')[0] ?? null)
        : null;
    const isWrongKind = (e: ErrorObject): boolean => e.keyword === 'type' && e.instancePath === union.instancePath;
    const otherKinds = new Set(kept.filter((e) => branchOf(e) !== null && isWrongKind(e)).map(branchOf));
    const inRightKind = kept.some((e) => branchOf(e) !== null && !otherKinds.has(branchOf(e)));
    kept = kept.filter((e) => (e === union ? !inRightKind : branchOf(e) === null || !otherKinds.has(branchOf(e))));
  }
  return kept;
};

const unionFault = ({ instancePath, parentSchema, data }: ErrorObject): ApiError => {
  const branches = (parentSchema?.anyOf ?? []) as readonly { readonly type?: string }[];
  const kinds = branches.map((b) => WORDS[b.type ?? ''] ?? b.type).join(' or ');
  return fault(instancePath, `${subject(instancePath)} is ${show(data)}, not ${kinds}.`, `Send ${kinds}.`);
};

const asFault = (error: ErrorObject): ApiError => {
  if (error.keyword === 'additionalProperties') return unknownMember(error);
  return error.keyword === 'anyOf' ? unionFault(error) : valueFault(error);
};

const memberOf = ({ path = '' }: ApiError): string => path.split('/')[1] ?? '';

/** What the schema cannot say of the members that it finds nothing wrong with, when they are lawful without the others. */
const refineSound = (operation: Endpoint, input: unknown, faults: readonly ApiError[]): readonly ApiError[] => {
  const wrong = new Set(faults.map(memberOf));
  if (typeof input !== 'object' || input === null || wrong.has('')) return [];
  const sound = Object.fromEntries(Object.entries(input).filter(([name]) => !wrong.has(pointer(name))));
  // What is said of the whole, or of a member that is not there, may be so only because others were left out.
  const isOfSound = (error: ApiError): boolean => Object.hasOwn(sound, memberOf(error));
  return validatorOf(operation.input)(sound) ? operation.refine(sound).filter(isOfSound) : [];
};

/** The input of an operation, or ServiceError with every fault of its shape; `found` are those seen while it was read. */
export const checkInput = (operation: Endpoint, input: unknown, found: readonly ApiError[] = []): unknown => {
  const validate = validatorOf(operation.input);
  const isOfShape = validate(input);
  const shape = isOfShape ? [] : withoutOtherKinds(validate.errors ?? []).map(asFault);
  const finer = isOfShape ? operation.refine(input) : refineSound(operation, input, shape);
  const faults = [...found, ...shape, ...finer];
  if (faults.length > 0) throw new ServiceError(faults);
  return input;
};

const CONVERSIONS: Readonly<Record<string, (text: string) => unknown>> = {
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
  integer: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text),
};

export type Read = { readonly input: unknown; readonly faults: readonly ApiError[] };

/** Query parameters as the members they stand for; a parameter given twice is a fault. */
export const readQuery = (operation: Endpoint, query: URLSearchParams): Read => {
  const properties =
    (operation.input as { readonly properties?: Readonly<Record<string, { readonly type?: string }>> }).properties ??
    {};
  const input: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const faults: ApiError[] = [];
  for (const [name, text] of query) {
    if (Object.hasOwn(input, name))
      faults.push(fault(`/${pointer(name)}`, `"${clip(name)}" is given twice.`, 'Give it once.'));
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    input[name] = (type === undefined ? undefined : CONVERSIONS[type])?.(text) ?? text;
  }
  return { input, faults };
};

/** Parameters in the URL of an endpoint that takes a body. */
export const strayParameters = (query: URLSearchParams): ApiError[] =>
  [...new Set(query.keys())].map((name) =>
    fault(
      `/${pointer(name)}`,
      `"${clip(name)}" stands in the URL, where this endpoint takes nothing.`,
      'Send it in the body.',
    ),
  );

/** A body as JSON. A body that is none, or no UTF-8, is a fault of shape. */
export const readBody = (body: Buffer, found: readonly ApiError[]): Read => {
  const none = fault('', 'The body is empty.', 'Send a JSON object, such as {}.');
  if (body.length === 0) throw new ServiceError([...found, none]);
  try {
    return { input: parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(body)), faults: found };
  } catch {
    const broken = fault('', 'The body is not JSON.', 'Send one JSON object in UTF-8.');
    throw new ServiceError([...found, broken]);
  }
};
