// Holds the shape of functions: at most 60 lines unless a comment above gives the reason, three positional parameters, none of them boolean;
// a name that begins with a verb.
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { type AnyNode, type Program, parse } from 'acorn';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '..');
const ROOMS = ['schemas', 'infra', 'ingest', 'processors', 'api', 'clients'];
const LONGEST = 60;
const MOST_PARAMETERS = 3;
/** Begin of the reason in the comment directly above a longer function. */
const REASON = /\bLong because \w/;

/** One verb for a meaning: `make` a value, `create` what has methods, `open` what must be closed, `find` what may be absent, … (D-370). */
const VERBS = `
absorb accept add adjust admit advance align anchor annotate announce answer apply archive ask assign attach attempt audit await begin
bench bind block break build bundle buy call capture catch change check choose classify clean clear clip close collect colour combine compact compare
compile complete compose compute configure confirm connect continue convert copy count cover create cut decide decimate declare decode defer define
delist deliver deploy derive describe digest dispatch divide download draw drop enable encode end ensure enter escape evaluate evict examine expire
explain export extend fail feed fence fetch fill filter find finish fit fix flatten flush fold follow forget forgive format forward fund gather give
grant group guard guess hash hatch hide hold identify ignore increase indent infer inflate initialise inject insert invalidate join judge keep kill leave
limit link list listen load lock log look lose mail make map match measure meet merge meter migrate move multiply name narrow negate normalise note obey
occupy offer open pace pack pad paint parse pass pause pick place plan post prepare present prime print probe prove prune publish push put quantise
quote raise rank read receive recheck reconcile record recover reduce refine refuse register relay release remember remove rename render renew reopen
repair repeat replace report request require rescale reset resolve restart restore resume retry revoke rewrite round rove run sample save scale scan seal
search seed select send serve set settle shift shorten show sign signal skip slice slide sort spell spend split spoil spread start step stop store submit
subtract sum sync take throw tidy toggle trim try unblock underline understand undo unfollow unlock unmark unseal unshift unwrap update verify visit wait
warm watch wipe witness work write zip`;
const CONVERTERS = 'to from with without';
const QUESTIONS = 'is are was has had can may needs lacks wants';
const FIRST_WORDS: ReadonlySet<string> = new Set([VERBS, CONVERTERS, QUESTIONS].join(' ').trim().split(/\s+/));
/** Names that something else fixes. */
const FIXED: Readonly<Record<string, string>> = {
  main: 'where a process begins',
  askedMinutes: 'a member of the contract of a venue',
  bookConfirmation: 'a member of the contract of a venue',
  bookSnapshot: 'a member of the contract of a venue',
  figuresOf: 'exported to users of the client',
};

type Fault = 'long' | 'parameters' | 'boolean' | 'name';

const ADVICE: Readonly<Record<Fault, string>> = {
  long: `cut it into named pieces, or write "Long because …" directly above it: ${LONGEST} lines are read in one look`,
  parameters: 'name what belongs together in an object: nobody remembers the order of four values',
  boolean: "use two functions or a union of words: a call with `true` doesn't say what is true",
  name: 'use verb + object (or `toX`, `isX`), because a noun looks like a value where it is passed on; a new verb goes into VERBS',
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

type Named = { readonly name: string; readonly line: number };
/** Functions of the module itself: declared, or values of a constant. */
const findNamed = (program: Program): Named[] =>
  program.body.flatMap((statement): Named[] => {
    const own = 'declaration' in statement && statement.declaration ? statement.declaration : statement;
    if (own.type === 'FunctionDeclaration')
      return own.id ? [{ name: own.id.name, line: own.loc?.start.line ?? 0 }] : [];
    if (own.type !== 'VariableDeclaration') return [];
    return own.declarations.flatMap(({ id, init, loc }) =>
      id.type === 'Identifier' && init && isFunction(init) ? [{ name: id.name, line: loc?.start.line ?? 0 }] : [],
    );
  });
const isNoun = ({ name }: Named): boolean =>
  !FIRST_WORDS.has(/^[a-z]*/.exec(name)?.[0] ?? '') && FIXED[name] === undefined;

type Found = { readonly fault: Fault; readonly line: number; readonly name?: string };
/** The faults of one file. Throws when it cannot be read. */
const findFaults = (text: string): Found[] => {
  const bare = stripTypeScriptTypes(text);
  if (bare.length !== text.length) throw new Error('the text without types has other positions');
  const lines = text.split('\n');
  const program = parse(bare, { ecmaVersion: 'latest', sourceType: 'module', locations: true, allowHashBang: true });
  const nouns = findNamed(program).filter(isNoun);
  const shapes = [...findFunctions(program)].flatMap((node): Found[] => {
    const line = node.loc?.start.line ?? 0;
    const isLong = countLines(node) > LONGEST && !REASON.test(commentAbove(lines, line));
    const faults: Fault[] = [
      ...(isLong ? (['long'] as const) : []),
      ...(node.params.length > MOST_PARAMETERS ? (['parameters'] as const) : []),
      ...node.params.filter((parameter) => isBoolean(parameter, text)).map(() => 'boolean' as const),
    ];
    return faults.map((fault) => ({ fault, line }));
  });
  return [...shapes, ...nouns.map((noun): Found => ({ fault: 'name', ...noun }))];
};

const walk = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : walk(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

t.test('functions are short, take three parameters at most and no boolean one, and are named for what they do', (t) => {
  for (const path of ROOMS.flatMap((room) => walk(join(ROOT, room)))) {
    const file = relative(ROOT, path);
    for (const { fault, line, name } of findFaults(readFileSync(path, 'utf8')))
      t.fail(`${file}:${line}: found ${name ?? `a function of the kind "${fault}"`}; ${ADVICE[fault]}`);
  }
  t.pass('every function looked at');
  t.end();
});

const body = (lines: number): string => `{\n${'  call();\n'.repeat(lines - 2)}}`;
const listKinds = (text: string): readonly Fault[] => findFaults(text).map(({ fault }) => fault);

t.test('each kind of function is found, and its valid neighbour is not', async (t) => {
  t.same(listKinds(`const run = () => ${body(61)};`), ['long']);
  t.same(listKinds(`const run = () => ${body(60)};`), []);
  t.same(listKinds(`/** Long because a table is read whole. */\nconst run = () => ${body(61)};`), []);
  t.same(listKinds(`/** Draws. */\nconst run = () => ${body(61)};`), ['long'], 'a comment without a reason');
  t.same(
    listKinds(`// Long because of g.\nconst g = 1;\nconst run = () => ${body(61)};`),
    ['long'],
    'a comment of another',
  );
  t.same(listKinds(`class A {\n  m(): void ${body(61)}\n}`), ['long']);
  t.same(listKinds('function run(a: string, b: number, c: A, d: B) {}'), ['parameters']);
  t.same(listKinds('class A { constructor(a, b, c, d) {} }'), ['parameters']);
  t.same(listKinds('const run = ({ a, b, c, d }: Parts, e: string) => a;'), []);
  t.same(listKinds('const run = (isOpen: boolean) => 1;'), ['boolean']);
  t.same(listKinds('const run = (name: string, isOpen?: boolean) => 1;'), ['boolean']);
  t.same(listKinds('const run = (isOpen = false) => 1;'), ['boolean']);
  t.same(listKinds('const run = (a: boolean, b: boolean) => 1;'), ['boolean', 'boolean']);
  t.same(listKinds('const run = (test: (n: number) => boolean): boolean => true;'), []);
  t.same(listKinds('const run = ({ isOpen }: { readonly isOpen: boolean }) => 1;'), []);
  t.same(
    listKinds("const ü = '…é'; const run = (isOpen: boolean) => 1;"),
    ['boolean'],
    'behind letters of several bytes',
  );
});

t.test('a function is named for what it does, a value as it likes', async (t) => {
  t.same(listKinds('const listingView = () => 1;'), ['name']);
  t.same(listKinds('export const viewOf = (a: A): B => a.view;'), ['name']);
  t.same(listKinds('export function* rows() {}'), ['name']);
  t.same(listKinds('export async function row() {}'), ['name']);
  t.same(listKinds('export default function table() {}'), ['name']);
  t.same(listKinds('const NOTES = () => [];'), ['name'], 'also a constant');
  t.same(listKinds('const finder = () => 1;'), ['name'], 'the first word is the whole verb');
  t.same(
    listKinds('const findRow = () => 1, toRow = () => 1, isRow = () => true, withRow = () => 1, run = () => 1;'),
    [],
  );
  t.same(listKinds('const view = 1; const rows = list.map((a) => a); class Row {}'), []);
  t.same(
    listKinds('const makeRow = () => { const row = () => 1; return row; };'),
    [],
    'what only its own function sees',
  );
  t.same(listKinds('const main = () => 1;'), [], 'a name that something else fixes');
});
