// The OpenAPI document for the generators of the clients' types.
import type { Shape } from '../../../api/contract/json-schema.ts';
import { makeNamedOpenApi } from '../../../api/data-app/named-openapi.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';

export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Shape;
};
export type PathItem = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
};
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathItem>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Shape>> };
};

export const parseRefName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** The document without the parts that a running service adds. */
export const makeDocument = (): Document => {
  const options = { operations: [...OPERATIONS, STREAM], baseUrl: '', simulated: false };
  return JSON.parse(JSON.stringify(makeNamedOpenApi(options))) as Document;
};
