// Types of the Python client, generated from the OpenAPI document: `npm run docs` writes them, a test compares. Needs no Python.
import { join } from 'node:path';
import type { Shape } from '../../../api/contract/json-schema.ts';
import { toPascal } from '../../../api/data-app/named-openapi.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { type Document, makeDocument, parseRefName } from './client-document.ts';

export const PYTHON_TYPES = join(PROJECT_ROOT, 'clients', 'python', 'src', 'perp', 'types.py');

const HEAD = `"""Shapes of questions, answers and events. Printed from the service's OpenAPI document by \`npm run docs\`: do not edit.

A member that a later service adds is kept at run time; these types only do not name it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, Union

`;

type Schemas = Document['components']['schemas'];
/** Whether names are quoted: outside of a class, names that are defined further down are unknown. */
type Place = { readonly name: string; readonly isQuoted: boolean };

/** Figures are requested as JSON numbers. */
const KNOWN: ReadonlyMap<string, string> = new Map([
  ['Figure', 'float'],
  ['FigureOrNull', 'Union[float, None]'],
]);
const SCALARS: ReadonlyMap<string, string> = new Map([
  ['string', 'str'],
  ['integer', 'int'],
  ['number', 'float'],
  ['boolean', 'bool'],
  ['null', 'None'],
]);
/** Keywords of the language that cannot name a member of a class. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** A value in Python's syntax. */
const formatLiteral = (value: unknown): string => {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);
};

const formatDocString = (words = ''): string[] => (words === '' ? [] : [`    """${words.replaceAll('\\', '\\\\')}"""`]);

type Member = { readonly name: string; readonly type: string; readonly words: string | undefined };

/** Collects classes and aliases; inline objects are named after their place, and precede the class that contains them. */
class Printer {
  readonly parts: string[] = [];

  define(name: string, schema: Shape): void {
    const known = KNOWN.get(name);
    if (known !== undefined) this.parts.push(`${name} = ${known}\n`);
    else if (schema.allOf !== undefined) this.#inherit(name, schema.allOf);
    else if (schema.properties !== undefined) this.#object(name, schema, 'TypedDict');
    else this.alias(name, schema, 'quoted');
  }

  /** Quotes a name that is defined further down. */
  alias(name: string, schema: Shape, names: 'quoted' | 'bare'): void {
    this.parts.push(`${name} = ${this.#type(schema, { name, isQuoted: names === 'quoted' })}\n`);
  }

  /** One class an event, distinguished by `event`. */
  events({ anyOf = [] }: Shape): void {
    const names = anyOf.map(({ properties }) => {
      const event = properties?.['event']?.const as string;
      const name = `${toPascal(event)}Message`;
      const data = parseRefName(properties?.['data']?.$ref ?? '');
      const lines = [`    event: Literal[${formatLiteral(event)}]`, '    id: Union[str, None]', `    data: ${data}`];
      this.parts.push([`class ${name}(TypedDict):`, ...lines, ''].join('\n'));
      return name;
    });
    this.parts.push(`StreamEvent = Union[${names.join(', ')}]\n`);
  }

  #type(schema: Shape, place: Place): string {
    const { $ref, anyOf, items, type, properties, additionalProperties: values } = schema;
    const named = (name: string): string => (place.isQuoted ? `"${name}"` : name);
    if ($ref !== undefined) return named(parseRefName($ref));
    if (schema.const !== undefined) return `Literal[${formatLiteral(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(formatLiteral).join(', ')}]`;
    if (anyOf !== undefined) {
      const parts = anyOf.map((part, at) => this.#type(part, { ...place, name: `${place.name}${at}` }));
      return `Union[${[...new Set(parts)].join(', ')}]`;
    }
    if (type === 'array') return `list[${this.#type(items ?? {}, place)}]`;
    if (properties !== undefined) {
      this.#object(place.name, schema, 'TypedDict');
      return named(place.name);
    }
    if (typeof values === 'object') return `dict[str, ${this.#type(values, place)}]`;
    return SCALARS.get(type ?? '') ?? 'Any';
  }

  #members(place: Place, { properties = {}, required = [] }: Shape): Member[] {
    return Object.entries(properties).map(([name, part]) => {
      const type = this.#type(part, { ...place, name: place.name + toPascal(name) });
      return { name, type: required.includes(name) ? type : `NotRequired[${type}]`, words: part.description };
    });
  }

  #object(name: string, schema: Shape, bases: string): void {
    const hasKeyword = Object.keys(schema.properties ?? {}).some((member) => KEYWORDS.has(member));
    const members = this.#members({ name, isQuoted: hasKeyword }, schema);
    if (hasKeyword) {
      const lines = members.map((member) => `        "${member.name}": ${member.type},`);
      this.parts.push([`${name} = TypedDict(`, `    '${name}',`, '    {', ...lines, '    },', ')', ''].join('\n'));
      return;
    }
    const lines = members.flatMap((member) => [`    ${member.name}: ${member.type}`, ...formatDocString(member.words)]);
    this.parts.push([`class ${name}(${bases}):`, ...formatDocString(schema.description), ...lines, ''].join('\n'));
  }

  #inherit(name: string, parts: readonly Shape[]): void {
    const bases = parts.flatMap(({ $ref }) => ($ref === undefined ? [] : [parseRefName($ref)]));
    const own = parts.find(({ properties }) => properties !== undefined) ?? { properties: {} };
    this.#object(name, own, bases.join(', '));
  }
}

/** Aliases before classes, those without references first; classes follow their bases. */
const sortSchemas = (schemas: Schemas): [string, Shape][] => {
  const all = Object.entries(schemas).filter(([name]) => name !== 'StreamEvent');
  const rank = ([, schema]: [string, Shape]): number => {
    if (schema.allOf !== undefined) return 3;
    if (schema.properties !== undefined) return 2;
    return JSON.stringify(schema).includes('"$ref"') ? 1 : 0;
  };
  return all.sort((a, b) => rank(a) - rank(b));
};

/** The generated file. */
export const printPythonTypes = ({ components: { schemas } }: Document = makeDocument()): string => {
  const printer = new Printer();
  for (const [name, schema] of sortSchemas(schemas)) printer.define(name, schema);
  printer.alias('Interval', schemas['HistoryRequest']?.properties?.['interval'] ?? {}, 'bare');
  printer.events(schemas['StreamEvent'] ?? {});
  return HEAD + printer.parts.join('\n\n');
};
