// The bazaar block of a challenge: one short example of the call, and a JSON Schema 2020-12 of the top-level members that it satisfies (P-01).
import type { TSchema } from 'typebox';
import type { Endpoint } from '../contract/endpoint.ts';

type Json = Readonly<Record<string, unknown>>;
type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** The types of a member, without its words and values: the challenge also travels as a header. */
const memberOf = ({ type, enum: values = [], anyOf = [] }: Schema): Json => {
  const types = [
    ...new Set([type ?? [], values.map((value) => typeof value), anyOf.map((of) => of.type ?? [])].flat(2)),
  ];
  return types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types };
};

const closed = (properties: Json, required: readonly string[]): Json => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

const membersOf = (input: TSchema): Json => {
  const { properties = {}, required = [] } = input as Schema;
  return closed(Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, memberOf(of)])), required);
};

/** An answer's instant and its lists, empty: a header has no room for more. */
const outlineOf = ({ example: { output } }: Endpoint): Json =>
  Object.fromEntries(
    Object.entries(output).flatMap(([name, member]: [string, unknown]): [string, unknown][] => {
      if (Array.isArray(member)) return [[name, []]];
      return name === 'evaluated_at' ? [[name, member]] : [];
    }),
  );

/** How the call is sent. */
const inputOf = ({ method, example }: Endpoint): Json => {
  const sent = method === 'GET' ? { queryParams: example.input } : { bodyType: 'json', body: example.input };
  return { type: 'http', method, ...sent };
};

const schemaOf = ({ method, input }: Endpoint): Json => {
  const members = membersOf(input);
  const sent: Json = method === 'GET' ? { queryParams: members } : { bodyType: { const: 'json' }, body: members };
  const pinned = { type: { const: 'http' }, method: { const: method }, ...sent };
  const output = { type: 'object', properties: { type: { const: 'json' }, example: { type: 'object' } } };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...{ type: 'object', properties: { input: closed(pinned, Object.keys(pinned)), output }, required: ['input'] },
  };
};

export const bazaarOf = (endpoint: Endpoint): Json => ({
  info: { input: inputOf(endpoint), output: { type: 'json', example: outlineOf(endpoint) } },
  schema: schemaOf(endpoint),
});
