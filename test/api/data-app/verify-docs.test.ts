// GET /docs/verify: both verifiers byte for byte, open, with right types; what its text names exists (AN-10).
import { readFileSync } from 'node:fs';
import t from 'tap';
import { market, testApp } from '../../support/apps/live-fixture.ts';

t.test('both scripts and how they are used, without a key', async (t) => {
  const { app } = await testApp(market(), { baseUrl: 'http://api.test' });
  t.teardown(() => app.close());
  const page = await app.inject({ url: '/docs/verify' });
  t.equal(page.statusCode, 200);
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=60' });
  const links = [...page.body.matchAll(/href="http:\/\/api\.test([^"]+)"/g)].map(([, path]) => path ?? '');
  t.same(links, ['/docs/verify/verify.mjs', '/docs/verify/verify.py']);
  for (const [path, type] of [
    [links[0], 'text/javascript; charset=utf-8'],
    [links[1], 'text/x-python; charset=utf-8'],
  ] as const) {
    const script = await app.inject({ url: path ?? '' });
    t.equal(script.headers['content-type'], type);
    t.ok(
      script.rawPayload.equals(
        readFileSync(new URL(`../../../infra/verify/${path?.split('/').at(-1)}`, import.meta.url)),
      ),
    );
    t.match(await app.inject({ method: 'HEAD', url: path ?? '' }), { statusCode: 200, body: '' });
  }
  for (const [part = ''] of page.body.matchAll(/<pre[\s\S]+?<\/pre>/g))
    for (const [, name] of part.matchAll(/^(?:node|python3) (\S+) PROOF/gm))
      t.ok(part.includes(`curl -sO http://api.test/docs/verify/${name}`), `${name} is fetched before it is run`);
  const [proof] = /http:\/\/api\.test(\/v2\/anchors\/proof\?[^"\s]+)/.exec(page.body)?.slice(1) ?? [];
  t.equal(
    (await app.inject({ url: proof?.replaceAll('&amp;', '&') ?? '' })).statusCode,
    401,
    'the proof it shows needs a key',
  );
  t.match(page.body, /^DAY=\d{4}-\d{2}-\d{2}$/m, 'the day to choose is named once');
  t.notMatch(page.body.replace(/^DAY=.+$/m, ''), /\d{4}-\d{2}-\d{2}/, 'and stands in no other line');
  t.equal((await app.inject({ url: '/docs/verify/verify.sh' })).statusCode, 404);
  t.equal((await app.inject({ method: 'POST', url: '/docs/verify' })).statusCode, 405);
});
