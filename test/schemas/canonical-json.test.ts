// RFC 8785: the published cases byte for byte, and what they leave out.
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { CanonicalJsonError, type CanonicalValue, formatCanonicalJson } from '../../schemas/canonical-json.ts';

const FIXTURES = new URL('../fixtures/jcs/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, FIXTURES), 'utf8');

t.test('the six published cases', (t) => {
  for (const name of readdirSync(new URL('input/', FIXTURES))) {
    const canonical = formatCanonicalJson(JSON.parse(read(`input/${name}`)) as CanonicalValue);
    t.equal(canonical, read(`output/${name}`), name);
    const hex = read(`outhex/${name.replace('.json', '.txt')}`).replace(/\s/g, '');
    t.equal(Buffer.from(canonical).toString('hex'), hex, `${name} as bytes`);
  }
  t.end();
});

t.test('the first thousand published numbers', (t) => {
  const lines = read('es6-numbers-1000.csv').trim().split('\n');
  for (const line of lines) {
    const [bits = '', expected = ''] = line.split(',');
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt(`0x${bits}`));
    if (formatCanonicalJson(view.getFloat64(0)) !== expected)
      t.equal(formatCanonicalJson(view.getFloat64(0)), expected, line);
  }
  t.equal(lines.length, 1_000);
  t.end();
});

t.test('members ascend by UTF-16 code units, which differs from bytes above U+FFFF', (t) => {
  const above = '\u{1F602}';
  t.equal(formatCanonicalJson({ '\uFB33': 1, [above]: 2 }), `{"${above}":2,"\uFB33":1}`);
  t.end();
});

t.test('what has no canonical text is refused', (t) => {
  for (const value of ['\uD800', { '\uDC00': 1 }, [Number.NaN], Number.POSITIVE_INFINITY])
    t.throws(() => formatCanonicalJson(value), CanonicalJsonError);
  t.end();
});
