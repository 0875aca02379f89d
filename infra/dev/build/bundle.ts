// Bundles the processes: the modules and packages of each in one file, which finds the files of the project as they do.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { describeInput, type Input, PROJECT, type Project, toBundlePath, toInputsPath } from './entries.ts';

const LOCK = 'package-lock.json';
const PACKAGES = 'node_modules/';
/** Packages with compiled parts, and those of which we use parts that they do not export: such a part and the package must be one copy. */
const APART = ['@node-rs/argon2', 'avsc', 'esbuild', 'kafkajs'];
/** Packages that other packages use if they are installed. */
const OPTIONAL = ['bufferutil', 'pg-native', 'utf-8-validate'];

/** The folder of the project, seen from the bundle; packages of the CommonJS kind know their path. */
const BANNER = `
import { createRequire as __createRequire } from 'node:module';
import { fileURLToPath as __toPath } from 'node:url';
const __project = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 1);
const require = __createRequire(import.meta.url);
const __filename = __toPath(import.meta.url);
const __dirname = __toPath(new URL('.', import.meta.url));
`;

/** Modules of ours, and a few of packages with such a folder. */
const OWN = /[/\\](api|clients|infra|ingest|processors|schemas)[/\\].*\.(ts|mjs)$/;
const META = /\bimport\.meta\.(url|dirname|main)\b/g;

/** A module of ours still names its own place in the project, and is not the one that was started unless it is an entry. */
const keepPlaces = ({ root, entries }: Project): Plugin => ({
  name: 'own modules',
  setup: ({ onLoad }) => {
    onLoad({ filter: OWN }, async ({ path }) => {
      const name = relative(root, path);
      if (name.startsWith(PACKAGES)) return undefined;
      const place = `new URL(${JSON.stringify(name)}, __project)`;
      const meta: Readonly<Record<string, string>> = {
        url: `${place}.href`,
        dirname: `__toPath(new URL('.', ${place})).slice(0, -1)`,
        main: entries.includes(name) ? 'import.meta.main' : 'false',
      };
      const contents = (await readFile(path, 'utf8')).replace(META, (whole, member: string) => meta[member] ?? whole);
      return { contents, loader: path.endsWith('.mjs') ? 'js' : 'ts' };
    });
  },
});

/** Modules of ours that an entry imports, itself among them; also those of which nothing is left in its bundle. */
const listModules = (entry: string, inputs: Metafile['inputs'], found = new Set<string>()): ReadonlySet<string> => {
  if (found.has(entry) || entry.startsWith(PACKAGES) || inputs[entry] === undefined) return found;
  found.add(entry);
  for (const { path } of inputs[entry].imports) listModules(path, inputs, found);
  return found;
};

/** Replaces a file as a whole: another process may read it meanwhile. */
const replaceFile = (path: string, content: string | Uint8Array): void => {
  const made = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(made, content);
    renameSync(made, path);
  } finally {
    rmSync(made, { force: true });
  }
};

/** Bundles all entries, and writes down of what each was made. Throws esbuild's errors. */
export const bundleEntries = async (project = PROJECT): Promise<void> => {
  const begun = Date.now();
  const { metafile, outputFiles } = await build({
    absWorkingDir: project.root,
    entryPoints: [...project.entries],
    outdir: 'dist',
    outbase: '.',
    outExtension: { '.js': '.mjs' },
    write: false,
    bundle: true,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    external: [...APART, ...OPTIONAL],
    banner: { js: BANNER },
    plugins: [keepPlaces(project)],
    legalComments: 'none',
    logLevel: 'error',
  });
  // What changed while it was read may be in the bundle as it was before: its time of change is one that no file has.
  const stamp = (path: string): Input => {
    const [, changedMs, bytes] = describeInput(project, path);
    return [path, changedMs < begun ? changedMs : 0, bytes];
  };
  const bundles = new Map(outputFiles.map(({ path, contents }) => [path, contents]));
  for (const entry of project.entries) {
    const path = toBundlePath(project, entry);
    const bundle = bundles.get(path);
    if (bundle === undefined) throw new Error(`esbuild made no bundle of ${entry}`);
    const inputs = [LOCK, ...listModules(entry, metafile.inputs)].map(stamp);
    replaceFile(path, bundle);
    replaceFile(toInputsPath(project, entry), JSON.stringify(inputs));
  }
};
