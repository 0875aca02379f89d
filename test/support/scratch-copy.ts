// A copy of the tree to which a test adds a sample: what the sample has to write and edit is the list of README.md, held here.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Test } from 'tap';
import { fixturePath } from './venues/recordings.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = [
  ...['schemas', 'infra', 'ingest', 'processors', 'api', 'clients', 'test', 'docs'],
  ...['package.json', 'tsconfig.json', 'biome.json', 'CHANGELOG.md', '.gitignore', 'README.md'],
];

/** Inserts a text after another one that a file has once. */
type Edit = { readonly file: string; readonly after: string; readonly insert: string };
/** Output of a sample: files of its fixture folder (without their `.txt`), and lines in existing files. */
type Added = { readonly files: readonly string[]; readonly edited: readonly string[] };

type ScratchCopy = {
  readonly root: string;
  /** Adds the sample in `test/fixtures/<name>`. */
  readonly add: (name: string) => Added;
  /** Complaints of the compiler about some folders of the copy. */
  readonly checkTypes: (include: readonly string[]) => string;
  /** Standard output of a script of the copy; it throws when the script fails. */
  readonly run: (script: string, env?: Readonly<Record<string, string>>) => string;
};

const EDITS = 'edits.json';

const applyEdit = (root: string, { file, after, insert }: Edit): void => {
  const text = readFileSync(join(root, file), 'utf8');
  if (text.split(after).length !== 2) throw new Error(`${file} has not one "${after}": change ${EDITS}`);
  writeFileSync(
    join(root, file),
    text.replace(after, () => `${after}${insert}`),
  );
};

const addSample = (root: string, name: string): Added => {
  const sample = fixturePath(name);
  const files = readdirSync(sample, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== EDITS)
    .map((entry) => join(entry.parentPath, entry.name).slice(sample.length + 1));
  for (const file of files) {
    const target = join(root, file.replace(/\.txt$/, ''));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(sample, file), target);
  }
  const edits = JSON.parse(readFileSync(join(sample, EDITS), 'utf8')) as readonly Edit[];
  for (const edit of edits) applyEdit(root, edit);
  return {
    files: files.map((file) => file.replace(/\.txt$/, '')).toSorted(),
    edited: [...new Set(edits.map(({ file }) => file))],
  };
};

/** A copy of the tree without its Git folder, removed at the end of the test. */
export const copyTree = (t: Test): ScratchCopy => {
  const root = mkdtempSync(join(tmpdir(), 'scratch-copy-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  for (const path of COPIED) cpSync(join(ROOT, path), join(root, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const execute = (args: readonly string[], env: Readonly<Record<string, string>> = {}): string =>
    execFileSync(process.execPath, args, {
      ...{ cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] },
      env: { ...process.env, ...env },
    });
  return {
    root,
    add: (name) => addSample(root, name),
    checkTypes: (include) => {
      const base = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as object;
      writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ ...base, include }));
      try {
        // Several checkers look at shared types each for itself: twice the processor time.
        return execute([join(ROOT, 'node_modules/typescript/bin/tsc'), '--singleThreaded', '-p', root]);
      } catch (error) {
        return (error as { readonly stdout: string }).stdout;
      }
    },
    run: (script, env) => execute([script], env),
  };
};

/** Test files of the copy whose points did not pass; `only` picks their tests by name. */
export const findFailures = (copy: ScratchCopy, files: readonly string[], only?: string): readonly string[] =>
  files.flatMap((file) => {
    try {
      copy.run(file, { ...(only === undefined ? {} : { TAP_GREP: only }), MUTATIONS: '300' });
      return [];
    } catch (error) {
      return [
        `${file}: ${(error as { readonly stdout?: string }).stdout?.match(/^ *not ok.*$/m)?.[0] ?? String(error)}`,
      ];
    }
  });

const LANGUAGE_CHANGES = 'api/operations/catalogue-version.ts';

/** Adds the line that the test of the language's tables prints when they have changed, and returns the name of its file. */
export const addLanguageChange = (copy: ScratchCopy): string => {
  const failures = findFailures(copy, ['test/api/operations/dql.test.ts'], '/last change of the language/').join();
  const [line] = /\['[^']+', '[0-9a-f]{16}'\]/.exec(failures) ?? [];
  if (line === undefined) throw new Error(`found no line to add in "${failures}"`);
  const file = join(copy.root, LANGUAGE_CHANGES);
  const text = readFileSync(file, 'utf8').replace('\n];\n', () => `\n  ${line},\n];\n`);
  writeFileSync(file, text);
  return LANGUAGE_CHANGES;
};

type TouchList = { readonly write: readonly string[]; readonly edit: readonly string[] };

/** Paths of README.md's table of additions, unchanged (`<id>` is the name of the addition). */
const readTouchList = (addition: string): TouchList => {
  const row = readFileSync(join(ROOT, 'README.md'), 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`| ${addition} |`));
  const [, , write = '', edit = ''] = row?.split('|') ?? [];
  const paths = (cell: string): readonly string[] =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path).toSorted();
  return { write: paths(write), edit: paths(edit) };
};

/** Holds what a sample wrote against README.md; `id` is the sample's name there. */
export const checkTouchList = (t: Test, addition: string, id: string, { files, edited }: Added): void => {
  const { write, edit } = readTouchList(addition);
  const named = write.map((path) => path.replaceAll('<id>', id));
  const isNamed = (file: string): boolean =>
    named.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path));
  t.same(
    files.filter((file) => !isNamed(file)),
    [],
    'files that README.md does not name',
  );
  t.same(edited.toSorted(), edit, 'files with a new line, as README.md names them');
};
