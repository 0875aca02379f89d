// The account site in Chromium, on a desktop and a phone: from nothing to the first answer, recovery, passkeys; every page by axe.
import t from 'tap';
import { openKeyStore } from '../../api/access/key-store.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { market, testApp } from '../support/apps/live-fixture.ts';
import { connect, PASSWORD, readAccount, startSite } from '../support/apps/site-fixture.ts';
import {
  examinePage,
  findViolations,
  type Look,
  openChromium,
  shoot,
  type Visit,
  visit,
} from '../support/services/browser.ts';

const port = await findFreePort();
const origin = `http://localhost:${port}`;
const apiPort = await findFreePort();
const apiUrl = `http://127.0.0.1:${apiPort}`;
const { app, pool } = await startSite(t, {
  urls: { account: origin, auth: origin, base: apiUrl, api: apiUrl, mcp: 'http://localhost:8081/mcp' },
});
const data = await testApp(market(), { keys: openKeyStore(pool), baseUrl: apiUrl });
await data.app.listen({ host: '127.0.0.1', port: apiPort });
await app.listen({ host: '127.0.0.1', port });
t.teardown(() => data.app.close());
const chromium = await openChromium(t);

const press = (on: Visit, name: string | RegExp) =>
  on.page.getByRole('button', { name, exact: typeof name === 'string' }).click();

const signUp = async (on: Visit, email: string): Promise<string> => {
  await on.page.goto(`${origin}/sign-up`);
  await on.page.getByLabel('Email').fill(email);
  await on.page.getByLabel('Password').fill(PASSWORD);
  await press(on, 'Sign up');
  await on.page.getByRole('heading', { name: 'Keep your recovery codes' }).waitFor();
  return ((await on.page.locator('#codes-text').textContent()) ?? '').trim().split('\n')[0] ?? '';
};

for (const [look, colours] of [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const satisfies readonly (readonly [Look, 'light' | 'dark'])[]) {
  t.test(`from nothing to the first answer and through every page: ${look}, ${colours}`, async (t) => {
    const on = await visit(chromium, look, colours);
    const { page } = on;
    await page.goto(origin);
    await examinePage(t, on, `${look}-home`);
    await page.getByRole('link', { name: 'Create a free account' }).click();
    await examinePage(t, on, `${look}-sign-up`);
    await signUp(on, `${look}@example.com`);
    await examinePage(t, on, `${look}-codes`);
    await page.getByRole('link', { name: 'I have kept them: continue' }).click();
    await examinePage(t, on, `${look}-keys-empty`);
    // The longest names that may be given, without a place to break.
    await page.getByLabel('Name of the new key').fill('W'.repeat(60));
    await press(on, 'Make a key');
    await press(on, 'Run it here');
    await page.getByRole('heading', { name: /^Answer\s+200/ }).waitFor();
    t.match(await page.locator('pre[role=region]').textContent(), /"mark":/, 'the first answer is on the page');
    await examinePage(t, on, `${look}-first-answer`);
    await connect(pool, await readAccount(pool, `${look}@example.com`), 'W'.repeat(100));
    await page.goto(`${origin}/rules`);
    await page.getByLabel('Name', { exact: true }).fill('W'.repeat(100));
    await press(on, 'Make the rule');
    await page.getByRole('heading', { name: /^W+$/ }).waitFor();
    await examinePage(t, on, `${look}-rule`);
    for (const path of [
      '/rules',
      '/keys',
      '/plan',
      '/plan/link',
      '/connections',
      '/security',
      '/prove',
      '/no-such-page',
    ]) {
      await page.goto(`${origin}${path}`);
      await examinePage(t, on, `${look}-${path.slice(1).replace('/', '-')}`);
    }
    t.same(on.faults, []);
    await on.context.close();
  });
}

t.test('the pages are worked by the keyboard alone: the way to a key', async (t) => {
  const on = await visit(chromium, 'desktop', 'dark');
  await signUp(on, 'keyboard@example.com');
  await on.page.goto(`${origin}/keys`);
  await on.page.keyboard.press('Tab');
  t.equal(await on.page.evaluate('document.activeElement?.textContent'), 'Skip to content');
  await on.page.keyboard.press('Enter');
  for (const _ of [0, 1, 2]) await on.page.keyboard.press('Tab');
  await on.page.keyboard.press('Enter');
  await on.page.getByRole('heading', { name: 'Your first call' }).waitFor();
  t.same(on.faults, []);
  await on.context.close();
});

t.test(
  'a passkey is added, signs in alone, is required after the password, and a recovery code gets past its loss',
  async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page, context } = on;
    const code = await signUp(on, 'passkey@example.com');
    const device = await context.newCDPSession(page);
    await device.send('WebAuthn.enable');
    const { authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    await page.goto(`${origin}/security`);
    await page.getByLabel('Name of a new passkey').fill('my laptop');
    await press(on, 'Add a passkey');
    await page
      .getByRole('cell', { name: 'my laptop' })
      .or(page.getByRole('rowheader', { name: 'my laptop' }))
      .first()
      .waitFor();
    await shoot(on, 'desktop-security-passkey');
    await press(on, 'Ask for a passkey after the password');
    await page.getByText('Requested after the password').first().waitFor();

    await press(on, 'Sign out');
    await press(on, 'Sign in with a passkey');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();

    await press(on, 'Sign out');
    const signIn = async (): Promise<void> => {
      await page.goto(`${origin}/sign-in?next=%2Fplan`);
      await page.getByLabel('Email').fill('passkey@example.com');
      await page.getByLabel('Password').fill(PASSWORD);
      await press(on, 'Sign in');
    };
    await signIn();
    await page.getByRole('heading', { name: 'Now your passkey' }).waitFor();
    t.equal((await context.request.get(`${origin}/api/keys`)).status(), 401, 'the password alone does not sign in');
    t.same(await findViolations(on), []);
    await press(on, 'Continue with a passkey');
    await page
      .locator('.passkey-fault:visible')
      .or(page.getByRole('heading', { name: 'Plan Free' }))
      .first()
      .waitFor();
    t.same(await page.locator('.passkey-fault:visible').allTextContents(), [], 'no fault is shown');
    await page.getByRole('heading', { name: 'Plan Free' }).waitFor();

    await press(on, 'Sign out');
    await device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    await page.goto(`${origin}/recover`);
    await examinePage(t, on, 'desktop-recover');
    await page.getByLabel('Email', { exact: true }).fill('passkey@example.com');
    await page.getByLabel('Recovery code').fill(code);
    await page.getByLabel('New password').fill('a new long secret');
    await press(on, 'Set the password and sign in');
    await page.getByRole('heading', { name: 'API keys' }).waitFor();
    t.same(on.faults, []);
  },
);
