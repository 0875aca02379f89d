// The page of an instrument in Chromium: units of its charts, many lines, a wrong clock, answers that fail or never come.
import t from 'tap';
import { type Feed, listing, listingValues, reading } from '../support/apps/live-fixture.ts';
import { findMoved, findViolations, shoot, type Visit, visit } from '../support/services/browser.ts';
import { openExplorer } from './open-explorer.ts';

/** Two listings of one base, a thousandfold apart in what one of them is. */
const listPepe = (feed: Feed): void => {
  const pepe = { instrument: 'PEPE-PERP', base: 'PEPE' };
  for (const [symbol, alias, multiplier, oi] of [
    ['1000PEPEUSDT', '1000PEPE', '1000', '9126'],
    ['PEPEUSDC', null, '1', '9126000'],
  ] as const) {
    const values = listingValues({ ...pepe, venue_symbol: symbol, base_venue_alias: alias, multiplier });
    feed.list(listing('binance', values));
    feed.read('binance', symbol, reading({ layer: 'oi', values: { oi }, instants: {}, quantity_unit: 'base' }));
  }
};
const { origin, chromium } = await openExplorer(t, listPepe);

type Asked = {
  readonly from: string;
  readonly to: string;
  readonly layers: readonly string[];
  readonly units?: string;
};
const LISTINGS = [
  ['binance', 'BTCUSDT', 'USDT'],
  ['binance', 'BTCUSD_PERP', 'USD'],
  ...['BTC-PERPETUAL', 'BTC_USDC-PERPETUAL'].map((symbol) => ['deribit', symbol, 'USDC']),
  ...['BTC-USD-SWAP', 'BTC-USDC-SWAP', 'BTC-USDT-SWAP'].map((symbol) => ['okx', symbol, 'USDT']),
] as const;

/** Two rows for each of seven listings, the unit as asked for. */
const answerHistory = ({ from, to, layers: [layer = ''], units }: Asked): string => {
  const unit = layer === 'oi' ? (units ?? 'published') : layer === 'mark' ? 'quote' : 'fraction';
  const figures = {
    mark: '97000.1',
    index: '97000.2',
    funding_8h: '0.0001',
    oi: '1728.27523510314005',
    spread: '0.00001',
  };
  const layerUnits = Object.fromEntries(Object.keys(figures).map((name) => [name, unit]));
  const rows = [Date.parse(to) - 60_000, Date.parse(to)].map((at) => ({
    ...{ at: new Date(at).toISOString(), status: 'present', values: figures },
  }));
  const items = LISTINGS.map(([venue, venue_symbol, quote]) => ({
    ...{ venue, venue_symbol, quote, layers: { [layer]: { units: layerUnits, history_cadence: '10s', rows } } },
  }));
  return JSON.stringify({ from, to, settled: true, items });
};

const writeBook = (): string => {
  const sides = { bids: [['97000.1', '2']], asks: [['97000.2', '1']] };
  const book = { status: 'present', quote: 'USDT', received_at: null, size_unit: 'base', ...sides };
  return JSON.stringify({ evaluated_at: new Date().toISOString(), liquidity_note: 'Resting orders.', items: [book] });
};

const AWAY = { status: 503, body: JSON.stringify({ errors: [{ code: 'UNAVAILABLE', message: 'Away.' }] }) };
const chart = ({ page }: Visit, name: string) => page.locator(`figure[data-chart="${name}"]`);
const told = (on: Visit, name: string) => chart(on, name).locator('[data-told]');

t.test('figures come live without moving the page, on a phone too', async (t) => {
  const on = await visit(chromium, 'phone');
  const painted = Promise.withResolvers<void>();
  await on.page.route(/\.js$/, async (route) => {
    await painted.promise;
    await route.continue();
  });
  await on.page.goto(`${origin}/explore/BTC-PERP`, { waitUntil: 'commit' });
  await on.page.locator('#side').waitFor();
  await on.page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  painted.resolve();
  await on.page.locator('html[data-live="live"]').waitFor();
  await on.page.locator('#side button.cell.figure[data-layer="mark"]').first().waitFor();
  t.same(await findMoved(on), []);
  await shoot(on, 'instrument-phone');
  await on.context.close();
});

t.test('open interest has one unit, prices their currency, and every line a name that can be read', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  const units: Record<string, string | undefined> = {};
  await page.route('**/api/explore/snapshots/history', async (route) => {
    const asked = route.request().postDataJSON() as Asked;
    units[asked.layers[0] ?? ''] = asked.units;
    await route.fulfill({ body: answerHistory(asked) });
  });
  await page.goto(`${origin}/explore/BTC-PERP?range=7d`);
  await chart(on, 'oi').scrollIntoViewIfNeeded();
  await page.locator('figure[data-chart="oi"][data-drawn]').waitFor();
  t.equal(units['oi'], 'base');
  t.equal(await chart(on, 'oi').locator('h3').textContent(), 'Open interest in BTC');
  t.match(await chart(on, 'oi').locator('.readout').textContent(), /binance BTCUSD_PERP 1\u202f728 BTC/);
  t.match(await chart(on, 'mark').locator('.readout').textContent(), /deribit BTC-PERPETUAL 97\u202f000\.1 USDC/);
  t.match(
    await chart(on, 'mark').locator('.readout strong').textContent(),
    /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/,
    'an instant of several days has its day',
  );
  const borders = await chart(on, 'mark')
    .locator('.key')
    .evaluateAll((keys) => keys.map((key) => (key as HTMLElement).style.borderTop));
  t.equal(new Set(borders).size, LISTINGS.length, 'no two lines have the same key');
  const size = page.locator('#side button.cell.figure[data-layer="oi"]');
  t.equal(await size.locator('.figure').textContent(), '1\u202f921 BTC', 'a quantity has its own unit');
  t.match(await size.locator('.age').textContent(), /^\d+ s$/, 'and no currency that it is not in');
  await shoot(on, 'instrument-lines');
  t.same(await findViolations(on), []);
  t.same(on.faults, []);
  await on.context.close();
});

t.test(
  'a quantity of a thousand is none of one: it names its own asset, and is compared with none of another (V-04, N-07)',
  async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page } = on;
    const cells = page.locator('button.cell.figure[data-listing*="PEPE"]');
    const read = async (): Promise<readonly unknown[]> => {
      await cells.nth(1).waitFor();
      return [
        await cells.locator('.figure').allTextContents(),
        await cells.evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset['step'])),
      ];
    };
    await page.goto(`${origin}/explore/PEPE-PERP`);
    t.same((await read())[0], ['9\u202f126 1000PEPE', '9.126M PEPE'], 'on the page of the instrument');
    await cells.first().hover();
    t.match(await page.locator('#cell-tip').textContent(), /9126 1000PEPE/);
    await page.goto(`${origin}/explore?measure=oi`);
    t.same(
      await read(),
      [
        ['9\u202f126 1000PEPE', '9.126M base'],
        ['0', '0'],
      ],
      'on the board',
    );
    await on.context.close();
  },
);

t.test('prices of 1000PEPE and of PEPE share an axis as those of one PEPE (V-04, N-07)', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.route('**/api/explore/snapshots/history', async (route) => {
    const { from, to, layers } = route.request().postDataJSON() as Asked;
    const [layer = ''] = layers;
    const items = [
      ['1000PEPEUSDT', 'USDT', '0.02130487'],
      ['PEPEUSDC', 'USDC', '0.0000213'],
    ].map(([venue_symbol, quote, mark]) => {
      const rows = [{ at: to, status: 'present', values: { mark, index: mark } }];
      const units = { mark: 'quote', index: 'quote' };
      return { venue: 'binance', venue_symbol, quote, layers: { [layer]: { units, history_cadence: '10s', rows } } };
    });
    await route.fulfill({ body: JSON.stringify({ from, to, settled: true, items }) });
  });
  await page.goto(`${origin}/explore/PEPE-PERP`);
  for (const [name, heading] of [
    ['mark', 'Mark price of one PEPE'],
    ['index', 'Index price of one PEPE'],
  ] as const) {
    await chart(on, name).scrollIntoViewIfNeeded();
    await page.locator(`figure[data-chart="${name}"][data-drawn]`).waitFor();
    t.equal(await chart(on, name).locator('h3').textContent(), heading);
    t.match(await chart(on, name).locator('figcaption').textContent(), /divided by the multiplier of each listing/);
    const shown = await chart(on, name).locator('.readout').textContent();
    t.match(shown, /1000PEPEUSDT 0\.00002130487 USDT/);
    t.match(shown, /PEPEUSDC 0\.0000213 USDC/);
  }
  await page.goto(`${origin}/explore/BTC-PERP`);
  t.equal(await chart(on, 'mark').locator('h3').textContent(), 'Mark price', 'all of one asset: as the venue has it');
  await on.context.close();
});

t.test(
  'candles, book and liquidations name the asset and the currency of their quantities too (V-04, N-07)',
  async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page } = on;
    const of = { venue: 'binance', venue_symbol: '1000PEPEUSDT', quote: 'USDT' };
    await page.route('**/api/explore/candles', async (route) => {
      const { from, to } = route.request().postDataJSON() as Asked;
      const prices = { open: '1', high: '3', low: '1', close: '2', volume: '5' };
      const open_time = new Date(Date.parse(to) - 60_000).toISOString();
      const rows = [{ open_time, close_time: to, status: 'present', ...prices }];
      await route.fulfill({ body: JSON.stringify({ from, to, items: [{ ...of, units: { volume: 'base' }, rows }] }) });
    });
    await page.route('**/api/explore/liquidations', async (route) => {
      const { from, to } = route.request().postDataJSON() as Asked;
      const units = { price: 'quote', quantity: 'base', value: 'quote' };
      const rows = [{ received_at: from, side: 'long', price: '2', price_kind: 'fill', quantity: '5', value: '10' }];
      const items = [{ ...of, units, rows, gaps: [], completeness: 'full' }];
      await route.fulfill({ body: JSON.stringify({ from, to, items, page: { next_cursor: null } }) });
    });
    await page.route('**/api/explore/books', (route) => route.fulfill({ body: writeBook() }));
    await page.goto(`${origin}/explore/PEPE-PERP`);
    await page.locator('#candles').scrollIntoViewIfNeeded();
    await page.locator('#candles[data-drawn]').waitFor();
    t.match(await page.locator('#candles .readout').textContent(), /volume 5 1000PEPE$/);
    await page.locator('#book').scrollIntoViewIfNeeded();
    t.equal(await page.locator('#book th').nth(1).textContent(), 'Size (1000PEPE)');
    await page.locator('#liquidations').scrollIntoViewIfNeeded();
    await page.locator('#liquidations td').first().waitFor();
    t.same((await page.locator('#liquidations td').allTextContents()).slice(-2), ['5 1000PEPE', '10 USDT']);
    await on.context.close();
  },
);

t.test('a candle has the instant at which it opens, as in the answer of the API (H-10)', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  const opened: string[] = [];
  await page.route('**/api/explore/candles', async (route) => {
    const { from, to } = route.request().postDataJSON() as Asked;
    opened.splice(0, 2, ...[120_000, 60_000].map((before) => new Date(Date.parse(to) - before).toISOString()));
    const prices = { open: '1', high: '3', low: '1', close: '2', volume: '5' };
    const rows = opened.map((open_time) => ({
      ...{
        open_time,
        close_time: new Date(Date.parse(open_time) + 60_000).toISOString(),
        status: 'present',
        ...prices,
      },
    }));
    const item = { venue: 'binance', venue_symbol: 'BTCUSDT', quote: 'USDT', units: { volume: 'base' }, rows };
    await route.fulfill({ body: JSON.stringify({ from, to, items: [item] }) });
  });
  await page.goto(`${origin}/explore/BTC-PERP`);
  const candles = page.locator('#candles');
  await candles.scrollIntoViewIfNeeded();
  await page.locator('#candles[data-drawn]').waitFor();
  await candles.locator('summary').click();
  await candles.locator('tbody tr').nth(1).waitFor();
  const shown = await candles.locator('.readout strong').textContent();
  t.match(shown, /^from /);
  t.match(shown, `${opened[1]?.slice(11, 19)} UTC`);
  t.same(
    await candles.locator('tbody th').allTextContents(),
    opened.map((instant) => instant.replace('T', ' ').slice(0, 19)).reverse(),
  );
  t.same(await candles.locator('thead th').allTextContents(), ['Opened, UTC', 'binance']);
  await on.context.close();
});

t.test('what was read before stays, with its end, when it cannot be read again', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.clock.install();
  let isAway = false;
  await page.route('**/api/explore/snapshots/history', async (route) =>
    isAway ? route.fulfill(AWAY) : route.fulfill({ body: answerHistory(route.request().postDataJSON() as Asked) }),
  );
  await page.goto(`${origin}/explore/BTC-PERP`);
  await chart(on, 'mark').scrollIntoViewIfNeeded();
  await told(on, 'mark')
    .filter({ hasText: /^until \d\d:\d\d:\d\d UTC, settled$/ })
    .waitFor();
  isAway = true;
  await page.clock.runFor(61_000);
  await told(on, 'mark')
    .filter({ hasText: /^Away\. Shown: until \d\d:\d\d:\d\d UTC, settled$/ })
    .waitFor();
  t.match(await chart(on, 'mark').locator('.readout').textContent(), /97\u202f000\.1/);
  await on.context.close();
});

t.test('a page that nobody sees holds no stream, and withholds what it does not receive', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  let opened = 0;
  page.on('request', (request) => {
    if (request.url().includes('/stream?')) opened += 1;
  });
  await page.addInitScript(() => {
    let isHidden = true;
    Object.defineProperty(document, 'hidden', { get: () => isHidden });
    Object.assign(globalThis, {
      hide: (hides: boolean) => {
        isHidden = hides;
        document.dispatchEvent(new Event('visibilitychange'));
      },
    });
  });
  const state = (words: string) => page.locator('#live-state').filter({ hasText: words });
  await page.clock.install();
  await page.goto(`${origin}/explore/BTC-PERP`);
  await state('Not received while the page is not seen').waitFor();
  t.equal(opened, 0, 'a page that is opened behind another waits');
  await page.evaluate('hide(false)');
  await state('Live').waitFor();
  await page.locator('button.cell.figure').first().waitFor();
  await page.evaluate('hide(true)');
  await page.clock.runFor(4_000);
  t.ok(await state('Live').isVisible(), 'a short look at another page ends nothing');
  await page.clock.runFor(2_000);
  await state('Not received while the page is not seen').waitFor();
  await page.locator('button.cell.withheld').first().waitFor();
  t.equal(await page.locator('button.cell.figure').count(), 0);
  await page.evaluate('hide(false)');
  await state('Live').waitFor();
  t.equal(opened, 2);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.evaluate('hide(true)');
  await page.clock.runFor(6_000);
  await page.evaluate('hide(false)');
  t.ok(await state('Paused').isVisible(), 'a pause stays one');
  await on.context.close();
});

t.test('a book that is not read again is withheld, also when the call never ends', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.clock.install();
  let isSilent = false;
  let asked = 0;
  await page.route('**/api/explore/books', async (route) => {
    asked += 1;
    // A connection that has gone without a word: nothing is answered.
    if (!isSilent) await route.fulfill({ body: writeBook() });
  });
  await page.route('**/api/explore/snapshots/history', (route) => route.fulfill(AWAY));
  await page.goto(`${origin}/explore/BTC-PERP`);
  await page.locator('#book').scrollIntoViewIfNeeded();
  await page.locator('#book td').first().waitFor();
  t.equal(await page.locator('#book th').first().textContent(), 'Price (USDT)');
  isSilent = true;
  const before = asked;
  await page.clock.runFor(16_000);
  await page.locator('#book .book-withheld').waitFor();
  t.equal(await page.locator('#book td').count(), 0);
  t.match(await page.locator('#book [data-told]').textContent(), /^Last read at \d\d:\d\d:\d\d UTC\.$/);
  t.equal(asked, before + 1, 'calls do not queue behind one that is not answered');
  isSilent = false;
  await page.clock.runFor(46_000);
  await page.locator('#book td').first().waitFor();
  await on.context.close();
});

t.test('a book is followed for as long as somebody uses the page, and again when somebody does', async (t) => {
  const on = await visit(chromium, 'desktop');
  const { page } = on;
  await page.clock.install();
  await page.route('**/api/explore/books', (route) => route.fulfill({ body: writeBook() }));
  await page.route('**/api/explore/snapshots/history', (route) => route.fulfill(AWAY));
  await page.goto(`${origin}/explore/BTC-PERP`);
  await page.locator('#book').scrollIntoViewIfNeeded();
  await page.locator('#book td').first().waitFor();
  const told = page.locator('#book [data-told]');
  const isTold = async (words: RegExp): Promise<boolean> => words.test((await told.textContent()) ?? '');
  await page.clock.runFor(280_000);
  // A refresh that is under way lets the next ones pass.
  for (let i = 0; i < 50 && !(await isTold(/^Not followed while nobody uses the page/)); i++)
    await page.clock.runFor(6_000);
  t.ok(await isTold(/^Not followed while nobody uses the page/));
  t.equal(await page.locator('#book td').count(), 0);
  await page.keyboard.press('Shift');
  await page.clock.runFor(6_000);
  await page.locator('#book td').first().waitFor();
  await on.context.close();
});

for (const [words, wrongMs] of [
  ['behind', -3_600_000],
  ['ahead', 3_600_000],
] as const)
  t.test(`charts are asked for by the service's clock, the browser's is an hour ${words}`, async (t) => {
    const on = await visit(chromium, 'desktop');
    const { page } = on;
    const ends: number[] = [];
    // No stream has said the time yet.
    await page.route('**/api/explore/stream?*', () => undefined);
    await page.route('**/api/explore/snapshots/history', async (route) => {
      const asked = route.request().postDataJSON() as Asked;
      ends.push(Date.parse(asked.to));
      await route.fulfill({ body: answerHistory(asked) });
    });
    await page.clock.install({ time: Date.now() + wrongMs });
    await page.goto(`${origin}/explore/BTC-PERP`);
    await chart(on, 'mark').scrollIntoViewIfNeeded();
    await told(on, 'mark')
      .filter({ hasText: /^until/ })
      .waitFor();
    t.ok(
      ends.length > 0 && ends.every((at) => Math.abs(at - Date.now()) < 60_000),
      `${ends.map((at) => at - Date.now())}`,
    );
    await page.goto(`${origin}/explore/query`);
    const slider = page.getByRole('slider');
    await slider.focus();
    await page.keyboard.press('Home');
    const back = Date.now() - Date.parse(await page.getByLabel('As of (UTC)').inputValue());
    t.ok(back > 0 && back < 86_500_000, `the slider goes back by ${back} ms`);
    await on.context.close();
  });
