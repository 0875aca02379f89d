// Sources of the clients that come from the service: types generated from the OpenAPI document, and the verifier. `npm run docs` writes them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Shape } from '../../../api/contract/json-schema.ts';
import { toPascal } from '../../../api/data-app/named-openapi.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { type Document, makeDocument, type Parameter, type PathItem, parseRefName } from './client-document.ts';
import { PYTHON_TYPES, printPythonTypes } from './python-types.ts';

const CLIENT_TYPES = join(PROJECT_ROOT, 'clients', 'typescript', 'src', 'api-types.ts');

/** Market figures are numbers or, under number_format string, text: a type that contains one takes it as its parameter. */
const FIGURES: Readonly<Record<string, string>> = { Figure: 'F', FigureOrNull: 'F | null' };
const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};
const RESERVED_TYPES = /[^A-Za-z0-9_$]/;

const toCamel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, first: string) => first.toUpperCase());

/** Names of the shapes that contain figures, at any depth. */
const withFigures = (schemas: Readonly<Record<string, Shape>>): ReadonlySet<string> => {
  const refs = new Map(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => parseRefName(ref)),
    ]),
  );
  const found = new Set(Object.keys(FIGURES));
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const [name, used] of refs) if (used.some((other) => found.has(other))) found.add(name);
  }
  return found;
};

class Printer {
  readonly #figures: ReadonlySet<string>;

  constructor(schemas: Readonly<Record<string, Shape>>) {
    this.#figures = withFigures(schemas);
  }

  reference(name: string): string {
    return FIGURES[name] ?? (this.#figures.has(name) ? `${name}<F>` : name);
  }

  type(schema: Shape): string {
    const { $ref, anyOf, allOf, enum: values, additionalProperties: map, properties, items, type } = schema;
    if ($ref !== undefined) return this.reference(parseRefName($ref));
    if (schema.const !== undefined) return quoteValue(schema.const);
    if (values !== undefined) return values.map(quoteValue).join(' | ');
    if (anyOf !== undefined) return anyOf.map((part) => this.type(part)).join(' | ');
    if (allOf !== undefined) return allOf.map((part) => this.type(part)).join(' & ');
    if (items !== undefined) return this.list(schema, items);
    if (typeof map === 'object') return `{ readonly [name: string]: ${this.type(map)} }`;
    if (properties !== undefined && Object.keys(properties).length === 0) return 'Record<string, never>';
    if (properties !== undefined) return `{\n${this.members(schema)}\n}`;
    return type === 'object' ? '{ readonly [name: string]: unknown }' : (SCALARS[type ?? ''] ?? 'unknown');
  }

  list({ minItems, maxItems }: Shape, items: Shape): string {
    const inner = this.type(items);
    if (minItems !== undefined && minItems === maxItems) return `readonly [${Array(minItems).fill(inner).join(', ')}]`;
    return /[|&]|^readonly/.test(inner) ? `readonly (${inner})[]` : `readonly ${inner}[]`;
  }

  members({ properties = {}, required = [] }: Shape): string {
    return Object.entries(properties)
      .flatMap(([name, schema]) => {
        const optional = required.includes(name) ? '' : '?';
        const words = schema.description === undefined ? [] : [`/** ${schema.description.replaceAll('*/', '* /')} */`];
        return [...words, `readonly ${quoteName(name)}${optional}: ${this.type(schema)};`];
      })
      .join('\n');
  }

  declaration(name: string, schema: Shape): string {
    const parameter = this.#figures.has(name) ? '<F extends Digits = number>' : '';
    const words = schema.description === undefined ? '' : `/** ${schema.description} */\n`;
    return `${words}export type ${name}${parameter} = ${this.type(schema)};`;
  }
}

const quoteValue = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
const quoteName = (name: string): string => (RESERVED_TYPES.test(name) ? `'${name}'` : name);

/** The client chooses the format of figures once, for all its calls. */
const withoutFormat = (schema: Shape): Shape => {
  const { number_format: _, ...properties } = schema.properties ?? {};
  return { ...schema, properties };
};

/** The input of a GET: its parameters, those of the path included. Headers are the business of the client. */
const makeRequest = (parameters: readonly Parameter[]): Shape =>
  withoutFormat({
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [name, { ...schema, description } as Shape]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  });

const listEndpoints = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, item]) => ({ path, method: method.toUpperCase(), item })),
  );

const isAnswered = ({ responses }: PathItem): boolean =>
  Object.values(responses).some(({ content }) =>
    JSON.stringify(content?.['application/json'] ?? '').includes('Answer"'),
  );

const printOperationTypes = (document: Document, printer: Printer): string => {
  const rows = listEndpoints(document)
    .filter(({ item }) => isAnswered(item))
    .map(({ item }) => {
      const name = toPascal(item.operationId);
      return `${toCamel(item.operationId)}: { request: ${name}Request; answer: ${printer.reference(`${name}Answer`)} };`;
    });
  return `/** What each operation is asked with and answers. */\nexport type Operations<F extends Digits = number> = {\n${rows.join('\n')}\n};`;
};

const printOperationTable = (document: Document): string => {
  const rows = listEndpoints(document).map(
    ({ path, method, item }) => `${toCamel(item.operationId)}: { method: '${method}', path: '${path}' },`,
  );
  return `/** Where each operation is. */\nexport const ENDPOINTS = {\n${rows.join('\n')}\n} as const;`;
};

const formatCode = (text: string): string => {
  const biome = join(PROJECT_ROOT, 'node_modules', '.bin', 'biome');
  const args = ['format', `--stdin-file-path=${CLIENT_TYPES}`];
  const { status, stdout, stderr } = spawnSync(biome, args, { cwd: PROJECT_ROOT, input: text, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The types cannot be formatted: ${stderr}`);
  return stdout;
};

/** The generated file. */
const printClientTypes = (): string => {
  const document = makeDocument();
  const { schemas } = document.components;
  const printer = new Printer(schemas);
  const shapes = Object.entries(schemas)
    .filter(([name]) => !Object.hasOwn(FIGURES, name))
    .map(([name, schema]) => printer.declaration(name, name.endsWith('Request') ? withoutFormat(schema) : schema));
  const asked = listEndpoints(document).flatMap(({ method, item: { operationId, parameters = [] } }) => {
    const own = parameters.filter((one) => one.in !== 'header');
    return method === 'GET' ? [printer.declaration(`${toPascal(operationId)}Request`, makeRequest(own))] : [];
  });
  const text = [
    '// Shapes of the API, printed from its OpenAPI document by `npm run docs`. Edit the operations of the API, not this file.',
    '/** A market figure: a number, or its exact digits as text. */\nexport type Digits = number | string;',
    ...[...shapes, ...asked, printOperationTypes(document, printer), printOperationTable(document)],
    '',
  ].join('\n\n');
  return formatCode(text);
};

/** The verifier is one file without dependencies: the client contains an unchanged copy. */
export const CLIENT_VERIFIER = join(PROJECT_ROOT, 'clients', 'typescript', 'src', 'verify.mjs');
const readClientVerifier = (): string => readFileSync(join(PROJECT_ROOT, 'infra', 'verify', 'verify.mjs'), 'utf8');

/** The generated files of each client. */
export const listClientSources = (): ReadonlyMap<string, string> =>
  new Map([
    [CLIENT_TYPES, printClientTypes()],
    [CLIENT_VERIFIER, readClientVerifier()],
    [PYTHON_TYPES, printPythonTypes()],
  ]);
