// A rule in Chromium over a whole service: written with its check, seen to match, changed by a fault of the market, sent to a webhook that
// checks the signature; the pages show delivery and transition.
import t from 'tap';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { openPostgres } from '../../infra/runtime/postgres/postgres.ts';
import { PASSWORD, startSite } from '../support/apps/site-fixture.ts';
import { useEngines } from '../support/engines/engines.ts';
import { examinePage, openChromium, type Visit, visit } from '../support/services/browser.ts';
import { apiReady, startApi, startIngest, startProcessors, startSimulator } from '../support/services/pipeline.ts';
import { isSignedWebhook } from '../support/services/signed-webhook.ts';
import { type Received, startReceiver } from '../support/services/webhook-receiver.ts';
import { BOUND_MS, waitFor } from '../support/wait.ts';

t.setTimeout(1_800_000);

const EMAIL = 'rules@example.com';
const WITHIN_S = 300;

const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
const database = await engines.database();
const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1, venues: ['binance', 'okx'] };
const simulator = await startSimulator({
  SIM_SEED: '27',
  SIM_LISTINGS: '2',
  SIM_VENUES: 'binance,okx',
  SIM_RATE: '60',
});
const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
const api = await startApi(spec, database, { WEBHOOKS_LOOPBACK: 'true' });
t.teardown(() => Promise.all([...children, api.child].map((child) => child.kill())));
const pool = openPostgres(database, { max: 2 });
t.teardown(() => pool.end());
const port = await findFreePort();
const origin = `http://localhost:${port}`;
const { app } = await startSite(t, {
  urls: { account: origin, auth: origin, base: api.baseUrl, api: api.baseUrl, mcp: null },
  pool,
  simulated: true,
});
await app.listen({ host: '127.0.0.1', port });
const chromium = await openChromium(t);
await apiReady(api);

const press = ({ page }: Visit, name: string) => page.getByRole('button', { name, exact: true }).click();

const signUp = async ({ page }: Visit): Promise<void> => {
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await page.getByRole('heading', { name: 'Keep your recovery codes' }).waitFor();
  // The interval of a free plan would make this a test of minutes.
  await pool.query("update accounts set plan = 'pro_plus' where email = $1", [EMAIL]);
};

type Message = { readonly id: string; readonly at: string; readonly state: string; readonly previous_state: string };

const isSigned = ({ headers, body }: Received, secret: string): boolean =>
  isSignedWebhook(String(headers['x-service-signature']), {
    secret,
    body,
    seconds: Date.now() / 1_000,
    withinS: WITHIN_S,
  });

t.test('a rule is written, matches, moves by a fault, and its webhook is called', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  page.setDefaultTimeout(BOUND_MS);
  const { url, received } = await startReceiver(t, (reply) => reply.end());
  await signUp(on);
  await page.goto(`${origin}/rules`);
  await examinePage(t, on, 'rules-empty');

  await page.getByLabel('Address of the new webhook').fill(url);
  await press(on, 'Add a webhook');
  const secret = ((await page.locator('#webhook-secret').textContent()) ?? '').trim();
  t.match(secret, /^whsec_/, 'its secret is shown once');

  const query = page.getByLabel('Query', { exact: true });
  const told = page.locator('#query-told');
  await page.getByLabel('Name', { exact: true }).fill('books of Bitcoin');
  await query.fill('any(venues where sprad > 0)');
  await told.getByText(/^Line 1, column 18: /).waitFor();
  t.equal(await query.getAttribute('aria-invalid'), 'true', 'a fault is shown while it is written');
  await examinePage(t, on, 'rules-fault');
  await query.fill('any(venues where spre');
  await page.getByRole('option', { name: /^spread/ }).waitFor();
  await query.press('Enter');
  t.equal(await query.inputValue(), 'any(venues where spread', 'a word is completed');
  await query.fill('any(venues where spread >= 0) where base = BTC and venue = binance');
  await told.getByText(/^Valid, at a cost of/).waitFor();
  await page.getByLabel('Every', { exact: true }).fill('10s');
  await press(on, 'Check, and show what it matches now');
  await page.getByText('The query is valid.').waitFor();
  t.equal(await page.locator('.message strong').first().textContent(), 'BTC-PERP', 'what matches now');
  await examinePage(t, on, 'rules-matches');
  await press(on, 'Make the rule');
  await page.getByRole('heading', { name: 'books of Bitcoin' }).waitFor();

  const lead = (words: RegExp): Promise<true> =>
    waitFor(
      `the page shows ${words}`,
      async () => {
        await page.reload();
        return words.test((await page.locator('p.lead').textContent()) ?? '') ? true : null;
      },
      { everyMs: 500 },
    );
  await lead(/^\s*true: BTC-PERP, since/);
  await waitFor('the first move was delivered', () => received.length >= 1);
  await simulator.fault({ kind: 'disconnect', stream: 'book', durationMs: 25_000 });
  await lead(/^\s*unknown: stale input, since/);
  await waitFor('the second move was delivered', () => received.length >= 2);
  const messages = received.map(({ body }) => JSON.parse(body) as Message);
  t.match(messages.slice(0, 2), [
    { previous_state: 'unknown', state: 'true' },
    { previous_state: 'true', state: 'unknown', reason: 'stale_input' },
  ]);
  t.ok(
    received.every((one) => isSigned(one, secret)),
    'each is signed with the secret that was shown',
  );
  t.notOk(
    received.some((one) => isSigned(one, `${secret}x`)),
    'and with no other',
  );
  for (const { at } of messages.slice(0, 2)) t.equal(await page.locator(`td time[datetime="${at}"]`).count(), 1, at);
  await examinePage(t, on, 'rules-moves');
  await lead(/^\s*true: BTC-PERP, since/);

  await page.goto(`${origin}/rules`);
  await waitFor('deliveries are on the page', async () => {
    await page.reload();
    const cells = await page.locator('tr', { hasText: url }).locator('td.number').allTextContents();
    return cells[0] === '0' && Number(cells[1]) >= 3 && cells[2] === '0';
  });
  await examinePage(t, on, 'rules-delivered');
  t.same(on.faults, []);
  await on.context.close();
});

t.test('on a phone, in the dark', async (t) => {
  const on = await visit(chromium, 'phone', 'dark');
  await on.page.goto(`${origin}/sign-in`);
  await on.page.getByLabel('Email').fill(EMAIL);
  await on.page.getByLabel('Password').fill(PASSWORD);
  await press(on, 'Sign in');
  await on.page.goto(`${origin}/rules`);
  await examinePage(t, on, 'phone-rules');
  await on.page.getByRole('link', { name: 'books of Bitcoin' }).click();
  await on.page.getByRole('heading', { name: 'books of Bitcoin' }).waitFor();
  await examinePage(t, on, 'phone-rule');
  t.same(on.faults, []);
  await on.context.close();
});
