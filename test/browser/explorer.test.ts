// The query and the proof page of the explorer in Chromium, on a laptop and a phone: requests and answers, axe, weight, movement.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { findKeyShapes } from '../../api/access/keys.ts';
import {
  countBytes,
  examinePage,
  findMoved,
  type Look,
  shoot,
  type Visit,
  visit,
} from '../support/services/browser.ts';
import { openExplorer } from './open-explorer.ts';

const { origin, explorerKey, chromium } = await openExplorer(t);

const LOOKS = [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const satisfies readonly (readonly [Look, 'light' | 'dark'])[];
const MOST_BYTES = 200_000;

const head = (on: Visit, text: RegExp) => on.page.locator('#result-head').filter({ hasText: text }).waitFor();
/** Replaces the whole query as a person does. */
const write = async ({ page }: Visit, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Query' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
};

/** The editor gives no key to a list of completions that has opened within the last 75 ms: it was meant for the text. */
const LIST_OPEN = 'new Promise((resolve) => setTimeout(resolve, 100))';

for (const [look, colours] of LOOKS) {
  t.test(`a question is asked, faulty, completed, answered and shared: ${look}, ${colours}`, async (t) => {
    const on = await visit(chromium, look, colours);
    const { page } = on;
    const weight = await countBytes(on);
    await page.goto(`${origin}/explore/query`);
    await head(on, /instruments?, as of/);
    await page.locator('.result-table').waitFor();
    t.ok(weight() > 10_000 && weight() < MOST_BYTES, `the first view is ${weight()} bytes`);
    t.same(await findMoved(on), [], 'nothing moves');
    await page
      .locator('#query-state')
      .filter({ hasText: /^Cost \d+ of 10000/ })
      .waitFor();
    await examinePage(t, on, `${look}-query`);

    await write(on, 'any(venues where fundng_8h > 0.5bps)');
    await page.locator('#query-faults li').filter({ hasText: 'funding_8h' }).waitFor();
    await page.locator('.cm-lintRange-error').filter({ hasText: 'fundng_8h' }).waitFor();
    await examinePage(t, on, `${look}-query-fault`);

    await write(on, 'any(venues where funding_8h > 99)');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('The query holds for no instrument. Instruments with an unknown result are omitted').waitFor();

    await write(on, 'any(venues where oi > 0) select mark, oi');
    await page.getByLabel('Include instruments with an unknown result').check();
    await head(on, /2 instruments, as of/);
    await page.locator('.because summary').first().click();
    t.match(await page.locator('.because li').first().textContent(), /^oi at .* is (missing|off)/);
    const cell = page.locator('td.withheld [data-tip]').first();
    await cell.focus();
    t.match(await page.getByRole('tooltip').textContent(), /missing|off/, 'the reason is shown on focus');
    await examinePage(t, on, `${look}-query-unknown`);
    const shared = page.url();
    t.match(shared, /q=any.*unknown=1/);

    const other = await visit(chromium, look, colours);
    await other.page.goto(shared);
    await head(other, /2 instruments, as of/);
    t.equal(await other.page.locator('.because').count(), await page.locator('.because').count());
    await other.context.close();

    await page.getByLabel('Values of a selection').check();
    await head(on, /2 listings, as of/);
    await examinePage(t, on, `${look}-query-snapshots`);
    await page.goBack();
    await head(on, /2 instruments, as of/);
    t.match(await page.getByRole('textbox', { name: 'Query' }).textContent(), /oi > 0/);
    t.same(on.faults, []);
    t.same(findKeyShapes(await page.content()), []);
    await on.context.close();
  });
}

t.test('the keyboard alone: completed by the catalogue, run, and left', async (t) => {
  const on = await visit(chromium, 'desktop', 'dark');
  const { page } = on;
  await page.goto(`${origin}/explore/query`);
  await head(on, /instruments?, as of/);
  await write(on, '');
  await page.keyboard.type('any(venues where funding_8');
  await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: 'funding_8h' }).waitFor();
  await shoot(on, 'desktop-query-completion');
  await page.evaluate(LIST_OPEN);
  await page.keyboard.press('Enter');
  await page.keyboard.type(' > 0 and venue = bin');
  await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: 'binance' }).waitFor();
  await page.evaluate(LIST_OPEN);
  await page.keyboard.press('Tab');
  await page.keyboard.type(')');
  await page.keyboard.press('Control+Enter');
  await page.waitForURL(/funding_8h\+%3E\+0\+and\+venue\+%3D\+binance%29/);
  await head(on, /2 instruments, as of/);
  await page.keyboard.press('Tab');
  t.not(await page.evaluate('document.activeElement.id'), 'editor', 'Tab leaves the editor');
  const stops = page.locator('.result-table [data-tip][tabindex="0"]');
  t.equal(await stops.count(), 1, 'the values of the result are one stop of the Tab key');
  await stops.focus();
  await page.evaluate('window.firstStop = document.activeElement');
  await page.keyboard.press('ArrowDown');
  const isNext = 'document.activeElement !== window.firstStop && document.activeElement.matches("[data-tip]")';
  t.equal(await page.evaluate(isNext), true, 'arrow keys lead from value to value');
  t.equal(await stops.count(), 1);
  t.same(on.faults, []);
  await on.context.close();
});

t.test('the same call from a program answers the same, and the table is taken along', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.goto(`${origin}/explore/query?q=${encodeURIComponent('any(venues where mark > 0) select mark')}`);
  await head(on, /2 instruments, as of/);
  const env = { ...process.env, PERP_API_KEY: explorerKey };
  const run = promisify(execFile);
  const readCode = async (name: string): Promise<string> => (await page.locator(`#code-${name}`).textContent()) ?? '';
  for (const [name, command] of [
    ['curl', ['bash', '-c']],
    ['python', ['python3', '-c']],
    ['typescript', [process.execPath, '--input-type=module', '-e']],
  ] as const) {
    const [program, ...words] = command;
    const { stdout } = await run(program, [...words, await readCode(name)], { env });
    t.match(stdout, /BTC-PERP/, name);
  }
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as CSV' }).click();
  const saved = await (await coming).path();
  const { stdout } = await run('cat', [saved]);
  t.match(
    stdout,
    /^instrument,result,venue,symbol,mark,mark unit,mark status\r\nBTC-PERP,true,binance,BTCUSDT,60000,quote,present\r\n/,
  );
  await on.context.close();
});

const PROOF = await readFile(new URL('../../api/operations/examples/anchor-proof.json', import.meta.url), 'utf8');

for (const [look, colours] of LOOKS) {
  t.test(
    `a proof is recomputed in the browser, and a changed one shows where it breaks: ${look}, ${colours}`,
    async (t) => {
      const on = await visit(chromium, look, colours);
      const { page } = on;
      const weight = await countBytes(on);
      await page.goto(`${origin}/explore/proof`);
      await page.getByRole('heading', { name: 'Proof of a row' }).waitFor();
      await page.waitForLoadState('networkidle');
      t.ok(weight() > 10_000 && weight() < MOST_BYTES, `the first view is ${weight()} bytes`);
      t.same(await findMoved(on), [], 'nothing moves');
      await examinePage(t, on, `${look}-proof-empty`);
      const outline = page.getByRole('heading', { name: 'What is recomputed' });
      t.ok(await outline.isVisible(), 'without a proof the page explains what one consists of');
      const check = async (text: string): Promise<Record<string, string>> => {
        await page.locator('#proof-head').evaluate((head) => {
          head.textContent = '';
        });
        await page.getByLabel('The proof as JSON').fill(text);
        await page.getByRole('button', { name: 'Check this text' }).click();
        await page
          .locator('#proof-head')
          .filter({ hasText: /hold|proof/ })
          .waitFor();
        const steps = await page
          .locator('.step')
          .evaluateAll((all) =>
            all.map((one) => [one.getAttribute('data-step') ?? '', one.className.replace('step ', '')] as const),
          );
        return Object.fromEntries(steps);
      };
      const offline = [
        'form',
        'text',
        'canonical',
        'leaf_hash',
        'path',
        'partition.leaf',
        'day_root',
        'row day',
        'columns',
      ];
      const whole = await check(PROOF);
      t.same(
        offline.filter((name) => whole[name] !== 'ok'),
        [],
        'every step of the example holds',
      );
      t.equal(whole['chain root'], 'skipped', 'the site of this test knows no node of the chain');
      await examinePage(t, on, `${look}-proof`);

      const proof = JSON.parse(PROOF);
      const [first, ...rest] = proof.path as string[];
      for (const [changed, failing] of [
        [{ ...proof, row: { ...proof.row, funding: '0.000105' } }, 'canonical'],
        [{ ...proof, canonical: proof.canonical.replace('0.000104', '0.000105') }, 'leaf_hash'],
        [{ ...proof, path: [first?.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), ...rest] }, 'path'],
        [{ ...proof, rows: proof.rows + 1 }, 'partition.leaf'],
        [{ ...proof, day_root: '0'.repeat(64) }, 'day_root'],
        [{ ...proof, day: '2026-01-11' }, 'row day'],
      ] as const)
        t.equal((await check(JSON.stringify(changed)))[failing], 'failed', failing);
      await examinePage(t, on, `${look}-proof-broken`);
      await check('{"row": 1}');
      t.match(await page.locator('#proof-head').textContent(), /^This is not a proof: day is missing or is not a text/);
      t.ok(await outline.isVisible(), 'and again when a text is none');
      t.same(on.faults, []);
      await on.context.close();
    },
  );
}

const AWAY = JSON.stringify({ errors: [{ code: 'UNAVAILABLE', message: 'The data API does not answer.' }] });

t.test('what cannot be read is not said to be nothing, nor is an answer to an earlier choice shown', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.route('**/api/explore/anchors/*', (route) => route.fulfill({ status: 503, body: AWAY }));
  await page.route('**/api/explore/archive?*', (route) => route.abort());
  await page.goto(`${origin}/explore/proof?day=2026-01-10`);
  await page.locator('#layer-hint').filter({ hasText: 'The data API does not answer.' }).waitFor();
  await page.locator('#listing-hint').filter({ hasText: 'The service does not respond.' }).waitFor();
  await page.getByText('The newest anchored day is not known at the moment.').waitFor();

  const held = Promise.withResolvers<() => Promise<void>>();
  await page.route('**/api/explore/dql/parse', async (route) => {
    const isFirst = route.request().postData()?.includes('fundng') === true;
    if (!isFirst) return route.continue();
    const late = JSON.stringify({ errors: [{ code: 'X', message: 'late' }] });
    held.resolve(() => route.fulfill({ status: 400, body: late }));
  });
  await page.goto(`${origin}/explore/query`);
  await head(on, /instruments?, as of/);
  await write(on, 'any(venues where fundng > 0)');
  const answerFirst = await held.promise;
  const newer = page.waitForResponse((one) => one.request().postData()?.includes('funding >') === true);
  await write(on, 'any(venues where funding > 0)');
  await (await newer).finished();
  await page.locator('#query-state').filter({ hasText: /^Cost/ }).waitFor();
  const answered = page.waitForResponse(/dql\/parse/);
  await answerFirst();
  await (await answered).finished();
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  t.match(await page.locator('#query-state').textContent(), /^Cost/);
  t.same(await page.locator('#query-faults li').allTextContents(), []);
  await on.context.close();
});

t.test(
  'why a run was refused stays below the query, however it is written and whenever its check is answered',
  async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page } = on;
    const refused = Promise.withResolvers<void>();
    await page.route('**/api/explore/dql/parse', async (route) => {
      await refused.promise;
      await route.continue();
    });
    const query = 'any(venues where mark > 0) as of 2020-01-01T00:00:00Z';
    await page.goto(`${origin}/explore/query?q=${encodeURIComponent(query)}`);
    await head(on, /^No answer: see the faults above/);
    refused.resolve();
    await page.locator('#query-state').filter({ hasText: /^Cost/ }).waitFor();
    t.match(await page.locator('#query-faults li').allTextContents(), [/DQL_AS_OF_RANGE/]);
    await write(on, 'any(venues where mark > 0)');
    await page.locator('#query-faults li').first().waitFor({ state: 'detached' });
    await page.goto(`${origin}/explore/query?mode=snapshots&layers=mark&at=noon&q=${encodeURIComponent('base = BTC')}`);
    await head(on, /^No answer: see the faults above/);
    await page.locator('#query-state').evaluate((state) => {
      state.textContent = 'not checked yet';
    });
    await page.getByRole('textbox', { name: 'Query' }).press('End');
    await page.keyboard.type(' ');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('#query-faults li').first().waitFor();
    await page.locator('#query-state').filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
    t.equal(await page.locator('#query-faults li').count(), 1);
    t.same(on.faults, []);
    await on.context.close();
  },
);

t.test('a proof is asked for of no day that no calendar has', async (t) => {
  const on = await visit(chromium, 'desktop');
  await on.page.goto(`${origin}/explore/proof?day=2026-02-31&layer=mark&listing=binance:BTCUSDT`);
  await on.page.getByRole('heading', { name: 'What is recomputed' }).waitFor();
  await on.page.waitForLoadState('networkidle');
  t.same(on.faults, []);
  await on.context.close();
});

t.test('liquidations: the newest are shown, also where the period has more than a page', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  const spans: number[] = [];
  await page.route('**/api/explore/liquidations', async (route) => {
    const { from, to } = route.request().postDataJSON() as { readonly from: string; readonly to: string };
    spans.push(Date.parse(to) - Date.parse(from));
    // Pages begin with the oldest.
    const isWhole = spans.length > 1;
    const event = { side: 'long', price: '1', price_kind: 'fill', quantity: '1', value: '1' };
    const received = { received_at: isWhole ? to : from, ...event };
    const units = { price: 'quote', quantity: 'base', value: 'quote' };
    const facts = { quote: 'USDT', units, gaps: [], completeness: 'sampled' };
    const items = [
      { venue: 'binance', ...facts, rows: [received] },
      { venue: 'binance', ...facts, rows: [] },
    ];
    await route.fulfill({
      body: JSON.stringify({ from, to, items, page: { limit: 500, returned: 1, next_cursor: isWhole ? null : 'c' } }),
    });
  });
  await page.goto(`${origin}/explore/BTC-PERP?range=7d`);
  await page.locator('#liquidations').scrollIntoViewIfNeeded();
  const told = page.locator('#liquidations [data-told]').filter({ hasText: 'received' });
  t.match(await told.textContent(), /^1 received since .* UTC\. Not complete: binance \(sampled\)\.$/);
  t.same(spans, [604_800_000, 75_600_000], 'a shorter period is asked for when the first does not fit');
  await on.context.close();
});

t.test(
  'without JavaScript the first words of a page say that it needs it, and nothing claims to connect',
  async (t) => {
    const context = await chromium.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    for (const path of ['/explore', '/explore/BTC-PERP', '/explore/query', '/explore/proof']) {
      await page.goto(`${origin}${path}`);
      const words = await page.locator('noscript .message').boundingBox();
      const title = await page.locator('h1').boundingBox();
      t.ok(words !== null && title !== null && words.y < title.y, path);
      t.equal(await page.getByText('Connecting').isVisible(), false, path);
    }
    await context.close();
  },
);

t.test('a code that nothing has is named, and left out of the filter of the board', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.goto(`${origin}/explore?base=NOPE,BTC`);
  await page.getByText('Left out of the filter: base NOPE.').waitFor();
  t.equal(await page.getByLabel('Base').inputValue(), 'BTC');
  t.equal(await page.locator('#board tbody tr').count(), 1);
  await page.goto(`${origin}/explore?base=NOPE`);
  t.equal(await page.getByText('Left out of the filter: base NOPE.').isVisible(), true);
  t.equal(await page.getByLabel('Base').isVisible(), true, 'the filter is open to be mended');
  await page.goto(`${origin}/explore?base=BTC`);
  t.equal(await page.getByText('Left out of the filter').count(), 0);
  await examinePage(t, on, 'desktop-board-filter');
  await on.context.close();
});

t.test('on paper the board and the result of a query are whole', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.setViewportSize({ width: 700, height: 300 });
  for (const path of ['/explore', '/explore/query']) {
    await page.emulateMedia({ media: 'screen' });
    await page.goto(`${origin}${path}`);
    if (path === '/explore/query') await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.table tbody tr').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    const places: string[] = await page.evaluate(`[...document.querySelectorAll('.table, .result-place')]
      .map((one) => getComputedStyle(one)).map(({ overflowY, maxHeight }) => overflowY + ' ' + maxHeight)`);
    t.ok(places.length > 0, path);
    t.same(
      places.filter((one) => one !== 'visible none'),
      [],
      path,
    );
    t.equal(await page.locator('main button:not(.cell):visible').count(), 0, path);
  }
  await on.context.close();
});
