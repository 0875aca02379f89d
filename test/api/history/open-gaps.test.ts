// Gaps between liquidations that were told before their seal, beside what the store shows by now: a sealed window is as it was sealed (H-15, D-505).
import t from 'tap';
import { gatherGaps } from '../../../api/history/event-rows.ts';
import { HistoryReader } from '../../../api/history/store.ts';
import { findDirectory } from '../../../api/selection/directory.ts';
import { makeEventGapRow } from '../../../processors/task/rows.ts';
import { MICROS_PER_MINUTE, MICROS_PER_SECOND } from '../../../schemas/instants.ts';
import { SEALS_AFTER } from '../../../schemas/windows.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';

/** The last full minute. */
const TOLD_AT = Math.floor(NOW / MICROS_PER_MINUTE) * MICROS_PER_MINUTE;
const before = (seconds: number): number => TOLD_AT - seconds * MICROS_PER_SECOND;

t.test(
  'a gap that was told lasts from the newest window that is sealed, however far behind this copy is',
  async (t) => {
    const feed = market();
    const listing = findDirectory(feed.memory).listings.find(({ venueSymbol }) => venueSymbol === 'BTCUSDT');
    const version = listing?.versions[0];
    if (listing === undefined || version === undefined) throw new Error('the market lists no BTCUSDT');
    const told = { from: before(60), at: TOLD_AT, cause: 'unknown', srcOffset: -1, announcedAt: TOLD_AT } as const;
    const row = makeEventGapRow('liquidations', { venue: 'binance', symbol: 'BTCUSDT' }, told);
    feed.entry('binance', { kind: 'provisional', symbol: 'BTCUSDT', row });
    // The store has no gap.
    const store = { query: async () => [], ping: async () => undefined, close: async () => undefined };
    const reader = new HistoryReader(store as never, '');
    const read = async () => {
      const span = { from: before(120), to: TOLD_AT };
      return [...(await gatherGaps({ reader, live: feed.memory }, [{ listing, version }], span)).values()].flat();
    };
    t.same(await read(), [{ from: told.from, to: told.at, cause: 'unknown' }]);
    feed.memory.applyHistoryWatermark('binance', 0, before(30) + SEALS_AFTER);
    t.same(await read(), [{ from: before(30), to: told.at, cause: 'unknown' }]);
  },
);
