// The tokens of forms for browsers without a session: how long a form is good (AC-05).
import cookie from '@fastify/cookie';
import fastify from 'fastify';
import t from 'tap';
import { createFormTokens } from '../../../api/account-app/form-tokens.ts';

t.test('a form is good for 12 hours, also when the browser was given its id by an earlier one', async (t) => {
  const forms = createFormTokens({ secret: Buffer.alloc(32), isSecure: false });
  const app = fastify();
  t.teardown(() => app.close());
  app.decorateRequest('session', null);
  await app.register(cookie);
  app.get('/form', async (request, reply) => ['/a', '/b'].map((path) => forms.make(request, reply, path)));
  app.post('/a', async (request) => forms.isGood(request, '/a', request.body));
  const load = async (cookies: Record<string, string>) => {
    const answer = await app.inject({ url: '/form', cookies });
    return { tokens: answer.json() as string[], cookies: answer.cookies };
  };
  const first = await load({});
  t.match(first.cookies, [{ name: 'browser', maxAge: 43_200, httpOnly: true, sameSite: 'Lax' }], 'one for both forms');
  const id = first.cookies[0]?.value ?? '';
  const second = await load({ browser: id });
  t.match(second.cookies, [{ name: 'browser', value: id, maxAge: 43_200 }], 'counted from the newest form');
  t.same(second.tokens, first.tokens, 'the earlier form stays good');
  const send = async (browser: string) =>
    (
      await app.inject({
        method: 'POST',
        url: '/a',
        cookies: { browser },
        payload: JSON.stringify(second.tokens[0]),
        headers: { 'content-type': 'application/json' },
      })
    ).json();
  t.equal(await send(id), true);
  t.equal(await send('A'.repeat(22)), false, 'of another browser');
  t.not((await load({ browser: 'no id' })).cookies[0]?.value, 'no id');
});
