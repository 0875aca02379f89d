/** Bundles of processes (D-1141): they do what their modules do, and are run only while they are made of the present sources. */
import { execFileSync } from 'node:child_process';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bundleEntries } from '../../../../infra/dev/build/bundle.ts';
import { findProgram, type Project } from '../../../../infra/dev/build/entries.ts';

const MAIN = `
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import old from 'old-package';
import { place, type Place } from '../schemas/place.ts';
export * from './types.ts';
const require = createRequire(import.meta.url);
const data = readFileSync(new URL('./data.txt', import.meta.url), 'utf8');
const { lazy } = await import('./lazy.ts');
const told: Place = { ...place, data, old: old.name, same: require('avsc').value, lazy };
if (import.meta.main) console.log(JSON.stringify(told));
`;

const run = (program: string): unknown => JSON.parse(execFileSync(process.execPath, [program], { encoding: 'utf8' }));

t.test('a bundle finds its files, starts once, and gives way to its sources when they change', async (t) => {
  const root = t.testdir({
    'package.json': '{ "type": "module" }',
    'package-lock.json': '{}',
    api: {
      'main.ts': MAIN,
      'lazy.ts': "export const lazy: string = 'lazy';\n",
      'types.ts': 'export type Unused = string;\n',
      'data.txt': 'data',
      'web.ts': "console.log(JSON.stringify('web'));\n",
    },
    schemas: {
      'place.ts': `
        if (import.meta.main) console.log('started as well');
        export type Place = Readonly<Record<string, unknown>>;
        export const place: Place = { folder: import.meta.dirname, isMain: import.meta.main };
      `,
    },
    node_modules: {
      'old-package': {
        'package.json': '{}',
        'index.js': "const { sep } = require('path'); module.exports = { name: 'old' + sep };\n",
      },
      avsc: { 'package.json': '{}', 'index.js': 'module.exports = { value: 1 };\n' },
    },
  });
  const project: Project = { root, entries: ['api/main.ts', 'api/web.ts'] };
  const [source, bundle] = [join(root, 'api/main.ts'), join(root, 'dist/api/main.mjs')];
  t.equal(findProgram('api/main.ts', project), source, 'nothing is built yet');
  const expected = { folder: join(root, 'schemas'), isMain: false, data: 'data', old: 'old/', same: 1, lazy: 'lazy' };
  t.same(run(source), expected);

  await bundleEntries(project);
  t.equal(findProgram('api/main.ts', project), bundle);
  t.same(run(bundle), expected);
  t.equal(run(findProgram('api/web.ts', project)), 'web');
  t.equal(findProgram('schemas/place.ts', project), join(root, 'schemas/place.ts'), 'no process');

  for (const [second, changed] of ['schemas/place.ts', 'api/types.ts', 'api/lazy.ts'].entries()) {
    utimesSync(join(root, changed), second, second);
    t.equal(findProgram('api/main.ts', project), source, `${changed} has changed`);
    t.equal(findProgram('api/web.ts', project), join(root, 'dist/api/web.mjs'), 'which is no source of the other');
    await bundleEntries(project);
    t.equal(findProgram('api/main.ts', project), bundle, 'and is up to date again');
  }
  writeFileSync(join(root, 'package-lock.json'), '{ }');
  t.equal(findProgram('api/web.ts', project), join(root, 'api/web.ts'), 'other packages may be installed');
  await bundleEntries(project);
  rmSync(join(root, 'api/lazy.ts'));
  t.equal(findProgram('api/main.ts', project), source, 'which says what is missing');
});
