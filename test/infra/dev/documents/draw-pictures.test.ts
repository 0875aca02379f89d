// The pictures of the concepts equal those drawn from the recording, each with an alternative text.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { drawPictures, PICTURES } from '../../../../infra/dev/documents/draw-pictures.ts';
import { PROJECT_ROOT } from '../../../../infra/dev/engines/java.ts';

t.test('the pictures are drawn from the recording, have words, and nothing that a page would refuse', (t) => {
  const concepts = readFileSync(join(PROJECT_ROOT, 'docs/guides/concepts.md'), 'utf8');
  const drawn = [...drawPictures()];
  t.equal(drawn.length, 6);
  for (const [name, text] of drawn) {
    t.equal(readFileSync(join(PICTURES, name), 'utf8'), text, `${name}: \`npm run docs\` draws it again`);
    t.match(text, /<title id="[a-z]+-title">[^<]{10,}<\/title>\n<desc id="[a-z]+-told">[^<]{40,}<\/desc>/, name);
    t.notMatch(text, /NaN|undefined|Infinity|\sstyle=|<script/, name);
    t.match(concepts, new RegExp(`!\\[[^\\]]{20,}\\]\\(pictures/${name}\\)`), `the guide shows ${name}`);
  }
  t.end();
});
