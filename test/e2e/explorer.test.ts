// The explorer over the whole service in Chromium: a lost socket, a crossed book and a broken sequence are seen on the board as withheld with their
// reason, and afterwards as holes with their cause in the charts; what the page applied is what the stream sent. TEST_FILE_LIMIT_S=2700
// BOARD_MINUTES=30 watches its memory for so long.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import t from 'tap';
import { findFreePort } from '../../infra/dev/engines/ports.ts';
import { startSite } from '../support/apps/site-fixture.ts';
import { useEngines } from '../support/engines/engines.ts';
import {
  countBytes,
  examinePage,
  findCutTexts,
  type Look,
  openChromium,
  shoot,
  type Visit,
  visit,
} from '../support/services/browser.ts';
import {
  apiReady,
  startApi,
  startIngest,
  startProcessors,
  startSimulator,
  until,
} from '../support/services/pipeline.ts';
import { BOUND_MS, waitFor } from '../support/wait.ts';

const MINUTES = Number(process.env['BOARD_MINUTES'] ?? 0);
const LISTINGS = process.env['BOARD_LISTINGS'] ?? '2';
/** Everything that a first view may transfer. */
const MOST_BYTES = 200_000;
/** Longer than two sampling windows, so that one has no reading. */
const LASTS_MS = 25_000;
/** Between two requests for the stored history: within the limits of the plan. */
const ASK_EVERY_MS = 1_000;

t.setTimeout((MINUTES + 20) * 60_000);

const engines = await useEngines(t, ['kafka', 'questdb', 'postgres']);
const spec = { stores: engines.endpoints, namespace: `${engines.namespace()}.`, shards: 1, venues: ['binance', 'okx'] };
const simulator = await startSimulator({
  SIM_SEED: '28',
  SIM_LISTINGS: LISTINGS,
  SIM_VENUES: 'binance,okx',
  SIM_RATE: '60',
});
const children = [simulator.child, startIngest(spec, simulator.endpoints), startProcessors(spec)];
const api = await startApi(spec, await engines.database());
t.teardown(() => Promise.all([...children, api.child].map((child) => child.kill())));

const port = await findFreePort();
const origin = `http://localhost:${port}`;
const { app } = await startSite(t, {
  urls: { account: origin, auth: origin, base: api.baseUrl, api: api.baseUrl, mcp: null },
  explorerKey: api.keys.pro,
  simulated: true,
});
await app.listen({ host: '127.0.0.1', port });
const chromium = await openChromium(t);
await apiReady(api);

/** Updates in the browser's network, independent of the page. */
const countUpdates = async ({ context, page }: Visit): Promise<() => number> => {
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  let updates = 0;
  session.on('Network.eventSourceMessageReceived', ({ eventName }) => {
    if (eventName === 'update') updates += 1;
  });
  return () => updates;
};

/** Sums what moved without anybody having pressed anything; read it by `window.moved`. */
const watchShifts = ({ page }: Visit): Promise<unknown> =>
  page.addInitScript(`window.moved = 0; new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.moved += value;
  }).observe({ type: 'layout-shift', buffered: true });`);

const findCell = ({ page }: Visit, listing: string) => page.locator(`button.cell[data-listing="${listing}"]`);
const BTC = 'binance|BTCUSDT';
const CUT = 'okx|BTC-USDT-SWAP';
const BROKEN = 'binance|BTCUSD_PERP';
/** The fault of each, as a board names it. */
const CAUSES: Readonly<Record<string, string>> = {
  [CUT]: 'connection_lost',
  [BTC]: 'crossed_book',
  [BROKEN]: 'sequence_break',
};
/** A venue that takes no new connection is down: its hole has that cause. */
const isCause = (cause: string, stored: string | null | undefined): boolean =>
  stored === cause || (cause === 'connection_lost' && stored === 'venue_down');

/** Waits for what a cell shows; gives its text. */
const cellShows = (on: Visit, listing: string, kind: string): Promise<string> =>
  until(`the cell of ${listing} is ${kind}`, 180_000, async () => {
    const cell = findCell(on, listing);
    const isKind = (await cell.getAttribute('class'))?.split(' ').includes(kind) === true;
    return isKind ? ((await cell.textContent()) ?? '') : null;
  });

const toVenue = (listing: string): string => listing.split('|')[0] ?? '';
const toSymbol = (listing: string): string => listing.split('|')[1] ?? '';

type Hole = { readonly name: string; readonly reason: string; readonly cause: string | null };
const readHoles = async ({ page }: Visit, chart: string): Promise<readonly Hole[]> => {
  const figure = page.locator(`figure[data-chart="${chart}"]`);
  await figure.scrollIntoViewIfNeeded();
  return JSON.parse((await figure.getAttribute('data-holes')) ?? '[]');
};

/** Scrolls to a part of the page, which is read only then, and waits for what it draws. */
const see = async ({ page }: Visit, part: string, drawn: string): Promise<void> => {
  await page.locator(part).scrollIntoViewIfNeeded();
  await page.locator(drawn).first().waitFor();
};

/** A page that waits as long as a slow machine needs. */
const open = async (look: Look, colours: 'light' | 'dark' = 'light'): Promise<Visit> => {
  const on = await visit(chromium, look, colours);
  on.page.setDefaultTimeout(BOUND_MS);
  return on;
};

/** All at once. The books of the broken sequence and of the crossing cannot be requested again before the faults end. */
const injectFaults = async (): Promise<void> => {
  await simulator.fault({ kind: 'rest_down', durationMs: LASTS_MS });
  await Promise.all([
    simulator.fault({ venue: 'okx', kind: 'disconnect', stream: 'book', count: 100, durationMs: LASTS_MS }),
    simulator.fault({ kind: 'crossed_book', symbols: [toSymbol(BTC)], durationMs: LASTS_MS }),
    simulator.fault({ kind: 'sequence_hole', symbols: [toSymbol(BROKEN)] }),
  ]);
};

t.test('what a fault has touched is withheld with its reason until it is whole again; no update is lost', async (t) => {
  const on = await open('desktop');
  const { page } = on;
  const sent = await countUpdates(on);
  await page.goto(`${origin}/explore?measure=spread`);
  for (const listing of Object.keys(CAUSES)) await cellShows(on, listing, 'figure');

  const began = Date.now();
  await injectFaults();
  const seen = async ([listing, cause]: readonly [string, string]): Promise<void> => {
    const text = await cellShows(on, listing, 'withheld');
    t.comment(`${listing} withheld ${Date.now() - began} ms after its fault: ${text}`);
    t.ok(text.startsWith(cause.replaceAll('_', ' ')), `no number, but ${cause}: ${text}`);
  };
  await Promise.all(Object.entries(CAUSES).map(seen));
  const tip = page.getByRole('tooltip');
  await findCell(on, CUT).hover();
  t.match(await tip.textContent(), /The connection that delivered it was lost\./, 'on hover');
  await page.keyboard.press('Escape');
  t.equal(await tip.isVisible(), false, 'dismissed by Escape');
  await page.mouse.move(0, 0);
  await findCell(on, CUT).focus();
  t.match(await tip.textContent(), /The connection that delivered it was lost\./, 'on focus');
  t.equal(await findCell(on, CUT).getAttribute('aria-describedby'), await tip.getAttribute('id'));
  await shoot(on, 'board-withheld');
  t.same(await findCutTexts(on), [], 'reasons fit their cells');
  for (const listing of Object.keys(CAUSES)) await cellShows(on, listing, 'figure');

  await page.getByRole('button', { name: 'Pause' }).click();
  await until('the counts are one', 30_000, async () => {
    const board = page.locator('#board');
    return Number(await board.getAttribute('data-updates')) === sent() ? true : null;
  });
  t.ok(sent() > 10, `${sent()} updates were sent and applied`);
  t.equal(await page.locator('#board').getAttribute('data-holes'), '0', 'revisions follow each other');
  t.same(on.faults, []);
  await on.context.close();
});

for (const [look, colours] of [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const satisfies readonly (readonly [Look, 'light' | 'dark'])[])
  t.test(`the pages are accessible, light, and complain of nothing: ${look}, ${colours}`, async (t) => {
    const on = await open(look, colours);
    const bytes = await countBytes(on);
    await watchShifts(on);
    await on.page.goto(`${origin}/explore`);
    await cellShows(on, BTC, 'figure');
    t.ok(bytes() > 1_000 && bytes() < MOST_BYTES, `the board took ${bytes()} bytes`);
    t.ok(Number(await on.page.evaluate('window.moved')) < 0.001, 'nothing moved while figures came');
    await examinePage(t, on, `${look}-board`);
    const before = bytes();
    await on.page.goto(`${origin}/explore/BTC-PERP`);
    await on.page.locator('figure[data-chart="mark"][data-drawn]').waitFor();
    t.ok(bytes() - before < MOST_BYTES, `the page of an instrument took ${bytes() - before} bytes`);
    for (const chart of ['index', 'funding', 'oi', 'spread'])
      await see(on, `figure[data-chart="${chart}"]`, `figure[data-chart="${chart}"][data-drawn]`);
    await see(on, '#candles', '#candles[data-drawn]');
    await see(on, '#book', '#book table');
    await see(on, '#liquidations', '#liquidations table');
    // What the table of liquidations moves is the foot of the page.
    t.ok(Number(await on.page.evaluate('window.moved')) < 0.2, 'nothing above moved while charts came');
    const interest = await on.page.locator(`button.cell[data-listing="${CUT}"][data-layer="oi"] .figure`).textContent();
    t.match(interest, /^[\d.\u202f]+[MB]? contracts$/, 'a quantity names its unit');
    await examinePage(t, on, `${look}-instrument`);
    t.same(on.faults, []);
    await on.context.close();
  });

/** The chart as its island has it, by a name of its own in the page. */
const chartBundle = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../api/explorer/islands/chart.ts', import.meta.url))],
    ...{ bundle: true, write: false, format: 'iife', globalName: 'chartKit', target: 'es2022' },
  });
  return outputFiles[0]?.text ?? '';
};

t.test('50,000 points are drawn by at most four a column, and the keyboard reads holes', async (t) => {
  const on = await open('desktop');
  await on.page.goto(`${origin}/explore/BTC-PERP`);
  await on.page.evaluate(`${await chartBundle()}; window.chartKit = chartKit;`);
  const drawing = (await on.page.evaluate(`(() => {
    const figure = document.querySelector('figure[data-chart="mark"]').cloneNode(true);
    document.querySelector('main').prepend(figure);
    const xs = Array.from({ length: 50000 }, (_, i) => i * 1000);
    const hole = { fromMs: 20000000, toMs: 21000000, reason: 'gap', cause: 'sequence_break', label: 'sequence break', words: 'Messages of a book did not follow each other.' };
    const ys = xs.map((x) => x > hole.fromMs && x <= hole.toMs ? NaN : Math.sin(x / 1e6));
    const line = { name: 'binance', xs, ys, digits: ys.map((y) => Number.isNaN(y) ? null : String(y)), holes: [hole], late: [30000] };
    const chart = new chartKit.Chart(figure, (digits) => digits);
    chart.show({ fromMs: 0, toMs: 49999000, lines: [line], candles: null, axis: { times: 1, suffix: '' } });
    figure.id = 'many';
    const times = [];
    for (let i = 0; i < 20; i++) { const begun = performance.now(); chart.show({ fromMs: 0, toMs: 49999000, lines: [line], candles: null, axis: { times: 1, suffix: '' } }); times.push(performance.now() - begun); }
    return { ...figure.dataset, width: figure.querySelector('.plot').clientWidth, median: times.sort((a, b) => a - b)[10] };
  })()`)) as { points: string; drawn: string; width: number; median: number };
  t.equal(drawing.points, '50000');
  t.ok(
    Number(drawing.drawn) > drawing.width && Number(drawing.drawn) <= 4 * (drawing.width + 2),
    `${drawing.drawn} of 50000 points are drawn`,
  );
  t.comment(`drawn again in ${drawing.median.toFixed(1)} ms`);
  const slider = on.page.locator('#many').getByRole('slider');
  await slider.focus();
  await on.page.keyboard.press('Home');
  for (let i = 0; i < 8; i++) await on.page.keyboard.press('PageUp');
  t.match(
    await slider.getAttribute('aria-valuetext'),
    /05:33:\d\d UTC\. binance: hole|binance: (hole, sequence break|-?\d)/,
  );
  await shoot(on, 'many-points');
  t.same(on.faults, []);
  await on.context.close();
});

type Stored = {
  readonly items: readonly {
    readonly layers: { readonly book: { readonly rows: readonly { gap_cause?: string }[] } };
  }[];
};
const isStored = async ([listing, cause]: readonly [string, string]): Promise<boolean> => {
  const to = Date.now();
  const { items } = await api.post<Stored>('/v2/snapshots/history', {
    where: { venue: toVenue(listing), symbol: toSymbol(listing) },
    ...{
      layers: ['book'],
      interval: '10s',
      from: new Date(to - 900_000).toISOString(),
      to: new Date(to).toISOString(),
    },
  });
  return items.some(({ layers }) => layers.book.rows.some(({ gap_cause: stored }) => isCause(cause, stored)));
};

t.test('each fault is a hole with its cause in the chart, and of nothing else', async (t) => {
  for (const fault of Object.entries(CAUSES))
    await waitFor(`the hole of ${fault.join(' ')} is stored`, () => isStored(fault), { everyMs: ASK_EVERY_MS });
  const on = await open('desktop');
  await on.page.goto(`${origin}/explore/BTC-PERP`);
  await see(on, 'figure[data-chart="spread"]', 'figure[data-chart="spread"][data-drawn]');
  const holes = await readHoles(on, 'spread');
  for (const [listing, cause] of Object.entries(CAUSES)) {
    const named = holes.filter((hole) => isCause(cause, hole.cause));
    // A connection brings all listings of its venue.
    const owner = listing === CUT ? toVenue(listing) : listing.replace('|', ' ');
    t.ok(named.length > 0, `${cause} is drawn`);
    t.same(
      named.filter(({ name, reason }) => !name.startsWith(owner) || reason !== 'gap'),
      [],
      `${cause} is of ${owner} alone`,
    );
  }
  await shoot(on, 'chart-hole');
  t.same(on.faults, []);
  await on.context.close();
});

type Sample = { readonly heap: number; readonly nodes: number };

t.test(
  'for BOARD_MINUTES the memory of the page is flat and every update is applied',
  { skip: MINUTES === 0 ? 'BOARD_MINUTES=30 watches it' : false },
  async (t) => {
    const on = await open('desktop');
    const sent = await countUpdates(on);
    const session = await on.context.newCDPSession(on.page);
    const sample = async (): Promise<Sample> => {
      await session.send('HeapProfiler.collectGarbage');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      const { nodes } = await session.send('Memory.getDOMCounters');
      return { heap: usedSize, nodes };
    };
    await on.page.goto(`${origin}/explore?measure=spread`);
    await cellShows(on, BTC, 'figure');
    const samples: Sample[] = [];
    for (let minute = 0; minute <= MINUTES; minute++) {
      await on.page.waitForTimeout(minute === 0 ? 30_000 : 60_000);
      samples.push(await sample());
      t.comment(`minute ${minute}: heap ${samples.at(-1)?.heap}, nodes ${samples.at(-1)?.nodes}, ${sent()} updates`);
    }
    await on.page.getByRole('button', { name: 'Pause' }).click();
    await until('the counts are one', 30_000, async () =>
      Number(await on.page.locator('#board').getAttribute('data-updates')) === sent() ? true : null,
    );
    t.equal(await on.page.locator('#board').getAttribute('data-holes'), '0');
    const [first, last] = [samples[0] as Sample, samples.at(-1) as Sample];
    t.ok(last.heap < first.heap * 1.1 + 500_000, `heap ${first.heap} then ${last.heap}`);
    t.ok(last.nodes <= first.nodes + 200, `nodes ${first.nodes} then ${last.nodes}`);
    t.same(on.faults, []);
  },
);
