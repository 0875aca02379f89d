/** The step before a first start (D-810): modules are compiled, none is run, and their processes need no TypeScript compiler. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';

const SCRIPT = fileURLToPath(new URL('../../../../infra/dev/local/compile-modules.mjs', import.meta.url));
const COMPILER = 'NativeModule internal/deps/amaro/dist/index';

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { NODE_COMPILE_CACHE: _own, ...rest } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: { ...rest, ...env } });
  return { status, stdout, stderr };
};

/** Imports the module, and prints whether its process has loaded the compiler. */
const importModule = (file: string, compiled: string) =>
  run(
    [
      '--input-type=module',
      '--eval',
      `await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(process.moduleLoadList.includes('${COMPILER}'))`,
    ],
    { NODE_COMPILE_CACHE: compiled },
  );

t.test('compiles the modules of folders and what they import, and runs none', async (t) => {
  const dir = t.testdir({
    'package.json': '{ "type": "module" }',
    service: {
      'main.ts': "import { name } from '../shared/name.ts';\nconsole.log('runs', name satisfies string);\n",
      deep: { 'lazy.ts': 'export const lazy: number = 1;\n' },
    },
    shared: { 'name.ts': "export const name: string = 'main';\n" },
  });
  const main = `${dir}/service/main.ts`;
  t.same(importModule(main, `${dir}/none`).stdout, 'runs main\ntrue\n', 'otherwise a process loads the compiler');
  t.same(run([SCRIPT, `${dir}/compiled`, `${dir}/service`]), { status: 0, stdout: '', stderr: '' });
  t.same(importModule(main, `${dir}/compiled`).stdout, 'runs main\nfalse\n');
  t.same(importModule(`${dir}/service/deep/lazy.ts`, `${dir}/compiled`).stdout, 'false\n', 'nothing imports it yet');
});

t.test('a module whose imports are missing is passed over', async (t) => {
  const dir = t.testdir({
    'package.json': '{ "type": "module" }',
    'a.ts': "import './missing.ts';\n",
    'b.ts': 'export const b: number = 1;\n',
  });
  t.same(run([SCRIPT, `${dir}/compiled`, dir]), { status: 0, stdout: '', stderr: '' });
  t.same(importModule(`${dir}/b.ts`, `${dir}/compiled`).stdout, 'false\n');
});
