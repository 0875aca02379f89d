// The OpenAPI document for the generators of the clients' types.
import { makeNamedOpenApi } from '../../../api/data-app/named-openapi.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';
import { STREAM } from '../../../api/stream/request.ts';

export type Schema = {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};
export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
};
export type PathItem = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
};
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathItem>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

export const parseRefName = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** The document without the parts that a running service adds. */
export const makeDocument = (): Document => {
  const options = { operations: [...OPERATIONS, STREAM], baseUrl: '', simulated: false };
  return JSON.parse(JSON.stringify(makeNamedOpenApi(options))) as Document;
};
