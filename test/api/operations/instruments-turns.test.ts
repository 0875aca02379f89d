// The list of instruments is open to anyone and may be thousands long: other calls have their turns while it is written.
import t from 'tap';
import { Feed, LISTED, listing, listingValues, testApp } from '../live-fixture.ts';

const LISTINGS = 500;
/** A step may write so many. */
const MOST_A_TURN = 100;

const feed = new Feed(['binance']);
feed.venue('binance');
for (let i = 0; i < LISTINGS; i++) {
  const base = `A${i}`;
  feed.list(
    listing('binance', listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base }), {
      writtenAt: LISTED,
    }),
  );
}

type Page = { readonly items: readonly unknown[]; readonly page: { readonly next_cursor: string | null } };

t.test('turns of other calls', async (t) => {
  const { app } = await testApp(feed);
  t.teardown(() => app.close());
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const answer = await app.inject('/v2/instruments');
  isOver = true;
  t.equal(answer.json<Page>().items.length, LISTINGS);
  t.ok(turns > LISTINGS / MOST_A_TURN, `${turns} turns`);
});

t.test('a page that is made shorter continues where it ends', async (t) => {
  const { app } = await testApp(feed);
  t.teardown(() => app.close());
  const headers = { prefer: 'shorter-page', 'x-service-max-bytes': '200000' };
  const shorter = (await app.inject({ url: '/v2/instruments?limit=400', headers })).json<Page>();
  const whole = (await app.inject('/v2/instruments')).json<Page>();
  const shown = shorter.items.length;
  t.ok(shown > 20 && shown < 400, `${shown} listings`);
  t.same(shorter.items, whole.items.slice(0, shown));
  const rest = await app.inject(`/v2/instruments?cursor=${shorter.page.next_cursor}`);
  t.same(rest.json<Page>().items, whole.items.slice(shown));
});
