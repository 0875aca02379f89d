// What an answer of candles covers, on every venue that is polled for some: the minutes of its own request, whatever the answer holds (H-12).
import t from 'tap';
import type { CoveredMinutes } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import { listingValues } from '../../support/apps/live-fixture.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';

const MINUTE = 60_000_000;
const FROM = 1_768_478_400_000_000;
const TO = FROM + MINUTE;
const RECEIVED = TO + 100_000_000;

const listed = (venue: Venue, symbol: string): ListingRecord => {
  const stamps = { layer: 'listing', venue: venue.id, venue_symbol: symbol, venue_ts: null, received_at: 1 } as const;
  const pair = symbol.replace('_PERP', '');
  return { ...stamps, values: listingValues({ venue_symbol: symbol, pair, listed_at: null }) };
};

const askedBy = (venue: Venue, request: string, body: unknown): CoveredMinutes | null => {
  const listings = new Map(factsAbout(venue).symbols.map((symbol) => [symbol, listed(venue, symbol)]));
  const payload = Buffer.from(JSON.stringify(body));
  const message = { kind: 'response' as const, received_at: RECEIVED, request, payload };
  const mapped = venue.map({}, message, { listings });
  if (mapped.length > 0) throw new Error(`${venue.id}: an empty answer holds ${mapped.length} records`);
  return venue.askedMinutes?.(message, { listings }) ?? null;
};

t.test('an empty answer covers the requested minutes and the one after them', (t) => {
  for (const [id, venue] of venues) {
    const { symbols, noCandles, asksWithoutEnd } = factsAbout(venue);
    for (const venue_symbol of venue.candles ? symbols : []) {
      const range = { fromMs: FROM / 1_000, toMs: TO / 1_000 };
      const { method, url } = venue.candles?.({ venue_symbol }, range, venue.endpoints) ?? {};
      const asked = askedBy(venue, `${method} ${url}`, noCandles);
      t.match(asked, { symbols: [venue_symbol], price_type: 'trade', from: FROM }, `${id} ${venue_symbol}`);
      const to = asksWithoutEnd === true ? null : TO + MINUTE;
      t.equal(asked?.to, to, `${id} ${venue_symbol}: to`);
      t.ok(
        (asked?.limit ?? 0) >= 3,
        `${id}: an answer of three is ${asked?.limit === 3 ? 'all there can be' : 'not cut'}`,
      );
    }
  }
  t.end();
});

t.test('an answer of a poll covers its price, and every listing of its pair', (t) => {
  let polls = 0;
  for (const [id, venue] of venues) {
    const { symbols, noCandles } = factsAbout(venue);
    const listings = symbols.map((symbol) => listed(venue, symbol));
    const env = { shards: 1, shardOf: () => 0, endpoints: venue.endpoints };
    for (const slot of venue.plan(listings, env)) {
      if (slot.kind !== 'poll' || !slot.covers.some(({ layers }) => layers.includes('price_candles'))) continue;
      for (const { method, url } of slot.requests) {
        const asked = askedBy(venue, `${method} ${url.replace('{since}', String(FROM / 1e6 - 20))}`, noCandles);
        t.match(asked, { price_type: /^(mark|index)$/, symbols: [/./] }, `${id} ${url}`);
        t.equal(asked?.to, null, 'up to now');
        t.ok([null, FROM].includes(asked?.from ?? null), 'since the first whole minute');
        polls += 1;
      }
    }
  }
  t.ok(polls >= 12, `${polls} requests`);
  t.end();
});

t.test('nothing is covered by what is no answer of minutes', (t) => {
  for (const [id, venue] of venues) {
    const { symbols, noCandles } = factsAbout(venue);
    for (const venue_symbol of symbols) {
      const request = venue.candles?.({ venue_symbol }, { fromMs: FROM / 1_000, toMs: TO / 1_000 }, venue.endpoints);
      const url = `${request?.method} ${request?.url}`;
      const { listings } = { listings: new Map([[venue_symbol, listed(venue, venue_symbol)]]) };
      const payload = Buffer.from(JSON.stringify(noCandles));
      const at = { received_at: RECEIVED, payload };
      t.equal(venue.askedMinutes?.({ ...at, kind: 'frame', request: null }, { listings }), null, `${id}: a frame`);
      for (const [one, other] of [
        ['interval=1m', 'interval=5m'],
        ['interval=1&', 'interval=5&'],
        ['resolution=1', 'resolution=5'],
        ['bar=1m', 'bar=5m'],
        ['period=1min', 'period=5min'],
        ['binSize=1m', 'binSize=5m'],
        ['granularity=1', 'granularity=5'],
        ['interval=Min1', 'interval=Min5'],
        ['/1m?', '/5m?'],
      ] as const) {
        if (!url.includes(one)) continue;
        const longer = { ...at, kind: 'response' as const, request: url.replace(one, other) };
        t.equal(venue.askedMinutes?.(longer, { listings }), null, `${id}: ${other}`);
      }
    }
  }
  t.end();
});
