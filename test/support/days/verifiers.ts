// Runs both verifiers of anchored data: by command, as a stranger does, and many times in one process, where starting costs more than verifying.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const FOLDER = dirname(fileURLToPath(new URL('../../../infra/verify/README.md', import.meta.url)));
export const VERIFIERS = {
  python: { command: 'python3', script: join(FOLDER, 'verify.py') },
  node: { command: process.execPath, script: join(FOLDER, 'verify.mjs') },
} as const;

const NO_PYTHON = 'python3 was not found: install Python 3.9 or newer, because one of the two verifiers is in Python';
/** Nothing of our environment reaches the verifiers. */
const env = { PATH: process.env['PATH'] };

type Outcome = { readonly code: number; readonly out: string; readonly err: string };
export type Alike = { readonly python: Outcome; readonly node: Outcome };

/** Runs a command to its end. Rejects only when it cannot be started. */
export const runCommand = (command: string, words: readonly string[], folder: string): Promise<Outcome> =>
  new Promise((settle, fail) => {
    const child = execFile(
      command,
      [...words],
      { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 },
      (error, out, err) => {
        if ((error as NodeJS.ErrnoException | null)?.code === 'ENOENT') fail(new Error(NO_PYTHON));
        else settle({ code: child.exitCode ?? -1, out, err });
      },
    );
  });

/** The same command line for both, in `folder`. */
export const runBoth = async (words: readonly string[], folder: string): Promise<Alike> => {
  const [python, node] = await Promise.all(
    [VERIFIERS.python, VERIFIERS.node].map(({ command, script }) => runCommand(command, [script, ...words], folder)),
  );
  return { python: python as Outcome, node: node as Outcome };
};

/** Reads a list of arguments a line, prints an Outcome a line. */
const PYTHON_LOOP = `
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = verify.main(json.loads(line))
    print(json.dumps({'code': code, 'out': out.getvalue(), 'err': err.getvalue()}), flush=True)
`;
const NODE_LOOP = `
import { createInterface } from 'node:readline';
const { main } = await import(process.argv[1]);
const answer = process.stdout.write.bind(process.stdout);
const said = { out: '', err: '' };
process.stdout.write = (text) => { said.out += text; return true; };
process.stderr.write = (text) => { said.err += text; return true; };
for await (const line of createInterface({ input: process.stdin })) {
  Object.assign(said, { out: '', err: '' });
  const code = await main(JSON.parse(line));
  answer(JSON.stringify({ code, ...said }) + '\\n');
}
`;

type Loop = { readonly ask: (words: readonly string[]) => Promise<Outcome>; readonly child: ChildProcess };

const openLoop = (command: string, words: readonly string[], folder: string): Loop => {
  const child = spawn(command, words, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const failed = new Promise<never>((_, fail) => {
    child.on('error', () => fail(new Error(NO_PYTHON)));
    child.on('close', (code) => fail(new Error(`${command} ended with ${code} amid its work`)));
  });
  failed.catch(() => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (asked: readonly string[]): Promise<Outcome> => {
    child.stdin.write(`${JSON.stringify(asked)}\n`);
    const { value } = await Promise.race([lines.next(), failed]);
    return JSON.parse(value as string) as Outcome;
  };
  return { ask, child };
};

type Verifiers = { readonly run: (words: readonly string[]) => Promise<Alike> };

/** Both verifiers, each in one process that works in `folder` until the test ends. */
export const openVerifiers = (t: { teardown(work: () => unknown): unknown }, folder: string): Verifiers => {
  const python = openLoop('python3', ['-B', '-c', PYTHON_LOOP, FOLDER], folder);
  const script = pathToFileURL(VERIFIERS.node.script).href;
  const node = openLoop(process.execPath, ['--input-type=module', '-e', NODE_LOOP, script], folder);
  t.teardown(() => {
    for (const { child } of [python, node]) child.kill();
  });
  return {
    run: async (words) => {
      const [first, second] = await Promise.all([python.ask(words), node.ask(words)]);
      return { python: first, node: second };
    },
  };
};

/** Names of the steps that a report shows as failed. */
export const failedSteps = (report: string): string[] =>
  [...report.matchAll(/^FAIL ([^:]+):/gm)].map(([, name]) => name as string);
