// An endpoint is its file, its example and a line in the registry: a sample added to a copy of the tree is routed, checked and documented.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { checkTouchList, copyTree, findFailures } from '../../support/scratch-copy.ts';

t.test('an endpoint is two files, a line in the registry, words of its members and a row of faults', async (t) => {
  const copy = copyTree(t);
  checkTouchList(t, 'an endpoint', 'sample', copy.add('new-endpoint'));
  copy.run('infra/dev/documents/endpoint-docs.ts');
  t.match(
    readFileSync(join(copy.root, 'docs/endpoints.md'), 'utf8'),
    /GET \/v2\/sample[\s\S]*Number of venues known\./,
  );
  t.equal(copy.checkTypes(['api', 'test/api/data-app/check-order.test.ts']), '', 'the copy compiles');
  const files = ['test/api/data-app/check-order.test.ts', 'test/infra/dev/documents/endpoint-docs.test.ts'];
  t.same(findFailures(copy, files), []);
});
