// The tools, rendered from the operations that are marked as tools: what each is for, its schemas, and which endpoint it calls (T-02).
import type { Shape } from '../contract/json-schema.ts';
import { listErrorCodes } from '../data-app/endpoint-codes.ts';
import { makeOpenApi } from '../data-app/openapi.ts';
import { Where } from '../language/where-object.ts';
import type { Operation } from '../operations/operation.ts';
import type { Arguments, CalledEndpoint } from './call-api.ts';
import { makeToolInput, makeToolOutput, PAGE_ROWS } from './tool-schemas.ts';
import { fixFor, type HourAgo, STALE_WORDS, TOOL_WORDS } from './tool-words.ts';

export type Tool = CalledEndpoint & {
  readonly name: string;
  readonly describe: (nowMs: number) => ToolEntry;
};

/** A tool as `tools/list` has it. */
type ToolEntry = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Shape & { readonly type: 'object' };
  readonly outputSchema: Shape & { readonly type: 'object' };
  readonly annotations: typeof READ_ONLY & { readonly title: string };
};

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const;
const HOUR_MS = 3_600_000;

/** Full hours, so that the list stays the same for an hour. */
const createHourAgo =
  (nowMs: number): HourAgo =>
  (hours) =>
    new Date((Math.floor(nowMs / HOUR_MS) - hours) * HOUR_MS).toISOString().replace('.000Z', 'Z');

/** Codes that follow from how the tool server calls, not from what a model sends. */
const NOT_OF_A_MODEL: ReadonlySet<string> = new Set([
  ...['AUTH_REQUIRED', 'AUTH_INVALID', 'KEY_IN_URL', 'PAYMENT_REQUIRED', 'PAYMENT_MALFORMED'],
  ...['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'INTERNAL'],
]);

const describeFailures = (operation: Operation): string => {
  const listed = listErrorCodes(operation).filter((code) => !NOT_OF_A_MODEL.has(code));
  return `On failure do what next says: ${listed.map((code) => `${code}: ${fixFor(code)}`).join(' ')}`;
};

const listProperties = (schema: Shape): Readonly<Record<string, Shape>> => schema.properties ?? {};

const hasReadings = ({ input }: Operation): boolean => Object.hasOwn(listProperties(input), 'allow_stale');

const makeExample = ({ name, example }: Operation, nowMs: number): string => {
  const own = TOOL_WORDS[name]?.example;
  const [question, args] =
    own === undefined
      ? [example.question, example.input]
      : [own.question, own.args(createHourAgo(nowMs), example.input)];
  return `Example, "${question}": ${JSON.stringify(args)}`;
};

const describeTool = (operation: Operation, nowMs: number): string => {
  const words = TOOL_WORDS[operation.name];
  return [
    words?.use ?? operation.summary,
    ...(words === undefined ? [] : [words.avoid]),
    makeExample(operation, nowMs),
    ...(hasReadings(operation) ? [STALE_WORDS] : []),
    describeFailures(operation),
  ].join('\n');
};

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Shape;
};
type Described = {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Shape } } };
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': { readonly schema: Shape } } };
  };
};

const describeInput = ({ parameters = [], requestBody }: Described, example: Arguments): Shape => {
  const body = requestBody?.content['application/json'].schema;
  if (body !== undefined)
    return makeToolInput({ properties: listProperties(body), required: body.required ?? [], example });
  const own = parameters.filter((one) => one.in !== 'header');
  const properties = Object.fromEntries(own.map(({ name, schema }) => [name, schema]));
  const required = own.filter((one) => one.required).map(({ name }) => name);
  return makeToolInput({ properties, required, example });
};

/** Nothing of it is required or closed: it judges some members of a request alone. */
const describeMembers = ({ input }: Operation): Shape => {
  const own = listProperties(input);
  return { type: 'object', properties: { ...own, ...(Object.hasOwn(own, 'where') ? { where: Where } : {}) } };
};

const toTool = (operation: Operation, described: Described): Tool => {
  const { name, method, path, example } = operation;
  const title = TOOL_WORDS[name]?.title ?? name;
  const inputSchema = describeInput(described, example.input) as ToolEntry['inputSchema'];
  const outputSchema = makeToolOutput(described.responses[200].content['application/json'].schema);
  const defaults = Object.hasOwn(listProperties(inputSchema), 'limit') ? { limit: PAGE_ROWS } : {};
  return {
    name,
    method,
    path,
    members: describeMembers(operation),
    defaults,
    describe: (nowMs) => ({
      name,
      title,
      description: describeTool(operation, nowMs),
      inputSchema,
      outputSchema: outputSchema as ToolEntry['outputSchema'],
      annotations: { title, ...READ_ONLY },
    }),
  };
};

/** The tools in the order of the operations. */
export const renderTools = (operations: readonly Operation[]): readonly Tool[] => {
  const tools = operations.filter(({ tool }) => tool === true);
  const { paths } = makeOpenApi({ operations: tools, baseUrl: '/', simulated: false });
  return tools.map((operation) =>
    toTool(operation, paths[operation.path]?.[operation.method.toLowerCase()] as Described),
  );
};
