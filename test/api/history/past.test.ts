// Which listings an answer about the past means, and from when on it can no longer change: the same whatever venues are added (N-10, N-11).
import t from 'tap';
import {
  findInstantFaults,
  findListingInstant,
  findMeantFrom,
  findWindowFaults,
  isSettled,
  refuseHole,
} from '../../../api/history/past.ts';
import { listPossibleVenues } from '../../../api/operations/listing-input.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { selectListings } from '../../../api/selection/resolve.ts';
import type { Micros } from '../../../schemas/records.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { Feed, LISTED, listing, listingValues, NOW } from '../../support/apps/live-fixture.ts';

const SECOND: Micros = 1_000_000;
const DAY = 86_400 * SECOND;
const BEFORE = LISTED - DAY;
const ASKED = NOW - 200 * SECOND;

const list = (feed: Feed, venue: string, writtenAt: Micros): void =>
  feed.list({ ...listing(venue, listingValues(), { writtenAt }), first_seen_at: writtenAt });
const listMeant = ({ memory }: Feed, to: Micros): string[] =>
  selectListings({}, findDirectory(memory), { at: findListingInstant(memory, to), since: to - DAY }).map(
    ({ listing }) => listing.venue,
  );

t.test('a venue that is added later is of no earlier answer', async (t) => {
  const feed = new Feed(['binance', 'bybit', 'okx']);
  list(feed, 'binance', LISTED);
  list(feed, 'okx', LISTED + 20 * SECOND);
  const ends = [BEFORE, LISTED, LISTED + 59 * SECOND, LISTED + DAY, LISTED + 2 * DAY];
  const meant = ends.map((to) => listMeant(feed, to));
  t.same(meant, Array(5).fill(['binance', 'okx']), 'the first listings are meant by what came before them too');
  list(feed, 'bybit', LISTED + 2 * DAY + SECOND);
  t.same(
    ends.map((to) => listMeant(feed, to)),
    meant,
  );
  t.same(listMeant(feed, LISTED + 2 * DAY + SECOND), ['binance', 'bybit', 'okx']);
});

t.test('the instant from which on answers mean a listing is the least end of those that have it', async (t) => {
  const feed = new Feed(['binance', 'bybit', 'okx', 'gate']);
  const seconds = { binance: 0, bybit: 60, okx: 61, gate: 90_000 };
  for (const [venue, after] of Object.entries(seconds)) list(feed, venue, LISTED + after * SECOND);
  const { memory } = feed;
  const meantFrom = findMeantFrom(memory);
  const all = selectListings({}, findDirectory(memory), { at: LISTED + 2 * DAY, since: BEFORE });
  t.equal(all.length, 4);
  for (const one of all) {
    const { venue } = one.listing;
    const from = meantFrom(one);
    t.ok(listMeant(feed, Math.max(from, BEFORE)).includes(venue), venue);
    t.equal(from > 0 && listMeant(feed, from - 1).includes(venue), false, venue);
  }
  t.same(all.map((one) => meantFrom(one) === 0).filter(Boolean).length, 2, 'the first listings are meant by all');
});

t.test('an answer about the time before the first listings settles when they have been read', async (t) => {
  const feed = new Feed(['binance', 'okx']);
  const settledAt = (evaluatedAt: Micros, at = BEFORE): boolean => {
    for (const venue of ['binance', 'okx']) {
      feed.memory.applyHistoryWatermark(venue, 0, evaluatedAt - 15 * SECOND);
      feed.watermark(venue, evaluatedAt);
    }
    return isSettled(at, { live: feed.memory, evaluatedAt }, new Set(['binance', 'okx']));
  };
  t.notOk(settledAt(LISTED), 'while none is known');
  list(feed, 'binance', LISTED);
  t.notOk(settledAt(LISTED + 30 * SECOND), 'others may come');
  t.notOk(settledAt(LISTED + 60 * SECOND + 119 * SECOND));
  t.ok(settledAt(LISTED + 60 * SECOND + 120 * SECOND));
  t.notOk(settledAt(NOW, NOW - 119 * SECOND), 'a later one as ever');
  t.ok(settledAt(NOW, NOW - 120 * SECOND));
});

t.test('an answer settles when versions and rows of all venues are known up to it', async (t) => {
  const known = { binance: { live: NOW, store: NOW }, okx: { live: NOW, store: NOW } };
  const isKnown = (venue: keyof typeof known, what: 'live' | 'store', upTo: Micros): boolean => {
    const copy = new Feed(['binance', 'okx']);
    list(copy, 'binance', LISTED);
    for (const [of, { live, store }] of Object.entries({ ...known, [venue]: { ...known[venue], [what]: upTo } })) {
      copy.memory.applyHistoryWatermark(of, 0, store);
      copy.watermark(of, live);
    }
    const asked = { live: copy.memory, evaluatedAt: NOW };
    return isSettled(ASKED, asked, listPossibleVenues({}, copy.memory));
  };
  for (const venue of ['binance', 'okx'] as const)
    for (const what of ['live', 'store'] as const) {
      t.ok(isKnown(venue, what, ASKED + SEALS_AFTER), `${what} of ${venue}`);
      t.notOk(isKnown(venue, what, ASKED + SEALS_AFTER - 1), `${what} of ${venue} is behind`);
    }
});

t.test('a window is refused where neither the store nor memory has all of it', async (t) => {
  /** The windows that are refused, of those between instants around what the store shows and what memory has. */
  const refusedBetween = (shownTo: Micros, recentFrom: Micros): string[] => {
    const feed = new Feed(['binance']);
    list(feed, 'binance', LISTED);
    feed.memory.applyHistoryWatermark('binance', 0, shownTo + SEALS_AFTER);
    feed.watermark('binance', recentFrom + 900 * SECOND);
    const selected = selectListings({}, findDirectory(feed.memory), { at: NOW, since: BEFORE });
    const instants = [shownTo - 1, shownTo, shownTo + 1, recentFrom - 1, recentFrom, recentFrom + 1];
    return instants.flatMap((from, i) =>
      instants.slice(i + 1).flatMap((to, j) => {
        try {
          refuseHole({ from, to }, selected, feed.memory);
          return [];
        } catch (error) {
          t.match(error, { message: /binance is behind/ });
          return [`${i} ${i + 1 + j}`];
        }
      }),
    );
  };
  const begun = NOW - 2_000 * SECOND;
  const [behind, whole] = [begun + 10 * SECOND, begun];
  const within = ['0 2', '0 3', '0 4', '0 5', '1 2', '1 3', '1 4', '1 5', '2 3', '2 4', '2 5', '3 4', '3 5'];
  t.same(refusedBetween(begun, behind), within);
  t.same(refusedBetween(begun, whole), [], 'memory has all that the store does not show');
});

t.test('a window ends after it begins, where both of its instants can be read', async (t) => {
  const [early, late] = ['2026-01-15T12:00:00Z', '2026-01-15T12:00:00.000001Z'];
  for (const [from, to] of [[early, late], [early], [undefined, early], [late, 'yesterday']])
    t.same(findWindowFaults(from, to), [], `${from} ${to}`);
  for (const from of [early, late])
    t.match(findWindowFaults(from, early), [{ code: 'DQL_JSON_SCHEMA', path: '/to' }], `${from} ${early}`);
});

t.test('an instant out of range names the range (N-03)', async (t) => {
  for (const text of ['1970-01-01T00:00:00Z', '1999-12-31T23:59:59Z', '2100-01-01T00:00:00.000001Z', 'yesterday']) {
    const [fault] = findInstantFaults(text, '/from');
    t.match(fault, {
      code: 'DQL_JSON_SCHEMA',
      message: `"${text}" is not an instant from 2000 to 2100.`,
      path: '/from',
    });
  }
  for (const text of ['2000-01-01T00:00:00Z', '2100-01-01T00:00:00Z', undefined])
    t.same(findInstantFaults(text, '/to'), []);
  for (const text of ['2026-11-29T18:30:00', '2026-11-29T18:30:00.123456789Z']) {
    const hint = /a zone and at most six fractional digits/;
    t.match(findInstantFaults(text, '/to'), [{ hint }], 'of programs that omit the zone, or write nanoseconds');
  }
});
