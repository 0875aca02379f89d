// The client's parts from the service are current; the client, its examples and wrong uses of it have the expected types.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';
import { CLIENT_VERIFIER } from '../../../infra/dev/documents/client-sources.ts';
import { listStaleFiles } from '../../../infra/dev/documents/endpoint-docs.ts';
import { PYTHON_TYPES } from '../../../infra/dev/documents/python-types.ts';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';

t.test('what `npm run docs` prints is current, and a change of it is found', (t) => {
  t.same(listStaleFiles(), [], '`npm run docs` prints them again');
  const changed = (path: string): string | null =>
    path === PYTHON_TYPES ? readFileSync(path, 'utf8').replace('float', 'int') : readFileSync(path, 'utf8');
  t.same(listStaleFiles(changed), ['clients/python/src/perp/types.py']);
  t.ok(
    listStaleFiles(() => null).includes(relative(PROJECT_ROOT, CLIENT_VERIFIER)),
    'a file that is not there is stale',
  );
  t.end();
});

t.test('the package compiles for browsers and Node; examples are right, and each wrong use is an error', (t) => {
  const tsc = join(PROJECT_ROOT, 'node_modules', '.bin', 'tsc');
  for (const config of ['tsconfig.json', 'tsconfig.examples.json']) {
    const args = ['--noEmit', '-p', join('clients', 'typescript', config)];
    const { status, stdout } = spawnSync(tsc, args, { cwd: PROJECT_ROOT, encoding: 'utf8' });
    t.equal(status, 0, `${config} ${stdout}`);
  }
  const wrong = readFileSync(join(import.meta.dirname, 'wrong', 'wrong-use.ts'), 'utf8');
  t.ok((wrong.match(/@ts-expect-error/g) ?? []).length >= 15);
  t.end();
});
