// The tables of venues equal what the READMEs of venues state; `npm run docs` writes them again.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { renderVenueDocs } from '../../../../infra/dev/documents/venue-docs.ts';
import { PROJECT_ROOT } from '../../../../infra/dev/engines/java.ts';

t.test('the tables of venues are those of their READMEs', (t) => {
  const rendered = [...renderVenueDocs()];
  t.ok(rendered.length > 0);
  for (const [path, text] of rendered)
    t.equal(readFileSync(join(PROJECT_ROOT, path), 'utf8'), text, `${path}: \`npm run docs\` writes it again`);
  t.end();
});
