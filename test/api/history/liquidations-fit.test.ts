// The limit that the refusal of a page of liquidations names fits, and one more does not: with gaps of any number between the rows, in each format (T-04, N-15). Real QuestDB.
import t from 'tap';
import { makeEventGapRow, makeEventRow } from '../../../processors/task/rows.ts';
import type { Row } from '../../../schemas/topics.ts';
import { Feed, LISTED, listing, listingValues, NOW } from '../../support/apps/live-fixture.ts';
import { collecting, ELEVEN, type PastAnswer, pastAsker, SECOND } from '../../support/apps/past-fixture.ts';
import { useEngines } from '../../support/engines/engines.ts';
import { openTestStore } from '../../support/engines/test-store.ts';

t.setTimeout(900_000);
const { history: store, write } = await openTestStore(t, await useEngines(t, ['questdb']));

const SYMBOLS = Array.from({ length: 12 }, (_, i) => `L${i}USDT`);
const ROWS = 120;

const makeEvent = (i: number): Row => {
  const [symbol = '', received] = [SYMBOLS[i % 5], ELEVEN + i * SECOND];
  const place = { venue: 'binance', symbol, connId: 'c', recordedAt: received + 2_000, srcOffset: i, late: false };
  const id = `id-${i}-${'x'.repeat(i % 40)}`;
  const values = {
    id,
    side: 'long',
    price: '63050.1',
    price_kind: 'bankruptcy',
    quantity: '0.512',
    quantity_unit: 'base',
  } as const;
  const record = {
    layer: 'liquidation',
    venue: 'binance',
    venue_symbol: symbol,
    venue_ts: received,
    received_at: received,
    values,
  } as const;
  return makeEventRow('liquidations', { ...place, id }, record);
};
/** Many towards the end: a shorter page has few of them. */
const makeGap = (i: number): Row => {
  const from = ELEVEN + Math.floor(110 * Math.sqrt(i / 200)) * SECOND + (i % 7) * 100_000;
  const place = { from, at: from + 50_000, cause: 'connection_lost', srcOffset: i } as const;
  return makeEventGapRow('liquidations', { venue: 'binance', symbol: SYMBOLS[i % SYMBOLS.length] ?? '' }, place);
};
await write([
  ...Array.from({ length: ROWS }, (_, i) => makeEvent(i)),
  ...Array.from({ length: 200 }, (_, i) => makeGap(i)),
]);

const settledMarket = (): Feed => {
  const feed = new Feed(['binance']);
  feed.watermark('binance', LISTED);
  feed.venue('binance', collecting('binance', 'liquidation'));
  feed.memory.applyHistoryWatermark('binance', 0, NOW - 190_000);
  for (const venue_symbol of SYMBOLS) {
    const base = venue_symbol.slice(0, -4);
    feed.list(listing('binance', listingValues({ venue_symbol, base, instrument: `${base}-PERP` })));
  }
  return feed;
};
const ask = pastAsker<PastAnswer<unknown>>('/v2/liquidations', { feed: settledMarket, history: store });
const WINDOW = { from: '2026-01-15T11:00Z', to: '2026-01-15T11:03Z' };

for (const accept of ['application/json', 'text/csv', 'application/x-ndjson'])
  t.test(accept, async (t) => {
    const whole = Buffer.byteLength((await ask(WINDOW, { headers: { accept } })).text);
    for (const share of [0.3, 0.5, 0.7, 0.9]) {
      const headers = { accept, 'x-service-max-bytes': String(Math.max(4_096, Math.floor(whole * share))) };
      const { status, json } = await ask(WINDOW, { headers });
      t.equal(status, 400);
      const hint = json.errors[0]?.hint ?? '';
      const limit = Number(/^Send a limit of (\d+),/.exec(hint)?.[1]);
      t.ok(limit > 0 && limit < ROWS, `${share}: ${hint}`);
      t.equal((await ask({ ...WINDOW, limit }, { headers })).status, 200, `${share}: ${limit} fit`);
      const more = Math.ceil(1.05 * limit) + 4;
      t.equal((await ask({ ...WINDOW, limit: more }, { headers })).status, 400, `${share}: ${more} do not`);
    }
  });
