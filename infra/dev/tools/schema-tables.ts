// Schemas of endpoints as Markdown tables: input parameters, members of responses.
import type { TSchema } from 'typebox';
import { findMemberText } from '../../../api/data-app/member-words.ts';

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
};

const isNull = ({ type }: Schema): boolean => type === 'null';
const findValues = ({ patternProperties = {} }: Schema): Schema | undefined => Object.values(patternProperties)[0];

const describeUnion = (branches: readonly Schema[]): string => {
  const kinds = branches.filter((branch) => !isNull(branch));
  const isFigure =
    kinds.length === 2 && kinds.some((k) => k.type === 'number') && kinds.some((k) => k.type === 'string');
  const text = isFigure ? 'figure' : kinds.map(describeType).join(' or ');
  return kinds.length < branches.length ? `${text}, or null` : text;
};

const describeType = (schema: Schema): string => {
  if (schema.anyOf !== undefined) return describeUnion(schema.anyOf);
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.items !== undefined) return `list: ${describeType(schema.items)}`;
  const values = findValues(schema);
  if (values !== undefined) return `map: ${describeType(values)}`;
  if (schema.format === 'date-time') return 'instant';
  return schema.type ?? 'any';
};

const describeLimits = ({ minimum, maximum, maxItems, maxLength }: Schema): string => {
  const limits = [
    minimum === undefined ? [] : [`at least ${minimum}`],
    maximum === undefined ? [] : [`at most ${maximum}`],
    maxItems === undefined ? [] : [`at most ${maxItems} of them`],
    maxLength === undefined ? [] : [`at most ${maxLength} characters`],
  ].flat();
  return limits.length === 0 ? '' : `; ${limits.join(', ')}`;
};

const escapeCell = (text: string): string => text.replaceAll('|', '\\|');

/** Empty for a table without rows. */
export const printTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(escapeCell).join(' | ')} |`).join('\n');

/** Its own description, or those of its alternatives. */
const describeSchema = ({ description, anyOf = [] }: Schema): string =>
  description ?? anyOf.flatMap((branch) => branch.description ?? describeObject(branch)).join(' Or ');

const describeObject = ({ properties }: Schema): string[] =>
  properties === undefined ? [] : [`an object with any of ${Object.keys(properties).join(', ')}: a code, or a list.`];

/** Parameters of an endpoint; a sentence when there are none. */
export const printParametersTable = (input: TSchema): string => {
  const { properties = {}, required = [] } = input as Schema;
  const rows = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\`${required.includes(name) ? ' (needed)' : ''}`,
    describeType(schema) + describeLimits(schema),
    describeSchema(schema),
  ]);
  return rows.length === 0 ? 'It takes no parameters.' : printTable(['parameter', 'type', 'meaning'], rows);
};

/** A member's text in the table, and its names alone. */
type Place = { readonly shown: string; readonly path: readonly string[] };

const listMemberRows = (schema: Schema, { shown, path }: Place): string[][] => {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((b) => listMemberRows(b, { shown, path }));
  if (schema.items !== undefined) return listMemberRows(schema.items, { shown: `${shown}[]`, path });
  const values = findValues(schema);
  if (values !== undefined) return listMemberRows(values, { shown: `${shown}.*`, path });
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const place: Place = { shown: shown === '' ? name : `${shown}.${name}`, path: [...path, name] };
    const row = [
      `\`${place.shown}\`${required.includes(name) ? '' : ' (where it applies)'}`,
      describeType(member),
      member.description ?? findMemberText(place.path),
    ];
    return [row, ...listMemberRows(member, place)];
  });
};

/** Members of a response, those of lists and maps included (`[]`, `.*`). */
export const printMembersTable = (name: string, output: TSchema): string =>
  printTable(['member', 'type', 'meaning'], listMemberRows(output as Schema, { shown: '', path: [name] }));
