// A page that is too large is refused with the number of rows that fit, whichever rows are the large ones (T-04, H-16g).
import t from 'tap';
import { Feed, LISTED, listing, listingValues, testApp } from '../../support/apps/live-fixture.ts';

/** Instruments with fewer and fewer listings, so that the rows of a screen and of `instruments` differ in size. */
const feed = new Feed(['binance']);
feed.watermark('binance', LISTED);
feed.venue('binance');
for (let base = 0; base < 12; base++)
  for (let i = 0; i <= 33 - base * 3; i++) {
    const code = `A${String.fromCharCode(65 + base)}`;
    const names = { base: code, instrument: `${code}-PERP`, venue_symbol: `${code}${'X'.repeat(i)}` };
    feed.list(listing('binance', listingValues(names)));
  }
const { app, as } = await testApp(feed);
t.teardown(() => app.close());

type Refusal = { readonly errors?: readonly { readonly hint: string }[] };
const CALLS = {
  screen: (limit: number) => ({
    method: 'POST' as const,
    url: '/v2/screen',
    payload: { query: 'where venue = binance select mark, tick_size', limit },
  }),
  instruments: (limit: number) => ({ method: 'GET' as const, url: `/v2/instruments?limit=${limit}` }),
};

for (const [name, call] of Object.entries(CALLS)) {
  t.test(`${name}: the limit in the hint fits, and two more do not`, async (t) => {
    for (const bytes of [16_000, 24_000, 32_000]) {
      const send = (limit: number) =>
        app.inject({ ...call(limit), headers: { ...as('pro_plus'), 'x-service-max-bytes': String(bytes) } });
      const refused = await send(500);
      t.equal(refused.statusCode, 400);
      const hint = refused.json<Refusal>().errors?.[0]?.hint ?? '';
      const limit = Number(/limit (\d+): this number of rows fits/.exec(hint)?.[1]);
      t.ok(limit > 0, hint);
      t.equal((await send(limit)).statusCode, 200, `${bytes}: ${limit}`);
      t.equal((await send(limit + 2)).statusCode, 400);
    }
  });
}
