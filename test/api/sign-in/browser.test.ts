// The consent page in a real browser, on a laptop and a phone: Allow and Deny return to the requesting program (T-10, AC-05).
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { findViolations, isTooWide, openChromium, shoot, visit } from '../../support/services/browser.ts';
import {
  authorizeUrl,
  computeChallenge,
  connect,
  exchangeCode,
  newVerifier,
  registered,
  signUp,
  startSignIn,
} from './sign-in-fixture.ts';

t.test('Allow and Deny, on a laptop and on a phone, with five connections and without', async (t) => {
  const service = await startSignIn(t);
  const chromium = await openChromium(t);
  const program = createServer((_request, reply) => reply.setHeader('content-type', 'text/html').end('<h1>Back</h1>'));
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
  t.teardown(() => program.close());
  t.teardown(() => program.closeAllConnections());
  const redirect_uri = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
  const owner = await signUp(service);

  for (const [look, colours] of [
    ['desktop', 'light'],
    ['phone', 'dark'],
  ] as const) {
    if (look === 'phone') for (let i = 0; i < 4; i++) await connect(service, owner);
    const seen = await visit(chromium, look, colours);
    const { page, context, faults } = seen;
    await context.addCookies([{ name: 'session', value: owner.token, url: service.authUrl }]);
    const client_name =
      look === 'phone' ? 'A program with a name <i>that</i> is rather long for a phone' : 'Desk agent';
    const client_id = await registered(service, { client_name, redirect_uris: [redirect_uri] });
    const code_verifier = newVerifier();
    const asked = authorizeUrl(service, { client_id, redirect_uri, code_challenge: computeChallenge(code_verifier) });

    await page.goto(asked);
    await shoot(seen, `connect-${look}`);
    t.same(await findViolations(seen), []);
    t.notOk(await isTooWide(seen));
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${redirect_uri}?**`);
    t.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');

    await page.goto(asked);
    if (look === 'phone') {
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByRole('alert').waitFor();
      await shoot(seen, 'connect-full');
      t.same(await findViolations(seen), []);
      await page.getByRole('radio').first().check();
    }
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${redirect_uri}?**`);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    t.equal((await exchangeCode(service, { client_id, code, code_verifier, redirect_uri })).status, 200);
    t.same(faults, [], 'no complaint in the console');
    await context.close();
  }
});
