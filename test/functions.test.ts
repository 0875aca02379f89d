// Holds the shape of functions: at most 60 lines unless a comment above gives the reason, three positional parameters, none of them boolean.
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { type AnyNode, parse } from 'acorn';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '..');
const ROOMS = ['schemas', 'infra', 'ingest', 'processors', 'api', 'clients'];
const LONGEST = 60;
const MOST_PARAMETERS = 3;
/** Begin of the reason in the comment directly above a longer function. */
const REASON = /\bLong because \w/;

type Fault = 'long' | 'parameters' | 'boolean';

const ADVICE: Readonly<Record<Fault, string>> = {
  long: `cut it into named pieces, or write "Long because …" directly above it: ${LONGEST} lines are read in one look`,
  parameters: 'name what belongs together in an object: nobody remembers the order of four values',
  boolean: "use two functions or a union of words: a call with `true` doesn't say what is true",
};

type FunctionNode = Extract<AnyNode, { readonly params: readonly AnyNode[] }>;
const isNode = (value: unknown): value is AnyNode => typeof value === 'object' && value !== null && 'type' in value;
const isFunction = (node: AnyNode): node is FunctionNode => 'params' in node;

function* findFunctions(node: AnyNode): Iterable<FunctionNode> {
  if (isFunction(node)) yield node;
  for (const child of Object.values(node).flat()) if (isNode(child)) yield* findFunctions(child);
}

/** Annotated or begun as a boolean; `text` still has the types, at the same places. */
const isBoolean = (parameter: AnyNode, text: string): boolean => {
  if (parameter.type === 'AssignmentPattern') {
    const { left, right } = parameter;
    return isBoolean(left, text) || (right.type === 'Literal' && typeof right.value === 'boolean');
  }
  return parameter.type === 'Identifier' && /^\??:\s*boolean\b(?! *=>)/.test(text.slice(parameter.end));
};

/** The comment that ends on the line above; empty when there is none. */
const commentAbove = (lines: readonly string[], line: number): string => {
  let first = line - 1;
  while (first > 0 && /^\s*(?:\/\/|\/\*|\*)/.test(lines[first - 1] ?? '')) first -= 1;
  return lines.slice(first, line - 1).join(' ');
};

const countLines = ({ loc }: FunctionNode): number => (loc ? loc.end.line - loc.start.line + 1 : 0);

type Found = { readonly fault: Fault; readonly line: number };
/** The faults of one file. Throws when it cannot be read. */
const findFaults = (text: string): Found[] => {
  const bare = stripTypeScriptTypes(text);
  if (bare.length !== text.length) throw new Error('the text without types has other positions');
  const lines = text.split('\n');
  const program = parse(bare, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true });
  return [...findFunctions(program)].flatMap((node): Found[] => {
    const line = node.loc?.start.line ?? 0;
    const isLong = countLines(node) > LONGEST && !REASON.test(commentAbove(lines, line));
    const faults: Fault[] = [
      ...(isLong ? (['long'] as const) : []),
      ...(node.params.length > MOST_PARAMETERS ? (['parameters'] as const) : []),
      ...node.params.filter((parameter) => isBoolean(parameter, text)).map(() => 'boolean' as const),
    ];
    return faults.map((fault) => ({ fault, line }));
  });
};

const walk = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : walk(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

t.test('functions are short, take three parameters at most and no boolean one', (t) => {
  for (const path of ROOMS.flatMap((room) => walk(join(ROOT, room)))) {
    const file = relative(ROOT, path);
    for (const { fault, line } of findFaults(readFileSync(path, 'utf8')))
      t.fail(`${file}:${line}: found a function of the kind "${fault}"; ${ADVICE[fault]}`);
  }
  t.pass('every function looked at');
  t.end();
});

const body = (lines: number): string => `{\n${'  call();\n'.repeat(lines - 2)}}`;
const listKinds = (text: string): readonly Fault[] => findFaults(text).map(({ fault }) => fault);

t.test('each kind of function is found, and its valid neighbour is not', async (t) => {
  t.same(listKinds(`const f = () => ${body(61)};`), ['long']);
  t.same(listKinds(`const f = () => ${body(60)};`), []);
  t.same(listKinds(`/** Long because a table is read whole. */\nconst f = () => ${body(61)};`), []);
  t.same(listKinds(`/** Draws. */\nconst f = () => ${body(61)};`), ['long'], 'a comment without a reason');
  t.same(
    listKinds(`// Long because of g.\nconst g = 1;\nconst f = () => ${body(61)};`),
    ['long'],
    'a comment of another',
  );
  t.same(listKinds(`class A {\n  m(): void ${body(61)}\n}`), ['long']);
  t.same(listKinds('function f(a: string, b: number, c: A, d: B) {}'), ['parameters']);
  t.same(listKinds('class A { constructor(a, b, c, d) {} }'), ['parameters']);
  t.same(listKinds('const f = ({ a, b, c, d }: Parts, e: string) => a;'), []);
  t.same(listKinds('const f = (isOpen: boolean) => 1;'), ['boolean']);
  t.same(listKinds('const f = (name: string, isOpen?: boolean) => 1;'), ['boolean']);
  t.same(listKinds('const f = (isOpen = false) => 1;'), ['boolean']);
  t.same(listKinds('const f = (a: boolean, b: boolean) => 1;'), ['boolean', 'boolean']);
  t.same(listKinds('const f = (test: (n: number) => boolean): boolean => true;'), []);
  t.same(listKinds('const f = ({ isOpen }: { readonly isOpen: boolean }) => 1;'), []);
  t.same(
    listKinds("const ü = '…é'; const f = (isOpen: boolean) => 1;"),
    ['boolean'],
    'behind letters of several bytes',
  );
});
