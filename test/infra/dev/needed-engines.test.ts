// Which files `npm test` runs beside the opening: a file on the engines among them waits for cores that it does not get.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { needsEngines } from '../../support/run/needed-engines.ts';

const folder = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
/** Throws for a file that does not exist: it would need nothing. */
const asks = (name: string): boolean => needsEngines(realpathSync(`${folder}/${name}.test.ts`), realpathSync(folder));

t.test('a file needs the engines when it calls for them, or imports what does', (t) => {
  t.equal(asks('api/access/access-processes'), true, 'itself');
  t.equal(asks('api/explorer/relay'), true, 'through the fixture of a site');
  t.equal(asks('api/explorer/directory'), false);
  t.equal(asks('processors/task/book'), false);
  t.end();
});
