// A venue is its folder, its fixtures and one line in the registry: a sample added to a copy of the tree passes every test of the registry.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { checkTouchList, copyTree, findFailures } from '../../support/scratch-copy.ts';
import { fixturePath } from '../../support/venues/recordings.ts';

t.test('a venue is a folder and one line outside it', async (t) => {
  const copy = copyTree(t);
  const added = copy.add('new-venue');
  checkTouchList(t, 'a venue', 'examplex', added);
  t.same(added.edited, ['ingest/venues/registry.ts']);
  // The sample has Aster's messages: its recordings are Aster's.
  cpSync(fixturePath('aster'), join(copy.root, 'test/fixtures/examplex'), { recursive: true });
  copy.run('infra/dev/documents/endpoint-docs.ts');
  copy.run('test/ingest/venues/listings-table.test.ts', { GOLDEN_UPDATE: '1' });

  t.equal(copy.checkTypes(['ingest', 'processors', 'test/ingest/venues']), '', 'the copy compiles');
  const own = [
    ...['candle-volumes', 'contract', 'listing-elements', 'record-sanity', 'refused-requests', 'unknown-words'],
    'shared/unexpected',
  ];
  const files = own.map((name) => `test/ingest/venues/${name}.test.ts`);
  t.same(findFailures(copy, files, '/^examplex:/'), []);
  const whole = [
    'test/ingest/venues/asked-minutes.test.ts',
    'test/infra/dev/documents/venue-docs.test.ts',
    'test/architecture.test.ts',
  ];
  t.same(findFailures(copy, whole), []);
});
