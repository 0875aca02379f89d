// What a refusal says would fit does fit, and little more would: listings without rows stand before listings with large ones (H-08). Real QuestDB.
import t from 'tap';
import { makeReadingRow } from '../../../processors/task/rows.ts';
import { formatInstant } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { Row } from '../../../schemas/topics.ts';
import {
  Feed,
  LISTED,
  listing,
  listingValues,
  micros,
  NOW,
  reading,
  testApp,
} from '../../support/apps/live-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const WINDOW: Micros = 10_000_000;
const ROWS = 1_500;
const SMALL = 24;
const LARGE = 24;
const END = micros('2026-01-15T11:00:00.000Z');
const START = END - ROWS * WINDOW;
/** In the order of answers: those without a reading come first. */
const NAMES = Array.from({ length: SMALL + LARGE }, (_, i) => `L${String(i).padStart(2, '0')}USDT`);

const storedRow = (symbol: string, index: number, venue = 'binance'): Row => {
  const at = START + (index + 1) * WINDOW;
  const span = { from: at - WINDOW, at, srcOffset: index, late: false };
  const times = { venue_ts: at - 2_000_000, received_at: at - 1_234_567, recorded_at: at - 1_000_000 };
  const values = { mark: `6${index}.123456789012345678`, index: '60000.123456789012', basis: '-0.000123456789012345' };
  const held = reading({ ...times, layer: 'mark', values, instants: {} });
  return makeReadingRow({ venue, symbol, layer: 'mark' }, span, held);
};
for (const symbol of NAMES.slice(SMALL)) await write(Array.from({ length: ROWS }, (_, i) => storedRow(symbol, i)));

/** Those of another venue have readings in the first half of the window only: their last rows are gaps. */
const HALF = NAMES.slice(0, 8);
for (const symbol of HALF) await write(Array.from({ length: ROWS / 2 }, (_, i) => storedRow(symbol, i, 'okx')));

const feed = new Feed(['binance', 'okx']);
for (const [venue, names] of [
  ['binance', NAMES],
  ['okx', HALF],
] as const) {
  feed.watermark(venue, LISTED);
  feed.venue(venue);
  for (const venue_symbol of names) {
    const base = venue_symbol.slice(0, 3);
    feed.list(listing(venue, listingValues({ venue_symbol, base, instrument: `${base}-PERP` })));
  }
  feed.memory.applyHistoryWatermark(venue, 0, NOW - 190_000);
}
const { app, as } = await testApp(feed, { history });
t.teardown(() => app.close());

const post = async (url: string, body: object, more: Readonly<Record<string, string>> = {}) => {
  const answer = await app.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...as('pro_plus'), ...more },
    payload: JSON.stringify(body),
  });
  if (answer.statusCode === 200) return { status: 200, bytes: answer.rawPayload.length };
  const { errors } = answer.json<{ errors?: readonly { readonly code: string; readonly hint: string }[] }>();
  return { status: answer.statusCode, error: errors?.[0] };
};
const HISTORY = '/v2/snapshots/history';
const OF_ROWS = { where: 'venue = binance', layers: ['mark'], include_gaps: false };
const [from, to] = [formatInstant(START), formatInstant(END)];

for (const [mode, times] of [
  ['interval', { interval: '10s' }],
  ['raw', { raw: true }],
] as const) {
  t.test(`${mode}: the window in the hint fits, and one a twentieth longer does not`, async (t) => {
    const body = { ...OF_ROWS, ...times, from };
    const { status, error } = await post(HISTORY, { ...body, to });
    t.equal(status, 400);
    const seconds = Number(/(\d+)s(?: fits|\))/.exec(error?.hint ?? '')?.[1]);
    t.ok(seconds > 0, error?.hint ?? '');
    const until = (share: number) => formatInstant(START + Math.floor((seconds * share) / 10) * 10_000_000);
    t.equal((await post(HISTORY, { ...body, to: until(1) })).status, 200);
    t.match(await post(HISTORY, { ...body, to: until(1.05) }), { status: 400, error: { code: 'DQL_LIMIT' } });
  });
}

t.test('at: so many instants fit, and a twentieth more do not', async (t) => {
  const at = Array.from({ length: ROWS }, (_, i) => formatInstant(START + (i + 1) * WINDOW));
  const { error } = await post(HISTORY, { ...OF_ROWS, at });
  const fits = Number(/^About (\d+) instants fit/.exec(error?.hint ?? '')?.[1]);
  t.ok(fits > 0, error?.hint ?? '');
  t.equal((await post(HISTORY, { ...OF_ROWS, at: at.slice(0, fits) })).status, 200);
  t.equal((await post(HISTORY, { ...OF_ROWS, at: at.slice(0, Math.ceil(fits * 1.05)) })).status, 400);
});

for (const accept of ['text/csv', 'application/x-ndjson'])
  t.test(
    `${accept}: the window in the hint fits, also where the first rows are gaps, and one a fifth longer does not`,
    async (t) => {
      const body = { where: 'venue = binance', layers: ['mark'], interval: '10s', from };
      const { error } = await post(HISTORY, { ...body, to }, { accept });
      const until = micros(/send to (\S+),/.exec(error?.hint ?? '')?.[1] ?? to);
      t.ok(until > START && until < END, error?.hint ?? '');
      t.match(await post(HISTORY, { ...body, to: formatInstant(until) }, { accept }), { status: 200 });
      const longer = formatInstant(START + 1.2 * (until - START));
      t.match(await post(HISTORY, { ...body, to: longer }, { accept }), { status: 400, error: { code: 'DQL_LIMIT' } });
    },
  );

for (const accept of ['text/csv', 'application/x-ndjson'])
  t.test(
    `${accept}: the window in the hint fits where the last rows are gaps, and one a twentieth longer does not`,
    async (t) => {
      const body = { where: 'venue = okx', layers: ['mark'], interval: '10s', from };
      const whole = Number((await post(HISTORY, { ...body, to }, { accept })).bytes);
      const headers = { accept, 'x-service-max-bytes': String(Math.floor(0.7 * whole)) };
      const { error } = await post(HISTORY, { ...body, to }, headers);
      const until = micros(/send to (\S+),/.exec(error?.hint ?? '')?.[1] ?? to);
      t.ok(until > START && until < END, error?.hint ?? '');
      t.match(await post(HISTORY, { ...body, to: formatInstant(until) }, headers), { status: 200 });
      const longer = formatInstant(START + Math.floor((1.05 * (until - START)) / WINDOW) * WINDOW);
      t.match(await post(HISTORY, { ...body, to: longer }, headers), { status: 400, error: { code: 'DQL_LIMIT' } });
    },
  );
