// Schemas of endpoints as Markdown tables: input parameters, members of responses.
import type { Shape } from '../../../api/contract/json-schema.ts';
import { findMemberText } from '../../../api/data-app/member-words.ts';

const isNull = ({ type }: Shape): boolean => type === 'null';
const findValues = ({ patternProperties = {} }: Shape): Shape | undefined => Object.values(patternProperties)[0];

const describeUnion = (branches: readonly Shape[]): string => {
  const kinds = branches.filter((branch) => !isNull(branch));
  const isFigure =
    kinds.length === 2 && kinds.some((k) => k.type === 'number') && kinds.some((k) => k.type === 'string');
  const text = isFigure ? 'figure' : kinds.map(describeType).join(' or ');
  return kinds.length < branches.length ? `${text}, or null` : text;
};

const describeType = (schema: Shape): string => {
  if (schema.anyOf !== undefined) return describeUnion(schema.anyOf);
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.items !== undefined) return `list: ${describeType(schema.items)}`;
  const values = findValues(schema);
  if (values !== undefined) return `map: ${describeType(values)}`;
  if (schema.format === 'date-time') return 'instant';
  return schema.type ?? 'any';
};

const describeLimits = ({ minimum, maximum, maxItems, maxLength }: Shape): string => {
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
const describeSchema = ({ description, anyOf = [] }: Shape): string =>
  description ?? anyOf.flatMap((branch) => branch.description ?? describeObject(branch)).join(' Or ');

const describeObject = ({ properties }: Shape): string[] =>
  properties === undefined ? [] : [`an object with any of ${Object.keys(properties).join(', ')}: a code, or a list.`];

/** Parameters of an endpoint; a sentence when there are none. */
export const printParametersTable = ({ properties = {}, required = [] }: Shape): string => {
  const rows = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\`${required.includes(name) ? ' (needed)' : ''}`,
    describeType(schema) + describeLimits(schema),
    describeSchema(schema),
  ]);
  return rows.length === 0 ? 'It takes no parameters.' : printTable(['parameter', 'type', 'meaning'], rows);
};

/** A member's text in the table, and its names alone. */
type Place = { readonly shown: string; readonly path: readonly string[] };

const listMemberRows = (schema: Shape, { shown, path }: Place): string[][] => {
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
export const printMembersTable = (name: string, output: Shape): string =>
  printTable(['member', 'type', 'meaning'], listMemberRows(output, { shown: '', path: [name] }));
