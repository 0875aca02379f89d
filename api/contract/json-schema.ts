// The subset of JSON Schema that this service uses: every walk over the schemas of requests and answers reads it.

export type Shape = {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly propertyNames?: { readonly type: 'string'; readonly enum: readonly string[] };
  readonly additionalProperties?: boolean | Shape;
  readonly required?: readonly string[] | undefined;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
};
