// Judges answers by the schema their endpoint declares, closed: a member that no document tells of is a fault, as is one that lacks.
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Endpoint } from '../../api/contract/endpoint.ts';

const ajv = new Ajv2020({
  allErrors: true,
  strict: false,
  formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z$/ },
});

const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return 'properties' in schema ? { ...parts, additionalProperties: false } : parts;
};

/** Everything in which an answer differs from its declaration. */
export const faultsOf = ({ output }: Endpoint, answer: unknown): string[] => {
  const validate = ajv.compile(closed(output) as Readonly<Record<string, unknown>>);
  if (validate(answer)) return [];
  return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
};
