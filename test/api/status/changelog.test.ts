// The changelog as JSON and Atom (VER-02): every line of CHANGELOG.md is an entry, ids never change.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parseChangelog, renderAtom } from '../../../api/status/changelog.ts';
import { market, testApp } from '../../support/apps/live-fixture.ts';

const OURS = readFileSync(new URL('../../../CHANGELOG.md', import.meta.url), 'utf8');

t.test('entries come newest day first, with the endpoints they name', (t) => {
  const text =
    '# C\n\nwords\n\n## 2026-01-01\n\n- added: a `GET /v2/venues`\n  and `POST /v2/venues`.\n- data: b.\n\n## 2026-02-01\n\n- changed: c <&>.\n';
  t.same(parseChangelog(text), [
    { date: '2026-02-01', kind: 'changed', text: 'c <&>.', endpoints: [] },
    { date: '2026-01-01', kind: 'added', text: 'a `GET /v2/venues` and `POST /v2/venues`.', endpoints: ['/v2/venues'] },
    { date: '2026-01-01', kind: 'data', text: 'b.', endpoints: [] },
  ]);
  t.throws(() => parseChangelog('## 2026-01-01\n- mended: x'), /"mended" is not a kind/);
  const atom = renderAtom(parseChangelog(text), 'https://api.test');
  t.match(atom, '<content type="text">c &lt;&amp;&gt;.</content>');
  t.match(atom, '<id>tag:api.test,2026-01-01:change-2</id>');
  const more = renderAtom(parseChangelog(`${text}- added: d.\n`), 'https://api.test');
  for (const [id] of atom.matchAll(/<id>tag:[^<]+:change-\d+<\/id>/g)) t.ok(more.includes(id), id);
  t.end();
});

t.test('our own is served whole', async (t) => {
  const { app } = await testApp(market());
  t.teardown(() => app.close());
  const { items } = (await app.inject('/changelog.json')).json() as { items: { endpoints: string[] }[] };
  t.equal(items.length, OURS.match(/^- /gm)?.length);
  t.ok(items.some(({ endpoints }) => endpoints.includes('/v2/anchors/{day}')));
  const atom = await app.inject('/changelog.atom');
  t.match(atom.headers['content-type'], /^application\/atom\+xml/);
  t.equal(atom.body.match(/<entry>/g)?.length, items.length);
});

t.test('what the account site renders is found at the API too (OP-01, VER-02)', async (t) => {
  const { app } = await testApp(market(), { accountUrl: 'https://account.test' });
  t.teardown(() => app.close());
  for (const path of ['/llms.txt', '/changelog']) {
    const answer = await app.inject(path);
    t.match([answer.statusCode, answer.headers.location], [302, `https://account.test${path}`]);
  }
});
