// Documentation, status and changelog in Chromium, on a laptop and a phone: axe, no errors in the console, light enough; an endpoint is tried out.
import t from 'tap';
import { openKeyStore } from '../../api/access/key-store.ts';
import { openStatusStore } from '../../api/status/status-store.ts';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { createLog } from '../../infra/runtime/process/log.ts';
import { market, NOW, testApp } from '../support/apps/live-fixture.ts';
import { PASSWORD, startSite } from '../support/apps/site-fixture.ts';
import { examinePage, openChromium, type Visit, visit } from '../support/services/browser.ts';

const [port, apiPort] = [await findFreePort(), await findFreePort()];
const [origin, apiUrl] = [`http://localhost:${port}`, `http://127.0.0.1:${apiPort}`];
const { app, pool } = await startSite(t, {
  urls: { account: origin, auth: origin, base: apiUrl, api: apiUrl, mcp: 'http://localhost:8081/mcp' },
});
const data = await testApp(market(), {
  ...{ keys: openKeyStore(pool), baseUrl: apiUrl, nowMicros: () => NOW },
  statusStore: openStatusStore(pool, createLog('docs-site', 'silent')),
});
await data.app.listen({ host: '127.0.0.1', port: apiPort });
await app.listen({ host: '127.0.0.1', port });
t.teardown(() => data.app.close());

/** Two days before and after one that was not counted; an outage that is over, and one that is not. */
await pool.query(`insert into daily_presence (day, venue, layer, listings, present_s, missing_s)
  select current_date - n, 'binance', 'mark', 2, 172800 - n * 5000, n * 5000 from unnest(array[1, 3, 4]) n`);
await pool.query(`insert into incidents (kind, subject, venue, gap_cause, layers, from_at, to_at, note, details, state)
  values ('gap', 'binance connection_lost', 'binance', 'connection_lost', '{mark}', now() - interval '2 hours', now() - interval '1 hour', 'two', '{}', 'closed'),
  ('gap', 'okx venue_down', 'okx', 'venue_down', '{book,mark}', now() - interval '1 minute', now(), 'three', '{}', 'open')`);
await pool.query("insert into archive_days (day, tiers) select current_date - 8, '{}'");
await pool.query(`insert into anchor_days (day, schema_version, day_root, status, tx_hash, block, anchored_at)
  select current_date - 8, 1, repeat('ab', 32), 'confirmed', '0x' || repeat('cd', 32), 7, now()`);
const chromium = await openChromium(t);

/** Bytes of the first view as they came over the line. */
const weigh = (on: Visit): Promise<number> =>
  on.page.evaluate(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, one) => sum + one.transferSize, 0)`,
  );
const MOST_BYTES = 200_000;

/** Texts to copy that lie under their button when they are scrolled to the end of their longest line. */
const findCovered = (on: Visit): Promise<string[]> =>
  on.page.evaluate(`[...document.querySelectorAll('.copyable')].flatMap((box) => {
    const [pre, button] = [box.querySelector('pre'), box.querySelector('button').getBoundingClientRect()];
    pre.scrollLeft = pre.scrollWidth;
    const shown = pre.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(pre.querySelector('code'));
    const isCovered = [...range.getClientRects()].some((line) =>
      Math.max(line.left, shown.left, button.left) < Math.min(line.right, shown.right, button.right) &&
      Math.max(line.top, shown.top, button.top) < Math.min(line.bottom, shown.bottom, button.bottom));
    return isCovered ? [pre.textContent] : [];
  })`);

const PAGES = [
  ...[
    'start',
    'concepts',
    'recipes',
    'endpoints',
    'endpoints/screen',
    'endpoints/archive',
    'language',
    'venues',
    'errors',
  ].map((slug) => `/docs/${slug}`),
  ...['/docs/search?q=gap', '/status', '/changelog'],
].map((path) => `${origin}${path}`);
/** The one page that the API itself serves. */
PAGES.push(`${apiUrl}/docs/verify`);

for (const [look, colours] of [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const) {
  t.test(`every kind of page: ${look}, ${colours}`, async (t) => {
    const on = await visit(chromium, look, colours);
    for (const url of PAGES) {
      await on.page.goto(url);
      const name = `${look}${new URL(url).pathname.replaceAll('/', '-')}`;
      await examinePage(t, on, name);
      const title = await on.page.locator('h1').boundingBox();
      const screen = on.page.viewportSize();
      t.ok(
        title !== null && screen !== null && title.y + title.height < screen.height,
        `${name}: its title is on the first screen`,
      );
      t.same(await findCovered(on), [], `${name}: no button covers what it copies`);
      const bytes = await weigh(on);
      t.ok(bytes < MOST_BYTES, `${name}: ${bytes} bytes`);
    }
    t.same(on.faults, []);
    await on.context.close();
  });
}

t.test(
  'an endpoint is tried out: signed out the sign-in leads back, then an answer, a fault, and a parameter of a GET',
  async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page } = on;
    await page.goto(`${origin}/sign-up`);
    await page.getByLabel('Email').fill('reader@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign up' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();

    await page.goto(`${origin}/docs/endpoints/snapshots`);
    await page.locator('#try').getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Email').fill('reader@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${origin}/docs/endpoints/snapshots`);
    await page.getByLabel('Body (JSON)').fill('{"where": "base = BTC", "layers": ["mark"], "number_format": "string"}');
    await page.getByRole('button', { name: 'Run it here' }).click();
    await page.getByRole('heading', { name: /^Answer\s+200/ }).waitFor();
    t.match(await page.locator('#try pre').textContent(), /"status": "present"/);
    t.notMatch(await page.content(), /sk_[A-Za-z0-9]{20}/, 'no key is on the page');
    await examinePage(t, on, 'desktop-tried');

    await page.getByLabel('Body (JSON)').fill('{"where": "base ="}');
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByRole('heading', { name: /^Answer\s+4/ }).waitFor();
    t.match(await page.locator('#try pre').textContent(), /"errors": \[/, 'a fault is shown as the API reports it');

    await page.goto(`${origin}/docs/endpoints/instruments`);
    await page.getByRole('button', { name: 'Run it here' }).click();
    await page.getByRole('heading', { name: /^Answer\s+200/ }).waitFor();
    t.match(await page.locator('#try pre').textContent(), /"instrument": "BTC-PERP"/, 'an open endpoint needs no key');

    t.same(on.faults, []);
    await on.context.close();
  },
);

t.test('the contents of the documentation: beside the page, and on a phone behind a press', async (t) => {
  for (const [look, isOpen] of [
    ['desktop', true],
    ['phone', false],
  ] as const) {
    const on = await visit(chromium, look);
    await on.page.goto(`${origin}/docs/endpoints/screen`);
    const last = on.page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Glossary' });
    t.equal(await last.isVisible(), isOpen, look);
    if (!isOpen) await on.page.getByText('Contents', { exact: true }).click();
    await last.scrollIntoViewIfNeeded();
    await last.click();
    await on.page.waitForURL(/\/docs\/glossary$/);
    await on.context.close();
  }
});

t.test('the status page has the strip of days, the incidents and the newest anchored day', async (t) => {
  const on = await visit(chromium, 'desktop');
  await on.page.goto(`${origin}/status`);
  const strip = on.page.getByRole('list', { name: 'Share of time present of mark by day' }).first();
  const days = await strip.locator('li').allTextContents();
  t.equal(days.length, 4, 'a day that was not counted is between those that were');
  t.match(
    days.map((text) => text.trim().split(': ')[1]),
    ['88.42 %', '91.31 %', 'not measured', '97.10 %'],
  );
  t.equal(await strip.locator('li.none').count(), 1);
  const incidents = await on.page.getByRole('region', { name: 'Incidents' }).locator('tbody tr').allTextContents();
  t.match(incidents.join('\n'), /still open[\s\S]*okx[\s\S]*venue_down/);
  t.match(incidents.join('\n'), /binance[\s\S]*connection_lost[\s\S]*closed/);
  const ranges = incidents.map((text) => text.match(/\d\d:\d\d:\d\d\.\d{3} UTC/g)?.length ?? 0);
  t.same(ranges, [1, 2], 'ends of incidents are to the millisecond, as in incidents.json');
  t.match(await on.page.locator('main > p').first().textContent(), /As of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./);
  t.match(
    await on.page.locator('time[data-local]').first().getAttribute('title'),
    /(UTC|GMT|[A-Z]{3,4}|[+-]\d)/,
    'the local time names its zone',
  );
  const eightDaysAgo = (await pool.query("select to_char(current_date - 8, 'YYYY-MM-DD') as day")).rows[0].day;
  t.match(await on.page.locator('dl.facts').textContent(), `${eightDaysAgo} (confirmed)`);
  await on.context.close();
});

t.test('on a phone the meaning of a member is in sight beside its name', async (t) => {
  const on = await visit(chromium, 'phone');
  await on.page.goto(`${origin}/docs/endpoints/snapshots`);
  const lefts: number[] = await on.page.evaluate(`[...document.querySelectorAll('.docs-page .table')].map((table) =>
    table.querySelector('tbody td:nth-child(2)').getBoundingClientRect().left - table.getBoundingClientRect().left)`);
  t.ok(lefts.length > 1);
  t.same(
    lefts.filter((left) => left > 200),
    [],
  );
  await on.context.close();
});

t.test('on paper a page of the documentation has its text alone, and neither code nor a table is cut', async (t) => {
  const on = await visit(chromium, 'desktop');
  await on.page.setViewportSize({ width: 700, height: 1000 });
  await on.page.emulateMedia({ media: 'print' });
  for (const path of ['/docs/start', '/docs/endpoints/snapshots', '/docs/rules']) {
    await on.page.goto(`${origin}${path}`);
    t.equal(await on.page.locator('button:visible').count(), 0, path);
    t.equal(await on.page.getByRole('navigation', { name: 'Main' }).isVisible(), false, path);
    const cut: string[] = await on.page.evaluate(`[...document.querySelectorAll('pre, .table')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
      .map(({ textContent }) => textContent.slice(0, 80))`);
    t.same(cut, [], path);
  }
  await on.context.close();
});
