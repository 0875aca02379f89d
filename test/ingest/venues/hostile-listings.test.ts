// Listings with names that no venue has today: whatever an answer about listings contains, its plan and its requests can be made.
import t from 'tap';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { toShard } from '../../../schemas/shards.ts';
import { readAnswers, readReference } from '../../support/venues/venue-seeds.ts';

/** Names as JSON has them between quotes. */
const NAMES = [
  ...['\\ud800', 'A\\udfffB', 'A\\u0000B', 'A\\nB', '\\"', "x'; drop table rows;--", '\\ufeffA', '\\u202eA', '\\ufffd'],
  ...['__proto__', 'constructor', '../../x', '%00%2f', '%', 'a#b?c=d&e', '{since}', ' ', 'a,b', '币安人生', '😀'],
  'A'.repeat(2_000),
];

/** One answer about listings for each request, and one of its listings. */
const listAnswers = (venue: Venue): readonly { readonly message: VenueMessage; readonly symbol: string }[] => {
  const answers = new Map<string, { message: VenueMessage; symbol: string }>();
  for (const message of readAnswers(venue)) {
    const symbol = readReference(venue, message)?.listings[0]?.venue_symbol;
    const path = message.request?.replace(/\?.*/, '') ?? '';
    if (symbol !== undefined && !answers.has(path)) answers.set(path, { message, symbol });
  }
  return [...answers.values()];
};

/** Everything that a collector makes of an answer. */
const collect = (venue: Venue, message: VenueMessage): number => {
  const { endpoints } = venue;
  const listings = readReference(venue, message)?.listings ?? [];
  const plan = venue.plan(listings, { shards: 2, shardOf: (symbol) => toShard(symbol, 2), endpoints });
  venue.deliveries?.(listings);
  const range = { fromMs: 1_700_000_000_000, toMs: 1_700_000_060_000 };
  const requests = listings.flatMap((listing) => [
    venue.bookSnapshot?.(listing, endpoints),
    venue.bookConfirmation?.(listing, endpoints),
    venue.candles?.(listing, range, endpoints),
    venue.confirm?.(listing.venue_symbol, endpoints)?.request,
  ]);
  return plan.length + requests.filter((request) => request !== undefined && URL.canParse(request.url)).length;
};

let made = 0;
for (const venue of venues.values())
  t.test(venue.id, (t) => {
    for (const { message, symbol } of listAnswers(venue)) {
      const text = Buffer.from(message.payload).toString();
      for (const name of NAMES) {
        const payload = Buffer.from(text.replaceAll(JSON.stringify(symbol), `"${name}"`));
        try {
          made += collect(venue, { ...message, payload });
        } catch (error) {
          if (!(error instanceof VenueError)) t.fail(`${name}: ${error}`);
        }
      }
    }
    t.end();
  });
t.test('plans and requests were made', (t) => {
  t.ok(made > 10_000, `${made}`);
  t.end();
});

t.test('a listing whose name is no Unicode text is unreadable, and leaves the others', (t) => {
  const payload = Buffer.from(
    JSON.stringify({ markets: { 'BTC-USD': { ticker: 'BTC-USD' }, ODD: { ticker: 'ODD' } } }).replaceAll(
      '"ODD"',
      '"\\ud800"',
    ),
  );
  const request = 'GET https://indexer.dydx.trade/v4/perpetualMarkets';
  const dydx = venues.get('dydx') as Venue;
  const answer = dydx.mapReference({}, { kind: 'response', received_at: 0, request, payload });
  t.match(answer, { listings: [{ venue_symbol: 'BTC-USD' }], unreadable: [{ code: 'VENUE_BAD_FRAME' }] });
  t.equal(answer?.listings.length, 1);
  t.end();
});
