// The list of instruments is open to anyone and may be thousands long: other calls have their turns while it is written.
import t from 'tap';
import { Feed, LISTED, listing, listingValues, reading, testApp } from '../../support/apps/live-fixture.ts';

const LISTINGS = 500;
/** A step may write so many. */
const MOST_A_TURN = 100;

const makeFeed = (listings: number): Feed => {
  const feed = new Feed(['binance']);
  feed.venue('binance');
  for (let i = 0; i < listings; i++) {
    const base = `A${i}`;
    feed.list(
      listing('binance', listingValues({ instrument: `${base}-PERP`, venue_symbol: `${base}USDT`, base }), {
        writtenAt: LISTED,
      }),
    );
  }
  return feed;
};
const feed = makeFeed(LISTINGS);

type Item = {
  readonly venue_symbol: string;
  readonly layers: { readonly funding: { readonly anchor: string | null } };
};
type Page = {
  readonly items: readonly Item[];
  readonly page: { readonly limit: number; readonly returned: number; readonly next_cursor: string | null };
};

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

t.test('what is published while a list is written is not in it (F-05)', async (t) => {
  const feed = makeFeed(LISTINGS);
  const { app } = await testApp(feed);
  t.teardown(() => app.close());
  const readAnchors = async (): Promise<readonly (string | null)[]> => {
    const { items } = (await app.inject('/v2/instruments')).json<Page>();
    return items.map(({ layers }) => layers.funding.anchor);
  };
  for (let i = 0; i < LISTINGS; i++) feed.read('binance', `A${i}USDT`, reading());
  const answer = readAnchors();
  let turns = 0;
  const change = (): void => {
    for (let i = 0; i < LISTINGS; i++) feed.read('binance', `A${i}USDT`, reading({ anchor: 'receipt' }));
    turns++;
    if (turns < LISTINGS / MOST_A_TURN) setImmediate(change);
  };
  setImmediate(change);
  t.equal(new Set(await answer).size, 1, 'all of one instant');
  t.same(new Set(await readAnchors()), new Set(['receipt']));
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

t.test('a page without limit ends where the answer is full; one that is asked for is refused (D-803)', async (t) => {
  const { app } = await testApp(makeFeed(6_000));
  t.teardown(() => app.close());
  const symbols: string[] = [];
  const readPage = async (query: string): Promise<string | null> => {
    const answer = await app.inject(`/v2/instruments${query}`);
    t.equal(answer.statusCode, 200);
    const { items, page } = answer.json<Page>();
    t.ok(answer.rawPayload.byteLength <= 8_388_608, `${answer.rawPayload.byteLength} bytes`);
    t.ok(items.length > 2_000 || page.next_cursor === null, `${items.length} listings`);
    t.same([page.returned, page.limit >= items.length], [items.length, true]);
    symbols.push(...items.map(({ venue_symbol: symbol }) => symbol));
    return page.next_cursor;
  };
  let cursor = await readPage('');
  while (cursor !== null) cursor = await readPage(`?cursor=${cursor}`);
  t.equal(new Set(symbols).size, 6_000);
  t.equal(symbols.length, 6_000, 'each once');
  const asked = await app.inject('/v2/instruments?limit=5000');
  t.equal(asked.statusCode, 400);
  t.match(asked.json(), { errors: [{ code: 'DQL_LIMIT' }] });
  const lowered = await app.inject({ url: '/v2/instruments', headers: { 'x-service-max-bytes': '200000' } });
  t.match(lowered.json(), { errors: [{ code: 'DQL_LIMIT' }] });
});
