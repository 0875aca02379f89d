// Books whose messages have no ids (dYdX, BitMEX): a change that cannot be read ends the book until its next snapshot, since no later message shows it.
import t from 'tap';
import { bitmex } from '../../../ingest/venues/bitmex/index.ts';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { dydx } from '../../../ingest/venues/dydx/index.ts';
import { listReadings, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { readRecording } from '../../support/venues/recordings.ts';

type Told = { readonly kind: 'snapshot' | 'update'; readonly size: string | number };
type Case = {
  readonly venue: Venue;
  readonly listings: { readonly request: string; readonly body: unknown };
  /** A frame of the book with one level that it changes. */
  readonly frame: (told: Told) => unknown;
};

/** The recorded answer about instruments, as the venue gives one of its rows. */
const readInstruments = (): readonly unknown[] => {
  const [line] = readRecording('bitmex/cryptofeed-realtime-rest-instruments.ndjson.gz');
  const rows = JSON.parse(line?.raw ?? '[]') as readonly { readonly symbol: string }[];
  return rows.filter(({ symbol }) => symbol === 'XBTUSD');
};

const MARKET = {
  ...{ clobPairId: '0', ticker: 'BTC-USD', status: 'ACTIVE', oraclePrice: '1', priceChange24H: '2', volume24H: '3' },
  ...{ nextFundingRate: '4', openInterest: '5', baseOpenInterest: '6', tickSize: '0.10', stepSize: '0.0001' },
};

const CASES: readonly Case[] = [
  {
    venue: dydx,
    listings: {
      request: 'GET https://indexer.dydx.trade/v4/perpetualMarkets',
      body: { markets: { 'BTC-USD': MARKET } },
    },
    frame: ({ kind, size }) => {
      const [type, bid, ask] =
        kind === 'snapshot'
          ? ['subscribed', { price: '99', size }, { price: '101', size: '1' }]
          : ['channel_data', ['99', size], ['101', '1']];
      const ids = { connection_id: 'c', message_id: 7, id: 'BTC-USD', channel: 'v4_orderbook', version: '1.0.0' };
      return { type, ...ids, contents: { bids: [bid], asks: [ask] } };
    },
  },
  {
    venue: bitmex,
    listings: { request: 'GET https://www.bitmex.com/api/v1/instrument/active?columns=x', body: readInstruments() },
    frame: ({ kind, size }) => {
      const level = { symbol: 'XBTUSD', id: 8_799_141_400, side: 'Buy', size };
      if (kind === 'update') return { table: 'orderBookL2', action: 'update', data: [level] };
      const other = { symbol: 'XBTUSD', id: 8_799_021_950, side: 'Sell', size: 40, price: 101 };
      return { table: 'orderBookL2', action: 'partial', data: [{ ...level, price: 99 }, other] };
    },
  },
];

const begin = ({ venue, listings }: Case): TestLog => {
  const log = new TestLog();
  log.capability(venue);
  log.json('response', 'reference', 'r1', listings.body, { request: listings.request });
  log.open('k1', 'books', [{ layers: ['book'], symbols: null }]);
  return log;
};

const readBooks = ({ venue }: Case, log: TestLog) =>
  listReadings(runTask({ venue, partition: 0, shards: 1 }, log.records).outputs, 'book').map((r) => [
    (r.received_at - START) / SECOND,
    r.gap_cause,
    r.values['bid_size'],
  ]);

const switchOff = (log: TestLog, venue: Venue): void => {
  const { name, layers } = toCapability(venue);
  const off = Object.entries(layers).map(([layer, stated]) => [layer, { ...stated, policy: 'off' }]);
  log.json('capability', 'collector', 'c1', { name, layers: Object.fromEntries(off) });
};

for (const one of CASES) {
  const { venue, frame } = one;
  t.test(`${venue.id}: a change that cannot be read is a gap of the book until its next snapshot`, (t) => {
    const log = begin(one);
    for (const told of [
      { kind: 'snapshot', size: 5 },
      { kind: 'update', size: 6 },
      { kind: 'update', size: 'odd' },
      { kind: 'update', size: 7 },
      { kind: 'snapshot', size: 8 },
      { kind: 'update', size: 9 },
    ] as const) {
      log.now += SECOND;
      log.json('frame', 'books', 'k1', frame(told));
    }
    t.same(readBooks(one, log), [
      [1, null, '5'],
      [2, null, '6'],
      [3, 'parse_error', undefined],
      [5, null, '8'],
      [6, null, '9'],
    ]);
    t.end();
  });

  t.test(`${venue.id}: what waits for the end of its bucket is told before a change that cannot be read`, (t) => {
    const log = begin(one);
    for (const [at, told] of [
      [1.02, { kind: 'snapshot', size: 5 }],
      [1.04, { kind: 'update', size: 6 }],
      [1.15, { kind: 'update', size: 'odd' }],
    ] as const) {
      log.now = START + at * SECOND;
      // The broker's clock is behind: the log has not come to the end of the bucket.
      log.json('frame', 'books', 'k1', frame(told), { recordedAt: START + Math.min(at, 1.05) * SECOND });
    }
    t.same(readBooks(one, log), [
      [1.02, null, '5'],
      [1.04, null, '6'],
      [1.15, 'parse_error', undefined],
    ]);
    t.end();
  });

  t.test(
    `${venue.id}: while the book is off no change of it is read, and the book begins anew with a snapshot`,
    (t) => {
      for (const size of [6, 'odd']) {
        const log = begin(one);
        const send = (told: Told): void => {
          log.now += SECOND;
          log.json('frame', 'books', 'k1', frame(told));
        };
        send({ kind: 'snapshot', size: 5 });
        switchOff(log, venue);
        send({ kind: 'update', size });
        log.capability(venue);
        send({ kind: 'update', size: 7 });
        send({ kind: 'snapshot', size: 8 });
        t.same(
          readBooks(one, log),
          [
            [1, null, '5'],
            [4, null, '8'],
          ],
          `a change to ${size}`,
        );
      }
      t.end();
    },
  );
}
